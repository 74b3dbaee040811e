"""rules: a tree as rules, each with its support and confidence and their standard errors.

A leaf E of class c is the rule "if E then c". Its shares x = P(E, class) are linear in the reported
shares and have a covariance V, so

    support     s = sum_k x_k         variance  1' V 1
    confidence  r = x_c / s           variance  g' V g,  g = (e_c - r 1) / s   (delta method)

A leaf of one class alone would have no error, however few its records. So the error of confidence
is at least that of m + 2 true records, one of them of the class and one not beside the m that were
seen (Agresti & Coull, 1998), where 1/m = Var(s)/s^2 + 1/n; m is the number of undisguised records.
Values are moved into [0, 1], which brings them nearer to the truth, so that intervals about them
cover it no less often. Where support is not positive, confidence is NaN. Conditions on one
attribute are joined: what CART's "not" branches leave is the list of the remaining categories.
Leaves that no record can come to, their conditions being at odds, give no rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Index
from tacit.attribute import Label
from tacit.label_codes import frame_of
from tacit.mine.tree.tree import Tree
from tacit.number_text import UNKNOWN, decimals, span
from tacit.privacy.outward import finite
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.schema import Schema
from tacit.table import Table

#: Rules of a printed table before it is cut.
_SHOWN = 40
#: Shares below this are rounding.
_NOTHING = 1e-12
_NUMBERS = ("support", "confidence")
#: The standard deviation of a share of which nothing is known: any from 0 to 1 is as likely.
TELLS_NOTHING = 1 / math.sqrt(12)


@dataclass(frozen=True)
class TreeRule:
    """If all conditions hold, `attribute` is `category`; see the module for the figures.

    `conditions` gives each attribute the categories that are allowed. `n_records` is the number of
    reported records that support and confidence were read from. Anything that takes rules by these
    names, such as `tacit.privacy.report`, takes these.
    """

    conditions: Mapping[str, tuple[Label, ...]]
    attribute: str
    category: Label
    support: float
    support_stderr: float
    confidence: float
    confidence_stderr: float
    n_records: int

    def support_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the support, inside [0, 1]."""
        return _interval(self.support, self.support_stderr, level)

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the confidence, inside [0, 1]; NaN where it is not known."""
        return _interval(self.confidence, self.confidence_stderr, level)

    def numbers(self, level: float = 0.95) -> dict[str, float]:
        """Support and confidence, each with its standard error and limits."""
        found: dict[str, float] = {}
        for name in _NUMBERS:
            value, stderr = getattr(self, name), getattr(self, f"{name}_stderr")
            lower, upper = _interval(value, stderr, level)
            found |= {name: value, f"{name}_stderr": stderr}
            found |= {f"{name}_lower": float(lower), f"{name}_upper": float(upper)}
        return found

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready; what is not known is None."""
        content = {
            "conditions": {name: list(labels) for name, labels in self.conditions.items()},
            "attribute": self.attribute,
            "category": self.category,
            "level": level,
            **self.numbers(level),
            "n_records": self.n_records,
        }
        plain: dict[str, Any] = finite(content)
        return plain

    def premise(self) -> str:
        """The conditions in words; empty if there are none."""
        return " and ".join(
            f"{name} = {joined(labels)}" for name, labels in self.conditions.items()
        )

    def __str__(self) -> str:
        """The rule in words; +- is one standard error."""
        premise = self.premise()
        told = [f"{name} {_percent_of(self, name)}" for name in _NUMBERS]
        conclusion = f"{self.attribute} = {self.category} ({', '.join(told)})"
        return f"if {premise} then {conclusion}" if premise else f"always {conclusion}"


class TreeRules(tuple[TreeRule, ...]):
    """The rules of a tree, in the order of its leaves; prints as a table."""

    __slots__ = ()

    @property
    def told(self) -> TreeRules:
        """Those whose confidence is known: without leaves where no records were found."""
        return TreeRules(rule for rule in self if not math.isnan(rule.confidence))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns; conditions in words."""
        found: dict[str, list[Any]] = {
            "conditions": [rule.premise() for rule in self],
            "attribute": [rule.attribute for rule in self],
            "category": [rule.category for rule in self],
        }
        numbers = [rule.numbers(level) for rule in self]
        names = numbers[0] if numbers else ()
        return found | {name: [each[name] for each in numbers] for name in names}

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The table as a data frame; `backend` is pandas, polars or pyarrow, else what is there."""
        return frame_of(self.columns(level), backend)

    def to_dict(self, level: float = 0.95) -> list[dict[str, Any]]:
        """JSON-ready rules."""
        return [rule.to_dict(level) for rule in self]

    def to_table(self, level: float = 0.95) -> Table:
        """The table as a person reads it."""
        limits = f"{100 * level:g} % interval"
        body = []
        for rule in self:
            row = [rule.premise() or "always", f"{rule.attribute} = {rule.category}"]
            for value, stderr, (lower, upper) in (
                (rule.support, rule.support_stderr, rule.support_interval(level)),
                (rule.confidence, rule.confidence_stderr, rule.confidence_interval(level)),
            ):
                known = tells_something(stderr, float(lower), float(upper))
                row += (
                    [decimals(value), span(float(lower), float(upper))] if known else [UNKNOWN] * 2
                )
            body.append(row)
        heads = ("if", "then", "support", limits, "confidence", limits)
        return Table(heads, body, align="llrrrr")

    def __str__(self) -> str:
        return self.to_table().cut(_SHOWN, "rule").text()

    def _repr_html_(self) -> str:
        return self.to_table().cut(_SHOWN, "rule").html()

    __repr__ = __str__


def rules(tree: Tree, schema: Schema, target: str, label: Index | None = None) -> TreeRules:
    """The rules of a tree, from the shares and covariance that it holds.

    `label` is the class of each node, where another tree than this one decides it: that which was
    grown, when shares were read from other reports since.
    """
    classes = tree.label if label is None else label
    found = (_rule(tree, schema, target, int(leaf), int(classes[leaf])) for leaf in tree.leaves)
    return TreeRules(rule for rule in found if all(rule.conditions.values()))


def _rule(tree: Tree, schema: Schema, target: str, leaf: int, code: int) -> TreeRule:
    conditions = {}
    for place, codes in allowed(tree, schema, leaf).items():
        attribute = schema.attributes[place]
        conditions[attribute.name] = tuple(attribute.categories[code] for code in codes)
    support, support_stderr, confidence, confidence_stderr = figures(tree, leaf, code)
    return TreeRule(
        conditions,
        target,
        schema[target].categories[code],
        support,
        support_stderr,
        confidence,
        confidence_stderr,
        tree.n_records,
    )


def allowed(tree: Tree, schema: Schema, node: int) -> dict[int, npt.NDArray[np.intp]]:
    """The categories of each attribute that conditions on the way to a node leave."""
    found: dict[int, npt.NDArray[np.intp]] = {}
    for place, codes in tree.conditions(node):
        inside = codes[codes < schema.sizes[place]]
        found[place] = np.intersect1d(found[place], inside) if place in found else inside
    return found


def figures(tree: Tree, node: int, code: int) -> tuple[float, float, float, float]:
    """Support and confidence of a class at a node, each followed by its standard error."""
    value, covariance = tree.value[node], tree.covariance[node]
    support, spread = float(value.sum()), max(float(covariance.sum()), 0.0)
    if support <= _NOTHING:
        return 0.0, math.sqrt(spread), math.nan, math.nan
    confidence = float(value[code]) / support
    slope = (np.eye(len(value))[code] - confidence) / support
    inside = min(max(confidence, 0.0), 1.0)
    least = _least(inside, 1 / (spread / support**2 + 1 / tree.n_records))
    variance = np.maximum(slope @ covariance @ slope, least)
    return min(support, 1.0), math.sqrt(spread), inside, math.sqrt(variance)


def _least(confidence: float, m: float) -> float:
    """The variance of a confidence among m records and one more of either kind."""
    share = (m * confidence + 1) / (m + 2)
    return share * (1 - share) / (m + 2)


def percent(value: float, stderr: float, plus_minus: str = "+-") -> str:
    """A share in per cent with its standard error; digits that the error lets matter, two at most.

    Unknown where the error is so large that a share drawn at random would be as good.

    >>> percent(0.1234, 0.0049), percent(0.7123, 0.031), percent(0.7123, math.nan)
    ('12.3 % +- 0.5', '71 % +- 3', '71.2 %')
    >>> percent(0, 0.99)
    'unknown'
    """
    if math.isnan(value) or stderr >= TELLS_NOTHING:
        return UNKNOWN
    if math.isnan(stderr):
        return f"{100 * value:.1f} %"
    digits = min(max(-math.floor(math.log10(100 * stderr)), 0), 2) if stderr > 0 else 0
    return f"{100 * value:.{digits}f} % {plus_minus} {100 * stderr:.{digits}f}"


def tells_something(stderr: float, lower: float, upper: float) -> bool:
    """Whether a share is known better than one drawn at random, and its interval excludes any.

    >>> tells_something(0.2, 0.1, 0.9), tells_something(0.27, 0, 1), tells_something(0.99, 0, 0.9)
    (True, False, False)
    """
    return stderr < TELLS_NOTHING and (lower > 0 or upper < 1)


def joined(labels: Iterable[object]) -> str:
    """Labels as alternatives.

    >>> joined(["a", "b"])
    'a or b'
    """
    return " or ".join(map(str, labels))


def _percent_of(rule: TreeRule, name: str) -> str:
    return percent(getattr(rule, name), getattr(rule, f"{name}_stderr"))


def _interval(value: float, stderr: float, level: float) -> Interval:
    lower, upper = normal_interval(np.asarray(value), np.asarray(stderr), level)
    return Interval(np.clip(lower, 0, 1), np.clip(upper, 0, 1))
