"""Testing any classifier on disguised records: accuracy, confusion and recall with their errors.

`complement_accuracy` and `personal_accuracy` are the forms that Du & Zhan and Zhan & Matwin
printed for their designs; `accuracy` serves every design.
"""

from tacit.evaluate.accuracy import accuracy, confusion, recall
from tacit.evaluate.paper_accuracies import complement_accuracy, personal_accuracy

__all__ = ["accuracy", "complement_accuracy", "confusion", "personal_accuracy", "recall"]
