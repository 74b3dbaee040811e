"""descend: a square channel improved by gradient within linear constraints.

In the joint probabilities J[y,x] = M[y,x] p(x) every constraint is linear: columns sum to p; the
adversary's accuracy, through t_y >= J[y,x] and sum t <= A; delta, t_y <= delta sum_x J[y,x];
epsilon, through m_y p(x) <= J[y,x] <= e^epsilon m_y p(x). Only f = tr(D S^-1 D) is curved, with
S = sum_y J_y J_y^T / q_y. It is not convex, so what is found is best nearby, no more.

Primal-dual interior steps with the exact second derivative where that points downhill, else with
its convex part: S is convex in J, so S replaced by its tangent bounds f from above by a convex
function with the same gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, block_diag, cho_solve

from tacit.core.arrays import Array
from tacit.optimize.front_problem import GUARD, FrontProblem
from tacit.optimize.objectives import privacy, worst_posterior
from tacit.optimize.weight_solver import factored, longest

_MOST_STEPS = 150
_PRECISION = 1e-6
_NEARLY_ZERO = 1e-7


@dataclass(frozen=True)
class Polytope:
    """The constraints as C x + d >= 0, x = (J, t, m), on the directions Z that keep the sums."""

    problem: FrontProblem

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """C, and d with 0 in the last place, where the accuracy goes."""
        n, p = self.problem.n, self.problem.p
        eye, ones = np.eye(n * n), np.kron(np.eye(n), np.ones((n, 1)))
        none = np.zeros((n * n, n))
        prior = np.tile(p, n)[:, None] * ones
        blocks = [np.hstack([eye, none, -prior if self.bounded else none])]
        blocks.append(np.hstack([-eye, ones, none]))
        blocks.append(np.hstack([self.problem.cap * ones.T, -np.eye(n), np.zeros((n, n))]))
        if self.bounded:
            blocks.append(np.hstack([-eye, none, self.problem.ratio * prior]))
        blocks.append(np.concatenate([np.zeros(n * n), -np.ones(n), np.zeros(n)])[None, :])
        matrix = np.vstack(blocks)
        kept = matrix if self.bounded else matrix[:, : n * n + n]
        return kept, np.zeros(len(kept))

    @property
    def bounded(self) -> bool:
        """Whether there is an epsilon bound, and so the variables m."""
        return self.problem.epsilon is not None

    @cached_property
    def directions(self) -> Array:
        """Z: changes of all rows but the last, which makes up for them, and of t and m."""
        n = self.problem.n
        rest = self.edges[0].shape[1] - n * n
        joint = np.vstack([np.eye(n * n - n), -np.tile(np.eye(n), n - 1)])
        return np.asarray(block_diag(joint, np.eye(rest)))

    @cached_property
    def moves(self) -> Array:
        """C Z."""
        return np.asarray(self.edges[0] @ self.directions)

    def inside(self, matrix: Array, accuracy: float) -> Array:
        """x for the channel nearest to a matrix, on the line to one that says nothing, that is
        strictly inside all constraints.
        """
        p = self.problem.p
        flat = np.outer(matrix @ p, np.ones(len(p)))
        low, high = 0.0, 1.0
        if not self.fits(matrix, accuracy):
            for _ in range(40):
                middle = (low + high) / 2
                fits = self.fits(middle * matrix + (1 - middle) * flat, accuracy)
                low, high = (middle, high) if fits else (low, middle)
            high = low
        joint = (0.9 * high * matrix + (1 - 0.9 * high) * flat) * p
        # t and m are in the middle of what they may be.
        largest = joint.max(axis=1)
        room = np.minimum(
            self.problem.cap * joint.sum(axis=1) - largest,
            (accuracy - largest.sum()) / len(largest),
        )
        parts = [joint.ravel(), largest + room / 2]
        if self.bounded:
            rows = joint / p
            parts.append((rows.min(axis=1) + rows.max(axis=1) / self.problem.ratio) / 2)
        return np.concatenate(parts)

    def fits(self, matrix: Array, accuracy: float, slack: float = 0.0) -> bool:
        """Whether a matrix keeps the accuracy and the bounds, up to a slack of the guards."""
        p = self.problem.p
        if 1 - privacy(matrix, p) > accuracy * (1 + slack):
            return False
        if worst_posterior(matrix, p) > self.problem.cap * (1 + slack):
            return False
        if not self.bounded:
            return True
        return bool((matrix.max(axis=1) <= self.problem.ratio * matrix.min(axis=1)).all())


def descend(polytope: Polytope, matrix: Array, accuracy: float) -> Array:
    """The channel that going downhill from a matrix leads to."""
    n, p = polytope.problem.n, polytope.problem.p
    edges, offset = polytope.edges
    offset = offset.copy()
    offset[-1] = accuracy
    x = polytope.inside(matrix, accuracy)
    slack = edges @ x + offset
    value = _value(x, n, p)
    target = 0.1 * value / len(slack)
    dual = target / slack
    for _ in range(_MOST_STEPS):
        try:
            move, dual_move = _newton(polytope, x, slack, dual, target)
        except LinAlgError:  # as far as doubles go
            break
        x, slack, dual, length = _advance(
            polytope, (x, slack, dual), (move, dual_move), target, offset
        )
        gap = float(slack @ dual)
        if length > 0.1:
            target = min(target, 0.2 * gap / len(slack))
        if (gap < _PRECISION * _value(x, n, p) and length > 0.1) or length == 0:
            break
    joint = np.maximum(x[: n * n].reshape(n, n), 0)
    found = np.asarray(joint / joint.sum(axis=0))
    # Zeros where the method only came near to them, if the bounds are kept.
    trimmed = np.where(found < _NEARLY_ZERO, 0, found)
    trimmed /= trimmed.sum(axis=0)
    return trimmed if polytope.fits(trimmed, accuracy, GUARD / 2) else found


def _newton(
    polytope: Polytope, x: Array, slack: Array, dual: Array, target: float
) -> tuple[Array, Array]:
    """The step of x in the directions Z, and that of the multipliers."""
    n, p = polytope.problem.n, polytope.problem.p
    gradient, convex, concave = _derivatives(x[: n * n].reshape(n, n), p)
    moves, directions = polytope.moves, polytope.directions
    barrier = (moves.T * (dual / slack)) @ moves
    top = directions[: n * n]
    side = top.T @ gradient - moves.T @ (target / slack)
    convex = top.T @ convex @ top + barrier
    factor = factored(convex - top.T @ concave @ top, convex)
    move = -cho_solve(factor, side, check_finite=False)
    return move, target / slack - dual - dual / slack * (moves @ move)


def _advance(
    polytope: Polytope,
    at: tuple[Array, Array, Array],
    step: tuple[Array, Array],
    target: float,
    offset: Array,
) -> tuple[Array, Array, Array, float]:
    """As far along the step as the border and the sum of f and barrier allow."""
    x, slack, dual = at
    n, p = polytope.problem.n, polytope.problem.p
    change, along = polytope.moves @ step[0], polytope.directions @ step[0]
    length = longest(slack, change)
    before = _value(x, n, p) - target * np.log(slack).sum()
    gradient, _, _ = _derivatives(x[: n * n].reshape(n, n), p, False)
    slope = float(gradient @ along[: n * n] - target * (change / slack).sum())
    while length > 1e-10:
        there = slack + length * change
        after = _value(x + length * along, n, p) - target * np.log(there).sum()
        if after <= before + 1e-4 * length * slope + 1e-12 * abs(before):
            break
        length /= 2
    else:
        return x, slack, dual, 0.0
    x = x + length * along
    dual = dual + longest(dual, step[1]) * step[1]
    slack = polytope.edges[0] @ x + offset
    return x, slack, np.clip(dual, 1e-3 * target / slack, 1e3 * target / slack), length


def _value(x: Array, n: int, p: Array) -> float:
    """f; infinite where it is not defined."""
    joint = x[: n * n].reshape(n, n)
    try:
        inverse = np.linalg.inv((joint.T / joint.sum(axis=1)) @ joint)
    except np.linalg.LinAlgError:
        return np.inf
    found = float(p * p @ np.diag(inverse))
    return found if found > 0 else np.inf


def _derivatives(joint: Array, p: Array, second: bool = True) -> tuple[Array, Array, Array]:
    """Gradient of f by J and the convex and concave parts of its second derivative."""
    n = len(p)
    reports = joint.sum(axis=1)
    posteriors = joint / reports[:, None]
    inverse = np.linalg.inv(joint.T @ posteriors)
    gram = (inverse * p**2) @ inverse
    by_gram, by_inverse = posteriors @ gram, posteriors @ inverse
    worth = by_gram @ posteriors.T
    gradient = -2 * by_gram + np.diag(worth)[:, None]
    if not second:
        return gradient.ravel(), np.empty(0), np.empty(0)
    convex = np.einsum("zi,yj->yizj", by_inverse, by_gram)
    convex += np.einsum("zi,yj->yizj", by_gram, by_inverse)
    convex += worth[:, None, :, None] * inverse[None, :, None, :]
    convex += (by_inverse @ posteriors.T)[:, None, :, None] * gram[None, :, None, :]
    half = np.eye(n) - posteriors[:, :, None] / 2
    convex = 2 * np.einsum("yki,ykzl,zlj->yizj", half, convex, half, optimize=True)
    whole = np.eye(n) - posteriors[:, :, None]
    blocks = 2 * np.einsum("yki,kl,ylj->yij", whole, gram, whole) / reports[:, None, None]
    concave = np.zeros((n, n, n, n))
    concave[np.arange(n), :, np.arange(n), :] = blocks
    size = n * n
    return gradient.ravel(), convex.reshape(size, size), concave.reshape(size, size)
