"""What to expect from a question: estimates, privacy, and the bias of safe answers.

A plan assumes a distribution of the true answers to each question. A prevalence is the share of one
category, the last one unless another is named; the other categories share the rest equally. Or it
is a distribution over all categories. Answers to different questions are assumed to be independent.

Reported counts are replaced by their expectation n M p; standard errors, intervals and comparisons
are then computed by the same code as those of a survey. An interval also depends on where the
estimate happens to be, most of all near 0 and 1, so widths are averaged over its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from tacit.core.argument_checks import check_number, check_share
from tacit.core.arrays import Array
from tacit.core.conditions import answers_of
from tacit.core.design import Design, Group, ProductChannel
from tacit.core.schema import Attribute
from tacit.errors import DataError, unknown
from tacit.privacy.risk import joint_risk, slack_of
from tacit.reconstruction import Estimate, inversion
from tacit.reconstruction.comparisons import GroupShares
from tacit.reconstruction.events import conditional_shares
from tacit.reconstruction.interval import NO_RECORDS, ScoreTest, score_interval
from tacit.reconstruction.tables import TableProblem, sums_of_cells

#: Points at which the distribution of an estimate is evaluated, all equally likely.
_POINTS = 24
#: A channel with more entries is refused; it would not fit in memory.
MOST_ENTRIES = 2**24
#: Shares of carriers who do not comply that a plan shows.
CARRIERS = (0.05, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class Assumption:
    """The distribution of one attribute; `category` is the code that the plan is about.

    None is any category: then the one with the widest interval counts.
    """

    attribute: Attribute
    shares: Array
    category: int | None

    @property
    def code(self) -> int:
        """The code of the category; an error if there is none."""
        if self.category is None:
            raise DataError(
                f"a comparison needs the category of {self.attribute.name!r} that is compared; "
                "give category, or one share as the prevalence"
            )
        return self.category

    @property
    def share(self) -> float:
        """The share of the category."""
        return float(self.shares[self.code])

    def at(self, share: float) -> Array:
        """The distribution with this share of the category, the others in proportion."""
        others = np.where(np.arange(self.attribute.size) == self.code, 0.0, self.shares)
        if not others.any():
            others = 1.0 - (np.arange(self.attribute.size) == self.code)
        moved = others / others.sum() * (1 - share)
        moved[self.code] = share
        return np.asarray(moved)


#: By the name of the attribute.
Assumptions = Mapping[str, Assumption]


def assume(attribute: Attribute, prevalence: Any, category: Any = None) -> Assumption:
    """The assumption that a prevalence describes; an error if it is no share or distribution."""
    code = None if category is None else attribute.code(category)
    if np.ndim(prevalence) == 0:
        share = check_share(f"the prevalence of {attribute.name!r}", prevalence)
        code = attribute.size - 1 if code is None else code
        shares = np.full(attribute.size, (1 - share) / (attribute.size - 1))
        shares[code] = share
        return Assumption(attribute, shares, code)
    shares = np.array([check_share(f"a share of {attribute.name!r}", p) for p in prevalence])
    if len(shares) != attribute.size or abs(float(shares.sum()) - 1) > 1e-9:
        raise DataError(
            f"the prevalence of {attribute.name!r} must be one share, or {attribute.size} shares "
            f"that sum to 1; got {len(shares)} with the sum {shares.sum():.6g}"
        )
    return Assumption(attribute, shares / shares.sum(), code)


def assume_all(
    design: Design, prevalence: Any, category: Any = None, only: str | None = None
) -> dict[str, Assumption]:
    """An assumption per attribute; `category` is that of the attribute `only`."""
    if category is not None and only is None:
        if len(design.schema) > 1:
            raise DataError("category needs the attribute that it is one of; give attribute too")
        (only,) = design.schema.names
    given = prevalence if isinstance(prevalence, Mapping) else {}
    for name in given:
        if name not in design.schema:
            raise DataError(unknown("attribute", name, design.schema.names, " in prevalence"))
    default = 0.2 if isinstance(prevalence, Mapping) else prevalence
    assumptions = {}
    for attribute in design.schema:
        name = attribute.name
        stated = given.get(name, default)
        fits = np.ndim(stated) == 0 or name in given or name == only or len(design.schema) == 1
        chosen = category if name == only else None
        assumptions[name] = assume(attribute, stated if fits else 0.2, chosen)
    return assumptions


@dataclass(frozen=True)
class AnswerPrivacy:
    """Figures of someone who sees the report of one question alone.

    epsilon: local differential privacy. odds: a report multiplies the odds between two answers by
    at most this. worst_posterior: the largest probability of any answer after a report.
    suspicion: the same of the category that the plan is about; None if it is about all.
    """

    epsilon: float
    odds: float
    worst_posterior: float
    suspicion: float | None


@dataclass(frozen=True)
class PrivacyWish:
    """Upper bounds; None is no bound."""

    epsilon: float | None = None
    odds: float | None = None
    worst_posterior: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("epsilon", 0.0), ("odds", 1.0)):
            value = getattr(self, name)
            if value is not None and not check_number(name, value) > least:
                raise DataError(f"{name} must be above {least:g}, got {value!r}")
        if self.worst_posterior is not None:
            check_share("worst_posterior", self.worst_posterior)

    def __bool__(self) -> bool:
        return bool(self.named)

    @property
    def named(self) -> dict[str, float]:
        """The bounds that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def check(self, assumed: Assumption) -> None:
        """Raise if no disguise at all keeps the bound on the worst posterior."""
        largest = float(assumed.shares.max())
        if self.worst_posterior is not None and self.worst_posterior < largest - 1e-12:
            raise DataError(
                f"worst_posterior must be at least {largest:g}: that is the assumed share of the "
                f"most common answer to {assumed.attribute.name!r}, known without any report"
            )

    def missed(self, privacy: AnswerPrivacy) -> str | None:
        """The name of a bound that is not kept."""
        for name, bound in self.named.items():
            if getattr(privacy, name) > bound * (1 + 1e-12):
                return name
        return None


@dataclass(frozen=True)
class SafeAnswerBias:
    """The bias of the estimated share if this part of the carriers always gives the safe answer."""

    carriers: float
    bias: float


@dataclass(frozen=True, eq=False)
class PlannedQuestion:
    """One attribute of a design under the assumed distributions."""

    design: Design
    name: str
    assumed: Assumptions

    @property
    def own(self) -> Assumption:
        """The assumption on this attribute."""
        return self.assumed[self.name]

    @property
    def group(self) -> Group:
        """The group that disguises the attribute."""
        return self.design.group_of(self.name)

    @cached_property
    def channel(self) -> ProductChannel:
        """The channel of the reports that tell about the attribute, which comes first."""
        return self.design.channel(self.design.jointly_reported([self.name]))

    def shares(self, n: int) -> Estimate:
        """The expected estimate of the shares from n respondents."""
        table = true_table(self.channel, self.assumed)
        return estimate_from(self.channel, self.channel.disguised(table), 1, n)

    def width(self, n: int, level: float) -> float:
        """Half the width of the interval of the category, or of the widest one."""
        widths = expected_widths(self.shares(n), level)
        return float(widths.max() if self.own.category is None else widths[self.own.category])

    def width_among_asked(self, n: int, level: float) -> float:
        """Half the widest interval among those who are asked a conditional question.

        From its own reports alone; with those of the questions that it depends on it is a bit
        narrower.
        """
        attribute = self.design.schema[self.name]
        answers = answers_of(attribute)
        rows = np.eye(attribute.size)[[attribute.code(label) for label in answers]]
        answered = sums_of_cells(self.shares(n), rows, (Attribute(self.name, answers),), "")
        lower, upper = conditional_shares(answered, 0, "").interval(level)
        return float(np.max(upper - lower) / 2)

    @cached_property
    def joint(self) -> Array:
        """P(true answer, report); a report of a joint matrix is that of its group."""
        size = math.prod(self.channel.true.sizes) * math.prod(self.channel.reported.sizes)
        if size > MOST_ENTRIES:
            raise DataError(
                f"the channel of {self.name!r} has {size:,} entries, more than the "
                f"{MOST_ENTRIES:,} that a plan can hold; offer fewer categories"
            )
        cells = true_table(self.channel, self.assumed)
        weighted = self.channel.matrix * cells.ravel()
        return np.asarray(weighted.reshape(len(weighted), cells.shape[0], -1).sum(axis=2).T)

    @cached_property
    def privacy(self) -> AnswerPrivacy:
        """Epsilon, odds, and what a report can make others believe: J[x, y] / sum_x J[x, y]."""
        joint, ratio, suspicion = self.joint, self.channel.ratio, None
        risk = joint_risk(joint[:, :, None], slack_of(sum(joint.shape)))
        if self.own.category is not None:
            reported = joint.sum(axis=0)
            seen = reported > 0
            suspicion = float((joint[self.own.category, seen] / reported[seen]).max())
        return AnswerPrivacy(
            self.channel.epsilon,
            math.inf if ratio is None else float(ratio),
            risk.figures().worst_posterior,
            suspicion,
        )

    def biases(self, n: int) -> tuple[SafeAnswerBias, ...]:
        """The bias for each of `CARRIERS` who always give the safe answer; none for all categories.

        A carrier is someone in the category that the plan is about. The safe answer is the report
        that makes this category least likely: "no" in most designs. If a share f of carriers sends
        it,

            bias = f p (w(safe) - 1)

        where w(safe) is the weight of that report in the estimate: for related(theta) on a yes/no
        question -f p theta / (2 theta - 1). No number of respondents makes it smaller. Near theta =
        1/2 that is more than the share itself. An estimate below 0 counts as 0, so the bias is
        never below -p.
        """
        category = self.own.category
        if category is None:
            return ()
        reported = self.joint.sum(axis=0)
        seen = np.where(reported > 0, reported, np.inf)
        safe = int(np.argmin(np.where(reported > 0, self.joint[category] / seen, np.inf)))
        biases = []
        for part in CARRIERS:
            moved = reported - part * self.joint[category]
            moved[safe] += part * self.own.share
            table = moved.reshape(self.channel.reported.sizes)
            value = float(estimate_from(self.channel, table, 1, n).value[category])
            biases.append(SafeAnswerBias(part, min(max(value, 0.0), 1.0) - self.own.share))
        return tuple(biases)


def true_table(channel: ProductChannel, assumed: Assumptions) -> Array:
    """The joint distribution of the attributes of a channel, as independent answers."""
    margins = [assumed[name].shares for name in channel.true.names]
    return np.asarray(reduce(np.multiply.outer, margins))


def estimate_from(channel: ProductChannel, reported: Array, n_attributes: int, n: int) -> Estimate:
    """The estimate of the first attributes from these reported frequencies."""
    return inversion(TableProblem(n * reported, channel, n_attributes, n))


def expected_widths(estimate: Estimate, level: float) -> Array:
    """The mean half width of the interval of each category."""
    from scipy.special import ndtri  # slow to load

    score = estimate.score
    assert score is not None, "shares have a score test"
    deviates = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    centers = estimate.value + np.multiply.outer(deviates, score.stderr(estimate.value))
    noise, skew = (np.repeat(part[:, None], _POINTS, axis=1) for part in (score.noise, score.skew))
    limits = score_interval(ScoreTest(centers, noise, skew, score.n_records), level)
    return np.asarray((limits.upper - limits.lower).mean(axis=0) / 2)


def expected_difference(
    channel: ProductChannel, table: Array, category: int, n: int
) -> tuple[Estimate, Estimate]:
    """The expected shares of a category in two groups, and their difference.

    The first attribute of `table` makes the groups: its last category is the first group, the
    others are the second, each with the same shares. The category is one of the second attribute.
    """
    joint = estimate_from(channel, channel.disguised(table), 2, n)
    rows, columns = joint.value.shape
    first, event = np.arange(rows) == rows - 1, np.arange(columns) == category
    groups, events = (np.stack([part, ~part]).astype(np.float64) for part in (first, event))
    collapse = np.kron(groups, events)
    value = np.asarray(groups @ joint.value @ events.T)
    axes = (Attribute("group", range(2)), Attribute("event", range(2)))
    covariance = collapse @ joint.covariance @ collapse.T
    quarters = Estimate.of_covariance(axes, value, covariance, n, "inversion", "")
    shares = conditional_shares(quarters, 1, "").part(np.array([0, 2]), axes[:1], "")
    if any(0 in f.true_axes and f.channel.undisguised for f in channel.factors):
        shares = shares.with_tests(_tests_of_groups(joint, category))
    return shares, GroupShares(shares, "", ("", "")).difference()


def _tests_of_groups(joint: Estimate, category: int) -> dict[int, ScoreTest]:
    """The tests of the shares of a category among the records of undisguised groups."""
    if joint.score is None or not np.any(joint.score.n_all):
        return {}
    (rows, columns), records = joint.value.shape, joint.n_records * joint.value.sum(axis=1)
    first = joint.score.part(np.array([(rows - 1) * columns + category]), ())
    largest, others = int(records[:-1].argmax()), records[:-1].sum()
    second = joint.score.part(np.array([largest * columns + category]), ())
    second = second.times(others / max(records[largest], NO_RECORDS))
    return {0: first.given(records[-1]), 1: second.given(others)}


def group_table(
    channel: ProductChannel, assumed: Assumptions, groups: Array, shares: Sequence[Array]
) -> Array:
    """P(group) P(answer | group), and the other attributes of the channel independent of both."""
    table = groups[:, None] * np.array(shares)
    others = [assumed[name].shares for name in channel.true.names[2:]]
    return np.asarray(reduce(np.multiply.outer, others, table))
