"""solve_weights: the best weights of given posteriors by an interior-point method.

A reported category y is its weight q_y and its posterior r_y. With S = sum q_y r_y r_y^T and
D = diag(p) the problem is

    minimise f = tr(D S^-1 D)  over q >= 0  with  sum q_y r_y = p  and  sum q_y max(r_y) <= A.

f is convex in q with derivative -r_y^T G r_y, G = S^-1 D^2 S^-1, so this is an A-optimal design
of experiments. Newton steps on the relaxed optimality conditions, primal and dual together; the
start need not be feasible. The multipliers (G, u, lambda) bound from below what any posteriors
at all can reach: see `Certificate`.

Reference: F. Pukelsheim, Optimal Design of Experiments (1993), chapter 9, for the design problem;
S. J. Wright, Primal-Dual Interior-Point Methods (1997), for the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tacit.core.arrays import TINY, Array

MOST_STEPS = 80
#: Relative gap at which the weights are good enough.
PRECISION = 1e-8
_CENTRING = 0.1
_TO_BORDER = 0.97


@dataclass(frozen=True)
class Certificate:
    """A line under every front: f*(A) >= c - slope * A for every adversary's accuracy A.

    f is convex, so f(S') >= 2 t f(S) - t^2 tr(G S') for every t; and tr(G S') <= h = u^T p +
    lambda A + excess, where excess bounds max_r r^T G r - u^T r - lambda max(r) from above. At
    its own A the best t gives f^2 / h; elsewhere that t stays valid, so it is a line in A.
    """

    value: float
    linear: float
    multiplier: float
    accuracy: float

    def bound(self, accuracy: Array) -> Array:
        """The bound on f at these accuracies, each with its own best t."""
        total = np.maximum(self.linear + self.multiplier * accuracy, TINY)
        return np.asarray(self.value**2 / total)


@dataclass(frozen=True)
class Prices:
    """What a posterior r is worth: r^T gram r - linear^T r - multiplier * max(r)."""

    gram: Array
    linear: Array
    multiplier: float

    def of(self, posteriors: Array) -> Array:
        """The worth of each row."""
        quadratic = np.einsum("vx,xy,vy->v", posteriors, self.gram, posteriors)
        return np.asarray(
            quadratic - posteriors @ self.linear - self.multiplier * posteriors.max(axis=1)
        )


@dataclass(frozen=True)
class WeightSolution:
    """Weights of the posteriors, and the prices that their multipliers are."""

    posteriors: Array
    weights: Array
    value: float
    prices: Prices

    @property
    def accuracy(self) -> float:
        """How often the best guess from a report is right."""
        return float(self.weights @ self.posteriors.max(axis=1))

    def certificate(self, prior: Array, accuracy: float, excess: float) -> Certificate:
        """The bound that these multipliers prove, given what no posterior can exceed."""
        linear = float(self.prices.linear @ prior) + max(excess, 0.0)
        return Certificate(self.value, linear, self.prices.multiplier, accuracy)

    def take(self, rows: Any) -> WeightSolution:
        """Some of the posteriors, or all in another order."""
        return replace(self, posteriors=self.posteriors[rows], weights=self.weights[rows])


def solve_weights(
    posteriors: Array, prior: Array, accuracy: float, start: Array | None = None
) -> WeightSolution:
    """The best weights; `start` are weights to begin near.

    Newton steps towards a tenth of the present gap, kept inside the border, in the weights q, the
    slack of the accuracy and the multipliers of q >= 0 (z), of the prior (u) and of the accuracy.
    """
    (count, n), largest = posteriors.shape, posteriors.max(axis=1)
    q = np.full(count, 1 / count) if start is None else np.maximum(start, 0.02 / count)
    value, _, _ = _evaluate(posteriors, q, prior)
    share, slack = value / count, max(accuracy - float(q @ largest), 0.05 * accuracy)
    z, u, multiplier = np.maximum(share / q, 1e-3 * value), np.zeros(n), share / slack
    sides = np.column_stack([posteriors, largest])
    for _ in range(MOST_STEPS):
        value, gram, inverse = _evaluate(posteriors, q, prior)
        gains = np.einsum("vx,xy,vy->v", posteriors, gram, posteriors)
        gap = float(q @ z) + slack * multiplier
        missed = np.abs(prior - q @ posteriors).max()
        ease = multiplier * largest + posteriors @ u - gains - z
        if gap < PRECISION * value and missed < 1e-11 and np.abs(ease).max() < 1e-6 * value:
            break
        target = _CENTRING * gap / (count + 1)
        hessian = 2 * (posteriors @ gram @ posteriors.T) * (posteriors @ inverse @ posteriors.T)
        hessian[np.diag_indices_from(hessian)] += z / q
        dual = sides @ np.append(u, multiplier) - gains - target / q
        right = np.column_stack([sides, dual])
        solved = cho_solve(factored(hessian), right, check_finite=False)
        schur = sides.T @ solved[:, :-1]
        schur[-1, -1] += slack / multiplier
        off = np.append(prior, accuracy - target / multiplier) - q @ sides
        move = _solved(schur, -off - sides.T @ solved[:, -1])
        dq = -solved[:, -1] - solved[:, :-1] @ move
        dz = target / q - z - z / q * dq
        dslack = target / multiplier - slack * (1 + move[-1] / multiplier)
        primal = longest(np.append(q, slack), np.append(dq, dslack))
        other = longest(np.append(z, multiplier), np.append(dz, move[-1]))
        q, slack = q + primal * dq, slack + primal * dslack
        z, u, multiplier = z + other * dz, u + other * move[:-1], multiplier + other * move[-1]
    return WeightSolution(posteriors, q, value, Prices(gram, u, multiplier))


def _evaluate(posteriors: Array, q: Array, prior: Array) -> tuple[float, Array, Array]:
    """f, G and S^-1."""
    inverse: Array = np.linalg.inv((posteriors.T * q) @ posteriors).astype(np.float64)
    half = inverse * prior
    gram = half @ half.T
    return float(np.sum(half * (prior[:, None] * np.eye(len(prior))))), gram, inverse


def factored(*matrices: Array) -> tuple[Array, bool]:
    """The Cholesky factor of the first matrix that has one; else of the last one with the
    smallest ridge that makes up for rounding.
    """
    last = matrices[-1]
    scale = float(np.abs(np.diag(last)).max()) * np.eye(len(last))
    ridged = (last + ridge * scale for ridge in (1e-12, 1e-9, 1e-6, 1e-3))
    for matrix in (*matrices, *ridged):
        try:
            factor: tuple[Array, bool] = cho_factor(matrix, check_finite=False)
        except LinAlgError:
            continue
        return factor
    raise LinAlgError("the second derivative is not positive")


def _solved(matrix: Array, side: Array) -> Array:
    """The solution; where constraints have become dependent, the shortest one."""
    try:
        return np.asarray(np.linalg.solve(matrix, side), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, side, rcond=None)[0])


def longest(values: Array, changes: Array) -> float:
    """The longest step that keeps all values positive, up to 1."""
    falling = changes < 0
    if not falling.any():
        return 1.0
    return float(min(1.0, _TO_BORDER * (values[falling] / -changes[falling]).min()))
