"""The error of a smooth distribution of points: least squares with a penalty on roughness.

    minimise  n (f - M p)^T D^-1 (f - M p) + lambda |second differences of p|^2,   sum of p = 1

f are the shares of reports, D = diag(M p0) for the distribution p0 of smoothed EM. Read as a normal
prior for the second differences, the penalty gives a posterior covariance, which contains the
expected bias of smoothing besides the noise (Wahba, 1983). lambda has a marginal likelihood too. We
take the least lambda within `_WITHIN` of its maximum: too much smoothing gives short intervals that
miss the truth, too little only long ones.

Reference: G. Wahba, Bayesian confidence intervals for the cross-validated smoothing spline, Journal
of the Royal Statistical Society B 45 (1983) 133-150.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.quantitative.smoothed_em import WaveSums

#: Units of log-likelihood below the maximum; 2 covers 3 points less than 4 at steep places.
_WITHIN = 4.0
#: Values of lambda that are tried, from 1 to steps ** _POWER.
_TRIED, _POWER = 45, 7


class SmoothFit(NamedTuple):
    """Shares of points, which may be negative, and their covariance."""

    shares: Array
    covariance: Array


def smooth_fit(wave: WaveSums, reported: Array, n: int, likely: Array) -> SmoothFit:
    """The fit to shares of n reports; `likely` is the distribution that weighs them."""
    from scipy.linalg import cho_solve  # slow to load

    scale = np.sqrt(n / wave.forward(likely))
    design = scale[:, None] * wave.forward(np.eye(wave.steps))
    known = design.T @ design
    score = design.T @ (scale * reported)
    factor = _chosen(known, score)
    shares, covariance = cho_solve(factor, score), cho_solve(factor, np.eye(wave.steps))
    with_total = covariance.sum(axis=1)
    total = with_total.sum()
    shares = shares + with_total * (1 - shares.sum()) / total
    return SmoothFit(shares, covariance - np.outer(with_total, with_total) / total)


def _chosen(known: Array, score: Array) -> Any:
    """The factored precision at the least lambda that the reports do not contradict."""
    from scipy.linalg import cho_factor, cho_solve  # slow to load

    steps = len(known)
    differences = np.diff(np.eye(steps), 2, axis=0)
    rough = differences.T @ differences
    weights = np.exp(np.linspace(0, _POWER * np.log(steps), _TRIED))
    likelihoods = []
    for weight in weights:
        factor = cho_factor(known + weight * rough, lower=True)
        size = np.log(np.diag(factor[0])).sum()
        fit = score @ cho_solve(factor, score)
        likelihoods.append(0.5 * (steps - 2) * np.log(weight) - size + 0.5 * fit)
    least = int(np.argmax(np.array(likelihoods) >= max(likelihoods) - _WITHIN))
    return cho_factor(known + weights[least] * rough, lower=True)
