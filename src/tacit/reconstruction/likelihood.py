"""Maximum likelihood over distributions: expectation-maximisation, accelerated by SQUAREM.

    p_j <- p_j * g_j,    g_j = sum_i p*_i M_ij / (M p)_i

Huang & Du (2008, eq. 3, from Agrawal et al.), with its summation indices corrected. The fixed
point maximises the likelihood over the simplex, so no cell is ever negative. The gradient g has
mean 1 under p, and by concavity max_j g_j - 1 bounds how much the log-likelihood per record can
still grow: iteration stops when this gap is within tolerance.

An EM step is safe but short. Two EM steps give a direction and a curvature; SQUAREM (Varadhan &
Roland, 2008) extrapolates along both, with a shorter step if the likelihood would fall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array

TOLERANCE = 1e-11
MAX_ITERATIONS = 2_000
#: An extrapolation may shrink a probability at most to this share of what an EM step gives.
SHRINK = 0.01
#: Step lengths that are tried, each about half the one before.
_TRIES = 4
#: Log-likelihoods per record that differ by less are equal.
_ROUNDING = 1e-14

Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Convergence:
    """How an iteration ended; `gap` is the measure of its steps, 0 at a maximum."""

    converged: bool
    iterations: int
    last_change: float
    log_likelihood: float
    gap: float


@dataclass(frozen=True, eq=False)
class EMStep:
    """The result of one EM step, with the log-likelihood and gap of the point before it."""

    after: Array
    log_likelihood: float
    gap: float


def maximise(
    forward: Map,
    backward: Map,
    observed: Array,
    start: Array,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Array, Convergence]:
    """Maximise sum observed * log(forward(p)) over distributions p.

    `forward` is the channel, `backward` its transpose; both map tables to tables.
    """

    def step(p: Array) -> EMStep:
        expected = np.where(observed > 0, forward(p), 1.0)
        gradient = backward(observed / expected)
        return EMStep(p * gradient, log_likelihood(observed, expected), float(gradient.max() - 1))

    return squarem(step, start, lambda p: p / p.sum(), tolerance, max_iterations)


def log_likelihood(observed: Array, expected: Array) -> float:
    """sum observed * log(expected); minus infinity if something was observed that cannot be."""
    seen = observed > 0
    if (expected[seen] <= 0).any():
        return -np.inf
    return float(np.sum(observed[seen] * np.log(expected[seen])))


def most_likely(matrix: Array, frequencies: Array) -> Array:
    """The maximum-likelihood distribution of true cells for one channel matrix."""
    start = np.full(matrix.shape[1], 1 / matrix.shape[1])
    return maximise(lambda p: matrix @ p, lambda q: matrix.T @ q, frequencies, start)[0]


def squarem(
    step: Callable[[Array], EMStep],
    start: Array,
    repair: Map,
    tolerance: float,
    max_iterations: int,
) -> tuple[Array, Convergence]:
    """Iterate `step` until its gap is within `tolerance`; `repair` makes a point feasible.

    An iteration is two EM steps and the longest extrapolation that does not lower the likelihood,
    if there is one. The result is one EM step further than the
    point at which convergence was measured.
    """
    point, change = start, 0.0
    for iteration in range(1, max_iterations + 1):
        first = step(point)
        if first.gap <= tolerance:
            ended = Convergence(True, iteration, change, first.log_likelihood, first.gap)
            return first.after, ended
        second = step(first.after)
        direction, curvature = first.after - point, second.after - 2 * first.after + point
        norm = float(np.linalg.norm(curvature))
        length = max(1.0, float(np.linalg.norm(direction)) / norm) if norm > 0 else 1.0
        following = second.after
        for _ in range(_TRIES):
            target = point + 2 * length * direction + length**2 * curvature
            third = step(repair(np.maximum(target, SHRINK * second.after)))
            if third.log_likelihood >= second.log_likelihood - _ROUNDING:
                following = third.after
                break
            length = (length + 1) / 2
        change, point = float(np.abs(following - point).max()), following
    last = step(point)
    return last.after, Convergence(False, max_iterations, change, last.log_likelihood, last.gap)
