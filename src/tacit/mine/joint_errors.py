"""Standard errors of what a tree says: from the reports, or as far as a saved model has them.

Each report contributes to the table of every edge and every node by its weights W. A probability
P(E) under the tree changes with these tables, to first order, as the mean over the reports of

    r(y) = sum over edges P(E | x_e) W_e(x_e, y)
         + sum over nodes (1 - degree) P(E | x_v) W_v(x_v, y)

(also summed over x), so that its variance is the variance of r divided by n (delta method, with the
covariance of all tables as the reports have it). Edges outside the part of the tree that connects
the attributes of E cancel. What is not included: the choice of the edges, a dependence that no tree
describes, and the move of tables with negative cells to the nearest distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.mine.unit_tables import UnitTables
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.reconstruction.linear_estimate import mean_and_covariance

#: Weights that are computed at once.
_AT_ONCE = 2**22


class QueryErrors(ABC):
    """Covariances of probabilities under the tree."""

    @abstractmethod
    def covariance(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Array:
        """Covariance of P(E) of some events, NaN if it is not known.

        `part` is the part of the tree that connects the attributes of the events, and has these
        `nodes` of the tree.
        """


@dataclass(frozen=True, eq=False)
class ReportErrors(QueryErrors):
    """From the reports that the tree was fitted to."""

    tables: UnitTables

    def covariance(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Array:
        """By the delta method."""
        return mean_and_covariance(self.weights(nodes, part, allowed))[1]

    def weights(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Iterator[tuple[Array, Index]]:
        """r of the patterns, patterns x events, and how often each pattern counts, in blocks."""
        parts, counts = self._contributions(nodes, part, allowed), self.tables.multiplicity
        n_events = len(allowed[0])
        step = max(1, _AT_ONCE // n_events)
        for start in range(0, len(counts), step):
            block = slice(start, start + step)
            found = np.zeros((len(counts[block]), n_events))
            for cells, rows in parts:
                found += rows.T[cells[block]]
            yield found, counts[block]

    def _contributions(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> list[tuple[Index, Array]]:
        """For each edge and node: the reported cell of each pattern, and r by reported cell."""
        given = part.given(allowed)
        found = []
        for parent, child in part.edges:
            pair, chance = (nodes[parent], nodes[child]), given.edges[child]
            if pair[0] > pair[1]:
                pair, chance = pair[::-1], chance.transpose(0, 2, 1)
            rows = chance.reshape(len(chance), -1) @ self.tables.inverse(pair)
            found.append((self.tables.report_cells(pair), rows))
        for v, node in enumerate(nodes):
            others = len(part.children[v]) + (part.parents[v] != ROOT) - 1
            if others:
                rows = -others * given.nodes[v] @ self.tables.inverse((node,))
                found.append((self.tables.report_cells((node,)), rows))
        return found


@dataclass(frozen=True, eq=False)
class TableCells:
    """The cells of all tables of a tree, one after the other: edges, and nodes without any.

    The margin of a node with an edge is a sum of cells of that edge.
    """

    tree: TreeDistribution

    @cached_property
    def spans(self) -> dict[int, slice]:
        """The cells of the edge from the parent of a node, or of a node without edges."""
        found, start = {}, 0
        for v, parent in enumerate(self.tree.parents):
            if parent == ROOT and self.tree.children[v]:
                continue
            size = self.tree.sizes[v] * (1 if parent == ROOT else self.tree.sizes[parent])
            found[v] = slice(start, start + size)
            start += size
        return found

    @property
    def number(self) -> int:
        """How many cells there are."""
        return int(max(span.stop for span in self.spans.values()))

    def covariance(self, tables: UnitTables) -> Array:
        """Covariance of all cells, from the reports."""
        counts, parts = tables.multiplicity, []
        for v in self.spans:
            parent = self.tree.parents[v]
            units = (v,) if parent == ROOT else (min(parent, v), max(parent, v))
            rows = tables.inverse(units)
            if parent > v:  # W has the smaller unit first, the cells of an edge the parent
                sizes = (self.tree.sizes[v], self.tree.sizes[parent])
                rows = rows.reshape(*sizes, -1).swapaxes(0, 1).reshape(rows.shape)
            parts.append((rows.T, tables.report_cells(units)))
        step = max(1, _AT_ONCE // self.number)
        blocks = (
            (np.concatenate([r[c[s : s + step]] for r, c in parts], axis=1), counts[s : s + step])
            for s in range(0, len(counts), step)
        )
        return mean_and_covariance(blocks)[1]

    def slopes(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Array:
        """How P(E) of each event changes with each cell, events x cells."""
        given = part.given(allowed)
        found = np.zeros((len(given.chances), self.number))
        for _, child in part.edges:
            chance = given.edges[child]
            found[:, self.spans[nodes[child]]] += chance.reshape(len(found), -1)
        for v, node in enumerate(nodes):
            others = len(part.children[v]) + (part.parents[v] != ROOT) - 1
            if others:
                own, span = self._of_margin(node, given.nodes[v])
                found[:, span] -= others * own
        return found

    def _of_margin(self, node: int, chance: Array) -> tuple[Array, slice]:
        """What belongs to the margin of a node, as part of an edge if it has one."""
        parent, children = self.tree.parents[node], self.tree.children[node]
        if parent == ROOT and not children:
            return chance, self.spans[node]
        if parent != ROOT:
            spread = np.repeat(chance[:, None], self.tree.sizes[parent], axis=1)
            return spread.reshape(len(chance), -1), self.spans[node]
        return np.repeat(chance, self.tree.sizes[children[0]], axis=1), self.spans[children[0]]


@dataclass(frozen=True, eq=False)
class SavedCovariance(QueryErrors):
    """From the covariance of all tables, which a model of few cells saves."""

    cells: TableCells
    matrix: Array

    def covariance(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Array:
        """By the delta method."""
        slopes = self.cells.slopes(nodes, part, allowed)
        return np.asarray(slopes @ self.matrix @ slopes.T)


@dataclass(frozen=True, eq=False)
class SavedErrors(QueryErrors):
    """Standard errors of the margins and of the tables of edges; of others they are not known.

    `margins[v]` belongs to node v, `pairs[v]` to the edge from its parent, parent x node.
    """

    margins: tuple[Array, ...]
    pairs: dict[int, Array]

    def covariance(
        self, nodes: Sequence[int], part: TreeDistribution, allowed: Sequence[Array]
    ) -> Array:
        """Known if every event is one cell of a margin or of an edge; not between events."""
        cells = [np.asarray(each) for each in allowed]
        errors = np.full(len(cells[0]), np.nan)
        single = np.all([each.sum(axis=1) == 1 for each in cells], axis=0)
        codes = [each.argmax(axis=1)[single] for each in cells]
        if len(nodes) == 1:
            errors[single] = self.margins[nodes[0]][codes[0]]
        elif len(nodes) == 2 and part.edges:
            parent, child = part.edges[0]
            errors[single] = self.pairs[nodes[child]][codes[parent], codes[child]]
        sure = np.all([each.all(axis=1) for each in cells], axis=0)
        errors[sure] = 0.0
        return np.where(np.eye(len(errors), dtype=bool), errors**2, np.nan)
