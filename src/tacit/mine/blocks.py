"""Blocks: a group's attributes joined, so that a pattern is looked up in a few small tables.

A strategy disguises units of attributes, each by itself: given class c and strategy s, a report has

    P(y | s, c) = prod_u q[s,u][c, y_u],    q[s,u] = D_u B[s,u]^T,    D_u[c] = kron_a P(x_a | c).

Units are joined into blocks of some hundred reported cells; what any strategy handles as one unit
stays in one block. Then P(y | s, c) takes one look-up a block, and the way back one sum over the
patterns a block: what belongs to units and attributes is done on cells of blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tacit.arrays import Array, Index
from tacit.channel.coin import Unit
from tacit.counting.keys import Unsigned
from tacit.mine.learned_model import Tables

#: Products that may get smaller are rescaled, long before they are rounded to zero.
_VANISHING = 1e-150
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class BlockUnits:
    """The units of a block under one strategy, their answers side by side in one row.

    `spans` has each unit's true attributes with its place in the row of true answers, `matrix` the
    B[reported, true] of all along its diagonal, and `cells` where a unit's report stands in the
    row of reports, units x cells of the block.
    """

    spans: tuple[tuple[Unit, slice], ...]
    matrix: Array
    cells: Index

    def table(self, tables: Tables) -> Array:
        """prod_u q_u[c, y_u], classes x cells."""
        reported = self._reported(self._true(tables))
        return np.asarray(reported.take(self.cells, axis=1).prod(axis=1))

    def add(self, counts: Tables, tables: Tables, sums: Array) -> None:
        """Add the expected true categories, from sums of reports by class and cell.

        E[x | c] = D[c, x] sum_y B[y, x] sums[c, y] / q[c, y]
        """
        true = self._true(tables)
        reported = self._reported(true)
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
        known = ratio(true[:, :, None] * self.matrix.T, self._reported(true)[:, None])
        for (unit, span), cells in zip(self.spans, self.cells, strict=True):
            for a, table in _by_attribute(unit, known[:, span], tables):
                yield a, table.take(cells, axis=2)

    def _true(self, tables: Tables) -> Array:
        """D of every unit, classes x true answers."""
        return np.concatenate([_joint(unit, tables) for unit, _ in self.spans], axis=1)

    def _reported(self, true: Array) -> Array:
        """q of every unit, classes x reported answers."""
        return np.asarray(true @ self.matrix.T)


@dataclass(frozen=True, eq=False)
class AttributeBlock:
    """Some attributes of a group: the cell of each pattern, and the units of each strategy."""

    codes: Unsigned
    n_cells: int
    strategies: tuple[BlockUnits, ...]

    def table(self, tables: Tables) -> Array:
        """P(y | s, c) of the block's part of a report, strategies x classes x cells."""
        return np.stack([units.table(tables) for units in self.strategies])

    def sums(self, codes: Index, weights: Array) -> Array:
        """Weights of patterns summed by cell, strategies x classes x cells."""
        found = [np.bincount(codes, row, self.n_cells) for way in weights for row in way]
        return np.reshape(found, (*weights.shape[:2], -1))

    def add(self, counts: Tables, tables: Tables, sums: Array) -> None:
        """Add the expected true categories, from sums by strategy, class and cell."""
        for units, own in zip(self.strategies, sums, strict=True):
            units.add(counts, tables, own)

    def posteriors(self, tables: Tables) -> Iterator[tuple[int, int, Array]]:
        """P(x_a | s, c, y): strategy, attribute, and classes x categories x cells."""
        for s, units in enumerate(self.strategies):
            for a, table in units.posteriors(tables):
                yield s, a, table


@dataclass(frozen=True, eq=False)
class BlockTables:
    """Tables of a group's blocks, and before which the products so far must be rescaled."""

    tables: tuple[Array, ...]
    vanishing: tuple[bool, ...]

    def ways(self, codes: Sequence[Index]) -> tuple[Array, Array]:
        """w_s P(y | s, c), strategies x classes x patterns, and the logs of its scale."""
        logs = np.zeros(len(codes[0]))
        ways = self.tables[0].take(codes[0], axis=2)
        for table, vanishing, own in zip(
            self.tables[1:], self.vanishing[1:], codes[1:], strict=True
        ):
            if vanishing:
                logs += rescale(ways)
            ways *= table.take(own, axis=2)
        return ways, logs


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """A group: how often each strategy comes up, and its blocks."""

    weights: Array
    blocks: tuple[AttributeBlock, ...]

    def look_up(self, tables: Tables) -> BlockTables:
        """The tables of the blocks; the weights of the strategies are in the first."""
        found = [block.table(tables) for block in self.blocks]
        vanishing, least = [], 1.0
        for low in (float(table.min(where=table > 0, initial=1)) for table in found):
            vanishing.append(least * low < _VANISHING)
            least = low if vanishing[-1] else least * low
        found[0] *= self.weights[:, None, None]
        return BlockTables(tuple(found), tuple(vanishing))


def ratio(over: Array, under: Array) -> Array:
    """over / under, zero where both are."""
    return np.asarray(over / np.maximum(under, _TINY))


def rescale(values: Array) -> Array:
    """Divide each pattern's values by the largest, in place; the logs of what it was."""
    top = values.reshape(-1, values.shape[-1]).max(axis=0)
    top[top == 0] = 1
    values /= top
    return np.asarray(np.log(top))


def _joint(unit: Unit, tables: Tables) -> Array:
    """D: distribution of the unit's joint answer, classes x true answers."""
    own = (tables[a] for a in unit)
    return reduce(lambda d, t: (d[:, :, None] * t[:, None]).reshape(len(d), -1), own)


def _by_attribute(unit: Unit, joint: Array, tables: Tables) -> Iterator[tuple[int, Array]]:
    """Sums over the other attributes of the unit; its joint answers are the second axis."""
    if len(unit) == 1:
        yield unit[0], joint
        return
    full = joint.reshape(len(joint), *(tables[a].shape[1] for a in unit), *joint.shape[2:])
    for axis, a in enumerate(unit):
        yield a, full.sum(axis=tuple(i + 1 for i in range(len(unit)) if i != axis))
