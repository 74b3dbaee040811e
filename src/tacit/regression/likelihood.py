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

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
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
        return np.asarray(self.columns(matrix) @ step.reshape(self.n_predictors, -1).T)

    def probabilities(self, predictors: Array) -> Array:
        """p, records x categories."""
        if self.n_predictors == 1:
            return np.concatenate([expit(-predictors), expit(predictors)], axis=1)
        shift = np.maximum(predictors.max(axis=1, keepdims=True), 0)
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
        return np.asarray(scores).reshape(len(matrix), -1)

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
        evaluated = self._one_cell if len(self.matrices) == 1 else self._several_cells
        with np.errstate(all="ignore"):  # the value shows a step that is too long
            for block in self._blocks():
                part = evaluated(theta, block)
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
                total += float(self.counts[block] @ _log_sum(logs))
        return total if np.isfinite(total) else -np.inf

    @cached_property
    def equations(self) -> list[tuple[LogitModel, Array, slice]]:
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
        scores = np.zeros((len(self.counts), theta.size))
        with np.errstate(all="ignore"):
            for block in self._blocks():
                logs, parts = self._log_cells(theta, block)
                weights = np.exp(logs - _log_sum(logs)[:, None])
                for cell, part in enumerate(parts):
                    score = self._score(theta, block, cell, part)
                    scores[block] += weights[:, cell, None] * score
        return scores

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.counts), _BLOCK):
            yield slice(start, start + _BLOCK)

    def _reports(self, theta: Array, block: slice, cell: int) -> LogReports:
        predictors = self.model.predictors(self.matrices[cell][block], theta[: self.n_effects])
        return self.model.log_reports(predictors, self.channel[:, :, cell][self.reports[block]])

    def _one_cell(self, theta: Array, block: slice) -> Evaluation:
        reports, counts = self._reports(theta, block, 0), self.counts[block]
        matrix = self.matrices[0][block]
        gradient = self.model.gradient(matrix, reports.gradient * counts[:, None])
        hessian = self.model.hessian(matrix, reports.hessian * counts[:, None, None])
        return Evaluation(float(counts @ reports.value), gradient, -hessian)

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
            effects = self.model.hessian(self.matrices[cell][block], curvature)
            hessian[:n_effects, :n_effects] += effects
        hessian -= (mean * counts[:, None]).T @ mean
        shares = self.cell_shares(theta, block)[:, 1:]
        spread = shares[:, :, None] * shares[:, None, :]
        diagonal = np.arange(shares.shape[1])
        spread[:, diagonal, diagonal] -= shares
        spread *= counts[:, None, None]
        hessian[n_effects:, n_effects:] += self.cells.hessian(self.cell_matrix[block], spread)
        return Evaluation(float(counts @ total), counts @ mean, -hessian)


def _log_sum(logs: Array) -> Array:
    """log of the sum of exponentials over cells."""
    if logs.shape[1] == 1:
        return logs[:, 0]
    return np.asarray(np.logaddexp.reduce(logs, axis=1))


def _finite(values: Array) -> Array:
    """Derivatives of log q; 0 for a cell that cannot have made the report."""
    return np.where(np.isfinite(values), values, 0.0)


Hashes = npt.NDArray[np.uint64]

#: Rows of the sample that shows whether rows repeat, and the share of distinct ones that is too
#: large to be worth sorting all rows.
_SAMPLE, _MOSTLY = 20_000, 0.5


def row_patterns(matrices: Sequence[Array], codes: Index) -> tuple[Index | slice, Index]:
    """The index of one row of each pattern, and the pattern of each row, by hashing.

    Rows are equal if their codes are and if they are equal in all matrices. If none repeats, they
    keep their order.
    """
    n = len(codes)
    unchanged = slice(None), np.arange(n)
    sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)
    hashes = _hashes([matrix[sample] for matrix in matrices], codes[sample])
    if len(np.unique(hashes)) > _MOSTLY * len(sample) and n > 100:
        return unchanged
    _, first, which = np.unique(_hashes(matrices, codes), return_index=True, return_inverse=True)
    same = first[which]
    equal = np.array_equal(codes[same], codes) and all(
        np.array_equal(matrix[same], matrix) for matrix in matrices
    )
    return (first, which) if equal and len(first) < n else unchanged


def _hashes(matrices: Sequence[Array], codes: Index) -> Hashes:
    """A 64-bit hash of each row; zeros of both signs count as equal."""
    rng = np.random.default_rng(20261117)
    hashes = codes.astype(np.uint64) * _odd(rng, 1)
    for matrix in matrices:
        columns = (np.asarray(matrix, np.float64) + 0.0).view(np.uint64)
        mixed = (columns ^ (columns >> np.uint64(32))) * _odd(rng, matrix.shape[1])
        hashes += (mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
        hashes ^= hashes >> np.uint64(31)
    return hashes


def _odd(rng: np.random.Generator, size: int) -> Hashes:
    return rng.integers(0, 2**63, size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
