"""Counts of conjunctions of answers, with a bit per pattern.

How often patterns occur is written in binary: plane b has the patterns whose count has bit b, and

    count of a conjunction = sum over b of 2^b * popcount(conjunction & plane b)

Patterns are sorted by count, so that plane b is only as long as there are counts of 2^b or more:
with distinct records there is one plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Index, Mask

Integers = npt.NDArray[np.integer[Any]]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_WORD = 64
#: Words of conjunctions at once: they stay in the cache.
_AT_ONCE = 1 << 17


class BitColumns:
    """Which patterns have each of some answers, one column of bits per answer."""

    def __init__(self, answers: Sequence[tuple[Integers, int]], counts: Counts) -> None:
        """`answers` are a column of reported codes and the code that counts."""
        order = np.argsort(-counts, kind="stable")
        self.n_records = int(counts.sum())
        self._columns = np.stack([_packed((column == code)[order]) for column, code in answers])
        self._planes = _planes(counts[order])

    def count(self, sets: Index, tell: Callable[[int], None] | None = None) -> Counts:
        """How many records have all answers of each set; sets are rows of columns.

        `tell` is called with the number of sets that are done.
        """
        step = max(1, _AT_ONCE // self._columns.shape[1])
        counts = np.zeros(len(sets), np.int64)
        for start in range(0, len(sets), step):
            block = sets[start : start + step]
            bits = self._columns[block[:, 0]]
            for column in block.T[1:]:
                bits &= self._columns[column]
            for power, plane in enumerate(self._planes):
                ones = np.bitwise_count(bits[:, : len(plane)] & plane)
                counts[start : start + step] += ones.sum(axis=1, dtype=np.int64) << power
            if tell is not None:
                tell(min(start + step, len(sets)))
        return counts


def _packed(bits: Mask) -> Words:
    """Bits in words, the last one filled up with zeros."""
    padded = np.zeros(-(-len(bits) // _WORD) * _WORD // 8, np.uint8)
    packed = np.packbits(bits)
    padded[: len(packed)] = packed
    return padded.view(np.uint64)


def _planes(counts: Counts) -> list[Words]:
    """The bits of descending counts, lowest first."""
    planes = []
    for power in range(int(counts[0]).bit_length()):
        reach = int(np.searchsorted(-counts, -(1 << power), side="right"))
        planes.append(_packed((counts[:reach] >> power & 1).astype(bool)))
    return planes


class FewWayCounts:
    """Count tables of one, two or three columns of codes, many at once.

    Cells are counted as conjunctions of bits, except those with the last code of a column: these
    follow from the tables with a column less, by subtraction.
    """

    def __init__(self, columns: Sequence[Integers], sizes: Sequence[int], counts: Counts) -> None:
        answers = [(c, code) for c, k in zip(columns, sizes, strict=True) for code in range(k - 1)]
        self._bits = BitColumns(answers, counts)
        self._starts = np.cumsum([0, *(k - 1 for k in sizes)])
        self.sizes, self.n_records = tuple(sizes), self._bits.n_records
        single = self._bits.count(np.arange(len(answers))[:, None])
        parts = np.split(single, self._starts[1:-1])
        self._single = [np.append(part, self.n_records - part.sum()) for part in parts]

    def tables(self, sets: Index) -> Counts:
        """The count tables of sets of columns of equal sizes; sets are rows of columns.

        The first axis has the sets, the others one column each.
        """
        shape = tuple(self.sizes[column] for column in sets[0])
        if sets.shape[1] == 1:
            return np.stack([self._single[column] for column in sets[:, 0]])
        counts = np.zeros((len(sets), *shape), np.int64)
        inner = tuple(slice(k - 1) for k in shape)
        counts[:, *inner] = self._inner(sets, shape)
        for axis in range(len(shape)):
            less = self.tables(np.delete(sets, axis, axis=1))
            whole, after = (slice(None),) * (axis + 1), inner[axis + 1 :]
            others = counts[(*whole, inner[axis], *after)].sum(axis=axis + 1)
            last: tuple[slice | int, ...] = (*whole, -1, *after)
            counts[last] = less[whole + after] - others
        return counts

    def _inner(self, sets: Index, shape: tuple[int, ...]) -> Counts:
        """Counts of the cells without any last code."""
        codes = np.indices([k - 1 for k in shape]).reshape(len(shape), -1).T
        rows = self._starts[sets][:, None] + codes
        counted = self._bits.count(rows.reshape(-1, len(shape)))
        return counted.reshape(len(sets), *(k - 1 for k in shape))
