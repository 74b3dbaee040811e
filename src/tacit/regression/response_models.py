"""Response models: the distribution of a true outcome given linear predictors.

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tacit.core.arrays import Array
from tacit.core.schema import Label

#: Shares at the start are at least this far from 0 and 1.
_LEAST_SHARE = 1e-3


class LogReports(NamedTuple):
    """log q of each report, its gradient and its Hessian by the linear predictors."""

    value: Array
    gradient: Array
    hessian: Array


@dataclass(frozen=True)
class ResponseModel(ABC):
    """A model of an outcome with k categories; it has k - 1 linear predictors."""

    categories: tuple[Label, ...]

    @property
    def n_predictors(self) -> int:
        """The number of linear predictors."""
        return len(self.categories) - 1

    @property
    def is_ordered(self) -> bool:
        """Whether the categories are ordered: then the first parameters are cut points."""
        return False

    @abstractmethod
    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        """The names of the parameters, in order."""

    @abstractmethod
    def start(self, matrix: Array, shares: Array) -> Array:
        """Parameters of a model without effects, in which the outcome has about these shares."""

    @abstractmethod
    def predictors(self, matrix: Array, theta: Array) -> Array:
        """u, records x predictors."""

    def moves(self, matrix: Array, step: Array) -> Array:
        """The change of u by a step of the parameters."""
        return self.predictors(matrix, step)

    @abstractmethod
    def probabilities(self, predictors: Array) -> Array:
        """p, records x categories."""

    @abstractmethod
    def probability_slopes(self, predictors: Array) -> Array:
        """dp/du, records x categories x predictors."""

    @abstractmethod
    def log_reports(self, predictors: Array, rows: Array) -> LogReports:
        """log q and its derivatives; `rows` has M[r, :] of each report."""

    @abstractmethod
    def scores(self, matrix: Array, slopes: Array) -> Array:
        """Derivatives by the parameters, per record, from those by the predictors."""

    @abstractmethod
    def gradient(self, matrix: Array, slopes: Array) -> Array:
        """The sum of `scores` over the records."""

    @abstractmethod
    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        """Second derivatives by the parameters, summed over records."""


@dataclass(frozen=True)
class Multinomial(ResponseModel):
    """Each category but the first has coefficients of its own."""

    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        if len(self.categories) == 2:
            return list(terms)
        return [f"{label}: {term}" for label in self.categories[1:] for term in terms]

    def start(self, matrix: Array, shares: Array) -> Array:
        logs = np.log(np.maximum(shares, _LEAST_SHARE))
        theta = np.zeros((self.n_predictors, matrix.shape[1]))
        constant = np.flatnonzero((matrix == 1).all(axis=0))
        if constant.size:
            theta[:, constant[0]] = logs[1:] - logs[0]
        return theta.ravel()

    def predictors(self, matrix: Array, theta: Array) -> Array:
        return np.asarray(matrix @ theta.reshape(self.n_predictors, -1).T)

    def probabilities(self, predictors: Array) -> Array:
        if self.n_predictors == 1:
            return np.concatenate([expit(-predictors), expit(predictors)], axis=1)
        shift = np.maximum(predictors.max(axis=1, keepdims=True), 0)
        odds = np.concatenate([np.exp(-shift), np.exp(predictors - shift)], axis=1)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def probability_slopes(self, predictors: Array) -> Array:
        p = self.probabilities(predictors)
        unit = np.eye(len(self.categories))[None, :, 1:]
        return np.asarray(p[:, :, None] * (unit - p[:, None, 1:]))

    def log_reports(self, predictors: Array, rows: Array) -> LogReports:
        p = self.probabilities(predictors)
        joint = rows * p
        q = joint.sum(axis=1, keepdims=True)
        w, value = joint[:, 1:] / q, np.log(q[:, 0])
        p = p[:, 1:]
        if self.n_predictors == 1:
            return LogReports(value, w - p, (w * (1 - w) - p * (1 - p))[:, :, None])
        curvature = p[:, :, None] * p[:, None, :] - w[:, :, None] * w[:, None, :]
        places = np.arange(self.n_predictors)
        curvature[:, places, places] += w - p
        return LogReports(value, w - p, curvature)

    def scores(self, matrix: Array, slopes: Array) -> Array:
        return np.asarray(slopes[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)

    def gradient(self, matrix: Array, slopes: Array) -> Array:
        return np.asarray(slopes.T @ matrix).ravel()

    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        m, p = self.n_predictors, matrix.shape[1]
        found = np.empty((m, p, m, p))
        for j in range(m):
            for other in range(j, m):
                block = matrix.T @ (matrix * curvatures[:, j, other, None])
                found[j, :, other] = block
                found[other, :, j] = block
        return found.reshape(m * p, m * p)


@dataclass(frozen=True)
class ProportionalOdds(ResponseModel):
    """Ordered categories: cut points a_1 < a_2 < ... and one coefficient per term."""

    @property
    def is_ordered(self) -> bool:
        return True

    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        cuts = zip(self.categories, self.categories[1:], strict=False)
        return [*(f"{low}/{high}" for low, high in cuts), *terms]

    def start(self, matrix: Array, shares: Array) -> Array:
        some = np.maximum(shares, _LEAST_SHARE)
        below = np.cumsum(some / some.sum())[:-1]
        return np.concatenate([logit(below), np.zeros(matrix.shape[1])])

    def predictors(self, matrix: Array, theta: Array) -> Array:
        cuts, slopes = np.split(theta, [self.n_predictors])
        return np.asarray(cuts - (matrix @ slopes)[:, None])

    def probabilities(self, predictors: Array) -> Array:
        below = expit(predictors)
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

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
        value, slope = np.log(q), drops * density / q[:, None]
        second = slope * (above - below)
        curvature = -slope[:, :, None] * slope[:, None, :]
        places = np.arange(self.n_predictors)
        curvature[:, places, places] += second
        return LogReports(value, slope, curvature)

    def scores(self, matrix: Array, slopes: Array) -> Array:
        return np.concatenate([slopes, -matrix * slopes.sum(axis=1, keepdims=True)], axis=1)

    def gradient(self, matrix: Array, slopes: Array) -> Array:
        return np.concatenate([slopes.sum(axis=0), -(slopes.sum(axis=1) @ matrix)])

    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        own = curvatures.sum(axis=0)
        mixed = -(curvatures.sum(axis=2).T @ matrix)
        slopes = matrix.T @ (matrix * curvatures.sum(axis=(1, 2))[:, None])
        return np.block([[own, mixed], [mixed.T, slopes]])


@dataclass(frozen=True)
class WithOffset(ResponseModel):
    """A model whose matrices have an offset as their last column."""

    base: ResponseModel

    @property
    def is_ordered(self) -> bool:
        return self.base.is_ordered

    def parameter_names(self, terms: Sequence[str]) -> list[str]:
        return self.base.parameter_names(terms)

    def start(self, matrix: Array, shares: Array) -> Array:
        return self.base.start(matrix[:, :-1], shares)

    def predictors(self, matrix: Array, theta: Array) -> Array:
        offset = -matrix[:, -1:] if self.is_ordered else matrix[:, -1:]
        return self.base.predictors(matrix[:, :-1], theta) + offset

    def moves(self, matrix: Array, step: Array) -> Array:
        return self.base.moves(matrix[:, :-1], step)

    def probabilities(self, predictors: Array) -> Array:
        return self.base.probabilities(predictors)

    def probability_slopes(self, predictors: Array) -> Array:
        return self.base.probability_slopes(predictors)

    def log_reports(self, predictors: Array, rows: Array) -> LogReports:
        return self.base.log_reports(predictors, rows)

    def scores(self, matrix: Array, slopes: Array) -> Array:
        return self.base.scores(matrix[:, :-1], slopes)

    def gradient(self, matrix: Array, slopes: Array) -> Array:
        return self.base.gradient(matrix[:, :-1], slopes)

    def hessian(self, matrix: Array, curvatures: Array) -> Array:
        return self.base.hessian(matrix[:, :-1], curvatures)
