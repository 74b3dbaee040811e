"""Square: the best matrices that report the true categories, by gradient.

At each privacy the descent starts from several places: the exact channel with its reports merged
down to n, the solution next to it on the front, Warner's matrix and random ones. A second pass
carries improvements back along the front. Local minima remain possible; the exact channels found on
the way bound how much they can cost.

Reference for the problem: Huang & Du (2008); the constraints are linear in M, see `descend`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
from scipy.linalg import LinAlgError, block_diag, cho_solve
from scipy.optimize import linear_sum_assignment

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array
from tacit.optimize import objectives
from tacit.optimize.exact import ExactSolution, channel_of, solve
from tacit.optimize.problem import GUARD, FrontProblem, SearchResult, grid, targets
from tacit.optimize.weight_solver import factored, longest
from tacit.records import Progress

_MOST_STEPS = 150
_PRECISION = 1e-6
_NEARLY_ZERO = 1e-7


@dataclass(frozen=True)
class Polytope:
    """The constraints as C x + d >= 0, x = (J, t, m), on the directions Z that keep the sums."""

    problem: FrontProblem

    @cached_property
    def edges(self) -> Array:
        """C; the last row is that of the accuracy, the only one where d is not 0."""
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
        return matrix if self.bounded else matrix[:, : n * n + n]

    @property
    def bounded(self) -> bool:
        """Whether there is an epsilon bound, and so the variables m."""
        return self.problem.epsilon is not None

    @cached_property
    def directions(self) -> Array:
        """Z: changes of all rows but the last, which makes up for them, and of t and m."""
        n = self.problem.n
        rest = self.edges.shape[1] - n * n
        joint = np.vstack([np.eye(n * n - n), -np.tile(np.eye(n), n - 1)])
        return np.asarray(block_diag(joint, np.eye(rest)))

    @cached_property
    def moves(self) -> Array:
        """C Z."""
        return np.asarray(self.edges @ self.directions)

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
        kept = 1 - objectives.privacy(matrix, self.problem.p) <= accuracy * (1 + slack)
        return bool(kept and self.problem.keeps(matrix, slack))


def descend(polytope: Polytope, matrix: Array, accuracy: float) -> Array:
    """The channel that going downhill from a matrix leads to.

    In the joint probabilities J[y,x] = M[y,x] p(x) every constraint is linear: columns sum to p;
    the adversary's accuracy, through t_y >= J[y,x] and sum t <= A; delta, t_y <= delta sum_x
    J[y,x]; epsilon, through m_y p(x) <= J[y,x] <= e^epsilon m_y p(x). Only f = tr(D S^-1 D) is
    curved, with S = sum_y J_y J_y^T / q_y. It is not convex, so the result is best nearby, no more.

    Primal-dual interior steps with the exact second derivative where that points downhill, else
    with its convex part: S is convex in J, so S replaced by its tangent bounds f from above by a
    convex function with the same gradient.
    """
    n, p = polytope.problem.n, polytope.problem.p
    edges = polytope.edges
    offset = np.append(np.zeros(len(edges) - 1), accuracy)
    moves, directions = polytope.moves, polytope.directions
    top = directions[: n * n]
    x = polytope.inside(matrix, accuracy)
    slack = edges @ x + offset
    value = _value(x, n, p)
    target = 0.1 * value / len(slack)
    dual = target / slack
    for _ in range(_MOST_STEPS):
        barrier = (moves.T * (dual / slack)) @ moves
        try:
            gradient, convex, concave = _derivatives(x[: n * n].reshape(n, n), p)
            convex = top.T @ convex @ top + barrier
            factor = factored(convex - top.T @ concave @ top, convex)
        except LinAlgError:  # as far as doubles go
            break
        side = top.T @ gradient - moves.T @ (target / slack)
        move = -cho_solve(factor, side, check_finite=False)
        change, along = moves @ move, directions @ move
        dual_move = target / slack - dual - dual / slack * change
        # As far along the step as the border and the sum of f and barrier allow.
        before = _value(x, n, p) - target * np.log(slack).sum()
        slope = float(gradient @ along[: n * n] - target * (change / slack).sum())
        length = longest(slack, change)
        while length > 1e-10:
            after = _value(x + length * along, n, p)
            after -= target * np.log(slack + length * change).sum()
            if after <= before + 1e-4 * length * slope + 1e-12 * abs(before):
                break
            length /= 2
        else:
            break
        x = x + length * along
        slack = edges @ x + offset
        dual = dual + longest(dual, dual_move) * dual_move
        dual = np.clip(dual, 1e-3 * target / slack, 1e3 * target / slack)
        gap = float(slack @ dual)
        if length > 0.1:
            target = min(target, 0.2 * gap / len(slack))
        if gap < _PRECISION * _value(x, n, p) and length > 0.1:
            break
    joint = np.maximum(x[: n * n].reshape(n, n), 0)
    channel = np.asarray(joint / joint.sum(axis=0))
    # Zeros where the method only came near to them, if the bounds are kept.
    trimmed = np.where(channel < _NEARLY_ZERO, 0, channel)
    trimmed /= trimmed.sum(axis=0)
    return trimmed if polytope.fits(trimmed, accuracy, GUARD / 2) else channel


def _value(x: Array, n: int, p: Array) -> float:
    """f; infinite where it is not defined."""
    joint = x[: n * n].reshape(n, n)
    try:
        inverse = np.linalg.inv((joint.T / joint.sum(axis=1)) @ joint)
    except np.linalg.LinAlgError:
        return np.inf
    value = float(p * p @ np.diag(inverse))
    return value if value > 0 else np.inf


def _derivatives(joint: Array, p: Array) -> tuple[Array, Array, Array]:
    """Gradient of f by J and the convex and concave parts of its second derivative."""
    n = len(p)
    reports = joint.sum(axis=1)
    posteriors = joint / reports[:, None]
    inverse = np.linalg.inv(joint.T @ posteriors)
    gram = (inverse * p**2) @ inverse
    by_gram, by_inverse = posteriors @ gram, posteriors @ inverse
    worth = by_gram @ posteriors.T
    gradient = -2 * by_gram + np.diag(worth)[:, None]
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


_GAP = 1e-3
_SAME = 1e-6
#: Largest rise of the error from one channel to the next.
_STEP = 0.018
#: Beyond this rise, channels between two neighbours are improved, not only mixed.
_FAR = 0.3


@dataclass(frozen=True)
class Square:
    """points: how many privacies are searched from several starts, evenly spaced; channels between
    them are added until the error rises by at most 2 % from one to the next. Or `privacy`: only
    these privacies.

    starts: random starts per privacy, in addition to the others; seed: of these starts.
    """

    points: int = 30
    privacy: Sequence[float] | None = None
    starts: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("points", 1), ("starts", 0), ("seed", 0)):
            check_whole(name, getattr(self, name), least)
        object.__setattr__(self, "privacy", targets(self.privacy))

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """Square channels, most private first, with the bounds of the exact ones."""
        polytope, rng = Polytope(problem), np.random.default_rng(self.seed)
        optimum = solve(problem, 1.0, _GAP, None)
        sharp = _best(polytope, problem.room(1.0), self._starts(problem, optimum, None, rng))
        least = objectives.privacy(sharp, problem.p)
        goals = grid(problem, least, self.points, self.privacy)
        matrices: list[Array] = []
        proofs, exact, last = [optimum.certificate], None, None
        for done, value in enumerate(sorted(goals, reverse=True)):
            tell(0.9 * done / len(goals))
            if value <= least + _SAME:
                matrices.append(sharp)
                break
            limit = (1 - value) * (1 - GUARD)
            exact = solve(problem, limit, _GAP, exact)
            proofs.append(exact.certificate)
            last = _best(polytope, limit, self._starts(problem, exact, last, rng))
            matrices.append(last)
        # From the least private on, start each once more from its neighbour.
        for index in range(len(matrices) - 2, -1, -1):
            tell(1 - 0.1 * (index + 1) / len(matrices))
            limit = 1 - objectives.privacy(matrices[index], problem.p)
            if limit < problem.cap * (1 - 1e-6):
                tried = descend(polytope, matrices[index + 1], limit), matrices[index]
                matrices[index] = min(tried, key=lambda m: objectives.trace(m, problem.p))
        if self.privacy is None:
            matrices = _dense(polytope, matrices)
        return SearchResult(tuple(matrices), tuple(proofs))

    def _starts(
        self,
        problem: FrontProblem,
        exact: ExactSolution,
        last: Array | None,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        yield merged(channel_of(exact.weighing), problem.p)
        yield objectives.warner(problem.p, 0.9)
        if last is not None:
            yield last
        for _ in range(self.starts):
            yield objectives.random_matrices(1, problem.p, rng)[0]


def _best(polytope: Polytope, accuracy: float, starts: Iterable[Array]) -> Array:
    """The best that the descents from these starts lead to."""
    descents = [descend(polytope, start, accuracy) for start in starts]
    return min(descents, key=lambda matrix: objectives.trace(matrix, polytope.problem.p))


def _dense(polytope: Polytope, matrices: Sequence[Array]) -> list[Array]:
    """The channels that no other one beats, and channels between neighbours."""
    problem = polytope.problem
    values = np.array([objectives.privacy(matrix, problem.p) for matrix in matrices])
    best = objectives.unbeaten(values, np.array([_error(problem, matrix) for matrix in matrices]))
    front = [matrices[index] for index in best]
    between = (_between(polytope, low, high) for low, high in pairwise(front))
    return [*front, *chain.from_iterable(between)]


def _between(polytope: Polytope, low: Array, high: Array) -> list[Array]:
    """Channels between two neighbours until the error rises by at most `_STEP` per channel.

    All bounds are convex, so a mixture of two channels keeps them. Near neighbours are only mixed
    if that is good enough; others are also improved at the privacy halfway between them.
    """
    problem = polytope.problem
    error, largest = _error(problem, low), _error(problem, high)
    least, most = objectives.privacy(low, problem.p), objectives.privacy(high, problem.p)
    if largest <= (1 + _STEP) * error or most - least < _SAME:
        return []
    # The rows of one in the order in which they are nearest to those of the other.
    apart = np.abs(low[:, None] - high[None]) @ problem.p
    middle = (low + high[linear_sum_assignment(apart)[1]]) / 2
    if largest > (1 + _FAR) * error or _error(problem, middle) ** 2 > error * largest:
        middle = _best(polytope, (1 - (least + most) / 2) * (1 - GUARD), (low, high))
    if _error(problem, middle) >= largest:
        return []
    return [*_between(polytope, low, middle), middle, *_between(polytope, middle, high)]


def _error(problem: FrontProblem, matrix: Array) -> float:
    return objectives.mse(matrix, problem.p, problem.n_records)


def merged(matrix: Array, prior: Array) -> Array:
    """A channel with the reports merged that cost least, until there are n.

    Merging two reports of weights a, b and posteriors r, s lowers S by a b / (a + b) d d^T,
    d = r - s, so f rises by w |D S^-1 d|^2 / (1 - w d^T S^-1 d). No merging breaks a bound.
    """
    joint = matrix * prior
    while len(joint) > len(prior):
        weights = joint.sum(axis=1)
        inverse = np.linalg.inv((joint.T / weights) @ joint)
        first, second = np.triu_indices(len(joint), 1)
        posteriors = joint / weights[:, None]
        apart = posteriors[first] - posteriors[second]
        share = weights[first] * weights[second] / (weights[first] + weights[second])
        seen = apart @ inverse
        left = np.maximum(1 - share * (apart * seen).sum(axis=1), 1e-12)
        best = int((share * ((prior * seen) ** 2).sum(axis=1) / left).argmin())
        joint[first[best]] += joint[second[best]]
        joint = np.delete(joint, second[best], axis=0)
    if len(joint) < len(prior):
        return objectives.warner(prior, 0.8)
    return np.asarray(joint / joint.sum(axis=0))
