"""CellCounts: reports counted in cells by the answer to every attribute and the reported class.

A cell is the set of reports that meet some conditions on reported answers. A tree needs nothing
else from the reports: the counts of some cells, and then those of smaller cells below them. How
reports are stored and counted is up to the subclass; here, a cell is a range of rows in a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index
from tacit.errors import DataError
from tacit.mine.tree.tree import NONE
from tacit.records import CountEngine

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
        old = splits.kept
        counts = np.empty((splits.n_new + len(old), *self.counts.shape[1:]))
        cells = self.empty(counts)
        for which, some in self._together(splits):
            store = self.stores[which]
            assert store is not None
            new = self.split(store, splits, some, last)
            counts[new.number], cells.sizes[new.number] = new.counts, new.sizes
            cells.store[new.number] = len(cells.stores)
            cells.start[new.number] = np.cumsum(new.sizes) - new.sizes
            cells.stores.append(new.store)
        counts[splits.n_new :] = self.counts[old]
        for name in ("start", "sizes"):
            getattr(cells, name)[splits.n_new :] = getattr(self, name)[old]
        used, cells.store[splits.n_new :] = np.unique(self.store[old], return_inverse=True)
        cells.store[splits.n_new :] += len(cells.stores)
        cells.stores += [self.stores[which] for which in used]
        return cells

    def _together(self, splits: CellSplits) -> Iterator[tuple[int, Index]]:
        """Splits of cells in one store, in parts of not too many rows."""
        store = self.store[splits.cell]
        for which in np.unique(store):
            together = np.flatnonzero(store == which)
            rows = np.cumsum(self.sizes[splits.cell[together]])
            for some in np.split(together, np.flatnonzero(np.diff(rows // ROWS)) + 1):
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
    positions: Index = np.arange(int(sizes.sum())) + np.repeat(start - before, sizes)
    return positions


def order_by(key: Index, n: int) -> Index:
    """Positions in the order of small numbers below n, equal ones in their order."""
    kind: npt.DTypeLike = np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.int64
    narrow: npt.NDArray[Any] = key.astype(kind)
    order: Index = np.argsort(narrow, kind="stable")
    return order


#: Records x words; bit b of word w is the answer to attribute 64 w + b.
Words = npt.NDArray[np.uint64]

#: Rows that are reduced to one row per plane, and how many planes these are.
_ADDED, _PLANES = 31, 5
#: Rows from which on adders are faster, rows that they process at once, and rows unpacked at once.
_MANY, _AT_ONCE, _UNPACKED = 64 * _ADDED, 256 * _ADDED, 32 * 255
#: Bytes of 0 or 1 that can be added in a byte.
_FULL = 255
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


class BitCells(StoredCells[Words]):
    """Cells of yes/no records, packed into 64-bit words.

    The rows of a cell with class 0 come before those with class 1. A record is a row of words, one
    bit per attribute. The ones of each bit are counted in the smaller half of a split; those of the
    other half are the rest. Many rows are first reduced by carry-save adders: 31 rows become 5,
    whose bits count 1, 2, 4, 8 and 16 (Harley & Seal; Warren, Hacker's Delight, section 5-1). Few
    rows are unpacked into bytes, of which 255 can be added without a carry.
    """

    def __init__(self, target: int, unit: float, counts: Array, stores: list[Words | None]) -> None:
        super().__init__(stores, counts, unit)
        self.target = target
        self.row_bytes = 8 * -(-counts.shape[1] // 128)

    @classmethod
    def of(cls, words: Words, n_attributes: int, target: int, unit: float) -> BitCells:
        """One cell with all records."""
        classes = _bits(words, target)
        words = words.take(order_by(classes, 2), axis=0)
        sizes = np.bincount(classes, minlength=2)
        ones = ones_of_ranges(words, np.array([0, sizes[0]]), sizes)[:, :n_attributes]
        cells = cls(target, unit, _counts(ones[None], sizes[None]), [words])
        cells.sizes[0] = len(words)
        return cells

    def empty(self, counts: Array) -> BitCells:
        return BitCells(self.target, self.unit, counts, [])

    def split(self, store: Words, splits: CellSplits, some: Index, last: bool) -> NewCells[Words]:
        cells = splits.cell[some]
        rows, split = self.rows_of(cells)
        attribute = splits.attribute[some]
        words = store[rows] if isinstance(rows, slice) else store.take(rows, axis=0)
        answers = _bits(words, attribute[split])
        key = (split * 2 + answers) * 2 + _bits(words, self.target)
        words = words.take(order_by(key, 4 * len(some)), axis=0)
        sizes = np.bincount(key, minlength=4 * len(some)).reshape(-1, 2, 2)
        counts = self._half_counts(words, sizes, cells)
        numbers = np.take_along_axis(splits.places[some], splits.branches[some, :2], axis=1)
        stays = numbers >= 0
        by_half, start = sizes.sum(axis=2), np.cumsum(sizes.sum(axis=2)).reshape(-1, 2)
        start -= by_half
        stored = None
        if not last:
            stored = words
            if not stays.all():
                stored = words.take(ranges(start[stays], by_half[stays]), axis=0)
        return NewCells(numbers[stays], by_half[stays], counts[stays], stored)

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
    word, bit = np.divmod(attribute, 64)
    if np.size(attribute) == 1:
        row_words = words[:, int(np.ravel(word)[0])]
    else:
        row_words = words[np.arange(len(words)), word]
    return ((row_words >> np.asarray(bit, np.uint64)) & np.uint64(1)).astype(np.intp)


def _counts(ones: Index, sizes: Index) -> Array:
    """Counts by answer and class from ones, cells x classes x attributes, and cells x classes."""
    both = np.stack([sizes[:, :, None] - ones, ones], axis=3)
    return both.transpose(0, 2, 3, 1).reshape(len(ones), -1, 2).astype(np.float64)


def ones_of_ranges(words: Words, start: Index, sizes: Index) -> Index:
    """How many rows of each range have each bit, ranges x bits."""
    ones = np.zeros((len(start), 64 * words.shape[1]), np.int64)
    many = sizes >= _MANY
    for i in np.flatnonzero(many):
        ones[i] = _ones_of_many(words[start[i] : start[i] + sizes[i]])
    few = np.flatnonzero(~many & (sizes > 0))
    step = np.cumsum(sizes[few]) // _UNPACKED
    for some in np.split(few, np.flatnonzero(np.diff(step)) + 1) if len(few) else ():
        ones[some] = _ones_of_few(words, start[some], sizes[some])
    return ones


def _ones_of_few(words: Words, start: Index, sizes: Index) -> Index:
    """The same for ranges that are not empty, by unpacking them all."""
    rows = words.take(ranges(start, sizes), axis=0)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").view(np.uint64)
    pieces = -(-sizes // _FULL)
    first = np.cumsum(pieces) - pieces
    within = ranges(np.zeros(len(sizes), np.intp), pieces) * _FULL
    cuts = np.repeat(np.cumsum(sizes) - sizes, pieces) + within
    sums = np.add.reduceat(bits, cuts, axis=0).view(np.uint8)
    return np.add.reduceat(sums, first, axis=0, dtype=np.int64)


def _ones_of_many(rows: Words) -> Index:
    """How many of many rows have each bit, by carry-save adders."""
    n = len(rows) // _ADDED * _ADDED
    planes: list[list[Words]] = [[] for _ in range(_PLANES)]
    for start in range(0, n, _AT_ONCE):
        block = rows[start : min(start + _AT_ONCE, n)].reshape(_ADDED, -1)
        for plane, added in zip(planes, _added(list(block)), strict=True):
            plane.append(added.reshape(-1, rows.shape[1]))
    ones = _ones(rows[n:])
    for power, plane in enumerate(planes):
        ones += _ones(np.concatenate(plane)) << power
    return ones


def _added(rows: list[Words]) -> list[Words]:
    """The sum of each bit over 31 rows, as 5 rows of binary digits, the lowest first."""
    digits = []
    while rows:
        carries = []
        while len(rows) > 2:
            a, b, c = rows.pop(), rows.pop(), rows.pop()
            both = a ^ b
            rows.insert(0, both ^ c)
            carries.append((a & b) | (both & c))
        digits.append(rows[0])
        rows = carries
    return digits


def _ones(rows: Words) -> Index:
    """How many rows have each bit, by unpacking them."""
    ones = np.zeros(64 * rows.shape[1], np.int64)
    for start in range(0, len(rows), _UNPACKED):
        block = rows[start : start + _UNPACKED]
        ones += _ones_of_few(block, np.zeros(1, np.intp), np.array([len(block)]))[0]
    return ones


class CodeRows(NamedTuple):
    """Codes, attributes x rows, and how much each row counts; None if 1."""

    codes: Codes
    weights: Array | None

    def take(self, rows: Index) -> CodeRows:
        """Some of the rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return CodeRows(self.codes.take(rows, axis=1), weights)


class CodeCells(StoredCells[CodeRows]):
    """Cells of codes; their class is the attribute `target`.

    Rows are kept in the order of their cells, so that counts of one cell are close in memory.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        target: int,
        unit: float,
        counts: Array,
        stores: list[CodeRows | None],
    ) -> None:
        super().__init__(stores, counts, unit)
        self.categories, self.target = sizes, target
        self.row_bytes = len(sizes) + 16

    @classmethod
    def of(cls, rows: CodeRows, sizes: tuple[int, ...], target: int, unit: float) -> CodeCells:
        """One cell with all rows."""
        n = rows.codes.shape[1]
        cells = cls(sizes, target, unit, np.zeros((0, 0, 0)), [rows])
        counts = cells._counts(rows, np.zeros(n, np.intp), 1)
        cells = cls(sizes, target, unit, counts, [rows])
        cells.sizes[0] = n
        return cells

    def empty(self, counts: Array) -> CodeCells:
        return CodeCells(self.categories, self.target, self.unit, counts, [])

    def split(
        self, store: CodeRows, splits: CellSplits, some: Index, last: bool
    ) -> NewCells[CodeRows]:
        rows, split = self.rows_of(splits.cell[some])
        attribute = splits.attribute[some]
        if len(some) == 1:
            answers = store.codes[attribute[0], rows]
        else:
            answers = store.codes[attribute[split], rows]
        number = np.unique(splits.places[some])
        number = number[number != NONE]
        local = np.full(splits.n_new + 1, len(number))
        local[number] = np.arange(len(number))
        numbers = local[
            np.concatenate([splits.places[some], np.full((len(some), 1), NONE)], axis=1)
        ]
        new_cell = np.take_along_axis(numbers, splits.branches[some], axis=1)[split, answers]
        return self._moved(store, rows, new_cell, number, last)

    def _moved(
        self, store: CodeRows, rows: slice | Index, new_cell: Index, number: Index, last: bool
    ) -> NewCells[CodeRows]:
        """The rows that go to new cells; those with a place beyond these are dropped."""
        order = order_by(new_cell, len(number) + 1)
        sizes = np.bincount(new_cell, minlength=len(number) + 1)[:-1]
        order = order[: int(sizes.sum())]
        moved = store.take(order + rows.start if isinstance(rows, slice) else rows[order])
        counts = self._counts(moved, new_cell[order], len(number))
        return NewCells(number, sizes, counts, None if last else moved)

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
            cells = cells.below(splits, last=splits is self.splits[-1])
        return cells.counts

    def _root(self, codes: Codes) -> CellCounts:
        if set(self.sizes) == {2}:
            words = packed(codes, self.places)
            return BitCells.of(words, len(self.sizes), self.target, 1.0)
        rows = CodeRows(np.ascontiguousarray(codes.T[list(self.places)]), None)
        return CodeCells.of(rows, self.sizes, self.target, 1.0)


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

    def below(self, splits: CellSplits, last: bool) -> StreamedCells:
        block = self._block
        further = CellsOfBlock(block.sizes, block.places, block.target, (*block.splits, splits))
        return StreamedCells(self._engine, further, self.unit)


@dataclass(frozen=True, eq=False)
class StreamedAnswers:
    """Reported answers of the records of an engine; `places` are their columns."""

    engine: CountEngine
    places: tuple[int, ...]

    @property
    def codes(self) -> Codes:
        """Refused: they do not fit in memory."""
        raise DataError("the records do not fit in memory, which this needs")

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all records."""
        return StreamedCells(self.engine, CellsOfBlock(sizes, self.places, target), 1 / n)


class ReportedAnswers(Protocol):
    """Reported answers to the true attributes."""

    @property
    def codes(self) -> Codes:
        """The reported codes, attributes x patterns."""

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all patterns, each with its share of n records."""


@dataclass(frozen=True, eq=False)
class CodedAnswers:
    """Answers of any number of categories."""

    codes: Codes

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all patterns, each with its share of n records."""
        if len(shares) == n:  # every record is a pattern of its own
            return CodeCells.of(CodeRows(self.codes, None), sizes, target, 1 / n)
        return CodeCells.of(CodeRows(self.codes, shares), sizes, target, 1.0)


@dataclass(frozen=True, eq=False)
class PackedAnswers:
    """Yes/no answers, one bit each. A pattern that was counted several times is repeated."""

    words: Words
    n_attributes: int

    @cached_property
    def codes(self) -> Codes:
        """The reported codes, attributes x patterns; only what goes from row to row needs them."""
        return np.ascontiguousarray(unpacked(self.words, self.n_attributes).T)

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all records."""
        words = self.words
        if len(shares) < n:
            words = np.repeat(words, np.rint(shares * n).astype(np.intp), axis=0)
        return BitCells.of(words, self.n_attributes, target, 1 / n)
