"""front: the best channels for a prior, by any method, with a lower bound that is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from tacit.core.arrays import Array
from tacit.errors import DesignError
from tacit.optimize import objectives
from tacit.optimize.exact import Exact, prove
from tacit.optimize.fronts import Front
from tacit.optimize.problem import SearchMethod, problem_of
from tacit.records import Progress

#: What a lower bound gives away, so that it never exceeds what it bounds by a rounding.
_OUTWARD = 1e-9


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
        searched = chosen.search(problem, tell)
        proofs = searched.proofs or prove(problem)
    matrices = [_aligned(matrix, problem.p) for matrix in searched.matrices]
    p, n = problem.p, problem.n_records
    errors = np.array([objectives.mse(matrix, p, n) for matrix in matrices])
    values = np.array([objectives.privacy(matrix, p) for matrix in matrices])
    best = objectives.unbeaten(values, errors)
    if not len(best):
        raise DesignError("no channel was found that can be reconstructed; search longer")
    # Undisguised answers have tr(W diag(q) W^T) = 1, and no disguise has less.
    proved = [problem.guarded * proof.bound(1 - values[best]) for proof in proofs]
    traces = np.max([np.ones(len(best)), *proved], axis=0)
    bounds = problem.mse_of(traces) * (1 - _OUTWARD)
    tell(1.0)
    return Front(
        problem,
        type(chosen).__name__,
        values[best],
        errors[best],
        np.minimum(bounds, errors[best]),
        tuple(np.array(matrices[i]) for i in best),
        searched.state,
    )


def _aligned(matrix: Array, prior: Array) -> Array:
    """A square matrix with its rows in the order in which they point to the true categories."""
    if matrix.shape[0] != matrix.shape[1]:
        return matrix
    joint = matrix * prior
    _, rows = linear_sum_assignment(-(joint / joint.sum(axis=1, keepdims=True)).T)
    return np.asarray(matrix[rows])
