"""Fewer reported categories for the same error, or nearly.

Error and accuracy depend on the weights only through S = sum q r r^T and sum q max(r), that is
n(n+1)/2 + 1 numbers (S times a vector of ones is the prior). So as many reported categories always
do (Caratheodory): weights are moved along directions that change none of these numbers until one
is zero. Then the smallest weights are dropped and the others solved again, as long as the error
stays within the tolerance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import null_space

from tacit.core.arrays import Array
from tacit.optimize.front_problem import FrontProblem
from tacit.optimize.weight_solver import WeightSolution, solve_weights

_LEAST = 1e-6
#: A direction that moves a weight by less does not move it.
_PIVOT = 1e-6


def reduced(
    found: WeightSolution, problem: FrontProblem, accuracy: float, tolerance: float
) -> WeightSolution:
    """The same channel on few reported categories, at most `tolerance` worse."""
    accuracy = problem.room(accuracy)
    limit = problem.trace_of(problem.mse_of(found.value) * (1 + tolerance))
    posteriors, weights = _without_loss(found.posteriors, found.weights)
    few = replace(found, posteriors=posteriors, weights=weights)
    few = solved_weights(posteriors, weights, problem, accuracy) or few
    for _ in range(3):
        fewer = _fewest(few, problem, accuracy, limit)
        if len(fewer.weights) == len(few.weights):
            break
        few = fewer
    return _ordered(_balanced(few, problem))


def _balanced(found: WeightSolution, problem: FrontProblem) -> WeightSolution:
    """The same weights, changed as little as needed for the posteriors to average to the prior."""
    off = problem.p - found.weights @ found.posteriors
    change = np.linalg.lstsq(found.posteriors.T * found.weights, off, rcond=1e-13)[0]
    return replace(found, weights=found.weights * (1 + np.clip(change, -0.5, 0.5)))


def _without_loss(posteriors: Array, weights: Array) -> tuple[Array, Array]:
    """Weights on as few posteriors as the numbers that matter."""
    # Each posterior once, in the order of its entries, with the weight of all that are equal.
    _, first, which = np.unique(posteriors.round(9), axis=0, return_index=True, return_inverse=True)
    posteriors = posteriors[first]
    weights = np.bincount(which.ravel(), weights).astype(np.float64)
    rows, columns = np.triu_indices(posteriors.shape[1])
    moments = posteriors[:, rows] * posteriors[:, columns]
    moments = np.column_stack([moments, posteriors.max(axis=1)])
    free = _canonical(null_space(moments.T), weights)
    while free.shape[1]:
        weights, free = _emptied(weights, free)
    keep = weights > 0
    return posteriors[keep], weights[keep]


def _canonical(free: Array, weights: Array) -> Array:
    """The same directions by the one basis in which each of the smallest weights moves alone: what
    is left then does not depend on the machine's way of finding directions.
    """
    basis, done = free.T.copy(), 0
    for place in np.argsort(weights, kind="stable"):
        if done == len(basis):
            break
        pivot = done + int(np.abs(basis[done:, place]).argmax())
        if abs(basis[pivot, place]) < _PIVOT:
            continue
        basis[[done, pivot]] = basis[[pivot, done]]
        basis[done] /= basis[done, place]
        others = np.arange(len(basis)) != done
        basis[others] -= np.outer(basis[others, place], basis[done])
        done += 1
    return basis.T


def _emptied(weights: Array, free: Array) -> tuple[Array, Array]:
    """One weight less: a step along a free direction, and the directions that are left."""
    direction = free[:, 0]
    falling = direction < 0
    if not falling.any():
        direction, falling = -direction, direction > 0
    places = np.flatnonzero(falling)
    steps = weights[places] / -direction[places]
    empty = places[steps.argmin()]
    weights = np.maximum(weights + steps.min() * direction, 0)
    weights[empty] = 0
    pivot = np.abs(free[empty]).argmax()
    others = np.delete(free, pivot, axis=1)
    others -= np.outer(free[:, pivot], others[empty] / free[empty, pivot])
    others[empty] = 0
    return weights, others


def _fewest(
    few: WeightSolution, problem: FrontProblem, accuracy: float, limit: float
) -> WeightSolution:
    """The smallest weights left out, as many as the limit allows, by bisection."""
    order = np.argsort(-few.weights)
    best, low, high = few, problem.n - 1, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        chosen = order[:middle]
        tried = solved_weights(few.posteriors[chosen], few.weights[chosen], problem, accuracy)
        if tried is not None and tried.value <= limit:
            best, high = tried, len(tried.weights)
            low = min(low, high - 1)
        else:
            low = middle
    return best


def solved_weights(
    posteriors: Array, near: Array, problem: FrontProblem, accuracy: float
) -> WeightSolution | None:
    """The best weights, or None if these posteriors cannot average to the prior.

    Tiny weights are dropped and the others solved again, so that the sum stays 1.
    """
    while True:
        try:
            found = solve_weights(posteriors, problem.p, accuracy, near)
        except (np.linalg.LinAlgError, ValueError):
            return None
        off = np.abs(found.weights @ posteriors - problem.p).max()
        if not (np.isfinite(found.value) and off < 1e-9 and found.accuracy <= accuracy + 1e-9):
            return None
        keep = found.weights > _LEAST
        if keep.all():
            return found
        posteriors, near = posteriors[keep], found.weights[keep]


def _ordered(found: WeightSolution) -> WeightSolution:
    """Reports in the order of what they point to: likeliest category first, surest first."""
    surest = found.posteriors.max(axis=1).round(6)
    order = np.lexsort([-found.weights, -surest, found.posteriors.argmax(axis=1)])
    return replace(found, posteriors=found.posteriors[order], weights=found.weights[order])
