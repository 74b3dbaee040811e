"""Intervals by the profile likelihood: the values that a likelihood-ratio test does not reject.

    2 (max l - max over the other parameters of l given b) <= chi-squared quantile, one degree

The root of the left side is almost linear in b, so interpolation needs few fits. An end
is infinite where the likelihood does not fall far enough, as it happens under separation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tacit.arrays import Array
from tacit.regression.newton import Maximum, maximum
from tacit.regression.report_likelihood import FixedCoefficient, ReportLikelihood

#: Error of the signed root, and the largest number of fits per end.
_CLOSE, _FITS = 1e-4, 80
#: From this number of standard errors on, an end is infinite.
_INFINITE = 1e4
#: An interpolation closer to one of two ends makes no progress: bisect instead.
_STEEP = 0.02


def profile_end(
    likelihood: ReportLikelihood, theta: Array, place: int, step: float, alpha: float
) -> float:
    """One end of the interval of a coefficient; `step` is about one standard error towards it."""
    top, goal = likelihood.value(theta), -float(ndtri(alpha / 2))
    others, distance = np.delete(theta, place), goal
    low, low_root, high, high_root = 0.0, 0.0, np.inf, np.inf
    for _ in range(_FITS):
        found = _given(likelihood, place, theta[place] + distance * step, others)
        root = float(np.sqrt(max(2 * (top - found.value), 0.0)))
        if abs(root - goal) < _CLOSE:
            break
        if root < goal:
            low, low_root, others = distance, root, found.theta
        else:
            high, high_root = distance, root
        if low > _INFINITE:
            return float(np.copysign(np.inf, step))
        distance = _next(goal, low, low_root, high, high_root)
    return float(theta[place] + distance * step)


def _next(goal: float, low: float, low_root: float, high: float, high_root: float) -> float:
    """The distance to try after too short a one and, if there was any, too long a one."""
    if np.isinf(high):
        return low * min(4.0, 1.01 * goal / low_root) if low_root > 0 else 4 * low
    share = (goal - low_root) / (high_root - low_root)
    return low + (high - low) * (share if _STEEP < share < 1 - _STEEP else 0.5)


def _given(likelihood: ReportLikelihood, place: int, value: float, others: Array) -> Maximum:
    fixed = FixedCoefficient(likelihood, place, value)
    if not others.size:
        return Maximum(others, fixed.value(others), np.zeros((0, 0)), True, 0)
    return maximum(fixed, others)
