"""rules: a tree as rules, with their support and confidence.

A leaf E of class c is the rule "if E then c" (see `tree_view` for its figures). All conditions on
one attribute become one list of allowed categories. A leaf that no record can reach, because its
conditions exclude each other, gives no rule. `rule_intervals` says how the limits are found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.core.arrays import Index
from tacit.core.attribute import Label
from tacit.core.label_codes import frame_of
from tacit.mine.tree.rule_intervals import (
    NO_NOISE,
    RuleNoise,
    confidence_limits,
    deviates,
    log_choices,
    size_of_rule,
    support_limits,
)
from tacit.mine.tree.tree_view import UNINFORMATIVE, TreeView, alternatives, percent
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.rounding import finite
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.interval import Interval

#: Rules of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True)
class TreeRule:
    """If all conditions hold, `attribute` is `category`.

    `conditions` has the allowed categories of each attribute. Support and confidence were estimated
    from `n_records` reported records; `log_choices` is above 0 if the same records chose the tree,
    and makes the intervals of all its rules hold together. `noise` is that of the disguise.
    `tacit.privacy.report` accepts these rules.
    """

    conditions: Mapping[str, tuple[Label, ...]]
    attribute: str
    category: Label
    support: float
    support_stderr: float
    confidence: float
    confidence_stderr: float
    n_records: int
    noise: RuleNoise = NO_NOISE
    log_choices: float = 0.0

    @property
    def chosen_by_its_records(self) -> bool:
        """Whether the records of the estimates also chose the tree."""
        return self.log_choices > 0

    def support_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the support, inside [0, 1]."""
        z = deviates(level, self.log_choices)
        return support_limits(self.support, self.noise, self.n_records, z)

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the confidence, inside [0, 1]; NaN if it is not known."""
        z = deviates(level, self.log_choices)
        return confidence_limits(self.support, self.confidence, self.noise, self.n_records, z)

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
            "estimated_from": self.estimated_from,
        }
        plain: dict[str, Any] = finite(content)
        return plain

    @property
    def estimated_from(self) -> str:
        """Which records gave support and confidence, in two words."""
        return "learning records" if self.chosen_by_its_records else "other records"

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


class TreeRules(TabularResult, tuple[TreeRule, ...]):
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
        found |= {name: [each[name] for each in numbers] for name in names}
        found["n_records"] = [rule.n_records for rule in self]
        found["estimated_from"] = [rule.estimated_from for rule in self]
        return found

    def origin(self, level: float = 0.95) -> str:
        """One sentence on the records that the figures come from, and what the intervals mean."""
        if not self:
            return "no rules"
        records = number_of(self[0].n_records, "record")
        if self[0].chosen_by_its_records:
            return (
                f"Estimated from the {records} that also chose the tree: the intervals allow for "
                f"this choice, and all of them hold together with probability {100 * level:g} %."
            )
        return (
            f"Estimated from {records} that did not choose the tree: each interval holds with "
            f"probability {100 * level:g} %."
        )

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
        return Table(heads, body, self.origin(level), "llrrrr")

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN, "rule")


def rules(view: TreeView, chosen_by_its_records: bool = True) -> TreeRules:
    """The rules of a tree, one per leaf; `chosen_by_its_records` as for `TreeRule`."""
    leaves = [(int(leaf), view.allowed(int(leaf))) for leaf in view.tree.leaves]
    leaves = [(leaf, allowed) for leaf, allowed in leaves if all(map(len, allowed.values()))]
    sizes = view.schema.sizes
    features = [
        k for a, k in zip(view.schema.attributes, sizes, strict=True) if a.name != view.target
    ]
    conditions = [
        size_of_rule([len(codes) for codes in allowed.values()], [sizes[a] for a in allowed])
        for _, allowed in leaves
    ]
    choices = [0.0] * (1 + max(conditions, default=0))
    if chosen_by_its_records:
        choices = log_choices(features, view.schema[view.target].size, len(choices) - 1)
    return TreeRules(
        _rule(view, leaf, allowed, choices[d])
        for (leaf, allowed), d in zip(leaves, conditions, strict=True)
    )


def _rule(view: TreeView, leaf: int, allowed: Mapping[int, Index], log_choices: float) -> TreeRule:
    conditions = {}
    for a, codes in allowed.items():
        attribute = view.schema.attributes[a]
        conditions[attribute.name] = tuple(attribute.categories[code] for code in codes)
    return TreeRule(
        conditions,
        view.target,
        view.category(leaf),
        *view.figures(leaf),
        view.tree.n_records,
        view.noise(leaf),
        log_choices,
    )


def is_informative(stderr: float, lower: float, upper: float) -> bool:
    """Whether a share is known better than a random one and its interval excludes some values.

    >>> is_informative(0.2, 0.1, 0.9), is_informative(0.27, 0, 1), is_informative(0.99, 0, 0.9)
    (True, False, False)
    """
    return stderr < UNINFORMATIVE and (lower > 0 or upper < 1)
