"""StreamedCells: cells of records that do not fit in memory, counted in one pass per level.

Blocks of records go through all splits so far; what is kept is the sum of their counts. An engine
that works in parallel counts its parts where they are (see `CountEngine.total`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.errors import DataError
from tacit.mine.tree.bit_counts import BitCells, packed
from tacit.mine.tree.cell_counts import CellCounts, CellSplits
from tacit.mine.tree.code_counts import CodeCells, CodeRows
from tacit.records import CountEngine


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
    """Cells of the records of an engine; they have no rows in memory."""

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
