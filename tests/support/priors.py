"""Priors that tests of optimal channels share."""

from __future__ import annotations

import numpy as np
from scipy.stats import gamma, norm

from tacit.core.arrays import Array


def normal(categories: int = 10) -> Array:
    """The standard normal on [-3, 3] cut into equal bins, as in the paper."""
    return _shares(norm.cdf(np.linspace(-3, 3, categories + 1)))


def decaying(categories: int = 10) -> Array:
    """The gamma distribution of shape 1 and scale 2 on [0, 10], cut into equal bins."""
    return _shares(gamma.cdf(np.linspace(0, 10, categories + 1), 1, scale=2))


def _shares(cumulative: Array) -> Array:
    shares = np.diff(cumulative)
    return np.asarray(shares / shares.sum())
