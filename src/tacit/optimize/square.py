"""Square: the best matrices that report the true categories, by gradient.

At each privacy the descent starts from several places: the exact channel with its reports merged
down to n, the solution next to it on the front, Warner's matrix, random ones, and the matrices of
another front if one is given. A second pass carries improvements back along the front. Local
minima remain possible; the exact channels found on the way bound how much they can cost.

Reference for the problem: Huang & Du (2008); the constraints are linear in M, see `descent`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from tacit.core.arrays import Array
from tacit.errors import DesignError
from tacit.optimize.descent import Polytope, descend
from tacit.optimize.exact import ExactSolution, channel_of, solve
from tacit.optimize.front_problem import GUARD, FrontProblem
from tacit.optimize.fronts import Front
from tacit.optimize.objectives import mse, privacy, random_matrices, trace, unbeaten, warner
from tacit.optimize.search_method import SearchResult, check_size, grid, targets
from tacit.records import Progress

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
    begin: a front of square matrices, such as one of `Spea2`, to start from as well.
    """

    points: int = 30
    privacy: Sequence[float] | None = None
    starts: int = 3
    seed: int = 0
    begin: Front | None = None

    def __post_init__(self) -> None:
        for name, least in (("points", 1), ("starts", 0), ("seed", 0)):
            check_size(getattr(self, name), name, least)
        object.__setattr__(self, "privacy", targets(self.privacy))

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """Square channels, most private first, with the bounds of the exact ones."""
        square = (problem.n, problem.n)
        if self.begin is not None and any(m.shape != square for m in self.begin.channels):
            raise DesignError(
                f"begin must be a front of {problem.n} x {problem.n} matrices, such as one of Spea2"
            )
        polytope, rng = Polytope(problem), np.random.default_rng(self.seed)
        optimum = solve(problem, 1.0, _GAP, None)
        sharp = self._best(polytope, problem.room(1.0), self._starts(problem, optimum, None, rng))
        least = privacy(sharp, problem.p)
        wanted = grid(problem, least, self.points, self.privacy)
        matrices: list[Array] = []
        proofs, exact, last = [optimum.certificate], None, None
        for done, value in enumerate(sorted(wanted, reverse=True)):
            tell(0.9 * done / len(wanted))
            if value <= least + _SAME:
                matrices.append(sharp)
                break
            limit = (1 - value) * (1 - GUARD)
            exact = solve(problem, limit, _GAP, exact)
            proofs.append(exact.certificate)
            last = self._best(polytope, limit, self._starts(problem, exact, last, rng))
            matrices.append(last)
        self._carry_back(polytope, matrices, tell)
        if self.privacy is None:
            matrices = _dense(polytope, matrices)
        return SearchResult(tuple(matrices), tuple(proofs))

    def _best(self, polytope: Polytope, accuracy: float, starts: Iterable[Array]) -> Array:
        """The best that the descents from these starts lead to."""
        found = [descend(polytope, start, accuracy) for start in starts]
        return min(found, key=lambda matrix: trace(matrix, polytope.problem.p))

    def _starts(
        self,
        problem: FrontProblem,
        exact: ExactSolution,
        last: Array | None,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        yield merged(channel_of(exact.weighing), problem.p)
        yield warner(problem.p, 0.9)
        if last is not None:
            yield last
        for _ in range(self.starts):
            yield random_matrices(1, problem.p, rng)[0]
        if self.begin is not None:
            at = int(np.abs(self.begin.privacy - 1 + exact.certificate.accuracy).argmin())
            yield self.begin.channels[at]

    def _carry_back(self, polytope: Polytope, matrices: list[Array], tell: Progress) -> None:
        """From the least private on, start each once more from its neighbour."""
        p = polytope.problem.p
        for place in range(len(matrices) - 2, -1, -1):
            tell(1 - 0.1 * (place + 1) / len(matrices))
            limit = 1 - privacy(matrices[place], p)
            if limit < polytope.problem.cap * (1 - 1e-6):
                tried = descend(polytope, matrices[place + 1], limit)
                matrices[place] = min(tried, matrices[place], key=lambda m: trace(m, p))


def _dense(polytope: Polytope, matrices: Sequence[Array]) -> list[Array]:
    """The channels that no other one beats, and channels between neighbours."""
    problem = polytope.problem
    values = np.array([privacy(matrix, problem.p) for matrix in matrices])
    kept = unbeaten(values, np.array([_error(problem, matrix) for matrix in matrices]))
    front = [matrices[place] for place in kept]
    between = (_between(polytope, low, high) for low, high in pairwise(front))
    return [*front, *chain.from_iterable(between)]


def _between(polytope: Polytope, low: Array, high: Array) -> list[Array]:
    """Channels between two neighbours until the error rises by at most `_STEP` per channel.

    All bounds are convex, so a mixture of two channels keeps them. Near neighbours are only mixed
    if that is good enough; others are also improved at the privacy halfway between them.
    """
    problem = polytope.problem
    error, largest = _error(problem, low), _error(problem, high)
    least, most = privacy(low, problem.p), privacy(high, problem.p)
    if largest <= (1 + _STEP) * error or most - least < _SAME:
        return []
    middle = (low + _rows_like(low, high, problem.p)) / 2
    if largest > (1 + _FAR) * error or _error(problem, middle) ** 2 > error * largest:
        limit = (1 - (least + most) / 2) * (1 - GUARD)
        found = [descend(polytope, start, limit) for start in (low, high)]
        middle = min(found, key=lambda matrix: _error(problem, matrix))
    if _error(problem, middle) >= largest:
        return []
    return [*_between(polytope, low, middle), middle, *_between(polytope, middle, high)]


def _error(problem: FrontProblem, matrix: Array) -> float:
    return mse(matrix, problem.p, problem.n_records)


def _rows_like(model: Array, matrix: Array, prior: Array) -> Array:
    """The rows of a matrix in the order in which they are nearest to those of another one."""
    apart = np.abs(model[:, None] - matrix[None]) @ prior
    return np.asarray(matrix[linear_sum_assignment(apart)[1]])


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
        return warner(prior, 0.8)
    return np.asarray(joint / joint.sum(axis=0))
