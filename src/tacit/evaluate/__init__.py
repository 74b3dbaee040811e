"""Testing any classifier on disguised records: accuracy, confusion and recall with their errors.

`accuracy` serves every design. `personal_accuracy` is Zhan & Matwin's protocol, in which
respondents test the model on their personal answers themselves.
"""

from tacit.evaluate.accuracy import accuracy, confusion, personal_accuracy, recall

__all__ = ["accuracy", "confusion", "personal_accuracy", "recall"]
