"""Two groups compared: difference, ratio and odds ratio of a share, with their intervals.

The shares r1 and r2 of both groups come from the same reports and are correlated if the groups are
disguised. Standard errors are by the delta method. Intervals combine those of both shares, which
lie in [0, 1] and have limits l and u (MOVER: Zou & Donner, 2008; Newcombe, 1998 for differences).
With d = r1 - r2 and correlation c

    lower = d - sqrt((r1 - l1)^2 - 2 c (r1 - l1) (u2 - r2) + (u2 - r2)^2)

and the upper limit with u1 and l2. The limits of a ratio are those t at which the interval of
r1 - t r2 ends at 0 (Donner & Zou, 2012; Fieller, 1954): the upper one is infinite if r2 could be 0.
Those of an odds ratio are of the difference of log-odds; one is 0 or infinite if a share could be
0 or 1.

If nobody seems to be in a group (its estimated share of the records is 0 or less), nothing is known
about the comparison: it is not a number, and its interval has all possible values.

`contrast` is any other smooth function of several probabilities, with a normal interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval

#: Steps of the differences: this share of a probability, or of 1 % if it is smaller.
_STEP, _LEAST = 6e-6, 0.01

Function = Callable[[Array], Any]
Limits = Callable[[float], Interval]


@dataclass(frozen=True, eq=False)
class GroupShares:
    """The share of an event in two groups: an estimate with the groups as its only axis."""

    shares: Estimate
    event: str
    groups: tuple[str, str]

    def difference(self) -> Estimate:
        """r1 - r2."""
        value = self.shares.value[0] - self.shares.value[1]
        comparison = self._contrast("{} - {}", value, [1.0, -1.0], self._difference_limits)
        return replace(comparison, no_effect=0)

    def ratio(self) -> Estimate:
        """r1 / r2; not a number if the estimate of r2 is not positive."""
        r1, r2 = self.shares.value.tolist()
        r2 = r2 if r2 > 0 else math.nan
        return self._contrast("{} / {}", r1 / r2, [1 / r2, -r1 / r2**2], self._ratio_limits)

    def odds_ratio(self) -> Estimate:
        """r1 (1 - r2) / ((1 - r1) r2); not a number if a share is not between 0 and 1."""
        r1, r2 = (r if 0 < r < 1 else math.nan for r in self.shares.value.tolist())
        value = r1 * (1 - r2) / ((1 - r1) * r2)
        slopes = [value / (r1 * (1 - r1)), -value / (r2 * (1 - r2))]
        return self._contrast("odds ratio of {} to {}", value, slopes, self._odds_limits)

    def _contrast(self, name: str, value: float, slopes: list[float], limits: Limits) -> Estimate:
        name = name.format(*(f"P({self.event} | {group})" for group in self.groups))
        comparison = self.shares.contrast(np.asarray(value), np.array(slopes), name)
        return replace(comparison, interval_of=limits, no_effect=1)

    @property
    def _correlation(self) -> float:
        covariance = self.shares.covariance
        scale = math.sqrt(max(covariance[0, 0] * covariance[1, 1], 0.0))
        return float(np.clip(covariance[0, 1] / scale, -1, 1)) if scale > 0 else 0.0

    def _limits(self, level: float) -> tuple[Array, Array, Array]:
        """Both shares, moved into [0, 1], with their lower and upper limits."""
        lower, upper = self.shares.interval(level)
        return np.clip(self.shares.value, 0, 1), lower, upper

    def _difference_limits(self, level: float) -> Interval:
        share, lower, upper = self._limits(level)
        if np.isnan(share).any():
            return _limits(-1.0, 1.0)
        down, up = _reaches(share, lower, upper, self._correlation)
        d = float(share[0] - share[1])
        return _limits(max(-1.0, d - down), min(1.0, d + up))

    def _ratio_limits(self, level: float) -> Interval:
        share, lower, upper = self._limits(level)
        if np.isnan(share).any():
            return _limits(0.0, math.inf)
        (r1, r2), (l1, l2), (u1, u2), c = share, lower, upper, self._correlation
        middle = r1 * r2 - c * (r1 - l1) * (u2 - r2)
        least, scale = l1 * (2 * r1 - l1), u2 * (2 * r2 - u2)
        down = middle + math.sqrt(max(middle**2 - scale * least, 0.0))
        middle = r1 * r2 - c * (u1 - r1) * (r2 - l2)
        most, scale = u1 * (2 * r1 - u1), l2 * (2 * r2 - l2)
        up = middle + math.sqrt(max(middle**2 - scale * most, 0.0))
        return _limits(least / down if down > 0 else 0.0, up / scale if scale > 0 else math.inf)

    def _odds_limits(self, level: float) -> Interval:
        share, lower, upper = (_log_odds(shares) for shares in self._limits(level))
        if np.isnan(share).any():
            return _limits(0.0, math.inf)
        if not np.isfinite(share).all():
            lowest, highest = lower[0] - upper[1], upper[0] - lower[1]
            return _limits(*map(_power, (lowest, highest)))
        down, up = _reaches(share, lower, upper, self._correlation)
        d = float(share[0] - share[1])
        return _limits(_power(d - down), _power(d + up))


def _reaches(share: Array, lower: Array, upper: Array, correlation: float) -> Array:
    """How far the interval of a difference reaches down and up."""
    a = np.array([share[0] - lower[0], upper[0] - share[0]])
    b = np.array([upper[1] - share[1], share[1] - lower[1]])
    with np.errstate(invalid="ignore"):
        squares = np.maximum(a * a - 2 * correlation * a * b + b * b, 0.0)
    return np.where(np.isinf(a) | np.isinf(b), np.inf, np.sqrt(squares))


def _log_odds(shares: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares) - np.log1p(-shares))


def _power(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf


def _limits(lower: float, upper: float) -> Interval:
    return Interval(np.asarray(lower), np.asarray(upper))


def contrast(joint: Estimate, conditional: list[bool], function: Function, name: str) -> Estimate:
    """A smooth function of several probabilities, with their joint covariance.

        f(p),    Var = f'(p)^T Cov(p) f'(p)

    Derivatives are central differences. Each probability is that of an event, or of an event given
    another one: `joint` has P(A and B) and P(B) of a conditional one, else P(A). The interval is
    normal and has no bounds; `difference`, `ratio` and `odds_ratio` have intervals that hold near
    the bounds. If nobody seems to be in a group that a probability is given, the contrast is not a
    number.
    """

    def composed(means: Array) -> float:
        result = function(means[first] / np.where(is_conditional, means[last], 1.0))
        try:
            number = float(result)
        except (TypeError, ValueError):
            raise DataError(f"the function must return one number, got {result!r}") from None
        if not np.isfinite(number):
            raise DataError(
                f"the function is {number} at the estimated probabilities; use one that is finite "
                "there"
            )
        return number

    means, is_conditional = joint.value, np.array(conditional)
    last = np.cumsum(1 + is_conditional) - 1  # P(B) of a conditional probability, else P(A)
    first = last - is_conditional
    if not (means[last[is_conditional]] > 0).all():
        return joint.contrast(np.asarray(np.nan), np.full(len(means), np.nan), name)
    slopes = np.zeros(len(means))
    value = composed(means)
    for i, step in enumerate(_STEP * np.maximum(np.abs(means), _LEAST)):
        move = step * np.eye(len(means))[i]
        slopes[i] = (composed(means + move) - composed(means - move)) / (2 * step)
    return joint.contrast(np.asarray(value), slopes, name)
