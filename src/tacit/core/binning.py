"""Rules that cut a numeric column into categories: median, quantiles, edges.

A rule looks at the values once and gives an Attribute with edges. The attribute is what is kept:
it is part of the schema and its JSON, and encode() applies it to numeric columns anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.core.arrays import Array
from tacit.core.attribute import Attribute, BinningRule, as_edge, in_order
from tacit.errors import SchemaError

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
        found = _apart(np.quantile(values, at, method="averaged_inverted_cdf"), seen).tolist()
        return Attribute(name, _labels(found), edges=found)


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
    kept = cuts[first[splits < len(seen)]]
    return kept if kept.size else seen[-2:-1]


def _labels(cuts: Sequence[float]) -> list[str]:
    """'<= 37', '37 < x <= 50', '> 50'."""
    shown = [_shown(cut) for cut in cuts]
    between = [f"{low} < x <= {high}" for low, high in pairwise(shown)]
    return [f"<= {shown[0]}", *between, f"> {shown[-1]}"]


def _shown(value: float) -> str:
    """The shortest text that reads back as the value; whole numbers without '.0'."""
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(float(value))
