"""rules: a tree as rules, with their support and confidence.

A leaf E of class c is the rule "if E then c" (see `tree_view` for its figures). All conditions on
one attribute become one list of allowed categories. A leaf that no record can reach, because its
conditions exclude each other, gives no rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.attribute import Label
from tacit.label_codes import frame_of
from tacit.mine.tree.tree_view import UNINFORMATIVE, TreeView, alternatives, percent
from tacit.number_text import UNKNOWN, decimals, span
from tacit.outward import finite
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.table import Table

#: Rules of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True)
class TreeRule:
    """If all conditions hold, `attribute` is `category`.

    `conditions` has the allowed categories of each attribute. Support and confidence were estimated
    from `n_records` reported records. `tacit.privacy.report` accepts these rules.
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
        """Confidence limits of the confidence, inside [0, 1]; NaN if it is not known."""
        return _interval(self.confidence, self.confidence_stderr, level)

    def numbers(self, level: float = 0.95) -> dict[str, float]:
        """Support and confidence, each with its standard error and limits."""
        support, confidence = self.support_interval(level), self.confidence_interval(level)
        return {
            "support": self.support,
            "support_stderr": self.support_stderr,
            "support_lower": float(support.lower),
            "support_upper": float(support.upper),
            "confidence": self.confidence,
            "confidence_stderr": self.confidence_stderr,
            "confidence_lower": float(confidence.lower),
            "confidence_upper": float(confidence.upper),
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready; unknown numbers are None."""
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
        conditions = self.conditions.items()
        return " and ".join(f"{name} = {alternatives(labels)}" for name, labels in conditions)

    def __str__(self) -> str:
        """The rule in words; +- is one standard error."""
        premise = self.premise()
        support = percent(self.support, self.support_stderr)
        confidence = percent(self.confidence, self.confidence_stderr)
        figures = f"(support {support}, confidence {confidence})"
        conclusion = f"{self.attribute} = {self.category} {figures}"
        return f"if {premise} then {conclusion}" if premise else f"always {conclusion}"


class TreeRules(tuple[TreeRule, ...]):
    """The rules of a tree, in the order of its leaves; prints as a table."""

    __slots__ = ()

    @property
    def known(self) -> TreeRules:
        """The rules whose confidence is known; leaves without records have none."""
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
        """A data frame of pandas, polars or pyarrow; without `backend`, of what is installed."""
        return frame_of(self.columns(level), backend)

    def to_dict(self, level: float = 0.95) -> list[dict[str, Any]]:
        """JSON-ready rules."""
        return [rule.to_dict(level) for rule in self]

    def to_table(self, level: float = 0.95) -> Table:
        """The rules as a table to print."""
        interval = f"{100 * level:g} % interval"
        body = []
        for rule in self:
            row = [rule.premise() or "always", f"{rule.attribute} = {rule.category}"]
            numbers = rule.numbers(level)
            for name in ("support", "confidence"):
                stderr, *limits = (numbers[f"{name}_{end}"] for end in ("stderr", "lower", "upper"))
                known = is_informative(stderr, *limits)
                row += [decimals(numbers[name]), span(*limits)] if known else [UNKNOWN] * 2
            body.append(row)
        heads = ("if", "then", "support", interval, "confidence", interval)
        return Table(heads, body, align="llrrrr")

    def __str__(self) -> str:
        return self.to_table().cut(_SHOWN, "rule").text()

    def _repr_html_(self) -> str:
        return self.to_table().cut(_SHOWN, "rule").html()

    __repr__ = __str__


def rules(view: TreeView) -> TreeRules:
    """The rules of a tree, one per leaf."""
    found = (_rule(view, int(leaf)) for leaf in view.tree.leaves)
    return TreeRules(rule for rule in found if all(rule.conditions.values()))


def _rule(view: TreeView, leaf: int) -> TreeRule:
    conditions = {}
    for a, codes in view.allowed(leaf).items():
        attribute = view.schema.attributes[a]
        conditions[attribute.name] = tuple(attribute.categories[code] for code in codes)
    n_records = view.tree.n_records
    return TreeRule(
        conditions, view.target, view.category(leaf), *view.figures(leaf), n_records=n_records
    )


def is_informative(stderr: float, lower: float, upper: float) -> bool:
    """Whether a share is known better than a random one and its interval excludes some values.

    >>> is_informative(0.2, 0.1, 0.9), is_informative(0.27, 0, 1), is_informative(0.99, 0, 0.9)
    (True, False, False)
    """
    return stderr < UNINFORMATIVE and (lower > 0 or upper < 1)


def _interval(value: float, stderr: float, level: float) -> Interval:
    lower, upper = normal_interval(np.asarray(value), np.asarray(stderr), level)
    return Interval(np.clip(lower, 0, 1), np.clip(upper, 0, 1))
