"""Requirements: what a plan must reach, and the fewest respondents or the most privacy for it.

A comparison with a null prevalence: the power is how often the interval excludes the null. The
smallest and the largest estimates that reject the null are found from the intervals that tacit
prints. Their probability follows from the distribution of the estimate: exact if reports are
binomial, otherwise by a binomial distribution with the same three moments (`ScoreTest`). At a null
of 0 the test is one-sided, as the interval is. Published formulas take both distributions as normal
(Blair, Imai & Zhou, 2015):

    power = Phi((|p - p0| - z se(p0)) / se(p))

A comparison of two groups: the power is how often the interval of the difference excludes 0. The
estimated difference is normal around the true one. The smallest difference whose interval excludes
0 is found from the intervals that tacit prints, with the shares of both groups moved towards each
other in proportion to their variances, which is the most likely way to see less.

    power = Phi((|difference| - smallest) / se)

Published formulas take the smallest difference to be z times the standard error under the null
hypothesis (Blair, Imai & Zhou, 2015).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from tacit.core.argument_checks import check_number, check_rate, check_share, check_whole
from tacit.core.arrays import Array
from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError
from tacit.plan import expected
from tacit.plan.expected import Assumption, PlannedQuestion
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import ScoreTest, score_interval

#: The critical estimate is searched on this many points, so many times.
_POINTS, _ROUNDS = 64, 5
_TINY = 1e-12
#: Steps towards the smallest difference; each is closer by a factor of ten or more.
_STEPS = 4
#: More respondents than people: a wish that needs more is refused.
MOST_RESPONDENTS = 10**10
#: Respondents at which standard errors are computed, to find a number to start from.
_UNIT = 10**6


@dataclass(frozen=True)
class AgainstNull:
    """A share compared with a null prevalence."""

    null: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "null", check_share("the null prevalence", self.null))

    def check(self, assumed: Assumption) -> None:
        """Raise if there is nothing to find."""
        if abs(assumed.share - self.null) < _TINY:
            raise DataError(
                f"the null prevalence equals the prevalence of {assumed.attribute.name!r}, "
                f"{self.null:g}; give two different shares"
            )

    def distance(self, assumed: Assumption) -> float:
        """How far apart both shares are."""
        return abs(assumed.share - self.null)

    def power(self, question: PlannedQuestion, n: int, level: float, whole: bool = True) -> float:
        """How often the interval of the share excludes the null.

        The power has small drops as n rises; without `whole`, counts of reports are taken as
        continuous where they are binomial, which gives an upper bound that rises.
        """
        score = question.shares(n).score
        assert score is not None, "shares have a score test"
        cell = score.part(np.array([question.own.code]), (1,))
        truth = np.array([question.own.share])
        low, span, chance = (float(part[0]) for part in cell.two_point(truth))
        records = float(np.max(cell.n_records))
        more: float | None = 0.5
        if np.all(cell.binomial):
            more = None if whole else 0.0
        rate = 0.0
        above = _critical(cell, self.null, level)
        if above is not None:
            rate += _at_least(records * (above - low) / span, records, chance, more)
        below = _critical(cell.mirrored(), 1 - self.null, level)
        if below is not None:  # the weight of a report for the complement is 1 - g
            heavy = records - records * (1 - below - low) / span
            rate += _at_least(heavy, records, 1 - chance, more)
        return min(rate, 1.0)

    def __str__(self) -> str:
        return f"against a null prevalence of {self.null:g}"


def _critical(score: ScoreTest, null: float, level: float) -> float | None:
    """The smallest estimate whose lower limit is above the null; None if there is none."""

    inside, outside = null, 1.0
    for _ in range(_ROUNDS):
        centers = np.linspace(inside, outside, _POINTS + 1)[1:]
        noise, skew = (np.repeat(part, _POINTS, axis=1) for part in (score.noise, score.skew))
        moved = ScoreTest(centers, noise, skew, score.n_records)
        rejects = score_interval(moved, level).lower > null + _TINY
        if not rejects[-1]:
            return None
        first = int(np.argmax(rejects))
        inside = float(centers[first - 1]) if first else inside
        outside = float(centers[first])
    return outside


def _at_least(heavy: float, n: float, chance: float, more: float | None) -> float:
    """P(X >= heavy + more) of a binomial count X; None rounds up to a whole count.

    Half a count more is for an X that is only nearly binomial and has other values.
    """
    from scipy.special import betainc  # slow to load

    least = float(np.ceil(heavy - 1e-6)) if more is None else heavy + more
    if least <= 0:
        return 1.0
    return float(betainc(least, n - least + 1, chance)) if least < n + 1 else 0.0


@dataclass(frozen=True)
class BetweenGroups:
    """Two groups; the share in the first is that in the second plus `difference`.

    `by` is the attribute whose last category is the first group; None is a group that is known
    from elsewhere. `share` is the part of respondents that are in the first group; `groups` are the
    shares of all categories of `by`, if they are assumed to be unequal.
    """

    difference: float
    by: str | None = None
    share: float = 0.5
    groups: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_rate("the share of the first group", self.share)

    def check(self, assumed: Assumption) -> None:
        """Raise if there is no such difference, or nothing to find."""
        if not self.difference or not 0 <= assumed.share + self.difference <= 1:
            raise DataError(
                "the difference must not be 0, and prevalence + difference must lie between 0 "
                f"and 1; got {assumed.share:g} + {self.difference:g}"
            )

    def distance(self, assumed: Assumption) -> float:
        """The difference, as that of one share with the same standard error if groups are known."""
        return abs(self.difference) * math.sqrt(self.share * (1 - self.share))

    def power(self, question: PlannedQuestion, n: int, level: float, whole: bool = True) -> float:
        """How often the interval of the difference excludes 0; it rises with n."""
        return _Comparison(self, question, n).power(level)

    def width(self, question: PlannedQuestion, n: int, level: float) -> float:
        """Half the width of the interval of the difference."""
        lower, upper = _Comparison(self, question, n).difference(1.0).interval(level)
        return float(upper - lower) / 2

    def __str__(self) -> str:
        groups = "two groups" if self.by is None else f"groups by {self.by!r}"
        return f"for a difference of {self.difference:g} between {groups}"


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A design with an attribute that makes two groups, and what is expected from n records."""

    compared: BetweenGroups
    question: PlannedQuestion
    n: int

    @cached_property
    def _full(self) -> tuple[Design, str]:
        """The design with the attribute that makes the groups, and its name."""
        if self.compared.by is not None:
            return self.question.design, self.compared.by
        name = "group"
        while name in self.question.design.schema:
            name += "_"
        schema = Schema([*self.question.design.schema, Attribute(name, ["second", "first"])])
        groups = [*self.question.design.groups, Group([name], truthful())]
        return Design(schema, groups, self.question.design.asked_if), name

    @cached_property
    def _groups(self) -> Array:
        """The distribution of the attribute that makes the groups."""
        if self.compared.groups is not None:
            return np.array(self.compared.groups)
        full, by = self._full
        others = full.schema[by].size - 1
        return np.append(np.full(others, (1 - self.compared.share) / others), self.compared.share)

    def _estimates(self, first: float, second: float) -> tuple[Estimate, Estimate]:
        """Expected shares and their difference, if these are the true shares."""
        (full, by), own = self._full, self.question.own
        channel = full.channel(full.jointly_reported([by, self.question.name]))
        shares = [*([own.at(second)] * (len(self._groups) - 1)), own.at(first)]
        table = expected.group_table(channel, self.question.assumed, self._groups, shares)
        return expected.expected_difference(channel, table, own.code, self.n)

    @cached_property
    def _expected(self) -> tuple[Estimate, Estimate]:
        base = self.question.own.share
        return self._estimates(base + self.compared.difference, base)

    def difference(self, part: float) -> Estimate:
        """The expected difference if only this part of it is seen."""
        # How far the share of each group moves if the difference is smaller by 1.
        variance = self._expected[0].stderr ** 2
        total = float(variance.sum())
        moves = float(variance[0]) / total if total > 0 else 0.5
        base, missing = self.question.own.share, (1 - part) * self.compared.difference
        first = min(max(base + self.compared.difference - missing * moves, 0.0), 1.0)
        second = min(max(base + missing * (1 - moves), 0.0), 1.0)
        return self._estimates(first, second)[1]

    def power(self, level: float) -> float:
        """How often the interval of the difference excludes 0."""
        up = self.compared.difference > 0
        extreme = self._estimates(*((1.0, 0.0) if up else (0.0, 1.0)))[1]
        lower, upper = extreme.interval(level)
        if (lower if up else -upper) <= 0:
            return 0.0  # not even the largest difference that can be estimated
        size, stderr = abs(self.compared.difference), float(self._expected[1].stderr)
        smallest = self._reach(1.0, level)
        for _ in range(_STEPS):
            smallest = self._reach(smallest / size, level)
        return NormalDist().cdf((size - smallest) / stderr) if stderr > 0 else 1.0

    def _reach(self, part: float, level: float) -> float:
        """How far the interval reaches from the difference towards 0."""
        estimate = self.difference(part)
        lower, upper = estimate.interval(level)
        value = float(np.clip(estimate.value, -1, 1))
        return value - float(lower) if self.compared.difference > 0 else float(upper) - value


Comparison = AgainstNull | BetweenGroups


@dataclass(frozen=True)
class Requirements:
    """Half the width of intervals, the power of a comparison, and their confidence level."""

    width: float | None
    power: float | None
    comparison: Comparison | None
    level: float

    def __post_init__(self) -> None:
        if self.width is not None and not 0 < check_number("width", self.width) < 0.5:
            raise DataError(
                "width must lie between 0 and 0.5: it is half the width of the interval, so 0.03 "
                f"is ± 3 points; a width of 0 would need infinitely many respondents; got "
                f"{self.width!r}"
            )
        if self.power is None:
            return
        if self.comparison is None:
            raise DataError(
                "power needs a comparison: give null (a null prevalence) or difference (between "
                "two groups)"
            )
        if not 1 - self.level < check_number("power", self.power) < 1:
            raise DataError(
                f"power must lie between {1 - self.level:g}, the error rate of the test, and 1; "
                f"got {self.power!r}"
            )

    @property
    def given(self) -> bool:
        """Whether anything must be reached."""
        return self.width is not None or self.power is not None

    def met(self, question: PlannedQuestion, n: int) -> bool:
        """Whether n respondents suffice."""
        if self.width is not None and question.width(n, self.level) > self.width:
            return False
        if self.power is None or self.comparison is None:
            return True
        return self.comparison.power(question, n, self.level) >= self.power

    def respondents(self, question: PlannedQuestion) -> int:
        """The fewest respondents that suffice for one attribute."""
        question.channel.require_reconstructable()
        fewest, level = 1, self.level
        z = NormalDist().inv_cdf((1 + level) / 2)
        stderr = float(np.max(question.shares(_UNIT).stderr))
        width, power, compared = self.width, self.power, self.comparison
        if width is not None:
            fewest = _fewest(
                lambda n: question.width(n, level) <= width,
                _UNIT * (z * stderr / width) ** 2,
                f"a width of {width:g} for {question.name!r}",
            )
        if power is not None and compared is not None:
            distance = compared.distance(question.own)
            ratio = (z + NormalDist().inv_cdf(power)) * stderr / distance
            powerful = _fewest(
                lambda n: compared.power(question, n, level, whole=False) >= power,
                _UNIT * ratio**2,
                f"a power of {power:g} for {question.name!r}",
            )
            while compared.power(question, powerful, level) < power:
                powerful += 1
            fewest = max(fewest, powerful)
        return fewest


def check_respondents(n: int | None) -> None:
    """A number of respondents is a whole number from 1."""
    if n is not None:
        check_whole("n, the number of respondents,", n, 1, MOST_RESPONDENTS)


def _fewest(enough: Callable[[int], bool], near: float, what: str) -> int:
    """The smallest number that is enough, searched from a number nearby."""
    low, high = 0, max(1, math.ceil(min(near, MOST_RESPONDENTS)))
    while not enough(high):
        if high >= MOST_RESPONDENTS:
            raise DataError(
                f"{what} needs more than {MOST_RESPONDENTS:,} respondents; ask for less, or "
                "disguise less"
            )
        low, high = high, min(2 * high, MOST_RESPONDENTS)
    return smallest(enough, low, high)


def smallest(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number in (low, high] that is enough; `high` is."""
    return low + 1 + bisect_left(range(low + 1, high), True, key=enough)
