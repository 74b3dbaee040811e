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
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DesignError
from tacit.optimize.descent import Polytope, descend
from tacit.optimize.exact import ExactSolution, channel_of, solve
from tacit.optimize.front_problem import GUARD, FrontProblem
from tacit.optimize.fronts import Front
from tacit.optimize.objectives import privacy, random_matrices, trace, warner
from tacit.optimize.search_method import SearchResult, Tell, check_size, grid, targets

_GAP = 1e-3
_SAME = 1e-6


@dataclass(frozen=True)
class Square:
    """points: how many, evenly spaced in privacy; or `privacy`: the ones wanted.

    starts: random starts at each point, beside the others; seed: of these.
    begin: a front of square matrices, such as one of `Spea2`, to start from as well.
    """

    points: int = 30
    privacy: tuple[float, ...] | None = None
    starts: int = 3
    seed: int = 0
    begin: Front | None = None

    def __init__(
        self,
        points: int = 30,
        privacy: Sequence[float] | None = None,
        starts: int = 3,
        seed: int = 0,
        begin: Front | None = None,
    ) -> None:
        values: dict[str, Any] = {
            "points": check_size(points, "points", 1),
            "privacy": targets(privacy),
            "starts": check_size(starts, "starts", 0),
            "seed": check_size(seed, "seed", 0),
            "begin": begin,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def search(self, problem: FrontProblem, tell: Tell) -> SearchResult:
        """Square channels, most private first, with the bounds of the exact ones."""
        _check_begin(self.begin, problem)
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

    def _carry_back(self, polytope: Polytope, matrices: list[Array], tell: Tell) -> None:
        """From the least private on, start each once more from its neighbour."""
        p = polytope.problem.p
        for place in range(len(matrices) - 2, -1, -1):
            tell(1 - 0.1 * (place + 1) / len(matrices))
            limit = 1 - privacy(matrices[place], p)
            if limit < polytope.problem.cap * (1 - 1e-6):
                tried = descend(polytope, matrices[place + 1], limit)
                matrices[place] = min(tried, matrices[place], key=lambda m: trace(m, p))


def _check_begin(begin: Front | None, problem: FrontProblem) -> None:
    if begin is not None and any(m.shape != (problem.n, problem.n) for m in begin.channels):
        raise DesignError(
            f"begin must be a front of {problem.n} x {problem.n} matrices, such as one of Spea2"
        )


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
