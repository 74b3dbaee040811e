"""BitCells: cells of yes/no records, packed into 64-bit words and counted bit by bit.

A record is a row of words, one bit per attribute. The ones of each bit are counted in the smaller
half of a split; those of the other half are the rest. Many rows are first reduced by carry-save
adders: 31 rows become 5, whose bits count 1, 2, 4, 8 and 16 (Harley & Seal; Warren, Hacker's
Delight, section 5-1). Few rows are unpacked into bytes, of which 255 can be added without a carry.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index
from tacit.mine.tree.cell_counts import CellSplits, NewCells, StoredCells, order_by, ranges

#: Records x words; bit b of word w is the answer to attribute 64 w + b.
Words = npt.NDArray[np.uint64]

#: Rows that are reduced to one row per plane, and how many planes these are.
_ADDED, _PLANES = 31, 5
#: Rows from which on adders are faster, rows that they process at once, and rows unpacked at once.
_MANY, _AT_ONCE, _UNPACKED = 64 * _ADDED, 256 * _ADDED, 32 * 255
#: Bytes of 0 or 1 that can be added in a byte.
_FULL = 255
_PACKED_AT_ONCE = 1 << 15


def packed(codes: Codes, places: Sequence[int]) -> Words:
    """The yes/no answers in these columns of records as words."""
    n, d = len(codes), len(places)
    columns: slice | list[int] = slice(None) if list(places) == list(range(d)) else list(places)
    found = np.zeros((n, -(-d // 64) * 8), np.uint8)
    for start in range(0, n, _PACKED_AT_ONCE):
        block = np.ascontiguousarray(codes[start : start + _PACKED_AT_ONCE, columns], np.uint8)
        bits = np.packbits(block, axis=1, bitorder="little")
        found[start : start + len(block), : bits.shape[1]] = bits
    return found.view("<u8")


def unpacked(words: Words, n_attributes: int) -> Codes:
    """The records that the words stand for, records x attributes."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=n_attributes, bitorder="little")


class BitCells(StoredCells[Words]):
    """Cells of packed records. The rows of a cell with class 0 come before those with class 1."""

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
        found = cls(target, unit, _counts(ones[None], sizes[None]), [words])
        found.sizes[0] = len(words)
        return found

    def empty(self, counts: Array) -> BitCells:
        return BitCells(self.target, self.unit, counts, [])

    def split(self, store: Words, splits: CellSplits, some: Index, last: bool) -> NewCells[Words]:
        cells = splits.cell[some]
        rows, own = self.rows_of(cells)
        attribute = splits.attribute[some]
        words = store[rows] if isinstance(rows, slice) else store.take(rows, axis=0)
        answers = _bits(words, attribute[own])
        key = (own * 2 + answers) * 2 + _bits(words, self.target)
        words = words.take(order_by(key, 4 * len(some)), axis=0)
        sizes = np.bincount(key, minlength=4 * len(some)).reshape(-1, 2, 2)
        counts = self._half_counts(words, sizes, cells)
        places = np.take_along_axis(splits.places[some], splits.branches[some, :2], axis=1)
        wanted = places >= 0
        by_half, start = sizes.sum(axis=2), np.cumsum(sizes.sum(axis=2)).reshape(-1, 2)
        start -= by_half
        stored = None
        if not last:
            stored = words
            if not wanted.all():
                stored = words.take(ranges(start[wanted], by_half[wanted]), axis=0)
        return NewCells(places[wanted], by_half[wanted], counts[wanted], stored)

    def _half_counts(self, words: Words, sizes: Index, cells: Index) -> Array:
        """Counts of both halves of each cell; `sizes` is cells x answers x classes."""
        smaller = sizes.argmin(axis=1)[:, None]
        start = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)
        own_start, own = (np.take_along_axis(x, smaller, axis=1)[:, 0] for x in (start, sizes))
        ones = ones_of_ranges(words, own_start.ravel(), own.ravel())
        n_attributes = self.counts.shape[1] // 2
        part = _counts(ones[:, :n_attributes].reshape(len(cells), 2, -1), own)
        other = self.counts[cells] - part
        first = (smaller[:, 0] == 0)[:, None]
        return np.stack([np.where(first, part, other), np.where(first, other, part)], axis=1)


def _bits(words: Words, attribute: int | Index) -> Index:
    """The answer of each row to an attribute, or to one per row."""
    word, bit = np.divmod(attribute, 64)
    if np.size(attribute) == 1:
        own = words[:, int(np.ravel(word)[0])]
    else:
        own = words[np.arange(len(words)), word]
    return ((own >> np.asarray(bit, np.uint64)) & np.uint64(1)).astype(np.intp)


def _counts(ones: Index, sizes: Index) -> Array:
    """Counts by answer and class from ones, cells x classes x attributes, and cells x classes."""
    both = np.stack([sizes[:, :, None] - ones, ones], axis=3)
    return both.transpose(0, 2, 3, 1).reshape(len(ones), -1, 2).astype(np.float64)


def ones_of_ranges(words: Words, start: Index, sizes: Index) -> Index:
    """How many rows of each range have each bit, ranges x bits."""
    found = np.zeros((len(start), 64 * words.shape[1]), np.int64)
    many = sizes >= _MANY
    for i in np.flatnonzero(many):
        found[i] = _ones_of_many(words[start[i] : start[i] + sizes[i]])
    few = np.flatnonzero(~many & (sizes > 0))
    step = np.cumsum(sizes[few]) // _UNPACKED
    for some in np.split(few, np.flatnonzero(np.diff(step)) + 1) if len(few) else ():
        found[some] = _ones_of_few(words, start[some], sizes[some])
    return found


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
    found = _ones(rows[n:])
    for power, plane in enumerate(planes):
        found += _ones(np.concatenate(plane)) << power
    return found


def _added(rows: list[Words]) -> list[Words]:
    """The sum of each bit over 31 rows, as 5 rows of binary digits, the lowest first."""
    found = []
    while rows:
        carries = []
        while len(rows) > 2:
            a, b, c = rows.pop(), rows.pop(), rows.pop()
            both = a ^ b
            rows.insert(0, both ^ c)
            carries.append((a & b) | (both & c))
        found.append(rows[0])
        rows = carries
    return found


def _ones(rows: Words) -> Index:
    """How many rows have each bit, by unpacking them."""
    found = np.zeros(64 * rows.shape[1], np.int64)
    for start in range(0, len(rows), _UNPACKED):
        block = rows[start : start + _UNPACKED]
        found += _ones_of_few(block, np.zeros(1, np.intp), np.array([len(block)]))[0]
    return found
