"""association_rules: rules within frequent itemsets, with support, confidence and lift.

A rule says: records that meet the conditions A also have the conclusion B, in a share `confidence`
of cases, `lift` times as often as all records. A rule is listed if its confidence exceeds
`min_confidence` by the same error control as the itemsets': every rule that could be tested has a
fixed share of the error. Figures have errors by the delta method from the joint covariance; see
`RuleFigures`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from tacit.core.argument_checks import check_whole, is_real
from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.numbers import quotient
from tacit.core.schema import Label
from tacit.errors import DataError
from tacit.mine import apriori
from tacit.mine.apriori import Itemsets, RuleMoments, Supports, words
from tacit.mine.error_control import ThresholdTests, shares_of_lengths
from tacit.output.number_text import decimals, number_of, span
from tacit.output.rounding import finite
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.interval import Interval

#: Rules of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class RuleFigures:
    """Figures of several rules, estimated from `n_records` reported records.

    For a rule with conditions A and conclusion B in terms of the weights g of a report:

        support     P(AB)              g_AB
        confidence  P(AB)/P(A)         (g_AB - confidence g_A) / P(A)
        lift        P(AB)/(P(A)P(B))   lift (g_AB/P(AB) - g_A/P(A) - g_B/P(B))

    Intervals: of the support normal, of the confidence by Fieller's method, of the lift normal on
    the logarithmic scale. Where nearly all or no records comply these are too short, since the
    spread of few reports says little. The disguise only adds noise, so the intervals also contain
    those of Wilson (1927) for as many undisguised records.
    """

    moments: RuleMoments
    n_records: int

    @cached_property
    def estimates(self) -> dict[str, Array]:
        """Support, confidence and lift with their standard errors; support of the conditions.

        support = P(conditions and conclusion), conditions_support = P(conditions), confidence =
        P(conclusion | conditions), inside [0, 1], and lift = confidence / P(conclusion). A ratio is
        NaN if its denominator is not positive.
        """
        both, conditions, conclusion = self.moments.mean.T
        none, unit = np.zeros_like(both), np.ones_like(both)
        ratio = partial(quotient, otherwise=np.nan)
        share, whole = ratio(both, conditions), ratio(unit, conditions)
        lift, alone = ratio(share, conclusion), ratio(unit, conditions * conclusion)
        figures = {"conditions_support": conditions}
        for name, value, slope in (
            ("support", both, [unit, none, none]),
            ("confidence", np.clip(share, 0, 1), [whole, -share * whole, none]),
            ("lift", lift, [alone, -ratio(lift, conditions), -ratio(lift, conclusion)]),
        ):
            figures[name], figures[f"{name}_stderr"] = value, self._delta(np.stack(slope, axis=1))
        return figures

    def excess(self, least: float) -> tuple[Array, Array, Array]:
        """P(AB) - least P(A), positive if the confidence exceeds `least`.

        With its standard error, at least that of undisguised records, and its skewness.
        """
        both, conditions, _ = self.moments.mean.T
        n, mean = self.n_records, both - least * conditions
        second = n * self._delta(np.array([[1.0, -least, 0.0]])) ** 2 + mean**2
        third = self.moments.cubes @ np.array([1, -3 * least, 3 * least**2, -(least**3)])
        floor = np.maximum(conditions, 0) * least * (1 - least) / n
        return apriori.SetMoments(mean, second, third).excess(0.0, floor, n)

    def intervals(self, level: float) -> dict[str, Interval]:
        """Limits of support, confidence and lift."""
        support, stderr = self.estimates["support"], self.estimates["support_stderr"]
        z = apriori.deviate(level)
        return {
            "support": apriori.share_interval(support, stderr, self.n_records, z),
            "confidence": self._confidence_interval(z),
            "lift": self._lift_interval(z),
        }

    def _confidence_interval(self, z: float) -> Interval:
        """All c with (P(AB) - c P(A))^2 at most z^2 times its variance, with that of Wilson."""
        both, conditions, _ = self.moments.mean.T
        covariance = self.moments.covariance
        a = conditions**2 - z**2 * covariance[:, 1, 1]
        b = both * conditions - z**2 * covariance[:, 0, 1]
        root = np.sqrt(np.maximum(b**2 - a * (both**2 - z**2 * covariance[:, 0, 0]), 0))
        bounded = (a > 0) & (conditions > 0)
        divisor = np.where(bounded, a, 1.0)
        lower = np.where(bounded, (b - root) / divisor, 0.0)
        upper = np.where(bounded, (b + root) / divisor, 1.0)
        n = np.maximum(conditions, 0) * self.n_records
        return apriori.with_wilson(lower, upper, self.estimates["confidence"], n, z)

    def _lift_interval(self, z: float) -> Interval:
        lift, stderr = self.estimates["lift"], self.estimates["lift_stderr"]
        positive = lift > 0
        reach = np.exp(z * quotient(stderr, lift, np.nan))
        lower = np.where(positive, lift / reach, 0.0)
        upper = np.where(positive, lift * reach, np.maximum(lift + z * stderr, 0))
        return Interval(np.where(np.isnan(lift), np.nan, lower), upper)

    def _delta(self, slope: Array) -> Array:
        variance = slope[:, None] @ self.moments.covariance @ slope[:, :, None]
        return np.asarray(np.sqrt(np.maximum(variance[:, 0, 0], 0)))


@dataclass(frozen=True)
class AssociationRule:
    """If all conditions hold, the conclusion holds with this confidence.

    `support` is the share of records with conditions and conclusion, `conditions_support` that of
    records with the conditions. A rule with one conclusion has its `attribute` and `category`, and
    is accepted by `tacit.privacy.report`.
    """

    conditions: Mapping[str, tuple[Label, ...]]
    conclusion: Mapping[str, Label]
    support: float
    support_stderr: float
    conditions_support: float
    confidence: float
    confidence_stderr: float
    lift: float
    lift_stderr: float
    n_records: int

    @property
    def attribute(self) -> str:
        """The attribute of the only conclusion."""
        return self._only()[0]

    @property
    def category(self) -> Label:
        """The category of the only conclusion."""
        return self._only()[1]

    def _only(self) -> tuple[str, Label]:
        if len(self.conclusion) > 1:
            raise AttributeError("a rule with several conclusions has no single attribute")
        return next(iter(self.conclusion.items()))

    def __str__(self) -> str:
        """The rule in words; +- is one standard error."""
        conditions = {name: label for name, (label,) in self.conditions.items()}
        return (
            f"if {words(conditions)} then {words(self.conclusion)} "
            f"(support {decimals(self.support)} +- {decimals(self.support_stderr)}, confidence "
            f"{decimals(self.confidence)} +- {decimals(self.confidence_stderr)}, "
            f"lift {self.lift:.2f} +- {self.lift_stderr:.2f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class AssociationRules(TabularResult):
    """Rules, highest confidence first; prints as a table. `tested` is how many were tested."""

    itemsets: Itemsets
    figures: RuleFigures
    sides: tuple[tuple[Mapping[str, Label], Mapping[str, Label]], ...]
    min_confidence: float
    tested: int

    def __len__(self) -> int:
        return len(self.sides)

    def __getitem__(self, index: int) -> AssociationRule:
        conditions, conclusion = self.sides[index]
        numbers = {name: float(values[index]) for name, values in self.figures.estimates.items()}
        allowed = {name: (label,) for name, label in conditions.items()}
        return AssociationRule(allowed, conclusion, n_records=self.figures.n_records, **numbers)

    def __iter__(self) -> Iterator[AssociationRule]:
        return (self[index] for index in range(len(self)))

    def numbers(self, level: float = 0.95) -> dict[str, list[float]]:
        """Support, confidence and lift, each with its standard error and limits, as columns."""
        columns: dict[str, Any] = {}
        numbers = self.figures.estimates
        for name, limits in self.figures.intervals(level).items():
            stderr = numbers[f"{name}_stderr"]
            columns |= apriori.figure_columns(name, numbers[name], stderr, limits)
        return columns | {"conditions_support": numbers["conditions_support"].tolist()}

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns; conditions and conclusions in words."""
        return {
            "conditions": [words(conditions) for conditions, _ in self.sides],
            "conclusion": [words(conclusion) for _, conclusion in self.sides],
            **self.numbers(level),
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready; `tacit privacy --rules` reads it."""
        itemsets, numbers = self.itemsets, self.numbers(level)
        rules = [
            _described(*sides) | {name: values[index] for name, values in numbers.items()}
            for index, sides in enumerate(self.sides)
        ]
        content: dict[str, Any] = finite(
            {
                "tacit": "association-rules",
                "version": 1,
                "design": itemsets.design.fingerprint,
                "min_support": itemsets.min_support,
                "min_confidence": self.min_confidence,
                "max_length": itemsets.max_length,
                "control": type(itemsets.control).__name__,
                "error": getattr(itemsets.control, "error", None),
                "split": itemsets.is_split,
                "n_records_mined": itemsets.mined.n_records,
                "n_records": itemsets.n_records,
                "itemsets": len(itemsets),
                "level": level,
                "rules": rules,
            }
        )
        return content

    def to_table(self, level: float = 0.95) -> Table:
        """The rules as a table to print; its title says which records the figures come from."""
        interval, columns = f"{100 * level:g} % interval", self.columns(level)
        heads, body = ["if", "then"], [columns["conditions"], columns["conclusion"]]
        for name in ("support", "confidence", "lift"):
            ends = zip(columns[f"{name}_lower"], columns[f"{name}_upper"], strict=True)
            heads += [name, interval]
            body += [list(map(decimals, columns[name])), [span(*both) for both in ends]]
        rows = list(zip(*body, strict=True))
        return Table(heads, rows, title=self.title, align="llrrrrrr")

    @property
    def title(self) -> str:
        """What was found, with its error rate and the records it was estimated from."""
        return (
            f"{number_of(len(self), 'rule')} with confidence above {self.min_confidence:g} "
            f"({self.itemsets.control.says}); {apriori.origin(self.itemsets)}"
        )

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN, "rule")


def association_rules(
    found: Itemsets, min_confidence: float = 0.5, *, max_conclusions: int | None = 1
) -> AssociationRules:
    """Rules whose confidence exceeds `min_confidence`, within frequent itemsets.

    A rule has at most `max_conclusions` items in its conclusion; None allows any number. Rules are
    selected from the records that the itemsets were mined from; their figures come from the records
    that supports were estimated from: other ones after `Itemsets.estimated_on`.
    """
    if not isinstance(found, Itemsets):
        raise DataError(f"found must be what tacit.mine.itemsets returns, got {found!r:.60}")
    if not is_real(min_confidence) or not 0 <= min_confidence <= 1:
        raise DataError(f"min_confidence must lie between 0 and 1, got {min_confidence!r}")
    if max_conclusions is not None:
        check_whole("max_conclusions", max_conclusions, 1)
    least, most = float(min_confidence), int(max_conclusions or np.iinfo(np.intp).max)
    if not len(found):
        raise DataError(
            f"no frequent itemset: none of {found.tested:,} tested stands out above a support of "
            f"{found.min_support:g}; lower min_support, or collect more records"
        )
    lengths, numbers = range(2, found.max_length + 1), found.found.items.numbers
    per_set = {k: sum(comb(k, size) for size in _sizes(k, most)) for k in lengths}
    possible = sum(numbers[k] * n_rules for k, n_rules in per_set.items())
    by_length = shares_of_lengths(lengths, numbers)
    blocks = list(_blocks(found, most))
    shares = [np.full(len(s), by_length[len(i)] / per_set[len(i)]) for s, i in blocks]
    mined = _figures(found.mined, blocks)
    tests = ThresholdTests(*mined.excess(least), np.concatenate([[], *shares]), possible)
    accepted = found.control.accepted(tests)
    accepted &= mined.estimates["conditions_support"] > 0
    figures = _figures(found.estimated, blocks) if found.is_split else mined
    order = np.flatnonzero(accepted)
    order = order[np.argsort(-mined.estimates["confidence"][order], kind="stable")]
    chosen = RuleFigures(RuleMoments(*(m[order] for m in figures.moments)), found.n_records)
    labels, sides = found.found.items.labels, []
    for sets, conditions in blocks:
        sides += [(labels(row[conditions]), labels(row[~conditions])) for row in sets]
    return AssociationRules(found, chosen, tuple(sides[i] for i in order), least, len(accepted))


#: Sets of one length, and which of their items are conditions.
RuleBlock = tuple[Index, Mask]


def _blocks(itemsets: Itemsets, most: int) -> Iterator[RuleBlock]:
    """All rules within the sets, one block per length and place of the conclusion."""
    for length, sets in enumerate(itemsets.found, start=1):
        for size in _sizes(length, most):
            for conclusion in combinations(range(length), size):
                yield sets, ~np.isin(np.arange(length), conclusion)


def _sizes(length: int, most: int) -> range:
    """How many items of a set may be the conclusion."""
    return range(1, min(most, length - 1) + 1)


def _figures(supports: Supports, blocks: list[RuleBlock]) -> RuleFigures:
    moments = apriori.joined(apriori.NO_RULES, (supports.rules(*block) for block in blocks))
    return RuleFigures(moments, supports.n_records)


def _described(conditions: Mapping[str, Label], conclusion: Mapping[str, Label]) -> dict[str, Any]:
    """The sides of a rule as `tacit privacy --rules` reads them, if it has one conclusion."""
    allowed = {name: [label] for name, label in conditions.items()}
    if len(conclusion) > 1:
        return {"conditions": allowed, "conclusion": dict(conclusion)}
    ((attribute, category),) = conclusion.items()
    return {"conditions": allowed, "attribute": attribute, "category": category}
