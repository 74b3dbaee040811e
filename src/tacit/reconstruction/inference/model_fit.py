"""The most likely table that a hypothesis allows, from reports: EM with the hypothesis as M step.

    E step: expected true table given the reports;  M step: its nearest table in the hypothesis

The likelihood never falls, and SQUAREM extrapolates (see `likelihood`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.inference.hypotheses import Hypothesis
from tacit.reconstruction.likelihood import EMStep, maximise, squarem
from tacit.reconstruction.simplex import project
from tacit.reconstruction.table_problem import TableProblem

#: A larger table is refused: its test would have no power and take long.
MOST_TEST_CELLS = 1 << 14
#: EM ends when no cell changes by more; the log-likelihood is then known far better.
_TOLERANCE, _ITERATIONS = 1e-9, 4000
#: Share of the uniform distribution at the start, so that no cell starts impossible.
_START = 0.05


class ModelFit(NamedTuple):
    """The most likely allowed table, what is then reported, and the log-likelihood per record."""

    table: Array
    reported: Array
    log_likelihood: float


def check_size(problem: TableProblem) -> None:
    """An error if the table is too large to be tested."""
    cells = max(math.prod(problem.channel.true.sizes), math.prod(problem.channel.reported.sizes))
    if cells > MOST_TEST_CELLS:
        raise DataError(
            f"a test of {cells:,} cells is too large (at most {MOST_TEST_CELLS:,}); name fewer "
            "attributes"
        )
    problem.channel.require_reconstructable()


def restricted_fit(problem: TableProblem, hypothesis: Hypothesis) -> ModelFit:
    """The most likely table within the hypothesis."""
    channel, observed = problem.channel, problem.frequencies
    transposed = [factor.channel.forward.T for factor in channel.factors]
    seen = observed > 0

    def step(table: Array) -> EMStep:
        expected = np.where(seen, channel.disguised(table), 1.0)
        likelihood = float(np.sum(observed[seen] * np.log(expected[seen])))
        after = hypothesis.nearest_whole(table * channel.to_true(transposed, observed / expected))
        return EMStep(after, likelihood, float(np.abs(after - table).max()))

    def repaired(table: Array) -> Array:
        return hypothesis.nearest_whole(table / table.sum())

    start = project(channel.to_true(problem.inverses, observed))
    start = repaired((1 - _START) * start + _START / start.size)
    table, ended = squarem(step, start, repaired, _TOLERANCE, _ITERATIONS)
    if not ended.converged:
        raise DataError(
            f"the test of {hypothesis.text} did not converge after {ended.iterations:,} "
            "iterations; use the Wald test, or name fewer attributes"
        )
    return ModelFit(table, np.maximum(channel.disguised(table), 0.0), step(table).log_likelihood)


def largest_log_likelihood(problem: TableProblem) -> float:
    """The largest log-likelihood per record of any true table."""
    channel, observed = problem.channel, problem.frequencies
    if all(factor.channel.inverse is not None for factor in channel.factors):
        inverted = channel.to_true(problem.inverses, observed)
        if inverted.min() >= 0:
            seen = observed[observed > 0]
            return float(np.sum(seen * np.log(seen)))
    transposed = [factor.channel.forward.T for factor in channel.factors]
    start = np.full(channel.true.sizes, 1 / math.prod(channel.true.sizes))
    _, ended = maximise(
        channel.disguised, lambda table: channel.to_true(transposed, table), observed, start
    )
    return ended.log_likelihood
