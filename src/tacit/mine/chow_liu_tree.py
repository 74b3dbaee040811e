"""ChowLiuTree: the joint distribution of true records as a tree, from reported ones of any design.

Reported records are counted once. Each pair of attributes is tested for dependence beyond the
disguise and the sampling of true records (`pair_dependence`); the tree connects those that depend
on each other most (`dependence_tree`). Any probability follows from the tree, with a standard
error, and so do synthetic records. Every query is a set of events, each with allowed categories per
attribute; `TreeDistribution` computes their probabilities and `query_errors` their covariance. A
condition divides by its own probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import check_rate, check_whole, non_negative
from tacit.core.arrays import Array, Codes, Index
from tacit.core.design import Design
from tacit.core.label_codes import code_type, decode
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, SchemaError
from tacit.mine.fidelity import Fidelity, fidelity
from tacit.mine.miner import LearntModel, counted_records
from tacit.mine.query_errors import QueryErrors, report_covariance
from tacit.models.dependence_tree import MAX_PAIR_CELLS, TreeEdge, fit_tree
from tacit.models.tree_distribution import TreeDistribution
from tacit.models.units import UnitReports
from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.events import event_codes, event_text
from tacit.reconstruction.interval import Interval, normal_interval

#: Seed of the sets of attributes that fidelity compares if there are too many.
_SEED = 0
#: Cells of a table that is asked for, at most.
MAX_CELLS = 4096
#: Smaller p-values are not told apart.
_SMALLEST = 1e-99
_METHOD = "Chow-Liu tree"
#: What is known about an edge, in the order of the fields of `TreeEdge`.
EDGE_COLUMNS = ("first", "second", "information", "stderr", "p_value", "adjusted_p_value")

Event = Mapping[str, Any]


class ChowLiuTree(LearntModel):
    """The joint distribution of true records as a Chow-Liu tree.

    design: how the records were disguised; None for undisguised records, given as codes.
    error: probability that any edge connects attributes that are independent, at most.
    alpha: records for which independence counts in the table of an edge.
    """

    features_: Schema

    def __init__(
        self, design: Design | None = None, error: float = 0.05, alpha: float = 0.5
    ) -> None:
        self.design = design
        self.error = error
        self.alpha = alpha

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from reported records: a frame, codes, the path of a file or a pattern table.

        Without a design, X has codes of true records. `y` is not used.
        """
        self.check_arguments()
        patterns, design = counted_records(self, X, distinct=False)
        reports = UnitReports(patterns, design)
        _check_sizes(reports)
        tree, edges = fit_tree(reports, float(self.error), float(self.alpha))
        self.reports_ = reports
        self.labelled_ = self.design is not None and not isinstance(X, np.ndarray)
        self.fingerprint_ = design.fingerprint if self.design is not None else ""
        errors = partial(report_covariance, reports)
        self.restore(design.schema, reports.names, tree, edges, reports.n_records, errors)
        return self

    def restore(
        self,
        schema: Schema,
        units: Sequence[tuple[str, ...]],
        tree: TreeDistribution,
        edges: Sequence[TreeEdge],
        n_records: int,
        errors: QueryErrors,
    ) -> None:
        """Become the fitted model; `units` has the attributes of each node of the tree."""
        self.features_, self.n_features_in_ = schema, len(schema)
        self.units_, self.tree_, self.edges_ = tuple(units), tree, tuple(edges)
        self.n_records_, self.errors_ = n_records, errors
        #: The unit of each attribute, and its category in each cell of the unit.
        self._place: dict[str, tuple[int, Index]] = {}
        for unit, names in enumerate(self.units_):
            categories = np.indices([schema[name].size for name in names])
            self._place |= {n: (unit, c.ravel()) for n, c in zip(names, categories, strict=True)}

    def probability(self, event: Event, given: Event | None = None) -> Estimate:
        """P(event | given): the probability that a true record has these answers.

        An event names any number of attributes; a list allows any of its labels.
        """
        check_is_fitted(self)
        return self._estimate(self._masks(event), given, (), event_text(event))

    def table(self, attributes: Sequence[str], given: Event | None = None) -> Estimate:
        """P(attributes | given), one axis per attribute."""
        check_is_fitted(self)
        if isinstance(attributes, str) or not isinstance(attributes, Sequence) or not attributes:
            raise SchemaError(f"attributes must be a list of names, got {attributes!r}")
        if len(set(attributes)) < len(attributes):
            names = list(attributes)
            raise SchemaError(f"an attribute is asked for twice in {names}; name each once")
        chosen, text = tuple(self.features_[name] for name in attributes), ", ".join(attributes)
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
        cells = self.tree_.draws(n, rng)
        records = np.empty((n, len(self.features_)), code_type(self.features_), order="F")
        for column, name in enumerate(self.features_.names):
            unit, categories = self._place[name]
            records[:, column] = categories[cells[:, unit]]
        return records

    def _masks(self, event: Event) -> dict[int, Array]:
        """Which cells of each unit an event allows, 1 x cells."""
        masks: dict[int, Array] = {}
        for attribute, allowed in event_codes(event, self.features_).items():
            unit, categories = self._place[self.features_.names[attribute]]
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
        part = self.tree_.around([*masks, *conditions])
        allowed = []
        for unit in part.nodes:
            mask = np.ones((n_events + 1, self.tree_.sizes[unit]))  # the last one is the condition
            mask[:-1] = masks.get(unit, 1.0)
            allowed.append(mask * conditions.get(unit, 1.0))
        chances = part.probability(allowed)
        whole = float(chances[-1])
        if not whole > 0:
            raise DataError(f"the condition {event_text(given or {})} never occurs in this model")
        value = chances[:-1] / whole
        if conditions:
            slopes = np.column_stack([np.eye(n_events), -value]) / whole
            covariance = slopes @ self.errors_(part, allowed) @ slopes.T
        else:  # what is certain has no error
            covariance = self.errors_(part, [mask[:-1] for mask in allowed])
        value = value.reshape(tuple(a.size for a in attributes))
        name = f"P({text})" if given is None else f"P({text} | {event_text(given)})"
        n_records = self.n_records_
        estimate = Estimate.of_covariance(attributes, value, covariance, n_records, _METHOD, name)
        return replace(estimate, interval_of=partial(_interval, value, estimate.stderr))

    def edge_columns(self) -> dict[str, list[Any]]:
        """The edges as columns."""
        rows = [(label(edge.first), label(edge.second), *edge[2:]) for edge in self.edges_]
        columns = list(zip(*rows, strict=True)) or [()] * len(EDGE_COLUMNS)
        return {name: list(column) for name, column in zip(EDGE_COLUMNS, columns, strict=True)}

    def shown(self) -> Table:
        """The edges, most information first."""
        rows = []
        for first, second, information, stderr, _, adjusted in self.edges_:
            p_value = "< 1e-99" if adjusted < _SMALLEST else f"{adjusted:.2g}"
            numbers = (decimals(information, stderr), decimals(stderr), p_value)
            rows.append((label(first), label(second), *numbers))
        heads = ("attribute", "attribute", "information (bits)", "std. error", "adjusted p-value")
        title = (
            f"tree of {number_of(len(self.features_), 'attribute')} with "
            f"{number_of(len(self.edges_), 'edge')} from "
            f"{number_of(self.n_records_, 'reported record')}; probability of any edge between "
            f"independent attributes at most {float(self.error):g}"
        )
        return Table(heads, rows, title, "llrrr")

    def notes(self) -> list[str]:
        """What the tree leaves out."""
        check_is_fitted(self)
        connected = {names for edge in self.edges_ for names in edge[:2]}
        alone = [names for names in self.units_ if names not in connected]
        if not alone or len(self.units_) == 1:
            return []
        if len(alone) == len(self.units_):
            return ["no pair depends on each other beyond noise: all attributes are independent"]
        shown = ", ".join(label(names) for names in alone[:5])
        more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
        return [f"no dependence beyond noise was found for {shown}{more}"]

    def synthesize(self, n: int, rng: np.random.Generator, backend: str | None = None) -> Any:
        """n synthetic true records, drawn from the model.

        A frame of labels made by `backend` ("pandas", "polars" or "pyarrow", by default the first
        that is installed); an array of codes if the model was fitted to one.
        """
        check_is_fitted(self)
        check_whole("n", n, 1)
        if not isinstance(rng, np.random.Generator):
            raise DataError(
                f"rng must be a numpy.random.Generator such as numpy.random.default_rng(1), "
                f"got {rng!r}"
            )
        codes = self.draws(int(n), rng)
        if not self.labelled_ and backend is None:
            return codes
        return decode(codes, self.features_, backend)

    def fidelity(self, seed: int = _SEED) -> Fidelity:
        """How far tables of 1, 2 and 3 attributes are from the reconstructed ones, beside noise.

        With many attributes, some of the tables are drawn at random by `seed`.
        """
        check_is_fitted(self)
        if not hasattr(self, "reports_"):
            raise DataError("a saved model does not contain the reports; fit again for fidelity")
        rng = np.random.default_rng(seed)
        return fidelity(self.reports_, self.tree_, float(self.error), rng)

    def check_arguments(self) -> None:
        """Raise if an argument is not allowed."""
        check_rate("error", self.error)
        non_negative("alpha", self.alpha)


def _check_sizes(reports: UnitReports) -> None:
    """Raise if the table of two units is too large to be tested."""
    for sizes in (reports.sizes, reports.reports):
        largest = np.argsort(sizes)[::-1][:2]
        cells = int(np.prod([sizes[u] for u in largest]))
        if cells > MAX_PAIR_CELLS:
            names = " and ".join(", ".join(reports.names[u]) for u in largest)
            raise DataError(
                f"the table of {names} has {cells:,} cells, at most {MAX_PAIR_CELLS:,} are "
                "allowed; merge categories"
            )


def label(names: tuple[str, ...]) -> str:
    """The attributes of a unit as text."""
    return " & ".join(names)


def _interval(value: Array, stderr: Array, level: float) -> Interval:
    """Normal limits, cut at 0 and 1."""
    return Interval(*np.clip(normal_interval(value, stderr, level), 0, 1))
