"""ReportMixture: reports of several samples as mixtures of known distributions with common shares.

    q_j = K_j a,    log L(a) = sum_j sum_y n_jy log q_jy,    a in the simplex

Column c of K_j is what a person of class c reports in sample j. Classes are the true categories,
and groups of people who do not follow the instructions. log L is concave, so every maximum is
global. It is maximised by Newton steps: each is the least-squares problem with non-negative
shares that approximates log L to the second order (the constrained Newton method of Wang, 2007,
"On fast computation of the non-parametric maximum likelihood estimate of a mixing distribution",
J. R. Statist. Soc. B 69, 185-198). The gap max_c d log L / d a_c / n - 1 bounds how much log L
per record can still grow.

Confidence limits are those of the profile likelihood. A quantity is a ratio r = (u . a) / (v . a)
of two sums of the shares. The shares with r fixed satisfy one linear equation, (u - r v) . a = 0.
They are a polytope whose corners lie on the edges of the simplex, so they are again a mixture, of
the corners. The interval holds all r with

    2 (log L(maximum) - log L(profile at r)) <= chi-squared quantile with 1 degree of freedom.

It stays within [0, 1]. If another share is 0 at one of the two maxima, the statistic is not
chi-squared: in the limit, the coverage of a 95 % interval would be 93.8 % only (Self & Liang, 1987,
case 8), and less for few records. The quantile is then multiplied by 1.14, which in the limit makes
the coverage 95 % also in the worst case, a correlation of 1 (and 90 or 99 % for those levels).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import decimals
from tacit.output.table import Figure, Table, TablesResult
from tacit.reconstruction.estimate import Estimate, estimate_columns, plot_estimates
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.interval import Interval, check_level
from tacit.reconstruction.likelihood import log_likelihood

_TOLERANCE = 1e-11
_MAX_STEPS = 200
_HALVINGS = 40
#: Log-likelihoods that differ by less, relatively, are equal.
_ROUNDING = 1e-13
#: A combination of classes this close to the rows of K is identified.
_IDENTIFIED = 1e-8
#: Statistics below this are rounding errors.
_NO_GAIN = 1e-7


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

    @cached_property
    def maximum(self) -> tuple[Array, float]:
        """The most likely shares and their log-likelihood."""
        return most_likely_shares(self.stacked, self.reports)

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

    def estimate(
        self, quantities: Sequence[Quantity], attributes: tuple[Attribute, ...], name: str
    ) -> Estimate:
        """The quantities as a table of these attributes; one quantity without attributes."""
        shares, best = self.maximum
        if not np.isfinite(best):
            raise DataError("some reports are impossible under their design")
        shape = tuple(a.size for a in attributes)
        value = np.array([quantity.value(shares) for quantity in quantities]).reshape(shape)
        n_records = self.n_records
        covariance = self.covariance(np.array([q.gradient(shares, n_records) for q in quantities]))

        def interval(level: float) -> Interval:
            check_level(level)
            lower, upper = profile_intervals(self, quantities, level)
            return Interval(lower.reshape(shape), upper.reshape(shape))

        estimate = Estimate.of_covariance(
            attributes, value, covariance, n_records, "maximum likelihood", name
        )
        return replace(estimate, interval_of=interval, n_left_out=self.n_left_out)

    def test(self, hypothesis: str, gain: float, df: int) -> HypothesisTest:
        """2 * gain is chi-squared; without degrees of freedom the p-value is 1."""
        statistic = 2 * gain if 2 * gain > _NO_GAIN else 0.0
        return HypothesisTest.of(hypothesis, "likelihood ratio", statistic, df, self.n_records)


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
        shares, _ = nnls(left, right)
    except RuntimeError:
        return fallback
    return shares / shares.sum() if shares.sum() > 0 else fallback


def _line_search(
    rows: Array, n: Array, shares: Array, target: Array, best: float
) -> tuple[Array, float] | None:
    """The longest step towards `target`, halved until log L grows; None if it never does."""
    step = 1.0
    for _ in range(_HALVINGS):
        tried = shares + step * (target - shares)
        value = log_likelihood(n, rows @ tried)
        if value > best:
            return tried, value
        step /= 2
    return None


def _last_step(
    rows: Array, n: Array, target: Array, best: float, gap: float
) -> tuple[Array, float] | None:
    """The whole step, if log L is the same but for rounding and the gap is smaller."""
    expected = rows @ target
    value = log_likelihood(n, expected)
    if value < best - _ROUNDING * abs(best):
        return None
    left = float((rows.T @ (n / expected)).max()) / float(n.sum()) - 1
    return (target, value) if left < gap / 2 else None


#: Factor of the quantile if a share that is not tested is 0, and what counts as 0.
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


def profile(mixture: ReportMixture, quantity: Quantity, at: float) -> tuple[Array, float]:
    """The most likely shares for which the quantity has this value, and their log-likelihood."""
    corners = _corners(quantity.part - at * quantity.whole)
    weights, best = most_likely_shares(mixture.stacked @ corners, mixture.reports)
    return corners @ weights, best


def excess(mixture: ReportMixture, quantity: Quantity, at: float, level: float) -> float:
    """The root of the statistic at a value, less its quantile: above 0 where it is rejected."""
    from scipy.special import ndtri  # slow to load

    shares, best = mixture.maximum
    restricted, reached = profile(mixture, quantity, at)
    lost = best - reached
    root = math.sqrt(max(0.0, 2 * lost)) if math.isfinite(lost) else _FARTHEST
    cut = -float(ndtri((1 - level) / 2))
    at_border = any(
        0 < value < 1 and parts.min() <= _NO_SHARE
        for value, parts in ((quantity.value(shares), shares), (at, restricted))
    )
    return min(root, _FARTHEST) - cut * math.sqrt(_AT_BORDER if at_border else 1.0)


def profile_intervals(
    mixture: ReportMixture, quantities: Sequence[Quantity], level: float
) -> Interval:
    """Confidence limits of each quantity."""
    from scipy.optimize import brentq  # slow to load

    def limit(quantity: Quantity, end: float) -> float:
        middle, beyond = quantity.value(mixture.maximum[0]), partial(excess, mixture, quantity)
        if middle == end or beyond(end, level) <= 0:
            return end
        return float(brentq(beyond, middle, end, (level,), xtol=_LIMIT_TOLERANCE))

    lower, upper = (
        np.array([limit(quantity, end) for quantity in quantities]) for end in (0.0, 1.0)
    )
    return Interval(lower, upper)


def _corners(weights: Array) -> Array:
    """Corners (columns) of the simplex cut by weights . a = 0."""
    scale = np.abs(weights).max(initial=0)
    above = np.flatnonzero(weights > _ZERO * scale)
    below = np.flatnonzero(weights < -_ZERO * scale)
    level = np.setdiff1d(np.arange(weights.size), np.concatenate([above, below]))
    unit = np.eye(weights.size)
    i, j = (pairs.ravel() for pairs in np.meshgrid(above, below, indexing="ij"))
    part = weights[i] / (weights[i] - weights[j])
    return np.concatenate([unit[:, level], (1 - part) * unit[:, i] + part * unit[:, j]], axis=1)


def share_of_all(part: Array) -> Quantity:
    """A sum of shares, as a share of everyone."""
    return Quantity(part, np.ones(part.size))


@dataclass(frozen=True, eq=False, repr=False)
class MixtureResult(TablesResult):
    """Estimates and tests, the fields of a subclass in the order in which they are shown."""

    distribution: Estimate
    log_likelihood: float

    @property
    def estimates(self) -> list[Estimate]:
        """The distribution of the true answers, and what else was estimated."""
        return [value for value in vars(self).values() if isinstance(value, Estimate)]

    @property
    def tests(self) -> list[HypothesisTest]:
        """The tests of what the estimates assume."""
        return [value for value in vars(self).values() if isinstance(value, HypothesisTest)]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready result."""
        values = vars(self).items()
        estimates = {n: v.to_dict(level) for n, v in values if isinstance(v, Estimate)}
        tests = {n: v.to_dict() for n, v in values if isinstance(v, HypothesisTest)}
        return estimates | tests | {"log_likelihood": self.log_likelihood}

    #: The estimated distribution, one axis per attribute; its errors, and the number of records.
    value = property(attrgetter("distribution.value"))
    stderr = property(attrgetter("distribution.stderr"))
    covariance = property(attrgetter("distribution.covariance"))
    n_records = property(attrgetter("distribution.n_records"))

    def interval(self, level: float = 0.95) -> Interval:
        """Profile-likelihood limits of the distribution, within [0, 1]."""
        return self.distribution.interval(level)

    def to_frame(self, *args: Any, backend: str | None = None, **kwargs: Any) -> Any:
        """The distribution as a data frame."""
        return self.distribution.to_frame(*args, backend=backend, **kwargs)

    def to_table(self, level: float = 0.95) -> Table:
        """All estimates in one table, with the tests below."""
        rows = [
            (estimate.name, " & ".join(row[:-3]), *row[-3:])
            for estimate in self.estimates
            for row in estimate.to_table(level).rows
        ]
        heads = ("quantity", "answer", "estimate", "std. error", f"{100 * level:g} % interval")
        return Table(heads, rows, align="llrrr", note="\n".join(map(line, self.tests)))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """A row per estimated cell, then a row per test; what a row does not have is None."""
        of_test = ("statistic", "df", "pvalue")
        cells = estimate_columns(self.estimates, level, of_test)
        n_cells, empty = len(cells["quantity"]), [None] * len(self.tests)
        below = {"quantity": [test.hypothesis for test in self.tests]}
        columns = {name: [*column, *below.get(name, empty)] for name, column in cells.items()}
        tests = {name: [getattr(test, name) for test in self.tests] for name in of_test}
        return columns | {name: [*[None] * n_cells, *column] for name, column in tests.items()}

    def tables(self, level: float = 0.95) -> list[Table]:
        """The estimates and the tests, a table each."""
        heads = ("hypothesis", "likelihood ratio", "df", "p-value")
        tests = [(t.hypothesis, decimals(t.statistic), t.df, t.shown_p) for t in self.tests]
        return [*(each.to_table(level) for each in self.estimates), Table(heads, tests)]

    def plot(self, level: float = 0.95) -> Figure:
        """The estimates with their intervals; needs the extra `plot`."""
        return plot_estimates(self.estimates, level, shares=True)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.estimates), *map(line, self.tests)])


def line(test: HypothesisTest) -> str:
    """A test in one line."""
    shown = test.shown_p if test.shown_p.startswith("<") else f"= {test.shown_p}"
    return f"{test.hypothesis}: G = {test.statistic:.4f}, df = {test.df}, p {shown}"
