"""ReportMixture: reports of several samples as mixtures of known distributions with common shares.

    q_j = K_j a,    log L(a) = sum_j sum_y n_jy log q_jy,    a in the simplex

Column c of K_j is what a person of class c reports in sample j. Classes are the true categories,
and groups of people who do not follow the instructions. log L is concave, so every maximum is
global. It is maximised by Newton steps: each is the least-squares problem with non-negative
shares that approximates log L to the second order (the constrained Newton method of Wang, 2007,
"On fast computation of the non-parametric maximum likelihood estimate of a mixing distribution",
J. R. Statist. Soc. B 69, 185-198). The gap max_c d log L / d a_c / n - 1 bounds how much log L
per record can still grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array

_TOLERANCE = 1e-11
_MAX_STEPS = 200
_HALVINGS = 40
#: Log-likelihoods that differ by less, relatively, are equal.
_ROUNDING = 1e-13
#: A combination of classes this close to the rows of K is identified.
_IDENTIFIED = 1e-8


@dataclass(frozen=True, eq=False)
class ReportMixture:
    """Counts of reports and the matrices of their samples; `n_left_out` records had no answer."""

    counts: tuple[Array, ...]
    matrices: tuple[Array, ...]
    n_left_out: int = 0

    @cached_property
    def stacked(self) -> Array:
        """All matrices, one below the other."""
        return np.concatenate(self.matrices)

    @cached_property
    def reports(self) -> Array:
        """All counts, one sample after the other."""
        return np.concatenate(self.counts)

    @cached_property
    def sizes(self) -> Array:
        """For each report cell, the number of records in its sample."""
        return np.concatenate([np.full(c.size, c.sum()) for c in self.counts])

    @property
    def n_records(self) -> int:
        """Number of records of all samples."""
        return round(float(self.reports.sum()))

    def log_likelihood(self, shares: Array) -> float:
        """log L, without the multinomial coefficients; -inf if a report is impossible."""
        return _log_likelihood(self.reports, self.stacked @ shares)

    @cached_property
    def maximum(self) -> tuple[Array, float]:
        """The most likely shares and their log-likelihood."""
        return most_likely_shares(self.stacked, self.reports)

    @cached_property
    def saturated(self) -> float:
        """The log-likelihood of the reported shares themselves."""
        return _log_likelihood(self.reports, self.reports / self.sizes)

    def of_classes(self, kept: Sequence[int]) -> ReportMixture:
        """The mixture of these classes only."""
        return ReportMixture(self.counts, tuple(matrix[:, list(kept)] for matrix in self.matrices))

    @property
    def rank(self) -> int:
        """Dimension of the reports that the classes span."""
        return int(np.linalg.matrix_rank(self.stacked))

    def identified(self, combination: Array) -> bool:
        """Whether reports determine this linear combination of the shares."""
        rows = self.stacked
        solved = np.linalg.lstsq(rows.T, combination, rcond=None)[0]
        residual = np.abs(rows.T @ solved - combination).max()
        size = np.abs(solved).max() * np.finfo(float).eps
        return bool(residual <= _IDENTIFIED and size <= _IDENTIFIED)

    def covariance(self, gradients: Array) -> Array:
        """Covariance of functions with these gradients (rows), from the expected information.

        The functions do not change if all shares are multiplied by a number, so the information
        of independent Poisson counts gives the same covariance. A report that is not expected at
        all is treated as expected half a time.
        """
        shares, _ = self.maximum
        expected = np.maximum(self.stacked @ shares, 0.5 / np.maximum(self.sizes, 1))
        scaled = np.sqrt(self.sizes / expected)[:, None] * self.stacked
        solved = np.linalg.lstsq(scaled.T, gradients.T, rcond=None)[0]
        return np.asarray(solved.T @ solved)


def most_likely_shares(matrix: Array, reports: Array) -> tuple[Array, float]:
    """Maximise sum reports * log(matrix @ a) over the simplex; also the maximum.

    The maximum is -inf if some report is impossible for every class.
    """
    seen = reports > 0
    rows, n = matrix[seen], reports[seen]
    total, classes = float(n.sum()), matrix.shape[1]
    shares = np.full(classes, 1 / classes) if classes else np.zeros(0)
    expected = rows @ shares
    if not classes or (expected <= 0).any():
        return shares, -np.inf
    best = float(n @ np.log(expected))
    for _ in range(_MAX_STEPS):
        gradient = rows.T @ (n / expected) / total
        gap = float(gradient.max()) - 1
        if gap <= _TOLERANCE:
            break
        target = _newton_target(rows / expected[:, None], n / total, shares * gradient)
        step = _line_search(rows, n, shares, target, best)
        step = step or _last_step(rows, n, target, best, gap)
        step = step or _line_search(rows, n, shares, shares * gradient, best)
        if step is None:
            break
        shares, best = step
        expected = rows @ shares
    return shares, best


def _newton_target(slopes: Array, frequencies: Array, fallback: Array) -> Array:
    """Shares that maximise the quadratic approximation of log L; `fallback` if none is found.

    On the simplex, slopes @ b - 2 is (slopes - 2) @ b, and one row of ones with right side 1
    leads to the same direction as the constraint (Dax, 1990).
    """
    from scipy.optimize import nnls  # slow to load

    weighted = np.sqrt(frequencies)[:, None] * (slopes - 2)
    left = np.vstack([weighted, np.ones(slopes.shape[1])])
    right = np.zeros(left.shape[0])
    right[-1] = 1
    try:
        found, _ = nnls(left, right)
    except RuntimeError:
        return fallback
    return found / found.sum() if found.sum() > 0 else fallback


def _line_search(
    rows: Array, n: Array, shares: Array, target: Array, best: float
) -> tuple[Array, float] | None:
    """The longest step towards `target`, halved until log L grows; None if it never does."""
    step = 1.0
    for _ in range(_HALVINGS):
        tried = shares + step * (target - shares)
        value = _log_likelihood(n, rows @ tried)
        if value > best:
            return tried, value
        step /= 2
    return None


def _last_step(
    rows: Array, n: Array, target: Array, best: float, gap: float
) -> tuple[Array, float] | None:
    """The whole step, if log L is the same but for rounding and the gap is smaller."""
    expected = rows @ target
    value = _log_likelihood(n, expected)
    if value < best - _ROUNDING * abs(best):
        return None
    left = float((rows.T @ (n / expected)).max()) / float(n.sum()) - 1
    return (target, value) if left < gap / 2 else None


def _log_likelihood(reports: Array, expected: Array) -> float:
    seen = reports > 0
    if (expected[seen] <= 0).any():
        return -np.inf
    return float(reports[seen] @ np.log(expected[seen]))
