"""The power to tell a share from a null prevalence: how often its interval excludes the null.

The smallest and the largest estimates that reject the null are found from the intervals that tacit
prints. Their probability follows from the distribution of the estimate: exact if reports are
binomial, otherwise by a binomial distribution with the same three moments
(`tacit.reconstruction.interval`). At a null of 0 the test is one-sided, as the interval is.

Published formulas take both distributions as normal (Blair, Imai & Zhou, 2015):

    power = Phi((|p - p0| - z se(p0)) / se(p))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core.design import Design
from tacit.errors import DataError
from tacit.plan.assumptions import Assumption, Assumptions, check_share
from tacit.plan.expected_estimate import expected_shares
from tacit.reconstruction.interval import ScoreTest, score_interval

#: The critical estimate is searched on this many points, so many times.
_POINTS, _ROUNDS = 64, 5
_TINY = 1e-12


@dataclass(frozen=True)
class AgainstNull:
    """A share compared with a null prevalence."""

    null: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "null", check_share(self.null, "the null prevalence"))

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

    def power(self, design: Design, name: str, assumed: Assumptions, n: int, level: float) -> float:
        """How often the interval of the share excludes the null."""
        return self._rate(design, name, assumed, n, level)

    def most_power(
        self, design: Design, name: str, assumed: Assumptions, n: int, level: float
    ) -> float:
        """An upper bound of the power that rises with n; the power itself has small drops."""
        return self._rate(design, name, assumed, n, level, whole=False)

    def _rate(
        self,
        design: Design,
        name: str,
        assumed: Assumptions,
        n: int,
        level: float,
        whole: bool = True,
    ) -> float:
        own = assumed[name]
        score = expected_shares(design, name, assumed, n).score
        assert score is not None, "shares have a score test"
        cell = score.part(np.array([own.code]), (1,))
        return rejection_rate(cell, own.share, self.null, level, whole)

    def __str__(self) -> str:
        return f"against a null prevalence of {self.null:g}"


def rejection_rate(
    score: ScoreTest, truth: float, null: float, level: float, whole: bool = True
) -> float:
    """How often the interval of a share excludes `null` if the share is `truth`; one cell.

    Without `whole`, counts of reports are taken as continuous where they are binomial.
    """
    low, span, chance = (float(each[0]) for each in score.two_point(np.array([truth])))
    n = float(np.max(score.n_records))
    more: float | None = 0.5
    if np.all(score.binomial):
        more = None if whole else 0.0
    found = 0.0
    above = _critical(score, null, level)
    if above is not None:
        found += _at_least(n * (above - low) / span, n, chance, more)
    below = _critical(score.mirrored(), 1 - null, level)
    if below is not None:  # the weight of a report for the complement is 1 - g
        found += _at_least(n - n * (1 - below - low) / span, n, 1 - chance, more)
    return min(found, 1.0)


def _critical(score: ScoreTest, null: float, level: float) -> float | None:
    """The smallest estimate whose lower limit is above the null; None if there is none."""

    inside, outside = null, 1.0
    for _ in range(_ROUNDS):
        centers = np.linspace(inside, outside, _POINTS + 1)[1:]
        noise, skew = (np.repeat(each, _POINTS, axis=1) for each in (score.noise, score.skew))
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
