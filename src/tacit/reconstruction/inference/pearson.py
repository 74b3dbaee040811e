"""pearson: the score test, from the table that the hypothesis makes most likely.

    X^2 = n u^T (M^T D^-1 M)^-1 u,    u = M^T D^-1 (p* - M p0),    D = diag(M p0)

For a square M this is Pearson's n sum (p* - M p0)^2 / (M p0) on the reports, without disguise the
usual chi-squared test (Rao, 1948). A directed hypothesis, such as no trend, divides the square of
its contrast by the variance that it has under the hypothesis: without disguise Mantel's test with
n instead of n - 1, and that of Cochran and Armitage.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import Array
from tacit.channel.product import ProductChannel
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.design_effects import tested
from tacit.reconstruction.inference.hypotheses import Hypothesis, slopes
from tacit.reconstruction.inference.model_fit import ModelFit, check_size, restricted_fit
from tacit.reconstruction.table_problem import TableProblem

_METHOD = "Pearson"


def pearson(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The score test of a hypothesis about the table asked for."""
    check_size(problem)
    fitted, n = restricted_fit(problem, hypothesis), problem.n_records
    if hypothesis.directed:
        statistic, df = _directed(problem, hypothesis, fitted), 1
    else:
        df = hypothesis.df(hypothesis.asked(fitted.table))
        statistic = n * _distance(problem, fitted)
    return tested(problem, hypothesis, _METHOD, statistic, df, hypothesis.asked(fitted.table))


def _distance(problem: TableProblem, fitted: ModelFit) -> float:
    """X^2 per record; a report that the hypothesis makes impossible makes it infinite."""
    likely = fitted.reported > 1e-12
    if (problem.frequencies[~likely] > 0).any():
        return math.inf
    off = np.where(likely, problem.frequencies - fitted.reported, 0.0)
    scaled = off / np.where(likely, fitted.reported, 1.0)
    if all(factor.channel.inverse is not None for factor in problem.channel.factors):
        return float(np.sum(off * scaled))
    matrix = _reported_matrix(problem.channel)
    inverse = np.where(likely, 1 / np.where(likely, fitted.reported, 1.0), 0.0).ravel()
    information = (matrix.T * inverse) @ matrix
    direction = matrix.T @ scaled.ravel()
    return float(direction @ np.linalg.lstsq(information, direction, rcond=None)[0])


def _reported_matrix(channel: ProductChannel) -> Array:
    """M, all entries; only for tables with more reported than true cells."""
    return channel.matrix


def _directed(problem: TableProblem, hypothesis: Hypothesis, fitted: ModelFit) -> float:
    """The square of the contrast by its variance under the hypothesis."""
    channel = problem.channel
    estimate = channel.to_true(problem.inverses, problem.frequencies)
    contrast = float(hypothesis.contrasts(hypothesis.asked(estimate))[0])
    allowed = hypothesis.asked(fitted.table)
    slope = slopes(hypothesis.contrasts, allowed)[0].reshape(allowed.shape)
    extra = (1,) * (fitted.table.ndim - hypothesis.axes)
    whole = np.broadcast_to(slope.reshape(*slope.shape, *extra), channel.true.sizes)
    weights = channel.to_reported([inverse.T for inverse in problem.inverses], whole)
    mean = float(np.sum(weights * fitted.reported))
    variance = float(np.sum(weights**2 * fitted.reported)) - mean**2
    return problem.n_records * contrast**2 / variance if variance > 0 else 0.0
