"""Exact: channels that no other channel beats, with a proof.

Choosing weights over posteriors is convex (`solve_weights`). It starts with few posteriors and
adds those that the multipliers find worth most (`PosteriorFamily`) until none is worth
anything: then no channel of any number of reported categories is better, and the last multipliers
prove it. A channel may report more categories than there are true ones: a respondent reports a
set that holds her answer, or with an epsilon bound may not hold it.

Up to 20 categories all posteriors are priced, so the proof is as tight as the gap asked for.
Beyond, a search finds those to price: the bound holds but is looser (decision 0009).

A front runs from the privacy of the smallest error to that of a channel that says nothing,
1 - max p, where the error is largest and often infinite; the last point stops short of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import null_space

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import TINY, Array
from tacit.errors import DesignError
from tacit.optimize import posteriors as families
from tacit.optimize.problem import FrontProblem, SearchResult, grid, targets
from tacit.optimize.weight_solver import Certificate, WeightSolution, solve_weights
from tacit.records import Progress

_LEAST = 1e-6
#: A direction that moves a weight by less does not move it.
_PIVOT = 1e-6


def reduced(
    solution: WeightSolution, problem: FrontProblem, accuracy: float, tolerance: float
) -> WeightSolution:
    """The same channel on few reported categories, at most `tolerance` worse.

    Error and accuracy depend on the weights only through S = sum q r r^T and sum q max(r), that is
    n(n+1)/2 + 1 numbers (S times a vector of ones is the prior). So as many reported categories
    always do (Caratheodory): weights are moved along directions that change none of these numbers
    until one is zero. Then the smallest weights are dropped and the others solved again, as long
    as the error stays within the tolerance.
    """
    accuracy = problem.room(accuracy)
    limit = solution.value + tolerance * (solution.value - float(problem.p @ problem.p))
    posteriors, weights = _without_loss(solution.posteriors, solution.weights)
    few = solved_weights(posteriors, weights, problem, accuracy)
    few = few or replace(solution, posteriors=posteriors, weights=weights)
    for _ in range(3):
        fewer = _fewest(few, problem, accuracy, limit)
        if len(fewer.weights) == len(few.weights):
            break
        few = fewer
    # The same weights, changed as little as needed for the posteriors to average to the prior.
    off = problem.p - few.weights @ few.posteriors
    change = np.linalg.lstsq(few.posteriors.T * few.weights, off, rcond=1e-13)[0]
    few = replace(few, weights=few.weights * (1 + np.clip(change, -0.5, 0.5)))
    # Reports in the order of what they point to: likeliest category first, surest first.
    surest = few.posteriors.max(axis=1).round(6)
    return few.take(np.lexsort([-few.weights, -surest, few.posteriors.argmax(axis=1)]))


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
    for column in np.argsort(weights, kind="stable"):
        if done == len(basis):
            break
        pivot = done + int(np.abs(basis[done:, column]).argmax())
        if abs(basis[pivot, column]) < _PIVOT:
            continue
        basis[[done, pivot]] = basis[[pivot, done]]
        basis[done] /= basis[done, column]
        others = np.arange(len(basis)) != done
        basis[others] -= np.outer(basis[others, column], basis[done])
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
            solution = solve_weights(posteriors, problem.p, accuracy, near)
        except (np.linalg.LinAlgError, ValueError):
            return None
        off = np.abs(solution.weights @ posteriors - problem.p).max()
        within = off < 1e-9 and solution.accuracy <= accuracy + 1e-9
        if not (np.isfinite(solution.value) and within):
            return None
        keep = solution.weights > _LEAST
        if keep.all():
            return solution
        posteriors, near = posteriors[keep], solution.weights[keep]


_MOST_ROUNDS = 200
_NEGLIGIBLE = 1e-7
#: A wanted privacy is reached, not missed by a rounding.
_GUARD = 1e-9
_SAME = 1e-6
#: Gap of the bounds for other methods.
_ROUGH = 1e-3


@dataclass(frozen=True)
class Exact:
    """points: how many, evenly spaced in privacy; or `privacy`: the ones wanted.

    gap: how far, relatively, an error may be above its lower bound before the search ends.
    tolerance: the share of error that may be given away for fewer reported categories; there are
    at most n(n+1)/2 + 1 in any case.
    """

    points: int = 50
    privacy: Sequence[float] | None = None
    gap: float = 1e-4
    tolerance: float = 5e-4

    def __post_init__(self) -> None:
        check_whole("points", self.points, 1)
        object.__setattr__(self, "privacy", targets(self.privacy))
        for name, least in (("gap", 1e-9), ("tolerance", 0.0)):
            value = getattr(self, name)
            if not least <= value < 1:
                raise DesignError(f"{name} must lie between {least:g} and 1, got {value!r}")

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """The channels of the front, most private first."""
        optimum = solve(problem, 1.0, self.gap, None)
        least = 1 - optimum.weighing.accuracy
        goals = grid(problem, least, self.points, self.privacy)
        matrices, proofs = [], [optimum.certificate]
        last: ExactSolution | None = None
        for done, privacy in enumerate(sorted(goals, reverse=True)):
            tell(done / len(goals))
            limit = (1 - privacy) * (1 - _GUARD)
            if privacy <= least + _SAME:
                limit, last = 1.0, optimum
            else:
                last = solve(problem, limit, self.gap, last)
            proofs.append(last.certificate)
            matrices.append(channel_of(reduced(last.weighing, problem, limit, self.tolerance)))
        return SearchResult(tuple(matrices), tuple(proofs))


@dataclass(frozen=True)
class ExactSolution:
    """The best weights at one accuracy, and what proves them."""

    weighing: WeightSolution
    certificate: Certificate


def solve(
    problem: FrontProblem, accuracy: float, gap: float, near: ExactSolution | None
) -> ExactSolution:
    """The best channel whose adversary is right at most with probability `accuracy`.

    `near`: the solution at a smaller accuracy, to start from.
    """
    family = family_of(problem)
    accuracy = problem.room(accuracy)
    columns = _start(problem, accuracy) if near is None else near.weighing.posteriors
    weights = None if near is None else near.weighing.weights
    for _ in range(_MOST_ROUNDS):
        solution = solve_weights(columns, problem.p, accuracy, weights)
        offered = family.price(solution.prices, 3 * problem.n)
        proof = solution.certificate(problem.p, accuracy, offered.largest)
        worth = solution.prices.of(offered.posteriors)
        fresh = offered.posteriors[worth > 1e-9 * solution.value]
        # Where not all posteriors are priced the proof may stay loose; what is found then decides.
        search_proof = solution.certificate(problem.p, accuracy, float(worth.max()))
        excess = solution.value - float(search_proof.bound(np.array(accuracy)))
        small = excess < gap / 2 * (solution.value - float(problem.p @ problem.p))
        if (small and np.isfinite(offered.largest)) or not len(fresh):
            break
        used = solution.take(solution.weights > _NEGLIGIBLE)
        columns = np.concatenate([used.posteriors, fresh])
        weights = np.append(used.weights, np.full(len(fresh), 1e-4))
    if near is None:
        # The same on posteriors that were priced, without those that only made a start possible.
        scaffold = {row.tobytes() for row in _start(problem, accuracy)}
        stays = np.array([row.tobytes() not in scaffold for row in solution.posteriors])
        columns = np.concatenate([solution.posteriors[stays], offered.posteriors])
        weights = np.append(solution.weights[stays], np.full(len(offered.posteriors), 1e-3))
        tried = None if stays.all() else solved_weights(columns, weights, problem, accuracy)
        if tried is not None and tried.value <= solution.value * (1 + _ROUGH / 10):
            solution = tried
    return ExactSolution(solution.take(solution.weights > _NEGLIGIBLE), proof)


def family_of(problem: FrontProblem) -> families.PosteriorFamily:
    """All posteriors that the bounds allow."""
    if problem.epsilon is None:
        return families.CappedPosteriors(problem.n, problem.cap)
    return families.BoundedRatios(problem.p, problem.cap, problem.ratio)


def channel_of(solution: WeightSolution) -> Array:
    """M[y, x] = q_y r_y(x) / p(x), columns summing to 1."""
    joint = solution.weights[:, None] * solution.posteriors
    return np.asarray(joint / joint.sum(axis=0))


def _start(problem: FrontProblem, accuracy: float) -> Array:
    """Posteriors sure of each category, each with one on the other side of the prior: so some
    weights of them keep any accuracy above that of a channel that says nothing.
    """
    p, family = problem.p, family_of(problem)
    sure = family.sharpest()
    share = 0.5 * np.where(sure > 0, p / np.maximum(sure, TINY), np.inf).min(axis=1)
    room = (min(accuracy, problem.cap) - p.max()) / 4
    share = np.minimum(share, max(room, 1e-9))[:, None]
    other = (p - share * sure) / (1 - share)
    if problem.epsilon is not None:  # halfway to the prior is halfway inside the bound
        other = (other + 3 * p) / 4
    return np.concatenate([sure, other, family.without_one()])


def prove(problem: FrontProblem, points: int = 16) -> tuple[Certificate, ...]:
    """Lower bounds for the fronts of other methods, proved at a few privacies."""
    optimum = solve(problem, 1.0, _ROUGH, None)
    proofs, last = [optimum.certificate], None
    for privacy in reversed(grid(problem, 1 - optimum.weighing.accuracy, points, None)[1:]):
        last = solve(problem, 1 - privacy, _ROUGH, last)
        proofs.append(last.certificate)
    return tuple(proofs)
