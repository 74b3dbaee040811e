"""The likelihood of reports in a regression, with its score and information (METHODS 9).

    L = sum over cells c of pi_c(z) q_c,    q_c = sum_y M[r, (y, c)] p_y(x_c)

c runs over the joint answers to the disguised predictors, and x_c is the model matrix with these
answers filled in. pi_c(z) is a multinomial logit in the undisguised columns z of the model; without
any, it is the saturated table. With v_c = pi_c q_c / L and s_c, H_c the derivatives of
log(pi_c q_c),

    score = sum_c v_c s_c,    Hessian = sum_c v_c (H_c + s_c s_c^T) - score score^T

Without disguised predictors there is one cell and nothing to sum. Records with equal covariates and
reports come once, with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.regression.response_models import LogReports, Multinomial, ResponseModel

#: Records that are handled at once: their numbers fit in the cache.
_BLOCK = 2**14
#: Share of a column's square that rounding leaves if other columns explain it.
_COLLINEAR = 1e-12


class Evaluation(NamedTuple):
    """The log-likelihood at some parameters, its gradient and the observed information."""

    value: float
    gradient: Array
    information: Array


@dataclass(frozen=True, eq=False)
class ReportLikelihood:
    """The reports of a regression.

    `matrices` has a model matrix per cell of the disguised predictors, `channel` is
    M[report, outcome, cell], `cell_matrix` has the columns z.
    """

    model: ResponseModel
    channel: Array
    matrices: tuple[Array, ...]
    reports: Index
    counts: Array
    cell_matrix: Array

    @property
    def n_effects(self) -> int:
        """The number of parameters of the response model; those of pi_c(z) follow."""
        return self.model.start(self.matrices[0][:1], np.ones(len(self.model.categories))).size

    @cached_property
    def cells(self) -> Multinomial:
        """The model of pi_c(z)."""
        return Multinomial(tuple(range(len(self.matrices))))

    def evaluate(self, theta: Array) -> Evaluation:
        """Value, gradient and observed information."""
        with np.errstate(all="ignore"):  # a step too far is found by its value
            return self._evaluate(theta)

    def _evaluate(self, theta: Array) -> Evaluation:
        value, gradient = 0.0, np.zeros(theta.size)
        hessian = np.zeros((theta.size, theta.size))
        several = len(self.matrices) > 1
        for block in self._blocks():
            part = self._several_cells(theta, block) if several else self._one_cell(theta, block)
            value, gradient = value + part.value, gradient + part.gradient
            hessian -= part.information
            if not np.isfinite(value):
                break
        return Evaluation(value, gradient, -hessian)

    def value(self, theta: Array) -> float:
        """The log-likelihood; minus infinity where parameters are not allowed."""
        total = 0.0
        with np.errstate(all="ignore"):
            for block in self._blocks():
                logs = self._log_cells(theta, block)[0]
                total += float(self.counts[block] @ _log_sum(logs))
        return total if np.isfinite(total) else -np.inf

    def outer_products(self, theta: Array) -> Array:
        """The sum over records of score times score: always positive semidefinite."""
        found = np.zeros((theta.size, theta.size))
        for block in self._blocks():
            scores = self._block_scores(theta, block)
            found += (scores * self.counts[block, None]).T @ scores
        return found

    @cached_property
    def equations(self) -> list[tuple[ResponseModel, Array, slice]]:
        """The model, the matrix and the parameters of all linear predictors."""
        effects = slice(self.n_effects)
        equations = [(self.model, matrix, effects) for matrix in self.matrices]
        if len(self.matrices) > 1:
            equations.append((self.cells, self.cell_matrix, slice(self.n_effects, None)))
        return equations

    @cached_property
    def cross_products(self) -> Array:
        """The matrix of the sum of squared changes of the linear predictors by a step."""
        size = self.n_effects + (len(self.matrices) - 1) * self.cell_matrix.shape[1]
        cross = np.zeros((size, size))
        for model, matrix, part in self.equations:
            unit = np.eye(model.n_predictors) * self.counts[:, None, None]
            cross[part, part] += model.hessian(matrix, unit)
        return cross

    def reach(self, step: Array) -> float:
        """The largest change of a linear predictor by a step."""
        moves = (model.moves(matrix, step[part]) for model, matrix, part in self.equations)
        return max(float(np.abs(move).max()) for move in moves)

    def scores(self, theta: Array) -> Array:
        """The score of each record, without its count."""
        return np.concatenate([self._block_scores(theta, block) for block in self._blocks()])

    def _block_scores(self, theta: Array, block: slice) -> Array:
        with np.errstate(all="ignore"):
            logs, parts = self._log_cells(theta, block)
            weights = np.exp(logs - _log_sum(logs)[:, None])
        return self._mean_score(theta, block, weights, parts)

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.counts), _BLOCK):
            yield slice(start, start + _BLOCK)

    def _reports(self, theta: Array, block: slice, cell: int) -> LogReports:
        predictors = self.model.predictors(self.matrices[cell][block], theta[: self.n_effects])
        return self.model.log_reports(predictors, self.channel[:, :, cell][self.reports[block]])

    def _one_cell(self, theta: Array, block: slice) -> Evaluation:
        found, counts = self._reports(theta, block, 0), self.counts[block]
        matrix = self.matrices[0][block]
        gradient = self.model.gradient(matrix, found.gradient * counts[:, None])
        hessian = self.model.hessian(matrix, found.hessian * counts[:, None, None])
        return Evaluation(float(counts @ found.value), gradient, -hessian)

    def _log_cells(self, theta: Array, block: slice) -> tuple[Array, list[LogReports]]:
        """log(pi_c q_c), records x cells, and the derivatives of log q_c."""
        parts = [self._reports(theta, block, cell) for cell in range(len(self.matrices))]
        logs = np.stack([part.value for part in parts], axis=1)
        if len(parts) > 1:
            logs = logs + np.log(self.cell_shares(theta, block))
        return logs, parts

    def cell_shares(self, theta: Array, block: slice = slice(None)) -> Array:
        """pi_c(z), records x cells."""
        matrix = self.cell_matrix[block]
        if len(self.matrices) == 1:
            return np.ones((len(matrix), 1))
        predictors = self.cells.predictors(matrix, theta[self.n_effects :])
        return self.cells.probabilities(predictors)

    def _score(self, theta: Array, block: slice, cell: int, part: LogReports) -> Array:
        """s_c of each record."""
        effects = self.model.scores(self.matrices[cell][block], _finite(part.gradient))
        if len(self.matrices) == 1:
            return effects
        unit = np.eye(len(self.matrices))[cell]
        slopes = (unit - self.cell_shares(theta, block))[:, 1:]
        return np.concatenate([effects, self.cells.scores(self.cell_matrix[block], slopes)], axis=1)

    def _mean_score(
        self, theta: Array, block: slice, weights: Array, parts: list[LogReports]
    ) -> Array:
        scores = (
            weights[:, cell, None] * self._score(theta, block, cell, part)
            for cell, part in enumerate(parts)
        )
        return np.asarray(sum(scores))

    def _several_cells(self, theta: Array, block: slice) -> Evaluation:
        counts, n_effects = self.counts[block], self.n_effects
        logs, parts = self._log_cells(theta, block)
        total = _log_sum(logs)
        weights = np.exp(logs - total[:, None])
        hessian = np.zeros((theta.size, theta.size))
        mean = np.zeros((len(counts), theta.size))
        for cell, part in enumerate(parts):
            v = (weights[:, cell] * counts)[:, None]
            score = self._score(theta, block, cell, part)
            mean += weights[:, cell, None] * score
            hessian += (score * v).T @ score
            curvature = _finite(part.hessian) * v[:, :, None]
            own = self.model.hessian(self.matrices[cell][block], curvature)
            hessian[:n_effects, :n_effects] += own
        hessian -= (mean * counts[:, None]).T @ mean
        shares = self.cell_shares(theta, block)[:, 1:]
        spread = shares[:, :, None] * shares[:, None, :]
        places = np.arange(shares.shape[1])
        spread[:, places, places] -= shares
        spread *= counts[:, None, None]
        hessian[n_effects:, n_effects:] += self.cells.hessian(self.cell_matrix[block], spread)
        return Evaluation(float(counts @ total), counts @ mean, -hessian)


@dataclass(frozen=True, eq=False)
class FixedCoefficient:
    """The likelihood of the other parameters, if one has a given value."""

    likelihood: ReportLikelihood
    place: int
    value_there: float

    def evaluate(self, theta: Array) -> Evaluation:
        """Value, gradient and information of the other parameters."""
        found = self.likelihood.evaluate(self._whole(theta))
        return Evaluation(
            found.value, np.delete(found.gradient, self.place), self._without(found.information)
        )

    def value(self, theta: Array) -> float:
        """The log-likelihood."""
        return self.likelihood.value(self._whole(theta))

    @cached_property
    def cross_products(self) -> Array:
        """Those of the other parameters."""
        return self._without(self.likelihood.cross_products)

    def reach(self, step: Array) -> float:
        """The largest change of a linear predictor by a step."""
        return self.likelihood.reach(np.insert(step, self.place, 0.0))

    def _whole(self, theta: Array) -> Array:
        return np.insert(theta, self.place, self.value_there)

    def _without(self, matrix: Array) -> Array:
        return np.delete(np.delete(matrix, self.place, 0), self.place, 1)


def cell_matrix(matrices: tuple[Array, ...]) -> Array:
    """z: a constant, and the varied columns that do not depend on the disguised predictors."""
    first = matrices[0]
    if len(matrices) == 1:
        return np.ones((len(first), 1))
    same = [
        place
        for place in range(first.shape[1])
        if np.ptp(first[:, place]) > 0
        and all(np.array_equal(first[:, place], other[:, place]) for other in matrices[1:])
    ]
    columns = np.column_stack([np.ones(len(first)), first[:, same]])
    return columns[:, _independent(columns)]


def _independent(columns: Array) -> list[int]:
    """The places of columns that are no linear combinations of columns before them."""
    sizes = np.linalg.norm(columns, axis=0)
    cross = (columns / sizes).T @ (columns / sizes)
    places: list[int] = []
    for place in range(len(cross)):
        before = cross[np.ix_(places, places)]
        own = cross[places, place]
        if cross[place, place] - own @ np.linalg.solve(before, own) > _COLLINEAR:
            places.append(place)
    return places


def _log_sum(logs: Array) -> Array:
    """log of the sum of exponentials over cells."""
    if logs.shape[1] == 1:
        return logs[:, 0]
    return np.asarray(np.logaddexp.reduce(logs, axis=1))


def _finite(values: Array) -> Array:
    """Derivatives of log q; 0 for a cell that cannot have made the report."""
    return np.where(np.isfinite(values), values, 0.0)
