"""Confidence limits of shares by profile likelihood.

A quantity is a ratio r = (u . a) / (v . a) of two sums of the shares of a mixture. The shares with
r fixed satisfy one linear equation, (u - r v) . a = 0. They are a polytope whose corners lie on the
edges of the simplex, so they are again a mixture, of the corners: the profile likelihood is
the maximum of a mixture. The interval holds all r with

    2 (log L(maximum) - log L(profile at r)) <= chi-squared quantile with 1 degree of freedom.

It stays within [0, 1]. If another share is 0 at one of the two maxima, the statistic is not
chi-squared: in the limit, the coverage of a 95 % interval would be 93.8 % only (Self & Liang, 1987,
case 8), and less for few records. The quantile is then multiplied by 1.14, which in the limit makes
the coverage 95 % also in the worst case, a correlation of 1 (and 90 or 99 % for those levels).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.compliance.report_mixture import ReportMixture, most_likely_shares
from tacit.core.arrays import Array
from tacit.reconstruction.interval import Interval

#: Factor of the quantile if a share that is not in question is 0, and what counts as 0.
_AT_BORDER, _NO_SHARE = 1.14, 1e-9
#: Signed roots of the statistic are cut here; no usual level has such a limit.
_FARTHEST = 1e3
_LIMIT_TOLERANCE = 1e-9
_ZERO = 1e-14


@dataclass(frozen=True, eq=False)
class Quantity:
    """The ratio of two sums of shares, between 0 and 1."""

    part: Array
    whole: Array

    def value(self, shares: Array) -> float:
        """The ratio; 0 if the whole is 0."""
        whole = float(self.whole @ shares)
        return min(1.0, max(0.0, float(self.part @ shares) / whole)) if whole > 0 else 0.0

    def gradient(self, shares: Array, n_records: int) -> Array:
        """Derivative with respect to the shares; a whole of 0 counts as half a record."""
        whole = max(float(self.whole @ shares), 0.5 / n_records)
        return (self.part - self.value(shares) * self.whole) / whole

    def identified(self, mixture: ReportMixture) -> bool:
        """Whether the reports determine part and whole."""
        return mixture.identified(self.part) and mixture.identified(self.whole)


def profile(mixture: ReportMixture, quantity: Quantity, at: float) -> tuple[Array, float]:
    """The most likely shares for which the quantity has this value, and their log-likelihood."""
    corners = _corners(quantity.part - at * quantity.whole)
    weights, log_likelihood = most_likely_shares(mixture.stacked @ corners, mixture.reports)
    return corners @ weights, log_likelihood


def excess(mixture: ReportMixture, quantity: Quantity, at: float, level: float) -> float:
    """The root of the statistic at a value, less its quantile: above 0 where it is rejected."""
    from scipy.special import ndtri  # slow to load

    shares, best = mixture.maximum
    restricted, log_likelihood = profile(mixture, quantity, at)
    lost = best - log_likelihood
    root = math.sqrt(max(0.0, 2 * lost)) if math.isfinite(lost) else _FARTHEST
    cut = -float(ndtri((1 - level) / 2))
    at_border = any(
        0 < value < 1 and own.min() <= _NO_SHARE
        for value, own in ((quantity.value(shares), shares), (at, restricted))
    )
    return min(root, _FARTHEST) - cut * math.sqrt(_AT_BORDER if at_border else 1.0)


def profile_intervals(
    mixture: ReportMixture, quantities: Sequence[Quantity], level: float
) -> Interval:
    """Confidence limits of each quantity."""
    limits = [_limits(mixture, quantity, level) for quantity in quantities]
    lower, upper = np.array(limits).T
    return Interval(lower, upper)


def _limits(mixture: ReportMixture, quantity: Quantity, level: float) -> tuple[float, float]:
    middle = quantity.value(mixture.maximum[0])
    beyond = partial(excess, mixture, quantity, level=level)
    return _limit(beyond, middle, 0.0), _limit(beyond, middle, 1.0)


def _limit(beyond: Callable[[float], float], middle: float, end: float) -> float:
    from scipy.optimize import brentq  # slow to load

    if middle == end or beyond(end) <= 0:
        return end
    return float(brentq(beyond, middle, end, xtol=_LIMIT_TOLERANCE))


def _corners(weights: Array) -> Array:
    """Corners (columns) of the simplex cut by weights . a = 0."""
    scale = np.abs(weights).max(initial=0)
    above = np.flatnonzero(weights > _ZERO * scale)
    below = np.flatnonzero(weights < -_ZERO * scale)
    level = np.setdiff1d(np.arange(weights.size), np.concatenate([above, below]))
    unit = np.eye(weights.size)
    i, j = (found.ravel() for found in np.meshgrid(above, below, indexing="ij"))
    part = weights[i] / (weights[i] - weights[j])
    return np.concatenate([unit[:, level], (1 - part) * unit[:, i] + part * unit[:, j]], axis=1)
