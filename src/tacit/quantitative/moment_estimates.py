"""mean and variance of true numbers, from the moments of reports.

With E[u | x] = slope x + shift and E[u^2 | x] = square x^2 + linear x + constant, the weights

    g = (u - shift) / slope        h = (u^2 - constant - linear g) / square

have the means x and x^2 for every true number x. So, without bias,

    mean(x) = mean(g)                             Var = var(g) / n
    var(x) = mean(h) - mean(g)^2 + var(g) / n     Var = var(h - 2 mean(g) g) / n, by linearisation

var(x) is that of the population, and may be estimated below 0 when the noise is large.

Incomes and their squares are skewed, so the estimate minus the truth, T by its standard error, is
skewed too. With a = skewness of the weights / sqrt(n),

    ((1 + a T / 3)^3 - 1) / a + a / 6

is nearly normal, and intervals come from this (a = 0: Student's).

Reference: P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical
Society B 54 (1992) 221-228.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError
from tacit.quantitative.number_scramble import check_scrambling
from tacit.quantitative.scrambling import Scrambling, numbers_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval, check_level

#: Skewness below this is rounding.
_SYMMETRIC = 1e-9


def mean(reported: Any, scrambling: Scrambling) -> Estimate:
    """The mean of the true numbers, with its standard error."""
    weights, _ = _weights(reported, scrambling)
    unit, origin = float(scrambling.unit), float(scrambling.origin)
    return _estimate("mean", origin + unit * weights.mean(), unit * weights)


def variance(reported: Any, scrambling: Scrambling) -> Estimate:
    """The variance of the true numbers, with its standard error; limits are never below 0."""
    first, second = _weights(reported, scrambling)
    n, center = len(first), first.mean()
    value = second.mean() - center**2 + first.var(ddof=1) / n
    square = float(scrambling.unit) ** 2
    return _estimate("variance", square * value, square * (second - 2 * center * first), least=0.0)


def _weights(reported: Any, scrambling: Scrambling) -> tuple[Array, Array]:
    """g and h of each report, in units of the scrambling."""
    check_scrambling(scrambling)
    scrambling.require_estimable()
    numbers = numbers_of(reported, "reported numbers")
    if len(numbers) < 2:
        raise DataError("at least two reported numbers are needed for a standard error")
    scrambling.check_reported(numbers)
    units = (numbers - float(scrambling.origin)) / float(scrambling.unit)
    m = scrambling.moments
    first = (units - float(m.shift)) / float(m.slope)
    second = (units**2 - float(m.constant) - float(m.linear) * first) / float(m.square)
    return first, second


def _estimate(name: str, value: float, weights: Array, least: float = -math.inf) -> Estimate:
    """An estimate that varies like the mean of the weights; no limit is below `least`."""
    n = len(weights)
    center, variance = np.asarray(value), weights.var(ddof=1) / n
    stderr, covariance = np.sqrt(np.asarray(variance)), np.asarray([[variance]])
    limits = partial(_limits, center, stderr, _skewness(weights) / math.sqrt(n), n, least)
    return Estimate(
        (),
        center,
        stderr,
        n,
        "moments",
        name,
        partial(np.asarray, covariance),
        interval_of=limits,
    )


def _skewness(weights: Array) -> float:
    off = weights - weights.mean()
    spread = float((off**2).mean())
    return float((off**3).mean()) / spread**1.5 if spread > 0 else 0.0


def _limits(
    value: Array, stderr: Array, skewness: float, n: int, least: float, level: float
) -> Interval:
    """The values that the transformed T does not reject, with n - 1 degrees of freedom."""
    from scipy.special import stdtrit  # slow to load

    check_level(level)
    t = float(stdtrit(n - 1, (1 + level) / 2))
    low, high = (value - _untransformed(t * side, skewness) * stderr for side in (1, -1))
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Interval(np.asarray(np.maximum(low, least)), np.asarray(np.maximum(high, least)))


def _untransformed(deviate: float, skewness: float) -> float:
    """T from its transform.

    >>> round(_untransformed(2.0, 0.3), 3), _untransformed(2.0, 0.0)
    (1.659, 2.0)
    """
    if abs(skewness) < _SYMMETRIC:
        return deviate
    return 3 / skewness * (math.cbrt(1 + skewness * (deviate - skewness / 6)) - 1)
