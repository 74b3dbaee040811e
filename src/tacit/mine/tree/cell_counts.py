"""CellCounts: reports counted in cells by the answer to every attribute and the reported class.

A cell is the set of reports that meet some conditions on reported answers. A tree needs nothing
else from the reports: the counts of some cells, and then those of smaller cells below them. How
reports are stored and counted is up to the subclass; here, a cell is a range of rows in a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index

#: Rows that are moved together, unless one cell has more: they should stay in the cache.
ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class CellSplits:
    """Cells to split by an attribute each.

    `branches` is the branch of each category, splits x categories; `places` numbers the cells to
    make, splits x branches; both have NONE where there is none. The new cells are followed by the
    `kept` ones, which are the old ones at these positions.
    """

    cell: Index
    attribute: Index
    branches: Index
    places: Index
    n_new: int
    kept: Index


class CellCounts(ABC):
    """Cells and their counts.

    `counts` is cells x categories x classes, the categories of all attributes side by side;
    `unit` is the share of the records that a count of 1 stands for. `sizes` has the rows of each
    cell, and `row_bytes` the memory that a row takes.
    """

    counts: Array
    unit: float
    sizes: Index
    row_bytes: int

    @abstractmethod
    def below(self, splits: CellSplits, last: bool) -> CellCounts:
        """The cells below these; `last` if they will not be split."""


S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class NewCells(Generic[S]):
    """Cells made together: their numbers, sizes and counts, and a store of their rows in order."""

    number: Index
    sizes: Index
    counts: Array
    store: S | None


class StoredCells(CellCounts, Generic[S]):
    """Cells that are ranges of rows in stores: `store` is the place of each cell's store."""

    def __init__(self, stores: list[S | None], counts: Array, unit: float) -> None:
        self.stores, self.counts, self.unit = stores, counts, unit
        n = len(counts)
        self.store, self.start = np.zeros(n, np.intp), np.zeros(n, np.intp)
        self.sizes = np.zeros(n, np.intp)

    @abstractmethod
    def empty(self, counts: Array) -> StoredCells[S]:
        """Cells with these counts and no rows yet."""

    @abstractmethod
    def split(self, store: S, splits: CellSplits, some: Index, last: bool) -> NewCells[S]:
        """Some of the splits, of cells in one store."""

    def below(self, splits: CellSplits, last: bool) -> StoredCells[S]:
        kept = splits.kept
        counts = np.empty((splits.n_new + len(kept), *self.counts.shape[1:]))
        found = self.empty(counts)
        for which, some in self._together(splits):
            store = self.stores[which]
            assert store is not None
            new = self.split(store, splits, some, last)
            counts[new.number], found.sizes[new.number] = new.counts, new.sizes
            found.store[new.number] = len(found.stores)
            found.start[new.number] = np.cumsum(new.sizes) - new.sizes
            found.stores.append(new.store)
        counts[splits.n_new :] = self.counts[kept]
        for name in ("start", "sizes"):
            getattr(found, name)[splits.n_new :] = getattr(self, name)[kept]
        used, found.store[splits.n_new :] = np.unique(self.store[kept], return_inverse=True)
        found.store[splits.n_new :] += len(found.stores)
        found.stores += [self.stores[which] for which in used]
        return found

    def _together(self, splits: CellSplits) -> Iterator[tuple[int, Index]]:
        """Splits of cells in one store, in parts of not too many rows."""
        store = self.store[splits.cell]
        for which in np.unique(store):
            own = np.flatnonzero(store == which)
            rows = np.cumsum(self.sizes[splits.cell[own]])
            for some in np.split(own, np.flatnonzero(np.diff(rows // ROWS)) + 1):
                yield int(which), some

    def rows_of(self, cells: Index) -> tuple[slice | Index, Index]:
        """The rows of cells in their store, one cell after the other, and the number of each."""
        start, sizes = self.start[cells], self.sizes[cells]
        if len(cells) == 1:
            return slice(int(start[0]), int(start[0] + sizes[0])), np.zeros(1, np.intp)
        return ranges(start, sizes), np.repeat(np.arange(len(cells)), sizes)


def ranges(start: Index, sizes: Index) -> Index:
    """start[0], start[0] + 1, ..., one range after the other."""
    before = np.cumsum(sizes) - sizes
    found: Index = np.arange(int(sizes.sum())) + np.repeat(start - before, sizes)
    return found


def order_by(key: Index, n: int) -> Index:
    """Positions in the order of small numbers below n, equal ones in their order."""
    kind: npt.DTypeLike = np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.int64
    narrow: npt.NDArray[Any] = key.astype(kind)
    found: Index = np.argsort(narrow, kind="stable")
    return found
