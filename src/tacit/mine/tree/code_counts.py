"""CodeCells: cells of records with any number of categories, counted attribute by attribute.

Rows are kept in the order of their cells, so that counts of one cell are close in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.mine.tree.cell_counts import CellSplits, NewCells, StoredCells, order_by
from tacit.mine.tree.tree import NONE


class CodeRows(NamedTuple):
    """Codes, attributes x rows, and how much each row counts; None if 1."""

    codes: Codes
    weights: Array | None

    def take(self, rows: Index) -> CodeRows:
        """Some of the rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return CodeRows(self.codes.take(rows, axis=1), weights)


class CodeCells(StoredCells[CodeRows]):
    """Cells of codes; their class is the attribute `target`."""

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
        found = cls(sizes, target, unit, np.zeros((0, 0, 0)), [rows])
        counts = found._counts(rows, np.zeros(n, np.intp), 1)
        found = cls(sizes, target, unit, counts, [rows])
        found.sizes[0] = n
        return found

    def empty(self, counts: Array) -> CodeCells:
        return CodeCells(self.categories, self.target, self.unit, counts, [])

    def split(
        self, store: CodeRows, splits: CellSplits, some: Index, last: bool
    ) -> NewCells[CodeRows]:
        rows, own = self.rows_of(splits.cell[some])
        attribute = splits.attribute[some]
        if len(some) == 1:
            answers = store.codes[attribute[0], rows]
        else:
            answers = store.codes[attribute[own], rows]
        number = np.unique(splits.places[some])
        number = number[number != NONE]
        local = np.full(splits.n_new + 1, len(number))
        local[number] = np.arange(len(number))
        places = local[np.concatenate([splits.places[some], np.full((len(some), 1), NONE)], axis=1)]
        place = np.take_along_axis(places, splits.branches[some], axis=1)[own, answers]
        return self._moved(store, rows, place, number, last)

    def _moved(
        self, store: CodeRows, rows: slice | Index, place: Index, number: Index, last: bool
    ) -> NewCells[CodeRows]:
        """The rows that go to new cells; those with a place beyond these are dropped."""
        order = order_by(place, len(number) + 1)
        sizes = np.bincount(place, minlength=len(number) + 1)[:-1]
        order = order[: int(sizes.sum())]
        found = store.take(order + rows.start if isinstance(rows, slice) else rows[order])
        counts = self._counts(found, place[order], len(number))
        return NewCells(number, sizes, counts, None if last else found)

    def _counts(self, rows: CodeRows, cell: Index, n: int) -> Array:
        """Counts of n cells, given the cell of each row."""
        classes = self.categories[self.target]
        base = cell * classes + rows.codes[self.target]
        scaled = {k: base * k for k in set(self.categories)}
        found = np.empty((n, sum(self.categories), classes))
        start = 0
        for codes, k in zip(rows.codes, self.categories, strict=True):
            counts = np.bincount(scaled[k] + codes, rows.weights, n * k * classes)
            found[:, start : start + k] = counts.reshape(n, classes, k).swapaxes(1, 2)
            start += k
        return found
