"""distribution: the shares of ranges of the true numbers, from reports of the square wave.

The shares come from expectation-maximisation with smoothing (EMS): after each EM step the shares of
neighbouring points are averaged with the weights 1/4, 1/2, 1/4. Without it, EM fits the noise.

Their errors come from a smooth fit by least squares with a penalty on roughness:

    minimise  n (f - M p)^T D^-1 (f - M p) + lambda |second differences of p|^2,   sum of p = 1

f are the shares of reports, D = diag(M p0) for the distribution p0 of smoothed EM. Read as a normal
prior for the second differences, the penalty gives a posterior covariance, which contains the
expected bias of smoothing besides the noise (Wahba, 1983). lambda has a marginal likelihood too. We
take the least lambda within `_WITHIN` of its maximum: too much smoothing gives short intervals that
miss the truth, too little only long ones.

Limits are those of the fit, moved to contain the share and to stay within 0 and 1. They hold for
distributions that are smooth on the scale of a range: see the measured coverage in
docs/quantitative.md. A point with a large share, such as many zeros, is not smooth.

References: Li et al. (SIGMOD 2020), section 5.4. D. Nychka, Some properties of adding a smoothing
step to the EM algorithm, Statistics & Probability Letters 9 (1990) 187-193. G. Wahba, Bayesian
confidence intervals for the cross-validated smoothing spline, Journal of the Royal Statistical
Society B 45 (1983) 133-150.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError, DesignError
from tacit.quantitative.families import Scrambling, SquareWave, check_scrambling, numbers_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.reconstruction.likelihood import Convergence

#: An iteration ends when no share moves further than this share of the largest one.
_CLOSE, _MOST_STEPS = 1e-4, 5_000


class WaveSums:
    """The channel of the square wave as sums over windows: M x in the time of two passes.

    A point has the probability `far`, and `near` more if it is within reach.
    """

    def __init__(self, wave: SquareWave) -> None:
        self.steps, self.reach, self.far = wave.steps, wave.reach, float(wave.far)
        self.near = float(wave.largest_ratio) * self.far - self.far

    def forward(self, true: Array) -> Array:
        """Probabilities of reports, along the first axis."""
        sums = _summed(true)
        reports = np.arange(self.steps + 2 * self.reach)
        high = np.minimum(reports + 1, self.steps)
        low = np.maximum(reports - 2 * self.reach, 0)
        return np.asarray(self.far * sums[-1] + self.near * (sums[high] - sums[low]))

    def backward(self, reported: Array) -> Array:
        """The transposed map."""
        sums = _summed(reported)
        low = np.arange(self.steps)
        high = low + 2 * self.reach + 1
        return np.asarray(self.far * sums[-1] + self.near * (sums[high] - sums[low]))


def smoothed_em(wave: WaveSums, reported: Array) -> tuple[Array, Convergence]:
    """Shares of the true points for shares of reports, and how the iteration ended."""
    true = np.full(wave.steps, 1 / wave.steps)
    change, steps = np.inf, 0
    while change >= _CLOSE and steps < _MOST_STEPS:
        after = true * wave.backward(reported / wave.forward(true))
        padded = np.concatenate([after[:1], after, after[-1:]])
        after = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        after = after / after.sum()
        change = float(np.max(np.abs(after - true)) / after.max())
        true, steps = after, steps + 1
    likelihood = float(reported @ np.log(wave.forward(true)))
    return true, Convergence(change < _CLOSE, steps, change, likelihood, change)


def _summed(columns: Array) -> Array:
    """Cumulative sums along the first axis, from 0."""
    return np.concatenate([np.zeros_like(columns[:1]), np.cumsum(columns, axis=0)])


#: Units of log-likelihood below the maximum; 2 covers 3 points less than 4 at steep places.
_WITHIN = 4.0
#: Values of lambda that are tried, from 1 to steps ** _POWER.
_TRIED, _POWER = 45, 7


def smooth_fit(wave: WaveSums, reported: Array, n: int, likely: Array) -> tuple[Array, Array]:
    """The fit to shares of n reports; `likely` is the distribution that weighs them."""
    from scipy.linalg import cho_factor, cho_solve  # slow to load

    scale = np.sqrt(n / wave.forward(likely))
    design = scale[:, None] * wave.forward(np.eye(wave.steps))
    gram = design.T @ design
    score = design.T @ (scale * reported)
    differences = np.diff(np.eye(wave.steps), 2, axis=0)
    rough = differences.T @ differences
    weights = np.exp(np.linspace(0, _POWER * np.log(wave.steps), _TRIED))
    likelihoods = []
    for weight in weights:
        factor = cho_factor(gram + weight * rough, lower=True)
        size = np.log(np.diag(factor[0])).sum()
        fit = score @ cho_solve(factor, score)
        likelihoods.append(0.5 * (wave.steps - 2) * np.log(weight) - size + 0.5 * fit)
    least = int(np.argmax(np.array(likelihoods) >= max(likelihoods) - _WITHIN))
    factor = cho_factor(gram + weights[least] * rough, lower=True)
    shares, covariance = cho_solve(factor, score), cho_solve(factor, np.eye(wave.steps))
    with_total = covariance.sum(axis=1)
    total = with_total.sum()
    shares = shares + with_total * (1 - shares.sum()) / total
    return shares, covariance - np.outer(with_total, with_total) / total


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
    wave = WaveSums(scrambling)
    likely, convergence = smoothed_em(wave, shares)
    centers, spread = smooth_fit(wave, shares, len(codes), likely)
    ranges = sums_over_ranges(scrambling.steps, bins)
    covariance = ranges @ spread @ ranges.T
    value = ranges @ likely
    low, high = scrambling.low, scrambling.high
    edges = [float(low + (high - low) * i / bins) for i in range(bins + 1)]
    labels = [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
    axis = Attribute("range", labels, edges=edges[1:-1])
    estimate = Estimate.of_covariance(
        (axis,), value, covariance, len(codes), "smoothed EM", "distribution"
    )
    limits = partial(_limits, value, ranges @ centers, estimate.stderr)
    return replace(estimate, interval_of=limits, convergence=convergence)


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


def _limits(value: Array, center: Array, stderr: Array, level: float) -> Interval:
    """Those of the fit, which contain the value."""
    low, high = normal_interval(center, stderr, level)
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))
