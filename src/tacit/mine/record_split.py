"""split_records: two parts of reported records, to choose from one and estimate from the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.counting import PatternTable
from tacit.design import Design
from tacit.errors import DataError
from tacit.reconstruction import reconstruct


def split_records(
    records: Any, design: Design, rng: np.random.Generator, share: float = 0.5
) -> tuple[PatternTable, PatternTable]:
    """Count reported records in two parts.

    Each record goes to the first part with probability `share`, else to the second. What is chosen
    on one part does not depend on the other, so that estimates from the other have the stated
    errors.
    """
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 < share < 1:
        raise DataError(f"share must lie between 0 and 1, got {share!r}")
    whole = reconstruct(records, design).patterns
    first = rng.binomial(whole.counts, share).astype(np.int64)
    parts = (first, whole.counts - first)
    if not all(part.any() for part in parts):
        raise DataError(f"{whole.n_records} reported records are too few to split in two parts")
    found = [PatternTable(whole.schema, whole.patterns[p > 0], p[p > 0]) for p in parts]
    return found[0], found[1]
