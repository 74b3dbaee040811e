"""Response models, and the likelihood of reports: a true outcome given linear predictors.

    Multinomial        p_j = exp(u_j) / (1 + sum_l exp(u_l)),  u_j = x b_j;  p_0 is the rest
    ProportionalOdds   P(outcome <= j) = 1 / (1 + exp(-u_j)),  u_j = a_j - x b

A report r of channel M has the probability q = sum_y M[r, y] p_y. With the posterior
w_y = M[r, y] p_y / q, the derivatives of log q by the predictors u of a multinomial model are

    w - p,    diag(w) - w w^T - diag(p) + p p^T

For proportional odds, q = M[r, k] + sum_j (M[r, j] - M[r, j+1]) F(u_j). Without disguise both are
the usual logit models. Two categories are a multinomial model with one predictor. An offset is
added to x b.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, logit

from tacit.core.arrays import Array, Index
from tacit.core.schema import Label

#: Shares at the start are at least this far from 0 and 1.
_LEAST_SHARE = 1e-3


class LogReports(NamedTuple):
    """log q of each report, its gradient and its Hessian by the linear predictors."""

    value: Array
    gradient: Array
    hessian: Array


@dataclass(frozen=True)
class _Outcome:
    """An outcome with k categories; its model has k - 1 linear predictors.

    With an offset, the last column of every model matrix is added to x b.
    """

    categories: tuple[Label, ...]
    has_offset: bool = False
    #: Whether the categories are ordered: then the first parameters are cut points.
    is_ordered: ClassVar[bool] = False

    @property
    def n_predictors(self) -> int:
        """The number of linear predictors."""
        return len(self.categories) - 1

    def predictors(self, matrix: Array, theta: Array) -> Array:
        """u, records x predictors."""
        moves = self.moves(matrix, theta)
        if not self.has_offset:
            return moves
        return moves - matrix[:, -1:] if self.is_ordered else moves + matrix[:, -1:]

    def columns(self, matrix: Array) -> Array:
        """A model matrix without its offset."""
        return matrix[:, :-1] if self.has_offset else matrix

    @abstractmethod
    def moves(self, matrix: Array, step: Array) -> Array:
        """The change of u by a step of the parameters."""


class Multinomial(_Outcome):
    """Each category but the first has coefficients of its own."""

    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        """The names of the parameters, in order."""
        if len(self.categories) == 2:
            return list(terms)
        return [f"{label}: {term}" for label in self.categories[1:] for term in terms]

    def start(self, matrix: Array, shares: Array) -> Array:
        """Parameters of a model without effects, in which the outcome has about these shares."""
        logs = np.log(np.maximum(shares, _LEAST_SHARE))
        matrix = self.columns(matrix)
        theta = np.zeros((self.n_predictors, matrix.shape[1]))
        constant = np.flatnonzero((matrix == 1).all(axis=0))
        if constant.size:
            theta[:, constant[0]] = logs[1:] - logs[0]
        return theta.ravel()

    def moves(self, matrix: Array, step: Array) -> Array:
        columns = self.columns(matrix)
        return np.asarray(columns @ step.reshape(self.n_predictors, columns.shape[1]).T)

    def probabilities(self, predictors: Array) -> Array:
        """p, records x categories."""
        if self.n_predictors == 1:
            return np.concatenate([expit(-predictors), expit(predictors)], axis=1)
        shift = predictors.max(axis=1, keepdims=True, initial=0)
        odds = np.concatenate([np.exp(-shift), np.exp(predictors - shift)], axis=1)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def probability_slopes(self, predictors: Array) -> Array:
        """dp/du, records x categories x predictors."""
        p = self.probabilities(predictors)
        unit = np.eye(len(self.categories))[None, :, 1:]
        return np.asarray(p[:, :, None] * (unit - p[:, None, 1:]))

    def log_reports(self, predictors: Array, rows: Array) -> LogReports:
        """log q and its derivatives; `rows` has M[r, :] of each report."""
        p = self.probabilities(predictors)
        joint = rows * p
        q = joint.sum(axis=1, keepdims=True)
        w, value = joint[:, 1:] / q, np.log(q[:, 0])
        p = p[:, 1:]
        if self.n_predictors == 1:
            return LogReports(value, w - p, (w * (1 - w) - p * (1 - p))[:, :, None])
        curvature = p[:, :, None] * p[:, None, :] - w[:, :, None] * w[:, None, :]
        diagonal = np.arange(self.n_predictors)
        curvature[:, diagonal, diagonal] += w - p
        return LogReports(value, w - p, curvature)

    def scores(self, matrix: Array, slopes: Array) -> Array:
        """Derivatives by the parameters, per record, from those by the predictors."""
        scores = slopes[:, :, None] * self.columns(matrix)[:, None, :]
        return np.asarray(scores.reshape(len(matrix), math.prod(scores.shape[1:])))

    def gradient(self, matrix: Array, slopes: Array) -> Array:
        """The sum of `scores` over the records."""
        return np.asarray(slopes.T @ self.columns(matrix)).ravel()

    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        """Second derivatives by the parameters, summed over records."""
        matrix = self.columns(matrix)
        m, p = self.n_predictors, matrix.shape[1]
        hessian = np.empty((m, p, m, p))
        for j in range(m):
            for other in range(j, m):
                block = matrix.T @ (matrix * curvatures[:, j, other, None])
                hessian[j, :, other] = hessian[other, :, j] = block
        return hessian.reshape(m * p, m * p)


class ProportionalOdds(_Outcome):
    """Ordered categories: cut points a_1 < a_2 < ... and one coefficient per term."""

    is_ordered: ClassVar[bool] = True

    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        cuts = zip(self.categories, self.categories[1:], strict=False)
        return [*(f"{low}/{high}" for low, high in cuts), *terms]

    def start(self, matrix: Array, shares: Array) -> Array:
        raised = np.maximum(shares, _LEAST_SHARE)
        below = np.cumsum(raised / raised.sum())[:-1]
        return np.concatenate([logit(below), np.zeros(self.columns(matrix).shape[1])])

    def moves(self, matrix: Array, step: Array) -> Array:
        cuts, slopes = np.split(step, [self.n_predictors])
        return np.asarray(cuts - (self.columns(matrix) @ slopes)[:, None])

    def probabilities(self, predictors: Array) -> Array:
        return np.diff(expit(predictors), axis=1, prepend=0.0, append=1.0)

    def probability_slopes(self, predictors: Array) -> Array:
        density = expit(predictors) * expit(-predictors)
        unit = np.eye(len(self.categories), self.n_predictors)
        signs = unit - np.roll(unit, 1, axis=0)
        return np.asarray(density[:, None, :] * signs)

    def log_reports(self, predictors: Array, rows: Array) -> LogReports:
        below, above = expit(predictors), expit(-predictors)
        drops = rows[:, :-1] - rows[:, 1:]
        density = below * above
        q = (rows * self.probabilities(predictors)).sum(axis=1)
        q[(np.diff(predictors, axis=1) <= 0).any(axis=1)] = 0.0  # the cut points must increase
        slope = drops * density / q[:, None]
        curvature = -slope[:, :, None] * slope[:, None, :]
        diagonal = np.arange(self.n_predictors)
        curvature[:, diagonal, diagonal] += slope * (above - below)
        return LogReports(np.log(q), slope, curvature)

    def scores(self, matrix: Array, slopes: Array) -> Array:
        by_terms = -self.columns(matrix) * slopes.sum(axis=1, keepdims=True)
        return np.concatenate([slopes, by_terms], axis=1)

    def gradient(self, matrix: Array, slopes: Array) -> Array:
        return np.concatenate([slopes.sum(axis=0), -(slopes.sum(axis=1) @ self.columns(matrix))])

    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        matrix = self.columns(matrix)
        cuts = curvatures.sum(axis=0)
        mixed = -(curvatures.sum(axis=2).T @ matrix)
        slopes = matrix.T @ (matrix * curvatures.sum(axis=(1, 2))[:, None])
        return np.block([[cuts, mixed], [mixed.T, slopes]])


LogitModel = Multinomial | ProportionalOdds

#: Records that are handled at once: their numbers fit in the cache.
_BLOCK = 2**14


class Evaluation(NamedTuple):
    """The log-likelihood at some parameters, its gradient and the observed information."""

    value: float
    gradient: Array
    information: Array


@dataclass(frozen=True, eq=False)
class ReportLikelihood:
    """The likelihood of the reports of a regression, with its score and information.

        L = sum over cells c of pi_c(z) q_c,    q_c = sum_y M[r, (y, c)] p_y(x_c)

    c runs over the joint answers to the disguised predictors, and x_c is the model matrix with
    these answers filled in. pi_c(z) is a multinomial logit in the undisguised columns z of the
    model; without any, it is the saturated table. With v_c = pi_c q_c / L and s_c, H_c the
    derivatives of log(pi_c q_c),

        score = sum_c v_c s_c,    Hessian = sum_c v_c (H_c + s_c s_c^T) - score score^T

    Without disguised predictors there is one cell and nothing to sum. Records with equal
    covariates and reports come once, with their number. `matrices` has a model matrix per cell,
    `channel` is M[report, outcome, cell], `cell_matrix` has the columns z.
    """

    model: LogitModel
    channel: Array
    matrices: tuple[Array, ...]
    reports: Index
    counts: Array
    cell_matrix: Array

    @classmethod
    def of_rows(
        cls,
        model: LogitModel,
        channel: Array,
        matrices: Sequence[Array],
        cell_matrix: Array,
        reports: Index,
        counts: Array,
    ) -> tuple[ReportLikelihood, Index]:
        """The likelihood of rows, equal ones joined, and the joined row of each."""
        first, which = row_patterns((*matrices, cell_matrix), reports)
        joined, z = tuple(matrix[first] for matrix in matrices), cell_matrix[first]
        numbers = np.bincount(which, counts).astype(np.float64)
        return cls(model, channel, joined, reports[first], numbers, z), which

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
        value, gradient = 0.0, np.zeros(theta.size)
        information = np.zeros((theta.size, theta.size))
        with np.errstate(all="ignore"):  # the value shows a step that is too long
            for block in self._blocks():
                part = self._evaluated(theta, block)
                value, gradient = value + part.value, gradient + part.gradient
                information += part.information
                if not np.isfinite(value):
                    break
        return Evaluation(value, gradient, information)

    def value(self, theta: Array) -> float:
        """The log-likelihood; minus infinity where parameters are not allowed."""
        total = 0.0
        with np.errstate(all="ignore"):
            for block in self._blocks():
                logs = self._log_cells(theta, block)[0]
                total += float(self.counts[block] @ np.logaddexp.reduce(logs, axis=1))
        return total if np.isfinite(total) else -np.inf

    @cached_property
    def equations(self) -> list[tuple[LogitModel, Array, slice]]:
        """The model, the matrix and the parameters of all linear predictors."""
        effects, others = slice(self.n_effects), slice(self.n_effects, None)
        equations = [(self.model, matrix, effects) for matrix in self.matrices]
        return [*equations, (self.cells, self.cell_matrix, others)]

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
        return max(float(np.abs(move).max(initial=0)) for move in moves)

    def scores(self, theta: Array) -> Array:
        """The score of each record, without its count."""
        scores = np.zeros((len(self.counts), theta.size))
        with np.errstate(all="ignore"):
            for block in self._blocks():
                logs, parts = self._log_cells(theta, block)
                weights = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
                for cell, part in enumerate(parts):
                    score = self._score(theta, block, cell, part)
                    scores[block] += weights[:, cell, None] * score
        return scores

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.counts), _BLOCK):
            yield slice(start, start + _BLOCK)

    def _reports(self, theta: Array, block: slice, cell: int) -> LogReports:
        """log q; the derivatives are 0 for a cell that cannot have made the report."""
        predictors = self.model.predictors(self.matrices[cell][block], theta[: self.n_effects])
        part = self.model.log_reports(predictors, self.channel[:, :, cell][self.reports[block]])
        impossible = ~np.isfinite(part.value)
        if impossible.any():
            part.gradient[impossible] = 0.0
            part.hessian[impossible] = 0.0
        return part

    def _log_cells(self, theta: Array, block: slice) -> tuple[Array, list[LogReports]]:
        """log(pi_c q_c), records x cells, and the derivatives of log q_c."""
        parts = [self._reports(theta, block, cell) for cell in range(len(self.matrices))]
        logs = np.stack([part.value for part in parts], axis=1)
        return logs + np.log(self.cell_shares(theta, block)), parts

    def cell_shares(self, theta: Array, block: slice = slice(None)) -> Array:
        """pi_c(z), records x cells."""
        predictors = self.cells.predictors(self.cell_matrix[block], theta[self.n_effects :])
        return self.cells.probabilities(predictors)

    def _score(self, theta: Array, block: slice, cell: int, part: LogReports) -> Array:
        """s_c of each record."""
        effects = self.model.scores(self.matrices[cell][block], part.gradient)
        unit = np.eye(len(self.matrices))[cell]
        slopes = (unit - self.cell_shares(theta, block))[:, 1:]
        return np.concatenate([effects, self.cells.scores(self.cell_matrix[block], slopes)], axis=1)

    def _evaluated(self, theta: Array, block: slice) -> Evaluation:
        counts, n_effects = self.counts[block], self.n_effects
        logs, parts = self._log_cells(theta, block)
        total = np.logaddexp.reduce(logs, axis=1)
        weights = np.exp(logs - total[:, None])
        gradient, hessian = np.zeros(theta.size), np.zeros((theta.size, theta.size))
        for cell, part in enumerate(parts):
            v, matrix = weights[:, cell] * counts, self.matrices[cell][block]
            gradient[:n_effects] += self.model.gradient(matrix, part.gradient * v[:, None])
            effects = self.model.hessian(matrix, part.hessian * v[:, None, None])
            hessian[:n_effects, :n_effects] += effects
        if len(parts) > 1:
            mean = np.zeros((len(counts), theta.size))
            for cell, part in enumerate(parts):
                score = self._score(theta, block, cell, part)
                mean += weights[:, cell, None] * score
                hessian += (score * (weights[:, cell] * counts)[:, None]).T @ score
            hessian -= (mean * counts[:, None]).T @ mean
            shares, z = self.cell_shares(theta, block)[:, 1:], self.cell_matrix[block]
            spread = shares[:, :, None] * shares[:, None, :] - shares[:, :, None] * np.eye(
                shares.shape[1]
            )
            hessian[n_effects:, n_effects:] += self.cells.hessian(z, spread * counts[:, None, None])
            gradient = counts @ mean
        return Evaluation(float(counts @ total), gradient, -hessian)


#: Rows of the sample that shows whether rows repeat, and the share of distinct ones that is too
#: large to be worth sorting all rows.
_SAMPLE, _MOSTLY = 20_000, 0.5


def row_patterns(matrices: Sequence[Array], codes: Index) -> tuple[Index | slice, Index]:
    """The index of one row of each pattern, and the pattern of each row.

    Rows are equal if their codes are and if they are equal in all matrices. If few repeat, they
    stay as they are.
    """
    n = len(codes)
    sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)
    seen, _ = _distinct([matrix[sample] for matrix in matrices], codes[sample])
    if len(seen) > _MOSTLY * len(sample):
        return slice(None), np.arange(n)
    return _distinct(matrices, codes)


def _distinct(matrices: Sequence[Array], codes: Index) -> tuple[Index, Index]:
    """A row of each pattern and the pattern of each row, by comparing the bytes of rows."""
    rows = np.column_stack([codes, *matrices]) + 0.0  # zeros of both signs are equal
    _, first, which = np.unique(
        rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(),
        return_index=True,
        return_inverse=True,
    )
    return first, which
