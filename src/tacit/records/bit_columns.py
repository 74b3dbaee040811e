"""BitColumns: a bit per pattern, to count conjunctions of answers.

How often patterns occur is written in binary: plane b has the patterns whose count has bit b, and

    count of a conjunction = sum over b of 2^b * popcount(conjunction & plane b)

Patterns are sorted by count, so that plane b is only as long as there are counts of 2^b or more:
with distinct records there is one plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Index, Mask
from tacit.records.keys import Codes

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_WORD = 64
#: Words of conjunctions at once: they stay in the cache.
_AT_ONCE = 1 << 17


class BitColumns:
    """Which patterns have each of some answers, one column of bits per answer."""

    def __init__(self, answers: Sequence[tuple[Codes, int]], counts: Counts) -> None:
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
        found = np.zeros(len(sets), np.int64)
        for start in range(0, len(sets), step):
            block = sets[start : start + step]
            found[start : start + step] = self._count(self._conjunctions(block))
            if tell is not None:
                tell(min(start + step, len(sets)))
        return found

    def _conjunctions(self, sets: Index) -> Words:
        """The bits of each set."""
        found = self._columns[sets[:, 0]]
        for column in sets.T[1:]:
            found &= self._columns[column]
        return found

    def _count(self, bits: Words) -> Counts:
        found = np.zeros(len(bits), np.int64)
        for power, plane in enumerate(self._planes):
            counted = np.bitwise_count(bits[:, : len(plane)] & plane)
            found += counted.sum(axis=1, dtype=np.int64) << power
        return found


def _packed(bits: Mask) -> Words:
    """Bits in words, the last one filled up with zeros."""
    padded = np.zeros(-(-len(bits) // _WORD) * _WORD // 8, np.uint8)
    packed = np.packbits(bits)
    padded[: len(packed)] = packed
    return padded.view(np.uint64)


def _planes(counts: Counts) -> list[Words]:
    """The bits of descending counts, lowest first."""
    found = []
    for power in range(int(counts[0]).bit_length()):
        reach = int(np.searchsorted(-counts, -(1 << power), side="right"))
        found.append(_packed((counts[:reach] >> power & 1).astype(bool)))
    return found
