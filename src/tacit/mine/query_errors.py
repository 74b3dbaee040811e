"""Covariances of probabilities under a tree: from its reports, or from what a saved model kept.

Nodes are units: attributes, or all attributes of a joint matrix. A query is a set of events, each
with allowed categories per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.models.tree_distribution import ROOT, TreeDistribution, TreePart
from tacit.models.units import UnitReports
from tacit.reconstruction.estimate import mean_and_covariance

#: Weights that are computed at once.
_AT_ONCE = 2**22

#: Covariance of P(E) of some events, NaN if it is not known. The part of the tree is the one that
#: connects the attributes of the events.
QueryErrors = Callable[[TreePart, Sequence[Array]], Array]


def table_slopes(
    part: TreePart, allowed: Sequence[Array]
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """How P(E) changes with the tables of the edges and nodes of a part of the tree.

    Parent and child of every edge with P(E | x_e), events x parent x child, and every node with
    (1 - degree) P(E | x_v), events x categories.
    """
    by_node, by_edge = part.given(allowed)
    for parent, child in part.edges:
        yield (part.nodes[parent], part.nodes[child]), by_edge[child]
    for v, node in enumerate(part.nodes):
        others = len(part.children[v]) + (part.parents[v] != ROOT) - 1
        if others:
            yield (node,), -others * by_node[v]


def report_covariance(reports: UnitReports, part: TreePart, allowed: Sequence[Array]) -> Array:
    """From the reports that the tree was fitted to, by the delta method (see `query_weights`)."""
    return mean_and_covariance(query_weights(reports, part, allowed))[1]


def query_weights(
    reports: UnitReports, part: TreePart, allowed: Sequence[Array]
) -> Iterator[tuple[Array, Index]]:
    """r of the patterns, patterns x events, and how often each pattern counts, in blocks.

    Each report contributes to the table of every edge and every node by its weights W. A
    probability P(E) under the tree changes with these tables, to first order, as the mean over the
    reports of

        r(y) = sum over edges P(E | x_e) W_e(x_e, y)
             + sum over nodes (1 - degree) P(E | x_v) W_v(x_v, y)

    (also summed over x), so that its variance is the variance of r divided by n (delta method, with
    the covariance of all tables as the reports have it). Edges outside the part of the tree that
    connects the attributes of E cancel. What is not included: the choice of the edges, a dependence
    that no tree describes, and the move of tables with negative cells to the nearest distribution.
    """
    tables, n_events = [], len(allowed[0])
    for units, slopes in table_slopes(part, allowed):
        ordered = tuple(sorted(units))
        by_unit = slopes if units == ordered else slopes.swapaxes(1, 2)
        rows = by_unit.reshape(n_events, -1) @ reports.inverse(ordered)
        tables.append((rows.T, reports.cells(ordered)))
    for block in _pattern_blocks(len(reports.counts), n_events):
        sums = sum(rows[cells[block]] for rows, cells in tables)
        yield np.asarray(sums), reports.counts[block]


def _pattern_blocks(n_patterns: int, n_columns: int) -> Iterator[slice]:
    """Patterns whose weights fit in memory."""
    step = max(1, _AT_ONCE // n_columns)
    return (slice(start, start + step) for start in range(0, n_patterns, step))


@dataclass(frozen=True, eq=False)
class TableCells:
    """The cells of all tables of a tree, one after the other: edges, and nodes without any.

    The margin of a node with an edge is a sum of cells of that edge.
    """

    tree: TreeDistribution

    @cached_property
    def spans(self) -> dict[int, slice]:
        """The cells of the edge from the parent of a node, or of a node without edges."""
        spans, start = {}, 0
        for v, parent in enumerate(self.tree.parents):
            if parent == ROOT and self.tree.children[v]:
                continue
            size = self.tree.sizes[v] * (1 if parent == ROOT else self.tree.sizes[parent])
            spans[v] = slice(start, start + size)
            start += size
        return spans

    @property
    def number(self) -> int:
        """How many cells there are."""
        return int(max(span.stop for span in self.spans.values()))

    def covariance(self, reports: UnitReports) -> Array:
        """Covariance of all cells, from the reports."""
        tables = []
        for v in self.spans:
            parent = self.tree.parents[v]
            units = (v,) if parent == ROOT else (min(parent, v), max(parent, v))
            rows = reports.inverse(units)
            if parent > v:  # W has the smaller unit first, the cells of an edge the parent
                sizes = (self.tree.sizes[v], self.tree.sizes[parent])
                rows = rows.reshape(*sizes, -1).swapaxes(0, 1).reshape(rows.shape)
            tables.append((rows.T, reports.cells(units)))
        blocks = (
            (np.concatenate([rows[cells[b]] for rows, cells in tables], axis=1), reports.counts[b])
            for b in _pattern_blocks(len(reports.counts), self.number)
        )
        return mean_and_covariance(blocks)[1]

    def slopes(self, part: TreePart, allowed: Sequence[Array]) -> Array:
        """How P(E) of each event changes with each cell, events x cells."""
        n_events = len(allowed[0])
        slopes = np.zeros((n_events, self.number))
        for units, slope in table_slopes(part, allowed):
            child = units[-1]
            if len(units) == 1:  # a margin is a sum over the cells of an edge, if there is one
                parent, children = self.tree.parents[child], self.tree.children[child]
                if parent != ROOT:
                    slope = np.repeat(slope[:, None], self.tree.sizes[parent], axis=1)
                elif children:
                    child = children[0]
                    slope = np.repeat(slope, self.tree.sizes[child], axis=1)
            slopes[:, self.spans[child]] += slope.reshape(n_events, -1)
        return slopes


def saved_covariance(
    cells: TableCells, matrix: Array, part: TreePart, allowed: Sequence[Array]
) -> Array:
    """From the covariance of all tables, which a model of few cells saves, by the delta method."""
    slopes = cells.slopes(part, allowed)
    return np.asarray(slopes @ matrix @ slopes.T)


def saved_errors(
    margins: Sequence[Array], pairs: dict[int, Array], part: TreePart, allowed: Sequence[Array]
) -> Array:
    """From the standard errors of the margins and of the tables of edges.

    `margins[v]` belongs to node v, `pairs[v]` to the edge from its parent, parent x node. Known if
    every event is one cell of a margin or of an edge; not between events.
    """
    cells = [np.asarray(mask) for mask in allowed]
    errors = np.full(len(cells[0]), np.nan)
    single = np.all([mask.sum(axis=1) == 1 for mask in cells], axis=0)
    codes = [mask.argmax(axis=1)[single] for mask in cells]
    if len(part.nodes) == 1:
        errors[single] = margins[part.nodes[0]][codes[0]]
    elif len(part.nodes) == 2 and part.edges:
        parent, child = part.edges[0]
        errors[single] = pairs[part.nodes[child]][codes[parent], codes[child]]
    sure = np.all([mask.all(axis=1) for mask in cells], axis=0)
    errors[sure] = 0.0
    return np.where(np.eye(len(errors), dtype=bool), errors**2, np.nan)
