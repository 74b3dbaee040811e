"""What a channel M[reported, true] is worth: privacy, error and the bounds.

    privacy   1 - sum_y max_x M[y,x] p(x)                     (Huang & Du 2008, eq. 8)
    MSE       (tr(W diag(q) W^T) - p^T p) / (n N),  q = M p   (their Theorem 6 and eq. 10)

W is M^-1, or with more reported than true categories the generalised least squares inverse; then
with S = M^T diag(1/q) M the trace is tr(S^-1). Erratum: Theorem 6 sums over ordered pairs i != j
and also has a factor 2; one of them is too many, and what is left is the closed form above.
A singular M has no estimate: its error is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array, Index
from tacit.optimize.problem import FrontProblem, SearchResult
from tacit.records import Progress

#: A matrix that magnifies beyond this is singular for every purpose.
_WORST_TRACE = 1e18


def privacy(matrix: Array, prior: Array) -> Any:
    """The share of records that the best guess from the report gets wrong (eq. 8).

    A number for a matrix, an array for a stack of matrices.
    """
    return 1 - (matrix * prior).max(axis=-1).sum(axis=-1)


def mse(matrix: Array, prior: Array, n_records: int) -> float:
    """Mean squared error of the estimated distribution, averaged over the categories (eq. 10)."""
    return (trace(matrix, prior) - float(prior @ prior)) / (len(prior) * n_records)


def trace(matrix: Array, prior: Array) -> float:
    """tr(W diag(M p) W^T); infinite for a singular matrix."""
    q = matrix @ prior
    used = q > 0
    information = (matrix[used].T / q[used]) @ matrix[used]
    try:
        value = float(np.trace(np.linalg.inv(information)))
    except np.linalg.LinAlgError:
        return np.inf
    return value if 0 < value < _WORST_TRACE else np.inf


def worst_posterior(matrix: Array, prior: Array) -> float:
    """max over x and y of P(x | y): how sure a report can make an adversary (eq. 9)."""
    joint = matrix * prior
    reports = joint.sum(axis=-1)
    used = reports > 0
    return float((joint.max(axis=-1)[used] / reports[used]).max())


def epsilon(matrix: Array) -> float:
    """Log of the largest ratio in a row; infinite where a row has a zero."""
    low, high = matrix.min(axis=-1), matrix.max(axis=-1)
    used = high > 0
    if (low[used] <= 0).any():
        return np.inf
    return float(np.log(high[used] / low[used]).max())


def errors(matrices: Array, prior: Array, n_records: int) -> Array:
    """MSE of a stack of square matrices; infinite for the singular ones."""
    try:
        inverses = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        return np.array([mse(matrix, prior, n_records) for matrix in matrices])
    traces = np.einsum("bxy,by->b", inverses**2, matrices @ prior)
    traces[~(traces < _WORST_TRACE)] = np.inf
    return np.asarray((traces - prior @ prior) / (len(prior) * n_records))


def warner(prior: Array, theta: float) -> Array:
    """Warner's matrix as the paper extends it: theta on the diagonal, the rest alike elsewhere.

    Uniform perturbation with q and FRAPP with lambda are the same matrices (Theorem 2):
    theta = q + (1 - q)/n = lambda / (lambda + n - 1).
    """
    n = len(prior)
    return np.full((n, n), (1 - theta) / (n - 1)) + (theta - (1 - theta) / (n - 1)) * np.eye(n)


def unbeaten(privacies: Array, errors: Array) -> Index:
    """Index of the points that no other point beats, by rising privacy."""
    order = np.lexsort([errors, -privacies])
    best = np.minimum.accumulate(np.append(np.inf, errors[order]))
    return np.asarray(order[errors[order] < best[:-1]][::-1], dtype=np.intp)


def random_matrices(count: int, prior: Array, rng: np.random.Generator) -> Array:
    """Random square channels: the truth with a random probability, else a random report.

    The random reports follow a random distribution, between even and the prior and beyond, so in
    some channels rare categories get posteriors as sure as frequent ones; and name the truth
    itself seldom or as often as chance has it, for at high privacy lies tell more than truths.
    """
    n = len(prior)
    base = prior ** rng.uniform(0, 1.5, (count, 1))
    spread = np.exp(rng.uniform(np.log(0.3), np.log(30), (count, 1)))
    shapes = n * spread * base / base.sum(axis=1, keepdims=True)
    columns = rng.gamma(np.broadcast_to(shapes[:, :, None], (count, n, n))) + 1e-12
    seldom = np.where(rng.random(count) < 0.5, rng.random(count), 1.0)[:, None, None]
    columns *= 1 - (1 - seldom) * np.eye(n)
    columns /= columns.sum(axis=1, keepdims=True)
    truth = np.maximum(rng.uniform(-0.3, 1, (count, 1, 1)), 0)
    return np.asarray(truth * np.eye(n) + (1 - truth) * columns)


@dataclass(frozen=True)
class Warner:
    """The matrices of Warner over a grid of theta, as Huang & Du (2008, section VI-B) draw them.

    Every other method is compared with them. steps: the number of steps of theta from 0 to 1.
    """

    steps: int = 1000

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """The matrices of the grid that keep the bounds, as optimisers see them."""
        thetas = np.linspace(0, 1, check_whole("steps", self.steps, 1) + 1)
        matrices = np.array([warner(problem.p, theta) for theta in thetas])
        return SearchResult(tuple(matrices[problem.keeps(matrices, 1e-12)]))


def best_warner(problem: FrontProblem) -> tuple[Array, Array, Array]:
    """The matrices of Warner that no other one of them beats, with their privacies and errors."""
    matrices = np.array(Warner(400).search(problem, lambda _: None).matrices)
    matrices = matrices.reshape(-1, problem.n, problem.n)
    values = privacy(matrices, problem.p)
    mses = errors(matrices, problem.p, problem.n_records)
    best = unbeaten(values, mses)
    return matrices[best], values[best], mses[best]
