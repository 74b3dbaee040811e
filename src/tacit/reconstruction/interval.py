"""Confidence intervals for probabilities that keep their coverage near 0 and 1.

The method joins two ideas. The variance is that under the hypothesis, not that at the estimate
(Wilson, 1927), carried through the channel: if the true probability is p0, a report's weight g
has second moment p0 * own + (1 - p0) * other, so

    Var(p_hat | p0) = (p0 * own + (1 - p0) * other - p0^2) / n.

p0 is tested by the likelihood ratio against the best value inside [0, 1] (Feldman & Cousins,
1998), with the critical value that gives the requested level at that p0. So an estimate below zero,
which is common under randomized response, still gives an interval that lies inside [0, 1], is not
empty, and has the stated coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tacit.arrays import Array, Mask
from tacit.errors import DataError

#: Steps of a bisection, for a limit or for a critical value.
_BISECTIONS = 40
#: A bound this many standard errors away does not matter.
_FAR = 8.0
_TINY = 1e-300
#: Probabilities this close to 0 or 1 are not divided by.
_NEAR = 1e-6


class Interval(NamedTuple):
    """Lower and upper limits, of the shape of the estimate."""

    lower: Array
    upper: Array


@dataclass(frozen=True)
class EventMoments:
    """Least and largest E[g^2 | true answers] over the answers inside and outside an event.

    g is the weight of a report for the event. The outside of a product of groups is where at least
    one group is outside its own event.
    """

    inside: tuple[float, float]
    outside: tuple[float, float]

    def __mul__(self, other: EventMoments) -> EventMoments:
        (low, high), (low_out, high_out) = self.inside, self.outside
        (other_low, other_high), (other_low_out, other_high_out) = other.inside, other.outside
        return EventMoments(
            (low * other_low, high * other_high),
            (
                min(low_out * min(other_low, other_low_out), low * other_low_out),
                max(high_out * max(other_high, other_high_out), high * other_high_out),
            ),
        )


@dataclass(frozen=True)
class ScoreTest:
    """What an interval needs: the unbiased estimate and the second moments of its weights."""

    center: Array
    own: Array
    other: Array
    n_records: int

    @classmethod
    def of(
        cls, value: Array, stderr: Array, n_records: int, own: Array, low: Array, high: Array
    ) -> ScoreTest:
        """Find `other`, which lies between `low` and `high`, from the second moment of all reports.

        second = p own + (1 - p) other holds at the estimate; the bounds also settle p near 1.
        """
        second = n_records * stderr**2 + value**2
        safe = np.abs(1 - value) > _NEAR
        solved = (second - value * own) / np.where(safe, 1 - value, 1.0)
        return cls(value, own, np.where(safe, np.clip(solved, low, high), high), n_records)

    @classmethod
    def of_event(
        cls, value: Array, stderr: Array, n_records: int, moments: EventMoments, total: float
    ) -> ScoreTest:
        """The test of one event; `total` estimates P(E) times the mean of E[g^2 | x] in E."""
        low, high = moments.inside
        own = high if value <= _NEAR else float(np.clip(total / value, low, high))
        bounds = (np.asarray(bound) for bound in moments.outside)
        return cls.of(value, stderr, n_records, np.asarray(own), *bounds)

    def stderr(self, p0: Array) -> Array:
        """Standard error of the estimate if the truth is p0."""
        variance = p0 * self.own + (1 - p0) * self.other - p0**2
        return np.sqrt(np.maximum(variance / self.n_records, _TINY))


def check_level(level: float) -> None:
    """A confidence level lies strictly between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1 - 1e-15:
        raise DataError(f"the confidence level must lie between 0 and 1, got {level!r}")


def normal_interval(value: Array, stderr: Array, level: float) -> Interval:
    """value -+ z * stderr, for quantities without bounds."""
    check_level(level)
    reach = _quantile(level) * stderr
    return Interval(value - reach, value + reach)


def score_interval(score: ScoreTest, level: float) -> Interval:
    """All p0 in [0, 1] that the estimate does not reject."""
    check_level(level)
    best = np.clip(score.center, 0.0, 1.0)

    def accepted(p0: Array) -> Mask:
        """Whether the likelihood ratio of p0 against the best value is below its critical value."""
        stderr = score.stderr(p0)
        excess = (score.center - p0) ** 2 - (score.center - best) ** 2
        statistic = np.sqrt(np.maximum(excess, 0)) / stderr
        return statistic <= _critical(p0 / stderr, (1 - p0) / stderr, level)

    bounds = np.zeros_like(best), np.ones_like(best)
    return Interval(*(np.where(accepted(b), b, _last(accepted, b, best)) for b in bounds))


def _quantile(level: float) -> float:
    """The normal deviate that is exceeded, on either side, with probability 1 - level."""
    from scipy.special import ndtri  # slow to load

    return float(ndtri((1 + level) / 2))


def _last(accepted: Callable[[Array], Mask], outside: Array, inside: Array) -> Array:
    """The last accepted value on the way from `inside` to `outside`, by bisection."""
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        good = accepted(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    return inside


def _critical(below: Array, above: Array, level: float) -> Array:
    """Critical value of the bounded likelihood ratio.

    `below` and `above` are the distances of p0 from 0 and 1 in standard errors. Where the bounds
    are far this is the normal quantile; at a bound it is the one-sided quantile.
    """
    near, far = np.minimum(below, above), np.maximum(below, above)
    grid, values = _one_bound(level)
    critical = np.asarray(np.interp(near, grid, values))
    both = far < _FAR
    if both.any():
        critical[both] = _solved(near[both], far[both], level)
    return critical


@lru_cache(maxsize=16)
def _one_bound(level: float) -> tuple[Array, Array]:
    """Critical values against the distance of the only bound, to interpolate in."""
    grid = np.linspace(0.0, _quantile(level), 4097)
    return grid, _solved(grid, np.full_like(grid, _FAR), level)


def _solved(near: Array, far: Array, level: float) -> Array:
    """The critical value at which the estimate is accepted with probability `level`."""
    from scipy.special import ndtr  # slow to load

    def enough(c: Array) -> Mask:
        return np.asarray(ndtr(_reach(c, far)) - ndtr(-_reach(c, near)) >= level)

    return _last(enough, np.zeros_like(near), np.full_like(near, _quantile(level)))


def _reach(c: Array, room: Array) -> Array:
    """How far the estimate may deviate towards a bound at distance `room`.

    Beyond the bound the best value stays on it, so the ratio grows only linearly there.
    """
    return np.where(c <= room, c, (room**2 + c**2) / np.maximum(2 * room, _TINY))
