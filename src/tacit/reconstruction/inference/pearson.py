"""pearson: the score test, from the table that the hypothesis makes most likely.

    X^2 = n (u^T I^- u - v^T (T^T I T)^- v),    I = M^T D^-1 M,  D = diag(M p0)
    u = M^T D^-1 (p* - M p0),                   v = T^T u

T are the directions in which the hypothesis lets p0 move. If p0 is inside the simplex, v is 0, and
for a square M this is Pearson's n sum (p* - M p0)^2 / (M p0) on the reports, without disguise the
usual chi-squared test (Rao, 1948). If a share of p0 is held at 0, v takes out what only says that
the best margins are impossible: Neyman's C(alpha) test (Neyman, 1959), which keeps its size there.
A directed hypothesis, such as no trend, divides the square of its contrast by the variance that it
has under the hypothesis: without disguise Mantel's test with n instead of n - 1, and that of
Cochran and Armitage.

References: C. R. Rao, Large sample tests of statistical hypotheses concerning several parameters,
Proceedings of the Cambridge Philosophical Society 44 (1948) 50-57. J. Neyman, Optimal asymptotic
tests of composite statistical hypotheses, in Probability and Statistics (1959) 213-234.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core.arrays import Array
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.design_effects import tested
from tacit.reconstruction.inference.hypotheses import Hypothesis, slopes
from tacit.reconstruction.inference.model_fit import ModelFit, check_size, restricted_fit
from tacit.reconstruction.table_problem import TableProblem

_METHOD = "Pearson"
#: Reports less likely than this are impossible.
_IMPOSSIBLE = 1e-12
#: Directions shorter than this share of the longest are rounding errors.
_RANK = 1e-9


def pearson(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The score test of a hypothesis about the table asked for."""
    check_size(problem)
    fitted, n = restricted_fit(problem, hypothesis), problem.n_records
    if hypothesis.directed:
        distance, df = _directed(problem, hypothesis, fitted), 1
    else:
        distance, df = _distance(problem, hypothesis, fitted)
    return tested(problem, hypothesis, _METHOD, n * distance, df, hypothesis.asked(fitted.table))


def _distance(problem: TableProblem, hypothesis: Hypothesis, fitted: ModelFit) -> tuple[float, int]:
    """X^2 per record, and its degrees of freedom: the rank of M less that of T.

    A report that the hypothesis makes impossible makes the distance infinite.
    """
    channel, likely = problem.channel, fitted.reported > _IMPOSSIBLE
    expected = np.where(likely, fitted.reported, 1.0)
    off = np.where(likely, problem.frequencies - fitted.reported, 0.0) / np.sqrt(expected)
    scale = np.where(likely, 1 / np.sqrt(expected), 0.0).ravel()
    if all(factor.channel.inverse is not None for factor in channel.factors):
        distance, rank = float(np.sum(off**2)), int(likely.sum())
    else:
        distance, rank = _explained(off, scale[:, None] * channel.matrix)
    asked = hypothesis.asked(fitted.table)
    shape = (*asked.shape, *(1,) * (fitted.table.ndim - asked.ndim))
    further = _given_asked(fitted.table, hypothesis)
    moves = [
        channel.disguised(direction.reshape(shape) * further).ravel()
        for direction in hypothesis.tangent(asked).T
    ]
    allowed, free = _explained(off, scale[:, None] * np.stack(moves, axis=1))
    if (problem.frequencies[~likely] > 0).any():
        distance = math.inf
    return max(distance - allowed, 0.0), rank - free


def _explained(off: Array, directions: Array) -> tuple[float, int]:
    """The squared length of the part of `off` in the span of the directions, and their rank."""
    solved, _, rank, _ = np.linalg.lstsq(directions, off.ravel(), rcond=_RANK)
    return float(np.sum((directions @ solved) ** 2)), int(rank)


def _given_asked(table: Array, hypothesis: Hypothesis) -> Array:
    """The distribution of axes that the hypothesis does not restrict, given those asked for."""
    axes = tuple(range(hypothesis.axes, table.ndim))
    total = table.sum(axis=axes, keepdims=True)
    return np.asarray(table / np.where(total > 0, total, 1.0)) if axes else np.ones_like(table)


def _directed(problem: TableProblem, hypothesis: Hypothesis, fitted: ModelFit) -> float:
    """The square of the contrast by its variance under the hypothesis, per record."""
    channel = problem.channel
    estimate = channel.to_true(problem.inverses, problem.frequencies)
    allowed = hypothesis.asked(fitted.table)
    slope = slopes(hypothesis.contrasts, allowed)[0].reshape(allowed.shape)
    contrast = float(np.sum(slope * (hypothesis.asked(estimate) - allowed)))
    extra = (1,) * (fitted.table.ndim - hypothesis.axes)
    whole = np.broadcast_to(slope.reshape(*slope.shape, *extra), channel.true.sizes)
    weights = channel.to_reported([inverse.T for inverse in problem.inverses], whole)
    mean = float(np.sum(weights * fitted.reported))
    variance = float(np.sum(weights**2 * fitted.reported)) - mean**2
    return contrast**2 / variance if variance > 0 else 0.0
