"""em: the table of largest likelihood among true distributions; never negative.

The iteration of Huang & Du (2008, eq. 3) on whole tables; see `likelihood` for the formula and the
convergence criterion. Standard errors and intervals are those of the unbiased estimate, because
the maximum-likelihood estimate is not normal at the border of the simplex.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.likelihood import MAX_ITERATIONS, TOLERANCE, maximise
from tacit.reconstruction.restricted import restricted
from tacit.reconstruction.table_problem import TableProblem


def em(
    problem: TableProblem, tolerance: float = TOLERANCE, max_iterations: int = MAX_ITERATIONS
) -> Estimate:
    """Maximum-likelihood estimate of the table asked for."""
    channel = problem.channel
    unbiased = restricted(problem)
    transposed = [factor.channel.forward.T for factor in channel.factors]
    possible = np.ones(channel.true.sizes)
    if problem.impossible is not None:
        possible[problem.impossible] = 0.0  # and 0 they stay
    value, convergence = maximise(
        channel.disguised,
        lambda table: possible * channel.to_true(transposed, table),
        problem.frequencies,
        possible / possible.sum(),
        tolerance,
        max_iterations,
    )
    wanted = value.sum(axis=tuple(range(problem.wanted, value.ndim)))
    return replace(
        unbiased, value=wanted, method="em", errors_by=unbiased.method, convergence=convergence
    )
