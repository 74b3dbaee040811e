"""linear: least squares with disguised predictors or a disguised outcome, by corrected moments.

    A = sum over records and cells of g_c(r) x_c x_c^T,    b = A^-1 sum of g_c(r) x_c y

g_c(r) is the weight of report r for the joint answer c to what is disguised (METHODS 8), so A and
the right side are unbiased for X'X and X'y of the true answers, whatever the distribution of the
predictors. Errors by the sandwich A^-1 (sum of psi psi^T) A^-1 n/(n-p), where psi is what a record
adds to the equations: without disguise, least squares with the errors that are called HC1.

Degenerate cases: noise may make A indefinite when records are few; that is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.regression.coefficient_table import CoefficientTable
from tacit.regression.covariates import CategoryColumn, numbers_of
from tacit.regression.identification import check_collinear
from tacit.regression.newton import solved
from tacit.regression.regression_problem import (
    RegressionProblem,
    check_fitted,
    disguise_lines,
    regression_problem,
)
from tacit.regression.regression_sample import SANDWICH


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
