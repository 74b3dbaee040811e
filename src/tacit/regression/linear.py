"""linear: least squares with disguised predictors or a disguised outcome, by corrected moments.

    A = sum over records and cells of g_c(r) x_c x_c^T,    b = A^-1 sum of g_c(r) x_c y

g_c(r) is the weight of report r for the joint answer c to what is disguised (METHODS 8), so A and
the right side are unbiased for X'X and X'y of the true answers, whatever the distribution of the
predictors. Errors by the sandwich A^-1 (sum of psi psi^T) A^-1 n/(n-p), where psi is what a record
adds to the equations: without disguise, least squares with the errors that are called HC1.

Degenerate cases: noise may make A indefinite when records are few; that is an error.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import Interval, check_level, t_deviate
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.regression.coefficients import CoefficientTable
from tacit.regression.data import CategoryColumn, Column, numbers_of
from tacit.regression.maximum import check_collinear, solved
from tacit.regression.problem import (
    SANDWICH,
    RegressionProblem,
    RegressionSample,
    check_fitted,
    disguise_lines,
    pair_problem,
    regression_problem,
)


@dataclass(frozen=True, eq=False, repr=False)
class LinearResult(CoefficientTable):
    """Coefficients of a linear regression; `scale` is the residual variance."""

    scale: float
    rsquared: float
    problem: RegressionProblem

    def predict(self, data: Any = None) -> Array:
        """The expected outcome given the true covariates; without `data`, of the fitted records."""
        terms = self.problem.terms
        if data is None:
            check_fitted(self.problem)
        matrix = terms.matrices()[0] if data is None else terms.new_matrix(data)
        known = matrix[:, -1] if terms.has_offset else 0.0
        return np.asarray(matrix[:, : len(self.names)] @ self.values + known)

    def figures(self) -> list[str]:
        fit = f"R-squared {decimals(self.rsquared)}, residual variance {decimals(self.scale)}"
        sample = self.problem.sample
        errors = SANDWICH if sample is None else sample.error_method
        lines = [f"{fit}; standard errors {errors}", *super().figures()]
        return [*lines, *disguise_lines(self.problem)]

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


def linear(
    formula: str,
    data: Any,
    design: Design,
    covariates: Any = None,
    **sampling: Unpack[SamplingArguments],
) -> LinearResult:
    """Regress a number on covariates and on answers, disguised or not.

    The outcome is a column of numbers, or an attribute whose categories are numbers. Arguments are
    those of `logit`; standard errors are always those of the sandwich.
    """
    problem = regression_problem(formula, data, design, covariates, Sampling(**sampling))
    names, matrices, moments = problem.terms.names, problem.terms.matrices(), _cell_moments(problem)
    if problem.terms.has_offset:
        moments = [own.less(matrix[:, -1]) for own, matrix in zip(moments, matrices, strict=True)]
        matrices = tuple(matrix[:, :-1] for matrix in matrices)
    check_collinear(matrices, names)
    values, inverse = _solution(problem, matrices, moments, problem.row_counts)
    return _result(problem, matrices, moments, values, inverse)


def _solution(
    problem: RegressionProblem,
    matrices: tuple[Array, ...],
    moments: list[CellMoments],
    times: Array,
) -> tuple[Array, Array]:
    """The coefficients and A^-1, if each row counts `times`."""
    cross = np.asarray(
        sum(
            matrix.T @ (matrix * (times * own.weight)[:, None])
            for matrix, own in zip(matrices, moments, strict=True)
        )
    )
    right = np.asarray(
        sum(
            (times * (own.outcome + own.centre * own.weight)) @ matrix
            for matrix, own in zip(matrices, moments, strict=True)
        )
    )
    inverse = solved(cross, np.eye(len(cross)))
    if inverse is None:
        raise DataError(
            f"{number_of(problem.n_records, 'record')} are too few for disguised predictors with "
            "this much noise: their corrected cross products are not positive definite"
        )
    return inverse @ right, inverse


def _result(
    problem: RegressionProblem,
    matrices: tuple[Array, ...],
    moments: list[CellMoments],
    values: Array,
    inverse: Array,
) -> LinearResult:
    n, size, times = problem.n_records, len(values), problem.row_counts
    psi, residual = np.zeros((problem.n_rows, size)), 0.0
    for matrix, own in zip(matrices, moments, strict=True):
        fitted = matrix @ values - own.centre
        psi += matrix * (own.outcome - own.weight * fitted)[:, None]
        residual += float(times @ (own.square - 2 * own.outcome * fitted + own.weight * fitted**2))
    total = sum(float(times @ own.square) for own in moments)
    mean = sum(float(times @ own.outcome) for own in moments) / n
    spread = total - n * mean**2
    free = max(n - size, 1)
    if problem.sample is None:
        covariance = inverse @ (psi.T @ (psi * times[:, None]) * (n / free)) @ inverse
    else:
        covariance = problem.sample.covariance(
            values,
            lambda weights: _solution(problem, matrices, moments, weights)[0],
            psi,
            inverse,
        )
    records = number_of(n, "record")
    return LinearResult(
        title=f"Linear regression of {problem.name} from {records}, by corrected moments",
        names=problem.terms.names,
        values=values,
        covariance=covariance,
        nobs=n,
        n_left_out=problem.n_left_out,
        warnings=(),
        scale=residual / free,
        rsquared=1 - residual / spread if spread > 0 else np.nan,
        problem=problem,
        df=np.inf if problem.sample is None else problem.sample.df,
    )


def _cell_moments(problem: RegressionProblem) -> list[CellMoments]:
    """What each record contributes to each cell of the disguised predictors."""
    if isinstance(problem.outcome, CategoryColumn):
        raise DataError(_not_numbers(problem.name))
    weights = problem.used.inverse()
    if not isinstance(problem.outcome, Attribute):
        y = problem.outcome.values.astype(np.float64)
        centre = float(y.mean())
        y = y - centre
        own = (row[problem.used.reports] for row in weights)
        return [CellMoments(g, g * y, g * y**2, centre) for g in own]
    labels = numbers_of(problem.outcome)
    if labels is None:
        raise DataError(_not_numbers(problem.name))
    by_cell = weights.reshape(len(labels), problem.n_cells, -1)
    powers = [np.tensordot(labels**power, by_cell, axes=1) for power in (0, 1, 2)]
    return [
        CellMoments(*(table[cell][problem.used.reports] for table in powers))
        for cell in range(problem.n_cells)
    ]


def _not_numbers(name: str) -> str:
    return f"the outcome {name!r} has categories that are not numbers; use logit"


# correlation: Pearson's correlation of two numbers or answers, disguised or not.
#
# The moments E[x], E[y], E[x^2], E[y^2], E[xy] of the true answers are means of the weights of
# the
# reports (METHODS 8); the error of the correlation follows by the delta method, and its interval
# on
# Fisher's scale, so that it stays within -1 and 1.


def correlation(
    first: str, second: str, data: Any, design: Design, **sampling: Unpack[SamplingArguments]
) -> Estimate:
    """The correlation of two columns or attributes, with an interval.

    Categories must be numbers, or two: then the second counts 1 and the first 0. `weights`,
    `strata` and `clusters` say how people were sampled, as in `reconstruct`.
    """
    problem = pair_problem(first, second, data, design, Sampling(**sampling))
    labels = [_numbers(name, own) for name, own in zip((first, second), problem.pair, strict=True)]
    weights = problem.used.inverse()
    n, times = len(problem.used.reports), problem.used.row_counts
    rows = np.zeros((5, n))
    sizes = [range(own.size) if isinstance(own, Attribute) else range(1) for own in problem.pair]
    for cell, places in enumerate(itertools.product(*sizes)):
        g = weights[cell][problem.used.reports]
        x, y = (
            values[place] if isinstance(own, Attribute) else values
            for values, own, place in zip(labels, problem.pair, places, strict=True)
        )
        rows += g * np.stack([np.broadcast_to(part, n) for part in (x, y, x * x, y * y, x * y)])
    return _estimate(rows, times, f"correlation({first}, {second})", problem.sample)


def _estimate(rows: Array, times: Array, name: str, sample: RegressionSample | None) -> Estimate:
    """The correlation of moments that are means of `rows`, each of which counts `times`."""
    n = round(times.sum())
    weights = times if sample is None else sample.weights
    x, y, xx, yy, _ = means = rows @ weights / weights.sum()
    vx, vy = xx - x * x, yy - y * y
    r = _correlation(rows, name, weights)
    slopes = np.array([-y, -x, 0, 0, 1]) / np.sqrt(vx * vy) - r / 2 * np.array(
        [-2 * x / vx, -2 * y / vy, 1 / vx, 1 / vy, 0]
    )
    influence = slopes @ (rows - means[:, None])
    variance = float((times * influence) @ influence) / n**2
    found = Estimate.of_covariance((), np.array(r), np.array([[variance]]), n, "inversion", name)
    if sample is not None:
        refitted = partial(_correlation, rows, name)
        covariance = sample.covariance(r, refitted, influence[:, None], np.array([[1 / n]]))
        found = found.of_sample(covariance, sample.df)
    limits = partial(_interval, float(r), float(found.stderr), found.df)
    return replace(found, interval_of=limits, no_effect=0)


def _correlation(rows: Array, name: str, weights: Array) -> Array:
    """The correlation of moments that are means of `rows` with these weights."""
    x, y, xx, yy, xy = rows @ weights / weights.sum()
    vx, vy = xx - x * x, yy - y * y
    if vx <= 0 or vy <= 0:
        which = name.strip(")").partition("(")[2].split(", ")[0 if vx <= 0 else 1]
        raise DataError(
            f"{which!r} has no variance that can be told from the noise of the disguise; a "
            "correlation needs more records"
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


def _numbers(name: str, own: Column | Attribute) -> Array:
    """The number of each category, or of each record."""
    if isinstance(own, Attribute):
        values = numbers_of(own)
        found = np.arange(2.0) if values is None and own.size == 2 else values
    elif isinstance(own, CategoryColumn):
        found = own.codes.astype(np.float64) if len(own.categories) == 2 else None
    else:
        found = own.values.astype(np.float64)
    if found is None:
        raise DataError(
            f"{name!r} has more than two categories that are not numbers; a correlation needs "
            "numbers or two categories"
        )
    return found
