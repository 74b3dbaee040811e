"""Attributes from the columns of a frame, and rules that cut numbers: median, quantiles, edges.

A rule looks at the values once and gives an Attribute with edges. The attribute is what is kept:
it is part of the schema and its JSON, and encode() applies it to numeric columns anywhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.core import frames
from tacit.core.arrays import Array
from tacit.core.schema import Attribute, BinningRule, Label, as_edge, in_order, text
from tacit.errors import SchemaError, unknown

__all__ = ["BinningRule", "Edges", "Quantiles", "edges", "median", "quantiles"]


@dataclass(frozen=True)
class Quantiles:
    """Cut at the 1/n, ..., (n-1)/n quantiles: the smallest v with F(v) >= i/n.

    Where F(v) = i/n exactly, the midpoint of v and the next value, so n = 2 is the usual median.
    Edges with no value between them collapse and none reaches the largest value, so every
    category is held by at least one record. A constant column is an error.
    Hyndman and Fan (1996), definition 2.
    """

    n: int

    def __post_init__(self) -> None:
        if type(self.n) is not int or self.n < 2:
            raise SchemaError(f"quantiles: n must be an integer of 2 or more, got {self.n!r}")

    def __call__(self, name: str, values: Array, /) -> Attribute:
        """The attribute cut at these quantiles of its values."""
        seen = np.unique(_finite(name, values))
        if len(seen) < 2:
            raise SchemaError(f"column {name!r} is constant ({_shown(seen[0])}): nothing to cut")
        at = np.arange(1, self.n) / self.n
        cuts = _apart(np.quantile(values, at, method="averaged_inverted_cdf"), seen).tolist()
        return Attribute(name, _labels(cuts), edges=cuts)


@dataclass(frozen=True)
class Edges:
    """Cut at given points, with readable categories unless given."""

    cuts: tuple[float, ...]
    labels: tuple[str, ...] | None = None

    def __call__(self, name: str, values: Array, /) -> Attribute:
        """The attribute with these edges, whatever the values."""
        labels = _labels(self.cuts) if self.labels is None else self.labels
        return Attribute(name, labels, edges=self.cuts)


def median() -> BinningRule:
    """Two categories, at most the median and above it."""
    return Quantiles(2)


def quantiles(n: int) -> BinningRule:
    """Up to n categories of about equally many records."""
    return Quantiles(n)


def edges(cuts: Iterable[float], labels: Iterable[str] | None = None) -> BinningRule:
    """Categories between given cut points; one label more than cuts where labels are given."""
    named = None if labels is None else tuple(in_order(labels, "edges: labels"))
    points = in_order(cuts, "edges: cuts")
    rule = Edges(tuple(as_edge(cut, "edges") for cut in points), named)
    if not rule.cuts:
        raise SchemaError("edges: needs at least one cut point")
    rule("edges", np.empty(0))
    return rule


def _finite(name: str, values: Array) -> Array:
    floats = np.asarray(values, dtype=np.float64)
    absent, endless = (int(np.count_nonzero(f(floats))) for f in (np.isnan, np.isinf))
    if absent:
        raise SchemaError(
            f"column {name!r} has {absent} missing values; drop them, or pass missing='missing' "
            "to Schema.infer"
        )
    if endless:
        raise SchemaError(
            f"column {name!r} has {endless} infinite values; make them missing cells, or cut at "
            "given points: edges([...])"
        )
    if not floats.size:
        raise SchemaError(f"column {name!r} has no values to learn from")
    return floats


def _apart(cuts: Array, seen: Array) -> Array:
    """The cuts that split the sorted distinct values, one for each split; at least one."""
    below = np.searchsorted(seen, cuts, side="right")
    splits, first = np.unique(below, return_index=True)
    splitting = cuts[first[splits < len(seen)]]
    return splitting if splitting.size else seen[-2:-1]


def _labels(cuts: Sequence[float]) -> list[str]:
    """'<= 37', '37 < x <= 50', '> 50'."""
    shown = [_shown(cut) for cut in cuts]
    between = [f"{low} < x <= {high}" for low, high in pairwise(shown)]
    return [f"<= {shown[0]}", *between, f"> {shown[-1]}"]


def _shown(value: float) -> str:
    """The shortest text that reads back as the value; whole numbers without '.0'."""
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))


_EXAMPLE = "{'age': quantiles(5)}"


def attributes(
    records: object, rules: Mapping[str, BinningRule], missing: Label | None, max_categories: int
) -> list[Attribute]:
    """An attribute per column, in the order of the columns."""
    frame = frames.open_frame(records)
    _check_options(rules, max_categories)
    for name in rules:
        if name not in frame.columns:
            raise SchemaError(unknown("column", name, frame.columns, " in bins"))
    return [
        _binned(name, frames.column(frame, name), rules[name], missing)
        if name in rules
        else _listed(name, frames.column(frame, name), missing, max_categories, _bin(name))
        for name in frame.columns
    ]


def listed_attributes(records: object, missing: Label, most: int) -> list[Attribute]:
    """The columns of a frame as attributes that are not disguised; missing cells get a category."""
    frame, advice = frames.open_frame(records), "make categories of its numbers first"
    columns = [(name, frames.column(frame, name)) for name in frame.columns]
    return [_listed(name, column, missing, most, advice) for name, column in columns]


def _check_options(rules: object, max_categories: object) -> None:
    if not isinstance(rules, Mapping):
        raise SchemaError(f"bins must map columns to rules, such as {_EXAMPLE}, got {rules!r}")
    for name, rule in rules.items():
        if not _is_rule(rule):
            allowed = "median(), quantiles(n) or edges(cuts) of tacit.core.binning"
            raise SchemaError(f"bins: the rule of column {name!r} must be {allowed}, got {rule!r}")
    if not isinstance(max_categories, int | np.integer) or max_categories < 2:
        raise SchemaError(f"max_categories must be an integer of 2 or more, got {max_categories!r}")


def _is_rule(rule: Any) -> bool:
    """Whether this can be called with a name and values; `median` itself cannot."""
    try:
        inspect.signature(rule).bind("name", np.empty(0))
    except (TypeError, ValueError):
        return False
    return True


def _binned(name: str, column: Any, rule: BinningRule, missing: Label | None) -> Attribute:
    """A numeric column cut by its rule; missing cells get a category of their own."""
    if not frames.is_numeric(column):
        raise SchemaError(f"bins: column {name!r} is not numeric; leave it out of bins")
    values = frames.numbers(column)
    absent = np.isnan(values)
    label = _label_for(int(absent.sum()), name, missing)
    learned: object = rule(name, values[~absent])
    if not isinstance(learned, Attribute):
        raise SchemaError(f"bins: the rule of column {name!r} gave {learned!r}, not an Attribute")
    if label is None or learned.missing is not None:
        return learned
    return Attribute(name, [*learned.categories, label], missing=label, edges=learned.edges)


def _listed(
    name: str, column: Any, missing: Label | None, max_categories: int, bin_it: str
) -> Attribute:
    """A column whose distinct values are the categories; `bin_it` says what to do with numbers."""
    seen = frames.distinct(column)
    count = np.bincount(seen.positions, minlength=len(seen.values))
    absent = np.array([value is None for value in seen.values])
    keep = ~absent if frames.is_ordered(column) else ~absent & (count > 0)
    values = [seen.values[i] for i in np.flatnonzero(keep)]
    categories = _in_order(column, name, values, bin_it)
    if len(categories) > max_categories:
        advice = bin_it if frames.is_numeric(column) else "leave it out or raise max_categories"
        raise SchemaError(
            f"column {name!r} holds {len(categories)} categories, over {max_categories}; {advice}"
        )
    label = _label_for(int(count[absent].sum()), name, missing)
    if label is not None and text(label) not in map(text, categories):
        categories.append(label)
    if len(categories) < 2:
        raise SchemaError(
            f"column {name!r} holds fewer than 2 categories ({categories}); leave it out, "
            "or write its Attribute by hand"
        )
    return Attribute(name, categories, missing=label)


def _in_order(column: Any, name: str, values: list[Any], bin_it: str) -> list[Any]:
    if frames.is_boolean(column):
        return [False, True]
    if frames.is_ordered(column):
        return values
    if not frames.is_numeric(column):
        return sorted(values)
    if any(math.isinf(value) for value in values):
        raise SchemaError(
            f"column {name!r} holds infinite numbers; make them missing cells, or pass "
            f"bins={{{name!r}: edges([...])}} (tacit.core.binning)"
        )
    if not all(value == int(value) for value in values):
        raise SchemaError(f"column {name!r} holds numbers that are not whole; {bin_it}")
    return sorted(int(value) for value in values)


def _label_for(absent: int, name: str, missing: Label | None) -> Label | None:
    """The category of the missing cells; None if no cell is missing."""
    if absent and missing is None:
        raise SchemaError(
            f"column {name!r} has {absent} missing cells; pass missing='missing' to give them "
            "a category of their own, which is disguised like the others"
        )
    return missing if absent else None


def _bin(name: str) -> str:
    return f"pass bins={{{name!r}: quantiles(5)}} (tacit.core.binning)"
