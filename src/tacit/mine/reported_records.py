"""Records as miners take them: reported ones to learn from."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.counting import PatternTable, count
from tacit.design import Design
from tacit.errors import DataError
from tacit.label_codes import encode
from tacit.reconstruction import reconstruct


def reported_patterns(records: Any, y: Any, design: Design, target: str) -> PatternTable:
    """Reported records counted; with `y` the class comes apart from the other attributes."""
    if y is None:
        return reconstruct(records, design).patterns
    if isinstance(records, PatternTable | str | os.PathLike):
        raise DataError("a pattern table or a file holds the class already; leave y out")
    if target not in design.reported:
        raise DataError(f"{target!r} is reported jointly with others; leave y out")
    place = design.reported.index(target)
    others = design.reported.subset([n for n in design.reported.names if n != target])
    codes = encode(records, others)
    given = np.asarray(y)
    if given.shape != (len(codes),):
        raise DataError(f"y must hold a class for each of {len(codes)} records, got {given.shape}")
    own = design.reported.subset([target])
    in_codes = isinstance(records, np.ndarray) and given.dtype.kind in "iub"
    classes = encode(given[:, None] if in_codes else _column(target, given), own)
    return count(np.insert(codes, place, classes[:, 0], axis=1), design.reported)


def _column(name: str, labels: npt.NDArray[Any]) -> Any:
    """Labels as a frame of one column."""
    try:
        return pa.table({name: labels})
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"y must hold labels of {name!r} of one type: {error}") from None
