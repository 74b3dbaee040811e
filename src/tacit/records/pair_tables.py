"""pair_tables: the count tables of all pairs of attributes in one pass over the records.

With one-hot columns H (records x categories of all attributes) the tables of all pairs are the
blocks of H^T H. Sums of ones below 2^24 are exact in single precision, so blocks of records go
through fast matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.records.count_engine import CountEngine

#: Entries of the one-hot columns of a block: they should stay in the cache.
_ENTRIES = 1 << 21

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairTables:
    """Counts of every pair of categories: categories x categories, of all attributes side by side.

    The diagonal has the counts of each attribute on its own.
    """

    schema: Schema
    counts: Counts

    @property
    def n_records(self) -> int:
        """How many records were counted."""
        return int(np.trace(self.table(self.schema.names[0], self.schema.names[0])))

    def table(self, first: str, second: str) -> Counts:
        """The count table of two attributes."""
        return self.counts[self._span(first), self._span(second)]

    def pairs(self) -> Iterator[tuple[str, str, Counts]]:
        """All pairs of attributes with their tables."""
        for first, second in combinations(self.schema.names, 2):
            yield first, second, self.table(first, second)

    def _span(self, name: str) -> slice:
        place = self.schema.index(name)
        start = sum(self.schema.sizes[:place])
        return slice(start, start + self.schema.sizes[place])


def pair_tables(engine: CountEngine) -> PairTables:
    """The count tables of all pairs of attributes."""
    return PairTables(engine.schema, engine.total(PairCounts(engine.schema.sizes)))


@dataclass(frozen=True)
class PairCounts:
    """The products of one-hot columns of a block of codes."""

    sizes: tuple[int, ...]

    def __call__(self, codes: Codes) -> Counts:
        width = sum(self.sizes)
        starts = np.cumsum(self.sizes) - self.sizes
        step = max(1, _ENTRIES // width)
        found = np.zeros((width, width), np.int64)
        for first in range(0, len(codes), step):
            block = codes[first : first + step]
            hot = np.zeros((len(block), width), np.float32)
            rows = np.arange(len(block))
            for start, column in zip(starts, block.T, strict=True):
                hot[rows, start + column.astype(np.intp)] = 1
            found += (hot.T @ hot).astype(np.int64)
        return found
