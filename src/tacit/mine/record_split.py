"""Reported records in parts: to choose from one and estimate from the other, or in folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.design import Design
from tacit.errors import DataError
from tacit.reconstruction.reconstruct import unweighted_patterns
from tacit.records import PatternTable


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
    whole = unweighted_patterns(records, design)
    first = rng.binomial(whole.counts, share).astype(np.int64)
    parts = (first, whole.counts - first)
    if not all(part.any() for part in parts):
        raise DataError(f"{whole.n_records} reported records are too few to split in two parts")
    return _with_counts(whole, parts[0]), _with_counts(whole, parts[1])


def folds_of(
    patterns: PatternTable, folds: int, rng: np.random.Generator
) -> Iterator[tuple[PatternTable, PatternTable]]:
    """The records split at random into folds: those to learn from and those held out."""
    left = patterns.counts.copy()
    for fold in range(folds):
        size = int(left.sum()) // (folds - fold)
        own = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - own
        yield _with_counts(patterns, patterns.counts - own), _with_counts(patterns, own)


def _with_counts(patterns: PatternTable, counts: npt.NDArray[np.int64]) -> PatternTable:
    kept = counts > 0
    return PatternTable(patterns.schema, patterns.patterns[kept], counts[kept])
