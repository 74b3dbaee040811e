"""Records as miners take them: reported ones to learn from, true ones to predict for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.attribute import Attribute
from tacit.coding import Codes, encode
from tacit.counting import PatternTable, count, count_records
from tacit.design import Design
from tacit.errors import DataError
from tacit.schema import Schema


def reported_patterns(records: Any, y: Any, design: Design, target: str) -> PatternTable:
    """Reported records counted; with `y` the class comes apart from the other attributes."""
    if isinstance(records, PatternTable):
        if y is not None:
            raise DataError("a pattern table holds the class already; leave y out")
        if records.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return records
    if y is None:
        return count_records(records, design.reported)
    place = design.reported.index(target)
    others = design.reported.subset([n for n in design.reported.names if n != target])
    codes = encode(records, others)
    classes = class_codes(y, design.reported[target])
    if len(classes) != len(codes):
        raise DataError(f"{len(codes)} records came with {len(classes)} classes in y")
    return count(np.insert(codes, place, classes, axis=1), design.reported)


def class_codes(y: Any, attribute: Attribute) -> npt.NDArray[np.intp]:
    """Codes of class labels."""
    labels, places = np.unique(np.asarray(y), return_inverse=True)
    return np.array([attribute.code(label) for label in labels.tolist()], np.intp)[places]


def true_codes(records: Any, features: Schema) -> Codes:
    """Codes of true records to predict for: a frame, or an array without the class."""
    return encode(records, features)
