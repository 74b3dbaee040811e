"""simplex: the unbiased estimate, moved to the nearest distribution.

    min ||q - p_hat||^2  over  q >= 0, sum q = 1:    q = max(p_hat - t, 0)

with t such that q sums to 1, found by sorting (Held, Wolfe & Crowder, 1974). The nearest point
of a convex set that contains the truth is never further from it than p_hat, so the table as a whole
gets closer; a single cell may not, and is biased. Standard errors and intervals are those of the
unbiased estimate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.core.arrays import Array
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.restricted import restricted
from tacit.reconstruction.table_problem import TableProblem


def simplex(problem: TableProblem) -> Estimate:
    """The unbiased estimate projected on the simplex."""
    unbiased = restricted(problem)
    value, possible = np.zeros_like(unbiased.value), (unbiased.value != 0) | (unbiased.stderr > 0)
    value[possible] = project(unbiased.value[possible])
    return replace(unbiased, value=value, method="simplex", errors_by=unbiased.method)


def project(values: Array) -> Array:
    """The distribution nearest to `values` (Euclidean).

    >>> project(np.array([0.7, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    descending = np.sort(values, axis=None)[::-1]
    shifts: Array = (np.cumsum(descending) - 1) / np.arange(1, values.size + 1)
    kept = np.flatnonzero(descending > shifts)[-1]
    nearest: Array = np.maximum(values - shifts[kept], 0.0)
    return nearest
