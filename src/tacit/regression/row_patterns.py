"""Equal rows of model matrices, found by hashing, so that each is handled once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index

Hashes = npt.NDArray[np.uint64]

#: Rows of the sample that shows whether rows repeat, and the share of distinct ones that is too
#: large to be worth sorting all rows.
_SAMPLE, _MOSTLY = 20_000, 0.5


def row_patterns(matrices: Sequence[Array], codes: Index) -> tuple[Index, Index]:
    """The place of one row of each pattern, and the pattern of each row.

    Rows are equal if their codes are and if they are equal in all matrices. If none repeats, they
    keep their order.
    """
    n = len(codes)
    every = np.arange(n), np.arange(n)
    sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)
    hashed = _hashes([matrix[sample] for matrix in matrices], codes[sample])
    if len(np.unique(hashed)) > _MOSTLY * len(sample) and n > 100:
        return every
    _, first, which = np.unique(_hashes(matrices, codes), return_index=True, return_inverse=True)
    same = first[which]
    equal = np.array_equal(codes[same], codes) and all(
        np.array_equal(matrix[same], matrix) for matrix in matrices
    )
    return (first, which) if equal and len(first) < n else every


def _hashes(matrices: Sequence[Array], codes: Index) -> Hashes:
    """A 64-bit hash of each row; zeros of both signs count as equal."""
    rng = np.random.default_rng(20261117)
    found = codes.astype(np.uint64) * _odd(rng, 1)
    for matrix in matrices:
        columns = (np.asarray(matrix, np.float64) + 0.0).view(np.uint64)
        mixed = (columns ^ (columns >> np.uint64(32))) * _odd(rng, matrix.shape[1])
        found += (mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
        found ^= found >> np.uint64(31)
    return found


def _odd(rng: np.random.Generator, size: int) -> Hashes:
    return rng.integers(0, 2**63, size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
