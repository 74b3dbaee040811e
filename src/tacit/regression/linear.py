"""linear: least squares with disguised predictors or a disguised outcome, by corrected moments.

    A = sum over records and cells of g_c(r) x_c x_c^T,    b = A^-1 sum of g_c(r) x_c y

g_c(r) is the weight of report r for the joint answer c to what is disguised, so A and the right
side are unbiased for X'X and X'y of the true answers, whatever the distribution of the
predictors. Errors by the sandwich A^-1 (sum of psi psi^T) A^-1 n/(n-p), where psi is what a record
adds to the equations: without disguise, least squares with the errors that are called HC1.

Degenerate cases: noise may make A indefinite when records are few; that is an error.

correlation: Pearson's correlation of two numbers or answers. The moments E[x], E[y], E[x^2], E[y^2]
and E[xy] of the true answers are means of the weights of the reports; the error follows by the
delta method, and the interval on Fisher's scale, so that it stays within -1 and 1.

Reference: van den Hout and van der Heijden (2002), International Statistical Review 70, for
unbiased moments of answers that a known matrix misclassifies.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import Interval, check_level, t_deviate
from tacit.reconstruction.sampling import function_of
from tacit.regression.coefficients import CoefficientTable
from tacit.regression.maximum import check_collinear, solved
from tacit.regression.problem import Pair, Regression, RegressionProblem
from tacit.regression.terms import CategoryColumn, Column, NumberColumn, numbers_of


@dataclass(frozen=True, eq=False, repr=False)
class LinearResult(CoefficientTable):
    """Coefficients of a linear regression; `scale` is the residual variance."""

    scale: float
    rsquared: float

    def predict(self, true: Any = None) -> Array:
        """The expected outcome given the true covariates; without `true`, of the fitted records."""
        matrix = self.problem.prediction_matrix(true)
        offset = matrix[:, -1] if self.problem.terms.has_offset else 0.0
        return np.asarray(matrix[:, : len(self.names)] @ self.values + offset)

    def notes(self) -> list[str]:
        fit = f"R-squared {decimals(self.rsquared)}, residual variance {decimals(self.scale)}"
        errors = self.problem.error_method
        return [f"{fit}; standard errors {errors}", *super().notes(), *self.problem.disguises]

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        return super().to_dict(alpha) | {"rsquared": self.rsquared, "scale": self.scale}


class CellMoments(NamedTuple):
    """The weight of each record for a cell, and the same times y and times y squared.

    y is measured from `centre`, so that the residuals of large numbers keep their digits.
    """

    weight: Array
    outcome: Array
    square: Array
    centre: float = 0.0

    def less(self, offset: Array) -> CellMoments:
        """The moments of y less a number per record."""
        outcome = self.outcome - offset * self.weight
        square = self.square - 2 * offset * self.outcome + offset**2 * self.weight
        return CellMoments(self.weight, outcome, square, self.centre)


class LinearRegression(Regression):
    """The arguments of `linear`."""

    def linear(self) -> LinearResult:
        """Regress a number on covariates and on answers, disguised or not.

        The outcome is a column of numbers, or an attribute whose categories are numbers. Arguments
        are those of `logit`; standard errors are always those of the sandwich.
        """
        problem = self.problem()
        names, matrices = problem.terms.names, problem.terms.matrices
        moments = _cell_moments(problem)
        if problem.terms.has_offset:
            moments = [m.less(matrix[:, -1]) for m, matrix in zip(moments, matrices, strict=True)]
            matrices = tuple(matrix[:, :-1] for matrix in matrices)
        check_collinear(matrices, names)
        cells = list(zip(matrices, moments, strict=True))
        times, n = problem.row_counts, problem.n_records
        values, inverse = _solution(cells, times, n)
        psi, residual = np.zeros((problem.n_rows, len(values))), 0.0
        for matrix, m in cells:
            fitted = matrix @ values - m.centre
            psi += matrix * (m.outcome - m.weight * fitted)[:, None]
            residual += float(times @ (m.square - 2 * m.outcome * fitted + m.weight * fitted**2))
        total = sum(float(times @ m.square) for m in moments)
        mean = sum(float(times @ m.outcome) for m in moments) / n
        spread = total - n * mean**2
        free = max(n - len(values), 1)
        if problem.sample is None:
            covariance = inverse @ (psi.T @ (psi * times[:, None]) * (n / free)) @ inverse
        else:
            covariance = problem.sample.covariance(
                values, lambda row_weights: _solution(cells, row_weights, n)[0], psi, inverse
            )
        records = number_of(n, "record")
        title = f"Linear regression of {problem.name} from {records}, by corrected moments"
        rsquared = 1 - residual / spread if spread > 0 else np.nan
        return LinearResult(
            title, names, values, covariance, problem, (), scale=residual / free, rsquared=rsquared
        )


linear = function_of(LinearRegression, LinearRegression.linear)


def _solution(
    cells: list[tuple[Array, CellMoments]], times: Array, n_records: int
) -> tuple[Array, Array]:
    """The coefficients and A^-1, if each row counts `times`."""
    cross = sum(matrix.T @ (matrix * (times * m.weight)[:, None]) for matrix, m in cells)
    right = sum((times * (m.outcome + m.centre * m.weight)) @ matrix for matrix, m in cells)
    inverse = solved(np.asarray(cross), np.eye(cells[0][0].shape[1]))
    if inverse is None:
        raise DataError(
            f"{number_of(n_records, 'record')} are too few for disguised predictors with "
            "this much noise: their corrected cross products are not positive definite"
        )
    return inverse @ np.asarray(right), inverse


def _cell_moments(problem: RegressionProblem) -> list[CellMoments]:
    """What each record contributes to each cell of the disguised predictors."""
    outcome, reports, weights = problem.outcome, problem.used.reports, problem.used.inverse()
    if isinstance(outcome, NumberColumn):
        y = outcome.values.astype(np.float64)
        centre = float(y.mean())
        y = y - centre
        cell_weights = (row[reports] for row in weights)
        return [CellMoments(g, g * y, g * y**2, centre) for g in cell_weights]
    labels = numbers_of(outcome) if isinstance(outcome, Attribute) else None
    if labels is None:
        raise DataError(
            f"the outcome {problem.name!r} has categories that are not numbers; use logit"
        )
    by_cell = weights.reshape(len(labels), problem.n_cells, -1)
    powers = [np.tensordot(labels**power, by_cell, axes=1) for power in (0, 1, 2)]
    return [
        CellMoments(*(table[cell][reports] for table in powers)) for cell in range(problem.n_cells)
    ]


class CorrelatedPair(Pair):
    """The arguments of `correlation`."""

    def correlation(self) -> Estimate:
        """The correlation of two columns or attributes, with an interval.

        Categories must be numbers, or two: then the second counts 1 and the first 0. `weights`,
        `strata`, `clusters` and `errors` say how people were sampled, as in `reconstruct`.
        """
        names, (pair, used, sample) = (self.first, self.second), self.problem()
        numbers = [_numbers(name, column) for name, column in zip(names, pair, strict=True)]
        # A number per answer of what is disguised, else one for all records.
        answers = (
            list(values) if isinstance(column, Attribute) else [values]
            for values, column in zip(numbers, pair, strict=True)
        )
        n_rows = len(used.reports)
        rows = np.zeros((5, n_rows))
        for weights, (x, y) in zip(used.inverse(), itertools.product(*answers), strict=True):
            moments = (x, y, x * x, y * y, x * y)
            columns = np.stack([np.broadcast_to(moment, n_rows) for moment in moments])
            rows += weights[used.reports] * columns
        times, name = used.row_counts, f"correlation({self.first}, {self.second})"
        n = round(times.sum())
        row_weights = times if sample is None else sample.weights
        x, y, xx, yy, _ = means = rows @ row_weights / row_weights.sum()
        vx, vy = xx - x * x, yy - y * y
        r = _correlation(rows, names, row_weights)
        slopes = np.array([-y, -x, 0, 0, 1]) / np.sqrt(vx * vy) - r / 2 * np.array(
            [-2 * x / vx, -2 * y / vy, 1 / vx, 1 / vy, 0]
        )
        influence = slopes @ (rows - means[:, None])
        variance = np.array([[float((times * influence) @ influence) / n**2]])
        estimate = Estimate.of_covariance((), np.array(r), variance, n, "inversion", name)
        if sample is not None:
            refitted = partial(_correlation, rows, names)
            variance = sample.covariance(r, refitted, influence[:, None], np.array([[1 / n]]))
            estimate = estimate.of_sample(variance, sample.rows.df)
        limits = partial(_interval, float(r), float(estimate.stderr), estimate.df)
        return replace(estimate, interval_of=limits, no_effect=0)


correlation = function_of(CorrelatedPair, CorrelatedPair.correlation)


def _correlation(rows: Array, names: tuple[str, str], weights: Array) -> Array:
    """The correlation of moments that are means of `rows` with these weights."""
    x, y, xx, yy, xy = rows @ weights / weights.sum()
    vx, vy = xx - x * x, yy - y * y
    if vx <= 0 or vy <= 0:
        raise DataError(
            f"{names[0 if vx <= 0 else 1]!r} has no variance that can be told from the noise of "
            "the disguise; a correlation needs more records"
        )
    return np.asarray((xy - x * y) / np.sqrt(vx * vy))


def _interval(r: float, stderr: float, df: float, level: float) -> Interval:
    """Limits on Fisher's scale; by Student's distribution where noise gives |r| >= 1."""
    check_level(level)
    half = t_deviate((1 - level) / 2, df) * stderr
    if abs(r) < 1 - 1e-9:
        centre, half = np.arctanh(r), half / (1 - r * r)
        return Interval(np.array(np.tanh(centre - half)), np.array(np.tanh(centre + half)))
    return Interval(np.array(max(r - half, -1.0)), np.array(min(r + half, 1.0)))


def _numbers(name: str, column: Column | Attribute) -> Array:
    """The number of each category, or of each record."""
    if isinstance(column, NumberColumn):
        return column.values.astype(np.float64)
    numbers = numbers_of(column) if isinstance(column, Attribute) else None
    if numbers is None and column.size == 2:
        numbers = np.arange(2.0)
        if isinstance(column, CategoryColumn):
            numbers = column.codes.astype(np.float64)
    if numbers is None:
        raise DataError(
            f"{name!r} has more than two categories that are not numbers; a correlation needs "
            "numbers or two categories"
        )
    return numbers
