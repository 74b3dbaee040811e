"""Testing any classifier on disguised records: accuracy, confusion and recall with their errors.

`complement_accuracy` and `personal_accuracy` are the forms that Du & Zhan and Zhan & Matwin
printed for their designs; `accuracy` serves every design.
"""

from tacit.evaluate.papers import complement_accuracy, personal_accuracy
from tacit.evaluate.testing import accuracy, confusion, recall

__all__ = ["accuracy", "complement_accuracy", "confusion", "personal_accuracy", "recall"]
