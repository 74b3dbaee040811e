"""CellCounts: reports counted in cells by the answer to every attribute and the reported class.

A cell is the set of reports that meet some conditions on reported answers. A tree needs nothing
else from the reports: the counts of some cells, and then those of smaller cells below them. How
reports are stored and counted is up to the subclass; here, a cell is a range of rows in a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index
from tacit.records import CountEngine
from tacit.records.keys import smallest

#: `attribute` of a leaf, `parent` of the root, `child` of a category that does not exist.
NONE = -1
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
    def below(self, splits: CellSplits) -> CellCounts:
        """The cells below these."""


#: Numbers of cells made together, their sizes and counts, and a store of their rows in order.
NewCells = tuple[Index, Index, Array, Any]


class StoredCells(CellCounts):
    """Cells that are ranges of rows in stores: `store` is the number of each cell's store."""

    def __init__(self, rows: Any, n_rows: int, counts: Array, unit: float) -> None:
        """One cell with all rows."""
        self.stores, self.counts, self.unit = [rows], counts, unit
        self.store, self.start = np.zeros(1, np.intp), np.zeros(1, np.intp)
        self.sizes = np.array([n_rows])

    @abstractmethod
    def split(self, store: Any, splits: CellSplits, some: Index) -> NewCells:
        """Some of the splits, of cells in one store."""

    def below(self, splits: CellSplits) -> StoredCells:
        old, new, cells = splits.kept, np.zeros(splits.n_new, np.intp), copy(self)
        used, carried = np.unique(self.store[old], return_inverse=True)
        cells.stores = [self.stores[number] for number in used]
        cells.store = np.concatenate([new, carried])
        cells.start = np.concatenate([new, self.start[old]])
        cells.sizes = np.concatenate([new, self.sizes[old]])
        cells.counts = np.empty((len(cells.sizes), *self.counts.shape[1:]))
        cells.counts[splits.n_new :] = self.counts[old]
        for number, some in self._together(splits):
            new, sizes, counts, store = self.split(self.stores[number], splits, some)
            cells.counts[new], cells.sizes[new] = counts, sizes
            cells.store[new], cells.start[new] = len(cells.stores), np.cumsum(sizes) - sizes
            cells.stores.append(store)
        return cells

    def _together(self, splits: CellSplits) -> Iterator[tuple[int, Index]]:
        """Splits of cells in one store, in parts of not too many rows."""
        store = self.store[splits.cell]
        for number in np.unique(store):
            together = np.flatnonzero(store == number)
            rows = np.cumsum(self.sizes[splits.cell[together]])
            for some in np.split(together, np.flatnonzero(np.diff(rows // ROWS)) + 1):
                yield int(number), some

    def rows_of(self, cells: Index) -> tuple[Index, Index]:
        """The rows of cells in their store, one cell after the other, and the number of each."""
        sizes = self.sizes[cells]
        return ranges(self.start[cells], sizes), np.repeat(np.arange(len(cells)), sizes)


def ranges(start: Index, sizes: Index) -> Index:
    """start[0], start[0] + 1, ..., one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(start - before, sizes))


def order_by(key: Index, n: int) -> Index:
    """Positions in the order of small numbers below n, equal ones in their order."""
    return np.argsort(key.astype(smallest(n)), kind="stable")  # fast for small types


#: Records x words; bit b of word w is the answer to attribute 64 w + b.
Words = npt.NDArray[np.uint64]

#: Bytes of 0 or 1 that can be added in a byte, and rows that are unpacked at once.
_FULL, _UNPACKED = 255, 32 * 255
_PACKED_AT_ONCE = 1 << 15


def packed(codes: Codes, attributes: Sequence[int]) -> Words:
    """The yes/no answers in these columns of records as words."""
    n, d = len(codes), len(attributes)
    columns: slice | list[int] = (
        slice(None) if list(attributes) == list(range(d)) else list(attributes)
    )
    octets = np.zeros((n, -(-d // 64) * 8), np.uint8)
    for start in range(0, n, _PACKED_AT_ONCE):
        block = np.ascontiguousarray(codes[start : start + _PACKED_AT_ONCE, columns], np.uint8)
        bits = np.packbits(block, axis=1, bitorder="little")
        octets[start : start + len(block), : bits.shape[1]] = bits
    return octets.view("<u8")


def unpacked(words: Words, n_attributes: int) -> Codes:
    """The records that the words stand for, records x attributes."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=n_attributes, bitorder="little")


class BitCells(StoredCells):
    """Cells of yes/no records, packed into 64-bit words.

    The rows of a cell with class 0 come before those with class 1. A record is a row of words, one
    bit per attribute. The ones of each bit are counted in the smaller half of a split; those of the
    other half are the rest.
    """

    def __init__(self, words: Words, n_attributes: int, target: int, unit: float) -> None:
        classes = _bits(words, target)
        words = words.take(order_by(classes, 2), axis=0)
        sizes = np.bincount(classes, minlength=2)
        ones = ones_of_ranges(words, np.array([0, sizes[0]]), sizes)[:, :n_attributes]
        super().__init__(words, len(words), _counts(ones[None], sizes[None]), unit)
        self.target = target
        self.row_bytes = 8 * words.shape[1]

    def split(self, store: Words, splits: CellSplits, some: Index) -> NewCells:
        cells = splits.cell[some]
        rows, split = self.rows_of(cells)
        words = store.take(rows, axis=0)
        answers = _bits(words, splits.attribute[some][split])
        key = (split * 2 + answers) * 2 + _bits(words, self.target)
        words = words.take(order_by(key, 4 * len(some)), axis=0)
        sizes = np.bincount(key, minlength=4 * len(some)).reshape(-1, 2, 2)
        counts = self._half_counts(words, sizes, cells)
        numbers = np.take_along_axis(splits.places[some], splits.branches[some, :2], axis=1)
        stays, by_half = numbers >= 0, sizes.sum(axis=2)
        if not stays.all():
            start = np.cumsum(by_half).reshape(-1, 2) - by_half
            words = words.take(ranges(start[stays], by_half[stays]), axis=0)
        return numbers[stays], by_half[stays], counts[stays], words

    def _half_counts(self, words: Words, sizes: Index, cells: Index) -> Array:
        """Counts of both halves of each cell; `sizes` is cells x answers x classes."""
        smaller = sizes.argmin(axis=1)[:, None]
        start = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)
        smaller_start, smaller_sizes = (
            np.take_along_axis(x, smaller, axis=1)[:, 0] for x in (start, sizes)
        )
        ones = ones_of_ranges(words, smaller_start.ravel(), smaller_sizes.ravel())
        n_attributes = self.counts.shape[1] // 2
        part = _counts(ones[:, :n_attributes].reshape(len(cells), 2, -1), smaller_sizes)
        other = self.counts[cells] - part
        first = (smaller[:, 0] == 0)[:, None]
        return np.stack([np.where(first, part, other), np.where(first, other, part)], axis=1)


def _bits(words: Words, attribute: int | Index) -> Index:
    """The answer of each row to an attribute, or to one per row."""
    octets = words.view(np.uint8)
    places = np.arange(0, octets.size, octets.shape[1]) + attribute // 8
    return (octets.ravel().take(places) >> np.asarray(attribute % 8, np.uint8)) & 1


def _counts(ones: Index, sizes: Index) -> Array:
    """Counts by answer and class from ones, cells x classes x attributes, and cells x classes."""
    both = np.stack([sizes[:, :, None] - ones, ones], axis=3)
    return both.transpose(0, 2, 3, 1).reshape(len(ones), -1, 2).astype(np.float64)


def ones_of_ranges(words: Words, start: Index, sizes: Index) -> Index:
    """How many rows of each range have each bit, ranges x bits.

    Rows are unpacked into bytes, of which 255 can be added without a carry.
    """
    ones = np.zeros((len(start), 64 * words.shape[1]), np.int64)
    pieces = -(-sizes // _FULL)
    owner = np.repeat(np.arange(len(start)), pieces)
    within = ranges(np.zeros_like(pieces), pieces) * _FULL
    first, size = start[owner] + within, np.minimum(sizes[owner] - within, _FULL)
    steps = np.flatnonzero(np.diff(np.cumsum(size) // _UNPACKED)) + 1
    for some in np.split(np.arange(len(owner)), steps) if len(owner) else ():
        rows = words.take(ranges(first[some], size[some]), axis=0)
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").view(np.uint64)
        sums = np.add.reduceat(bits, np.cumsum(size[some]) - size[some], axis=0).view(np.uint8)
        owners, at = np.unique(owner[some], return_index=True)
        ones[owners] += np.add.reduceat(sums, at, axis=0, dtype=np.int64)
    return ones


class CodeRows(NamedTuple):
    """Codes, attributes x rows, and how much each row counts; None if 1."""

    codes: Codes
    weights: Array | None

    def take(self, rows: Index) -> CodeRows:
        """Some of the rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return CodeRows(self.codes.take(rows, axis=1), weights)


class CodeCells(StoredCells):
    """Cells of codes; their class is the attribute `target`.

    Rows are kept in the order of their cells, so that counts of one cell are close in memory.
    """

    def __init__(self, rows: CodeRows, sizes: tuple[int, ...], target: int, unit: float) -> None:
        self.categories, self.target, n = sizes, target, rows.codes.shape[1]
        self.row_bytes = len(sizes) + 16
        super().__init__(rows, n, self._counts(rows, np.zeros(n, np.intp), 1), unit)

    def split(self, store: CodeRows, splits: CellSplits, some: Index) -> NewCells:
        rows, split = self.rows_of(splits.cell[some])
        answers = store.codes[splits.attribute[some][split], rows]
        places = np.concatenate([splits.places[some], np.full((len(some), 1), NONE)], axis=1)
        number = np.unique(places[places != NONE])
        local = np.full(splits.n_new + 1, len(number))  # the last one for rows that are dropped
        local[number] = np.arange(len(number))
        new_cell = np.take_along_axis(local[places], splits.branches[some], axis=1)[split, answers]
        sizes = np.bincount(new_cell, minlength=len(number) + 1)[:-1]
        order = order_by(new_cell, len(number) + 1)[: int(sizes.sum())]
        moved = store.take(rows[order])
        counts = self._counts(moved, new_cell[order], len(number))
        return number, sizes, counts, moved

    def _counts(self, rows: CodeRows, cell: Index, n: int) -> Array:
        """Counts of n cells, given the cell of each row."""
        classes = self.categories[self.target]
        base = cell * classes + rows.codes[self.target]
        scaled = {k: base * k for k in set(self.categories)}
        all_counts = np.empty((n, sum(self.categories), classes))
        start = 0
        for codes, k in zip(rows.codes, self.categories, strict=True):
            counts = np.bincount(scaled[k] + codes, rows.weights, n * k * classes)
            all_counts[:, start : start + k] = counts.reshape(n, classes, k).swapaxes(1, 2)
            start += k
        return all_counts


@dataclass(frozen=True, eq=False)
class CellsOfBlock:
    """The counts of cells in a block of records, after splits.

    `places` are the columns of the attributes, `sizes` their numbers of categories.
    """

    sizes: tuple[int, ...]
    places: tuple[int, ...]
    target: int
    splits: tuple[CellSplits, ...] = ()

    def __call__(self, codes: Codes) -> Array:
        cells = self._root(codes)
        for splits in self.splits:
            cells = cells.below(splits)
        return cells.counts

    def _root(self, codes: Codes) -> CellCounts:
        if set(self.sizes) == {2}:
            return BitCells(packed(codes, self.places), len(self.sizes), self.target, 1.0)
        rows = CodeRows(np.ascontiguousarray(codes.T[list(self.places)]), None)
        return CodeCells(rows, self.sizes, self.target, 1.0)


class StreamedCells(CellCounts):
    """Cells of the records of an engine; they have no rows in memory.

    Blocks of records go through all splits so far; what is kept is the sum of their counts. An
    engine that works in parallel counts its parts where they are (see `CountEngine.total`).
    """

    row_bytes = 0

    def __init__(self, engine: CountEngine, block: CellsOfBlock, unit: float) -> None:
        self._engine, self._block, self.unit = engine, block, unit
        self.counts = engine.total(block)
        self.sizes = np.zeros(len(self.counts), np.intp)

    def below(self, splits: CellSplits) -> StreamedCells:
        further = replace(self._block, splits=(*self._block.splits, splits))
        return StreamedCells(self._engine, further, self.unit)
