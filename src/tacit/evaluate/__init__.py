"""Testing any classifier on disguised records: accuracy, confusion and recall with their errors.

`complement_accuracy` and `personal_accuracy` are the forms that Du & Zhan and Zhan & Matwin
printed for their designs; `accuracy` serves every design.
"""

from tacit.evaluate.accuracy import (
    accuracy,
    complement_accuracy,
    confusion,
    personal_accuracy,
    recall,
)

__all__ = ["accuracy", "complement_accuracy", "confusion", "personal_accuracy", "recall"]
