"""distribution: the shares of ranges of the true numbers, from reports of the square wave.

The shares come from smoothed EM (`smoothed_em`), their errors from a smooth fit by least squares
(`roughness_penalty`). Limits are those of the fit, moved to contain the share and to stay within 0
and 1. They hold for distributions that are smooth on the scale of a range: see the measured
coverage in docs/quantitative.md. A point with a large share, such as many zeros, is not smooth.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError, DesignError
from tacit.quantitative.number_scramble import check_scrambling
from tacit.quantitative.roughness_penalty import smooth_fit
from tacit.quantitative.scrambling import Scrambling, numbers_of
from tacit.quantitative.smoothed_em import WaveSums, smoothed_em
from tacit.quantitative.square_wave_scrambling import SquareWave
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval, normal_interval


def distribution(reported: Any, scrambling: Scrambling, bins: int = 10) -> Estimate:
    """Shares of `bins` equal ranges from low to high, with standard errors."""
    check_scrambling(scrambling)
    if not isinstance(scrambling, SquareWave):
        raise DesignError(
            f"only square_wave tells the whole distribution, not {scrambling.family}; use mean and "
            "variance, or bin the numbers and disguise the categories"
        )
    most = scrambling.steps // 2
    if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= most:
        raise DataError(f"bins must be a whole number from 2 to {most}, got {bins!r}")
    codes = scrambling.codes(numbers_of(reported, "reported numbers"))
    shares = np.bincount(codes, minlength=scrambling.points) / len(codes)
    wave = WaveSums.of(scrambling)
    likely, convergence = smoothed_em(wave, shares)
    fit = smooth_fit(wave, shares, len(codes), likely)
    ranges = sums_over_ranges(scrambling.steps, bins)
    covariance = ranges @ fit.covariance @ ranges.T
    value, stderr = ranges @ likely, np.sqrt(covariance.diagonal())
    return Estimate(
        (_attribute(scrambling, bins),),
        value,
        stderr,
        len(codes),
        "smoothed EM",
        "distribution",
        partial(np.asarray, covariance),
        convergence=convergence,
        interval_of=partial(_limits, value, ranges @ fit.shares, stderr),
    )


def sums_over_ranges(steps: int, bins: int) -> Array:
    """A row per range: the part of each point's cell that lies in it.

    Point v stands for the numbers from v - 1/2 to v + 1/2, within low and high.
    """
    starts = np.clip(np.arange(steps) - 0.5, 0, steps - 1)
    ends = np.clip(np.arange(steps) + 0.5, 0, steps - 1)
    edges = np.linspace(0, steps - 1, bins + 1)
    low = np.maximum(starts, edges[:-1, None])
    high = np.minimum(ends, edges[1:, None])
    return np.asarray(np.maximum(high - low, 0) / (ends - starts))


def _attribute(scrambling: SquareWave, bins: int) -> Attribute:
    low, high = scrambling.low, scrambling.high
    edges = [float(low + (high - low) * i / bins) for i in range(bins + 1)]
    labels = [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
    return Attribute("range", labels, edges=edges[1:-1])


def _limits(value: Array, center: Array, stderr: Array, level: float) -> Interval:
    """Those of the fit, which contain the value."""
    low, high = normal_interval(center, stderr, level)
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))
