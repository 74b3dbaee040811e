"""Average marginal effects: how much a covariate moves the probabilities of the true outcome.

Probabilities are averaged over the records, and over the fitted distribution of the disguised
predictors. Standard errors by the delta method; the records count as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.output.number_text import number_of
from tacit.regression.coefficient_table import CoefficientTable
from tacit.regression.regression_problem import RegressionProblem
from tacit.regression.report_likelihood import ReportLikelihood, cell_matrix
from tacit.regression.response_models import Multinomial


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects(CoefficientTable):
    """One effect per covariate and category; two categories have the effect on the second."""


def marginal_effects(
    problem: RegressionProblem,
    likelihood: ReportLikelihood,
    theta: Array,
    covariance: Array,
    warnings: tuple[str, ...],
) -> MarginalEffects:
    """The effects of every covariate."""
    categories = likelihood.model.categories
    shown = range(1, 2) if len(categories) == 2 else range(len(categories))
    weights = _cell_weights(problem, likelihood, theta)
    names, values, slopes = [], [], []
    for change in problem.terms.changes():
        before = _mean_probabilities(likelihood, theta, change.before, weights)
        after = _mean_probabilities(likelihood, theta, change.after, weights)
        for y in shown:
            label = "" if len(categories) == 2 else f"{categories[y]}: "
            names.append(label + change.name)
            values.append((after[0][y] - before[0][y]) / change.distance)
            slopes.append((after[1][y] - before[1][y]) / change.distance)
    rows = np.array(slopes)
    of = f"{problem.name} = {categories[1]}" if len(categories) == 2 else problem.name
    return MarginalEffects(
        title=f"Average marginal effects on P({of}), {number_of(problem.n_records, 'record')}",
        names=tuple(names),
        values=np.array(values),
        covariance=rows @ covariance @ rows.T,
        nobs=problem.n_records,
        n_left_out=problem.n_left_out,
        warnings=warnings,
        df=np.inf if problem.sample is None else problem.sample.df,
    )


class CellWeights(NamedTuple):
    """pi_c(z) of the rows, the matrix z, and the share of the records that each row stands for."""

    shares: Array
    matrix: Array
    rows: Array


def _cell_weights(
    problem: RegressionProblem, likelihood: ReportLikelihood, theta: Array
) -> CellWeights:
    matrix = cell_matrix(problem.terms.matrices())
    rows = problem.row_counts / problem.row_counts.sum()
    cells = Multinomial(tuple(range(problem.n_cells)))
    if problem.n_cells == 1:
        return CellWeights(np.ones((len(matrix), 1)), matrix, rows)
    others = theta[likelihood.n_effects :]
    return CellWeights(cells.probabilities(cells.predictors(matrix, others)), matrix, rows)


def _mean_probabilities(
    likelihood: ReportLikelihood, theta: Array, matrices: tuple[Array, ...], weights: CellWeights
) -> tuple[Array, Array]:
    """Mean probability of each category, and its derivatives by all parameters."""
    model = likelihood.model
    effects = theta[: likelihood.n_effects]
    value = np.zeros(len(model.categories))
    slopes = np.zeros((len(model.categories), theta.size))
    n_cells = len(matrices)
    for cell, matrix in enumerate(matrices):
        share = weights.shares[:, cell, None] * weights.rows[:, None]
        predictors = model.predictors(matrix, effects)
        p, dp = model.probabilities(predictors), model.probability_slopes(predictors)
        value += (share * p).sum(axis=0)
        unit = np.eye(n_cells)[cell] - weights.shares
        for y in range(len(model.categories)):
            slopes[y, : effects.size] += model.gradient(matrix, share * dp[:, y])
            if n_cells > 1:
                moved = share * p[:, y, None] * unit[:, 1:]
                slopes[y, effects.size :] += (moved.T @ weights.matrix).ravel()
    return value, slopes
