"""Statistical assertions with a stated false-alarm rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom

from tacit.core.arrays import Array

#: How often a correct program fails one assertion.
FALSE_ALARM = 1e-6


def smallest_p_value(counts: Any, n: Any, probabilities: Array) -> float:
    """Exact two-sided binomial tests of every count, Bonferroni-corrected for their number.

    A count of an impossible or a missing count of a certain outcome has p-value 0.
    """
    probabilities = np.clip(probabilities, 0, 1)
    below = binom.cdf(counts, n, probabilities)
    above = binom.sf(counts - 1, n, probabilities)
    two_sided = np.minimum(1, 2 * np.minimum(below, above))
    return float(min(1, two_sided.min() * two_sided.size))


def looks_like(counts: Any, n: Any, probabilities: Array) -> bool:
    """Whether counts could come from these probabilities; wrong once in a million if they do."""
    return smallest_p_value(counts, n, probabilities) >= FALSE_ALARM
