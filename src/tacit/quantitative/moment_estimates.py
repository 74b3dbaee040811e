"""mean and variance of true numbers, from the moments of reports.

With E[u | x] = slope x + shift and E[u^2 | x] = square x^2 + linear x + constant, the weights

    g = (u - shift) / slope        h = (u^2 - constant - linear g) / square

have the means x and x^2 for every true number x. So, without bias,

    mean(x) = mean(g)                             Var = var(g) / n
    var(x) = mean(h) - mean(g)^2 + var(g) / n     Var = var(h - 2 mean(g) g) / n, by linearisation

var(x) is that of the population, and may be estimated below 0 when the noise is large.
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


def mean(reported: Any, scrambling: Scrambling) -> Estimate:
    """The mean of the true numbers, with its standard error."""
    weights, _ = _weights(reported, scrambling)
    n = len(weights)
    variance = weights.var(ddof=1) / n
    unit, origin = float(scrambling.unit), float(scrambling.origin)
    return _estimate("mean", origin + unit * weights.mean(), unit**2 * variance, n)


def variance(reported: Any, scrambling: Scrambling) -> Estimate:
    """The variance of the true numbers, with its standard error; limits are never below 0."""
    first, second = _weights(reported, scrambling)
    n, center = len(first), first.mean()
    value = second.mean() - center**2 + first.var(ddof=1) / n
    noise = (second - 2 * center * first).var(ddof=1) / n
    unit = float(scrambling.unit)
    return _estimate("variance", unit**2 * value, unit**4 * noise, n, least=0.0)


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


def _estimate(
    name: str, value: float, variance: float, n: int, least: float = -math.inf
) -> Estimate:
    center, stderr = np.asarray(value), np.sqrt(np.asarray(variance))
    covariance = np.asarray([[variance]])
    limits = partial(_limits, center, stderr, n, least)
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


def _limits(value: Array, stderr: Array, n: int, least: float, level: float) -> Interval:
    """value -+ t stderr, with n - 1 degrees of freedom."""
    from scipy.special import stdtrit  # slow to load

    check_level(level)
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * stderr
    low, high = np.maximum(value - reach, least), np.maximum(value + reach, least)
    return Interval(np.asarray(low), np.asarray(high))
