"""JointModel: a tree over the attributes of true records, and what follows from it.

Nodes are units: attributes, or all attributes of a joint matrix. Every query is a set of events,
each with allowed categories per attribute; `TreeDistribution` computes their probabilities and
`QueryErrors` their covariance. A condition divides by its own probability.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.core.label_codes import code_type
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, SchemaError
from tacit.models.dependence_tree import TreeEdge
from tacit.models.tree_distribution import ROOT, TreeDistribution, TreePart
from tacit.models.units import UnitReports
from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.estimate import mean_and_covariance
from tacit.reconstruction.events import event_codes, event_text
from tacit.reconstruction.interval import Interval, normal_interval

#: Weights that are computed at once.
_AT_ONCE = 2**22


class QueryErrors(ABC):
    """Covariances of probabilities under the tree."""

    @abstractmethod
    def covariance(self, part: TreePart, allowed: Sequence[Array]) -> Array:
        """Covariance of P(E) of some events, NaN if it is not known.

        `part` is the part of the tree that connects the attributes of the events.
        """


def table_slopes(
    part: TreePart, allowed: Sequence[Array]
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """How P(E) changes with the tables of the edges and nodes of a part of the tree.

    Parent and child of every edge with P(E | x_e), events x parent x child, and every node with
    (1 - degree) P(E | x_v), events x categories.
    """
    given = part.given(allowed)
    for parent, child in part.edges:
        yield (part.nodes[parent], part.nodes[child]), given.edges[child]
    for v, node in enumerate(part.nodes):
        others = len(part.children[v]) + (part.parents[v] != ROOT) - 1
        if others:
            yield (node,), -others * given.nodes[v]


@dataclass(frozen=True, eq=False)
class ReportErrors(QueryErrors):
    """From the reports that the tree was fitted to.

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

    reports: UnitReports

    def covariance(self, part: TreePart, allowed: Sequence[Array]) -> Array:
        """By the delta method."""
        return mean_and_covariance(self.weights(part, allowed))[1]

    def weights(self, part: TreePart, allowed: Sequence[Array]) -> Iterator[tuple[Array, Index]]:
        """r of the patterns, patterns x events, and how often each pattern counts, in blocks."""
        tables, n_events = [], len(allowed[0])
        for units, slopes in table_slopes(part, allowed):
            ordered = tuple(sorted(units))
            by_unit = slopes if units == ordered else slopes.swapaxes(1, 2)
            rows = by_unit.reshape(n_events, -1) @ self.reports.inverse(ordered)
            tables.append((rows.T, self.reports.cells(ordered)))
        for block in _pattern_blocks(len(self.reports.counts), n_events):
            sums = sum(rows[cells[block]] for rows, cells in tables)
            yield np.asarray(sums), self.reports.counts[block]


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


@dataclass(frozen=True, eq=False)
class SavedCovariance(QueryErrors):
    """From the covariance of all tables, which a model of few cells saves."""

    cells: TableCells
    matrix: Array

    def covariance(self, part: TreePart, allowed: Sequence[Array]) -> Array:
        """By the delta method."""
        slopes = self.cells.slopes(part, allowed)
        return np.asarray(slopes @ self.matrix @ slopes.T)


@dataclass(frozen=True, eq=False)
class SavedErrors(QueryErrors):
    """Standard errors of the margins and of the tables of edges; of others they are not known.

    `margins[v]` belongs to node v, `pairs[v]` to the edge from its parent, parent x node.
    """

    margins: tuple[Array, ...]
    pairs: dict[int, Array]

    def covariance(self, part: TreePart, allowed: Sequence[Array]) -> Array:
        """Known if every event is one cell of a margin or of an edge; not between events."""
        cells = [np.asarray(mask) for mask in allowed]
        errors = np.full(len(cells[0]), np.nan)
        single = np.all([mask.sum(axis=1) == 1 for mask in cells], axis=0)
        codes = [mask.argmax(axis=1)[single] for mask in cells]
        if len(part.nodes) == 1:
            errors[single] = self.margins[part.nodes[0]][codes[0]]
        elif len(part.nodes) == 2 and part.edges:
            parent, child = part.edges[0]
            errors[single] = self.pairs[part.nodes[child]][codes[parent], codes[child]]
        sure = np.all([mask.all(axis=1) for mask in cells], axis=0)
        errors[sure] = 0.0
        return np.where(np.eye(len(errors), dtype=bool), errors**2, np.nan)


#: Cells of a table that is asked for, at most.
MAX_CELLS = 4096
#: Smaller p-values are not told apart.
_SMALLEST = 1e-99
_METHOD = "Chow-Liu tree"
#: What is known about an edge, in the order of the fields of `TreeEdge`.
EDGE_COLUMNS = ("first", "second", "information", "stderr", "p_value", "adjusted_p_value")

Event = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class JointModel:
    """The joint distribution of true records as a tree.

    `units` has the attributes of each node. `error` is the family-wise error rate of the edges.
    """

    schema: Schema
    units: tuple[tuple[str, ...], ...]
    tree: TreeDistribution
    edges: tuple[TreeEdge, ...]
    n_records: int
    error: float
    errors: QueryErrors

    def probability(self, event: Event, given: Event | None = None) -> Estimate:
        """P(event | given)."""
        return self._estimate(self._masks(event), given, (), event_text(event))

    def table(self, attributes: Sequence[str], given: Event | None = None) -> Estimate:
        """P(attributes | given), one axis per attribute."""
        if isinstance(attributes, str) or not isinstance(attributes, Sequence) or not attributes:
            raise SchemaError(f"attributes must be a list of names, got {attributes!r}")
        if len(set(attributes)) < len(attributes):
            names = list(attributes)
            raise SchemaError(f"an attribute is asked for twice in {names}; name each once")
        chosen, text = tuple(self.schema[name] for name in attributes), ", ".join(attributes)
        cells = math.prod(a.size for a in chosen)
        if cells > MAX_CELLS:
            raise DataError(
                f"a table of {text} has {cells:,} cells, more than the {MAX_CELLS:,} allowed; ask "
                "for fewer attributes at once"
            )
        codes = np.indices([a.size for a in chosen]).reshape(len(chosen), -1)
        masks: dict[int, Array] = {}
        for attribute, column in zip(chosen, codes, strict=True):
            unit, categories = self._place[attribute.name]
            masks[unit] = masks.get(unit, 1.0) * (categories == column[:, None])
        return self._estimate(masks, given, chosen, text)

    def draws(self, n: int, rng: np.random.Generator) -> Codes:
        """Codes of n records from the distribution, records x attributes of the schema."""
        cells = self.tree.draws(n, rng)
        records = np.empty((n, len(self.schema)), code_type(self.schema), order="F")
        for column, name in enumerate(self.schema.names):
            unit, categories = self._place[name]
            records[:, column] = categories[cells[:, unit]]
        return records

    @cached_property
    def _place(self) -> dict[str, tuple[int, Index]]:
        """The unit of each attribute, and its category in each cell of the unit."""
        units: dict[str, tuple[int, Index]] = {}
        for unit, names in enumerate(self.units):
            categories = np.indices([self.schema[name].size for name in names])
            units |= {n: (unit, c.ravel()) for n, c in zip(names, categories, strict=True)}
        return units

    def _masks(self, event: Event) -> dict[int, Array]:
        """Which cells of each unit an event allows, 1 x cells."""
        masks: dict[int, Array] = {}
        for attribute, allowed in event_codes(event, self.schema).items():
            unit, categories = self._place[self.schema.names[attribute]]
            inside = np.isin(categories, allowed)[None].astype(np.float64)
            masks[unit] = masks.get(unit, 1.0) * inside
        return masks

    def _estimate(
        self,
        masks: dict[int, Array],
        given: Event | None,
        attributes: tuple[Attribute, ...],
        text: str,
    ) -> Estimate:
        """The estimate of events with these allowed cells per unit, events x cells."""
        conditions = {} if given is None else self._masks(given)
        n_events = len(next(iter(masks.values())))
        part = self.tree.around([*masks, *conditions])
        allowed = []
        for unit in part.nodes:
            mask = np.ones((n_events + 1, self.tree.sizes[unit]))  # the last one is the condition
            mask[:-1] = masks.get(unit, 1.0)
            allowed.append(mask * conditions.get(unit, 1.0))
        chances = part.probability(allowed)
        whole = float(chances[-1])
        if not whole > 0:
            raise DataError(f"the condition {event_text(given or {})} never occurs in this model")
        value = chances[:-1] / whole
        if conditions:
            slopes = np.column_stack([np.eye(n_events), -value]) / whole
            covariance = slopes @ self.errors.covariance(part, allowed) @ slopes.T
        else:  # what is certain has no error
            covariance = self.errors.covariance(part, [mask[:-1] for mask in allowed])
        value = value.reshape(tuple(a.size for a in attributes))
        name, n = (
            f"P({text})" if given is None else f"P({text} | {event_text(given)})",
            self.n_records,
        )
        estimate = Estimate.of_covariance(attributes, value, covariance, n, _METHOD, name)
        return replace(estimate, interval_of=partial(_interval, value, estimate.stderr))

    def edge_columns(self) -> dict[str, list[Any]]:
        """The edges as columns."""
        rows = [(label(edge.first), label(edge.second), *edge[2:]) for edge in self.edges]
        columns = list(zip(*rows, strict=True)) or [()] * len(EDGE_COLUMNS)
        return {name: list(column) for name, column in zip(EDGE_COLUMNS, columns, strict=True)}

    def to_table(self) -> Table:
        """The edges, most information first."""
        rows = []
        for first, second, information, stderr, _, adjusted in self.edges:
            p_value = "< 1e-99" if adjusted < _SMALLEST else f"{adjusted:.2g}"
            numbers = (decimals(information, stderr), decimals(stderr), p_value)
            rows.append((label(first), label(second), *numbers))
        heads = ("attribute", "attribute", "information (bits)", "std. error", "adjusted p-value")
        title = (
            f"tree of {number_of(len(self.schema), 'attribute')} with "
            f"{number_of(len(self.edges), 'edge')} from "
            f"{number_of(self.n_records, 'reported record')}; probability of any edge between "
            f"independent attributes at most {self.error:g}"
        )
        return Table(heads, rows, title, "llrrr")

    def notes(self) -> list[str]:
        """What the tree leaves out."""
        connected = {names for edge in self.edges for names in edge[:2]}
        alone = [names for names in self.units if names not in connected]
        if not alone or len(self.units) == 1:
            return []
        if len(alone) == len(self.units):
            return ["no pair depends on each other beyond noise: all attributes are independent"]
        shown = ", ".join(label(names) for names in alone[:5])
        more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
        return [f"no dependence beyond noise was found for {shown}{more}"]


def label(names: tuple[str, ...]) -> str:
    """The attributes of a unit as text."""
    return " & ".join(names)


def _interval(value: Array, stderr: Array, level: float) -> Interval:
    """Normal limits, cut at 0 and 1."""
    return Interval(*np.clip(normal_interval(value, stderr, level), 0, 1))
