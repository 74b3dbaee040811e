"""front: the best channels for a prior, by any method, with a lower bound that is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from tacit.core.arrays import Array
from tacit.optimize.exact import Exact, prove
from tacit.optimize.front_problem import problem_of
from tacit.optimize.fronts import Front, front_of
from tacit.optimize.search_method import SearchMethod
from tacit.records import Progress


def front(
    prior: Any,
    n_records: int,
    delta: Any = None,
    epsilon: Any = None,
    method: SearchMethod | None = None,
    progress: Progress | None = None,
) -> Front:
    """Channels of which none is better in both privacy and error.

    prior: probabilities of the true categories; a mapping from category to probability; a table
    with one axis per attribute, for a group that is disguised together; or an Estimate of these,
    such as `reconstruct(pilot, design).table(["income"], em)`.
    delta bounds what any report may make an adversary believe (the worst posterior), epsilon is
    local differential privacy; None is no bound. method: `Exact()` (the default), `Square()`,
    `Spea2()` or `Warner()`. progress is called with the share that is done, from 0 to 1.

    >>> best = front({"no": 0.7, "yes": 0.3}, n_records=1000, delta=0.8)
    >>> choice = best.pick(privacy=0.25)
    >>> choice.privacy >= 0.25, choice.mse < 1.001 * choice.lower_bound
    (True, True)
    """
    problem = problem_of(prior, n_records, delta, epsilon)
    chosen = Exact() if method is None else method
    tell = progress or (lambda _: None)
    with threadpool_limits(1, "blas"):  # matrices are small: more threads only wait for each other
        found = chosen.search(problem, tell)
        proofs = found.proofs or prove(problem)
    matrices = [_aligned(matrix, problem.p) for matrix in found.matrices]
    made = front_of(problem, type(chosen).__name__, matrices, proofs, found.state)
    tell(1.0)
    return made


def _aligned(matrix: Array, prior: Array) -> Array:
    """A square matrix with its rows in the order in which they point to the true categories."""
    if matrix.shape[0] != matrix.shape[1]:
        return matrix
    joint = matrix * prior
    _, rows = linear_sum_assignment(-(joint / joint.sum(axis=1, keepdims=True)).T)
    return np.asarray(matrix[rows])
