"""JointModel: a tree over the attributes of true records, and what follows from it.

Nodes are units: attributes, or all attributes of a joint matrix. Every query is a set of events,
each with allowed categories per attribute; `TreeDistribution` computes their probabilities and
`QueryErrors` their covariance. A condition divides by its own probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.core.label_codes import code_type
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, SchemaError
from tacit.mine.dependence_tree import TreeEdge
from tacit.mine.joint_errors import QueryErrors
from tacit.models.tree_distribution import TreeDistribution
from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.events import event_codes, event_text
from tacit.reconstruction.interval import Interval, normal_interval

#: Cells of a table that is asked for, at most.
MAX_CELLS = 4096
#: Smaller p-values are not told apart.
_SMALLEST = 1e-99
_METHOD = "Chow-Liu tree"

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
        masks = self._masks(event_codes(event, self.schema))
        name = event_text(event) + _condition_text(given)
        return self._estimate({u: mask[None] for u, mask in masks.items()}, given, (), f"P({name})")

    def table(self, attributes: Sequence[str], given: Event | None = None) -> Estimate:
        """P(attributes | given), one axis per attribute."""
        chosen = self._attributes(attributes)
        cells = math.prod(a.size for a in chosen)
        if cells > MAX_CELLS:
            names = ", ".join(a.name for a in chosen)
            raise DataError(
                f"a table of {names} has {cells:,} cells, more than the {MAX_CELLS:,} allowed; ask "
                "for fewer attributes at once"
            )
        codes = np.indices([a.size for a in chosen]).reshape(len(chosen), -1)
        masks: dict[int, Array] = {}
        for attribute, own in zip(chosen, codes, strict=True):
            unit, categories = self._place[attribute.name]
            masks[unit] = masks.get(unit, 1.0) * (categories == own[:, None])
        name = ", ".join(a.name for a in chosen) + _condition_text(given)
        return self._estimate(masks, given, chosen, f"P({name})")

    def draws(self, n: int, rng: np.random.Generator) -> Codes:
        """Codes of n records from the distribution, records x attributes of the schema."""
        cells = self.tree.draws(n, rng)
        found = np.empty((n, len(self.schema)), code_type(self.schema), order="F")
        for place, name in enumerate(self.schema.names):
            unit, categories = self._place[name]
            found[:, place] = categories[cells[:, unit]]
        return found

    @cached_property
    def _place(self) -> dict[str, tuple[int, Index]]:
        """The unit of each attribute, and its category in each cell of the unit."""
        found: dict[str, tuple[int, Index]] = {}
        for unit, names in enumerate(self.units):
            categories = np.indices([self.schema[name].size for name in names])
            found |= {n: (unit, c.ravel()) for n, c in zip(names, categories, strict=True)}
        return found

    def _attributes(self, names: Sequence[str]) -> tuple[Attribute, ...]:
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise SchemaError(f"attributes must be a list of names, got {names!r}")
        if len(set(names)) < len(names):
            raise SchemaError(f"an attribute is asked for twice in {list(names)}; name each once")
        return tuple(self.schema[name] for name in names)

    def _masks(self, codes: Mapping[int, Sequence[int]]) -> dict[int, Array]:
        """Which cells of each unit an event allows."""
        masks: dict[int, Array] = {}
        for place, own in codes.items():
            unit, categories = self._place[self.schema.names[place]]
            own_cells = np.isin(categories, own).astype(np.float64)
            masks[unit] = own_cells * masks[unit] if unit in masks else own_cells
        return masks

    def _estimate(
        self,
        masks: dict[int, Array],
        given: Event | None,
        attributes: tuple[Attribute, ...],
        name: str,
    ) -> Estimate:
        """The estimate of events with these allowed cells per unit, events x cells."""
        known = {} if given is None else self._masks(event_codes(given, self.schema))
        n_events = len(next(iter(masks.values())))
        nodes, part = self.tree.around([*masks, *known])
        allowed = []
        for unit in nodes:
            each = np.ones((n_events + 1, self.tree.sizes[unit]))  # the last one is the condition
            each[:-1] = masks.get(unit, 1.0)
            allowed.append(each * known.get(unit, 1.0))
        chances = part.probability(allowed)
        whole = float(chances[-1])
        if not whole > 0:
            raise DataError(f"the condition {event_text(given or {})} never occurs in this model")
        value = chances[:-1] / whole
        slopes = np.eye(n_events, n_events + 1)
        slopes[:, -1] = -value
        covariance = self._covariance(nodes, part, allowed, slopes / whole, bool(known))
        stderr = np.sqrt(np.maximum(np.diagonal(covariance), 0))
        shape = tuple(a.size for a in attributes)
        return Estimate(
            attributes,
            value.reshape(shape),
            stderr.reshape(shape),
            self.n_records,
            _METHOD,
            name,
            partial(np.asarray, covariance),
            interval_of=partial(_interval, value.reshape(shape), stderr.reshape(shape)),
        )

    def _covariance(
        self,
        nodes: Sequence[int],
        part: TreeDistribution,
        allowed: Sequence[Array],
        slopes: Array,
        conditioned: bool,
    ) -> Array:
        """Covariance of the quotients; the certain condition has no error."""
        if not conditioned:
            return self.errors.covariance(nodes, part, [each[:-1] for each in allowed])
        return np.asarray(slopes @ self.errors.covariance(nodes, part, allowed) @ slopes.T)

    def edge_columns(self) -> dict[str, list[Any]]:
        """The edges as columns."""
        names = ("first", "second", "information", "stderr", "p_value", "adjusted_p_value")
        rows = [
            (label(e.first), label(e.second), e.information, e.stderr, e.p_value, e.adjusted)
            for e in self.edges
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return {name: list(column) for name, column in zip(names, columns, strict=True)}

    def to_table(self) -> Table:
        """The edges, most information first."""
        rows = [
            (
                label(e.first),
                label(e.second),
                decimals(e.information, e.stderr),
                decimals(e.stderr),
                "< 1e-99" if e.adjusted < _SMALLEST else f"{e.adjusted:.2g}",
            )
            for e in self.edges
        ]
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
        alone = [names for names in self.units if not any(names in _ends(e) for e in self.edges)]
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


def _ends(edge: TreeEdge) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return edge.first, edge.second


def _condition_text(given: Event | None) -> str:
    return "" if given is None else f" | {event_text(given)}"


def _interval(value: Array, stderr: Array, level: float) -> Interval:
    """Normal limits, cut at 0 and 1."""
    lower, upper = normal_interval(value, stderr, level)
    return Interval(np.clip(lower, 0, 1), np.clip(upper, 0, 1))
