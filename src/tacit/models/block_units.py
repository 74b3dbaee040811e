"""BlockUnits: how each strategy of a coin disguises the attributes of a block.

A unit is what a strategy disguises by itself; B[reported, true] is its channel. Attributes are
packed into blocks of a few hundred reported cells; what any strategy handles as one unit stays in
one block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import block_diag

from tacit.core.arrays import Array, Index, row_products
from tacit.core.channel.coin import Attributes, UnitChannel
from tacit.core.channel.numbers import Unit

#: Cells of a block, unless one unit has more: its tables fit in the fastest cache.
CELLS = 512
_TINY = float(np.finfo(np.float64).tiny)

#: P(x_a | c) of every attribute, classes x categories; for the class itself, the identity.
Tables = list[Array]


@dataclass(frozen=True, eq=False)
class BlockUnits:
    """The units of a block under one strategy, their answers side by side in one row.

    `spans` has the true attributes of each unit and their slice of the row of true answers.
    `matrix` has B[reported, true] of all units along its diagonal. `cells` is the position of a
    unit's report in the row of reports, units x cells of the block.
    """

    spans: tuple[tuple[Unit, slice], ...]
    matrix: Array
    cells: Index

    def table(self, tables: Tables) -> Array:
        """prod_u q_u[c, y_u], classes x cells."""
        reported = self._true(tables) @ self.matrix.T
        return np.asarray(reported.take(self.cells, axis=1).prod(axis=1))

    def add(self, counts: Tables, tables: Tables, sums: Array) -> None:
        """Add the expected true categories, given sums of reports by class and cell.

        E[x | c] = D[c, x] sum_y B[y, x] sums[c, y] / q[c, y]
        """
        true = self._true(tables)
        reported = true @ self.matrix.T
        own, cells = np.empty_like(reported), self.cells.ravel()
        for row, by_cell in zip(own, sums, strict=True):
            row[:] = np.bincount(cells, np.concatenate([by_cell] * len(self.cells)), row.size)
        joint = true * (ratio(own, reported) @ self.matrix)
        for unit, span in self.spans:
            for a, table in _by_attribute(unit, joint[:, span], tables):
                counts[a] += table

    def posteriors(self, tables: Tables) -> Iterator[tuple[int, Array]]:
        """P(x_a | c, y) of each attribute: classes x categories x cells."""
        true = self._true(tables)
        reported = true @ self.matrix.T
        posterior = ratio(true[:, :, None] * self.matrix.T, reported[:, None])
        for (unit, span), cells in zip(self.spans, self.cells, strict=True):
            for a, table in _by_attribute(unit, posterior[:, span], tables):
                yield a, table.take(cells, axis=2)

    def _true(self, tables: Tables) -> Array:
        """D of every unit, classes x true answers."""
        units = ([tables[a] for a in unit] for unit, _ in self.spans)
        return np.concatenate([reduce(row_products, own) for own in units], axis=1)


def _by_attribute(unit: Unit, joint: Array, tables: Tables) -> Iterator[tuple[int, Array]]:
    """Sums over the other attributes of the unit; its joint answers are the second axis."""
    full = joint.reshape(len(joint), *(tables[a].shape[1] for a in unit), *joint.shape[2:])
    for axis, a in enumerate(unit):
        yield a, full.sum(axis=tuple(i + 1 for i in range(len(unit)) if i != axis))


def ratio(over: Array, under: Array) -> Array:
    """over / under, zero where both are zero."""
    return np.asarray(over / np.maximum(under, _TINY))


def tied_positions(n: int, units: Iterable[Unit]) -> list[list[int]]:
    """Positions that must share a block, because some strategy handles them as one unit."""
    parts = [{i} for i in range(n)]
    for unit in units:
        apart = [part for part in parts if part.isdisjoint(unit)]
        touched = [part for part in parts if not part.isdisjoint(unit)]
        parts = [*apart, set().union(*touched)]
    return sorted(sorted(part) for part in parts)


def packed_blocks(tied: Iterable[Sequence[int]], sizes: Sequence[int]) -> list[list[int]]:
    """Join neighbours as long as the block has few enough cells."""
    packs: list[list[int]] = []
    for members in tied:
        together = [*packs[-1], *members] if packs else []
        if packs and math.prod(sizes[i] for i in together) <= CELLS:
            packs[-1] = together
        else:
            packs.append(list(members))
    return packs


def side_by_side(
    units: Sequence[UnitChannel], reported: Attributes, members: Sequence[int]
) -> BlockUnits:
    """The units of the block that has these members."""
    codes = np.indices([reported[i].size for i in members]).reshape(len(members), -1)
    spans, cells, row, column = [], [], 0, 0
    for unit in units:
        reports = [codes[members.index(i)] for i in unit.reports]
        sizes = [reported[i].size for i in unit.reports]
        cells.append(row + np.ravel_multi_index(reports, sizes))
        spans.append((unit.attributes, slice(column, column + unit.matrix.shape[1])))
        row, column = row + unit.matrix.shape[0], column + unit.matrix.shape[1]
    return BlockUnits(tuple(spans), block_diag(*(unit.matrix for unit in units)), np.stack(cells))
