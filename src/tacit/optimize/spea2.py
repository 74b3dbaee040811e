"""Spea2: the search of Huang & Du, SPEA2 on square channels with a large optimal set.

ChannelPopulation Q, archive V and the optimal set Omega, whose cells are indexed by privacy. Each
generation: fitness of Q and V; the next archive by environmental selection; parents by
tournament; crossover, mutation, repair; then Q and V exchange with Omega, cell by cell, the
better one in both. It ends after `generations`, or when Omega has not changed for `patience`.

Operators keep columns summing to 1 and take a whole population at once.

    strength S(i)  how many others i dominates
    raw fitness    sum of S(j) over the j that dominate i
    density        1 / (sigma_k + 2), sigma_k the distance to the k-th nearest
    fitness        raw + density; below 1 for what nothing dominates (eq. 11-12)

Distances are in privacy and error as they are. Errors are small numbers, so the archive spreads
along privacy; scaled to their range they would draw half of it to the end where errors explode.

References: Huang & Du (2008), section V with Figure 1; E. Zitzler, M. Laumanns and L. Thiele, SPEA2
(2001).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tacit.core.argument_checks import check_share, check_whole
from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.linear_maps import row_shares
from tacit.errors import DesignError
from tacit.optimize.objectives import best_warner, errors, privacy, random_matrices
from tacit.optimize.problem import COVERED, FrontProblem, SearchResult
from tacit.output.json_documents import DocumentFormat, read_document, reading
from tacit.records import Progress

#: Columns that are levelled, one after the other, before a channel is mixed instead.
STEPS = 10


def crossover(first: Array, second: Array, rng: np.random.Generator) -> Array:
    """Both children of each pair: columns right of a random line are swapped."""
    pairs, n, _ = first.shape
    lines = rng.integers(1, n, (pairs, 1, 1))
    swapped = np.arange(n) >= lines
    return np.concatenate(
        [np.where(swapped, second, first), np.where(swapped, first, second)], axis=0
    )


def mutate(matrices: Array, rate: float, rng: np.random.Generator) -> Array:
    """With probability `rate` a random entry of a random column grows or shrinks by a random part
    of what it can; the others of the column make up for it, losing in proportion to themselves or
    gaining in proportion to 1 minus themselves.
    """
    count, n, _ = matrices.shape
    chosen = np.flatnonzero(rng.random(count) < rate)
    if not len(chosen):
        return matrices
    columns, entries = rng.integers(0, n, (2, len(chosen)))
    parts, grow = rng.random((2, len(chosen)))
    result = matrices.copy()
    result[chosen, :, columns] = _moved(matrices[chosen, :, columns], entries, parts, grow < 0.5)
    return result


def _moved(values: Array, entries: Array, parts: Array, grow: Array) -> Array:
    """Columns (as rows here) with one entry changed and the others in proportion."""
    changed = np.zeros(values.shape, dtype=bool)
    changed[np.arange(len(values)), entries] = True
    entry = values[changed]
    others = np.where(changed, 0, np.where(grow[:, None], values, 1 - values))
    total = np.maximum(others.sum(axis=1), TINY)
    amount = parts * np.where(grow, np.minimum(1 - entry, total), entry)
    sign = np.where(grow, 1.0, -1.0)
    moved = values - (sign * amount / total)[:, None] * others
    moved[changed] = entry + sign * amount
    np.maximum(moved, 0, out=moved)
    return row_shares(moved)


def repair(matrices: Array, problem: FrontProblem, steps: int = STEPS) -> Array:
    """The same channels within the bounds.

    In the column of the worst posterior, entries above the bound go down to it and the others go
    up in proportion to how far each is below its own; so on, column after column. As this moves
    other rows' bounds it may not end; what is still outside is then mixed with the channel that
    reports alike for everyone.
    """
    result, bad = matrices.copy(), np.arange(len(matrices))
    for _ in range(steps if problem.cap < 1 else 0):
        mended = result[bad]
        joint = mended * problem.p
        reports = joint.sum(axis=2)
        over = (joint - problem.cap * reports[:, :, None]).max(axis=1)
        worst = over.argmax(axis=1)
        outer = np.flatnonzero(over[np.arange(len(bad)), worst] > 0)
        bad, worst = bad[outer], worst[outer]
        if not len(outer):
            break
        column = mended[outer, :, worst]
        result[bad, :, worst] = _levelled(column, reports[outer], problem.p[worst], problem.cap)
    if len(bad) or problem.epsilon is not None:
        bad = np.flatnonzero(~problem.keeps(result))
    if len(bad):
        result[bad] = _mixed(result[bad], problem)
    return result


def _levelled(columns: Array, reports: Array, priors: Array, cap: float) -> Array:
    """Columns (as rows here) with no entry whose posterior is above the cap, other rows fixed."""
    p = priors[:, None]
    room = cap / (1 - cap) * (reports / p - columns) - columns
    lowered = np.minimum(room, 0)
    spare = np.minimum(room - lowered, 1)
    share = lowered.sum(axis=1) / np.maximum(spare.sum(axis=1), TINY)
    moved = np.maximum(columns + lowered - spare * np.maximum(share, -1)[:, None], 0)
    return row_shares(moved)


def _mixed(matrices: Array, problem: FrontProblem) -> Array:
    """The least share of a channel that says nothing, which has the same reports, added."""
    joint = matrices * problem.p
    reports = joint.sum(axis=2)
    over = np.maximum(joint - problem.cap * reports[:, :, None], 0)
    room = (problem.cap - problem.p) * reports[:, :, None]
    share = (over / np.maximum(over + room, TINY)).max(axis=(1, 2))
    if problem.epsilon is not None:
        high, low = matrices.max(axis=2), matrices.min(axis=2)
        over = np.maximum(high - problem.ratio * low, 0)
        room = (problem.ratio - 1) * reports
        share = np.maximum(share, (over / np.maximum(over + room, TINY)).max(axis=1))
    share = np.where(share > 0, np.minimum(share * (1 + 1e-9) + 1e-12, 1), 0)[:, None, None]
    return np.asarray((1 - share) * matrices + share * reports[:, :, None])


#: Errors beyond this are all alike far away.
_HIGHEST = 1.0


def fitness(privacies: Array, errors: Array) -> Array:
    """Fitness of each channel; lower is better."""
    better = (privacies[:, None] >= privacies) & (errors[:, None] <= errors)
    dominates = (better & ~better.T).astype(np.float64)
    raw = dominates.sum(axis=1) @ dominates
    heights = np.minimum(errors, _HIGHEST)
    squares = (privacies[:, None] - privacies) ** 2 + (heights[:, None] - heights) ** 2
    nearest = min(1, len(errors) - 1)
    sigma = np.sqrt(np.partition(squares, nearest, axis=1)[:, nearest])
    return np.asarray(raw + 1 / (sigma + 2))


def select(privacies: Array, errors: Array, fit: Array, size: int) -> Index:
    """Index of the next archive: all that nothing dominates, cut or filled up to the size."""
    free = np.flatnonzero(fit < 1)
    if len(free) > size:
        points = np.stack([privacies[free], np.minimum(errors[free], _HIGHEST)], axis=1)
        order = np.argsort(points[:, 0], kind="stable")
        return free[order][spread(points[order], size)]
    if len(free) == size:
        return free
    return np.asarray(np.argsort(fit, kind="stable")[:size], dtype=np.intp)


def spread(points: Array, size: int) -> Index:
    """Which of the points of a front, in its order, stay when the closest are removed.

    On a front nearest neighbours are adjacent. Of the closest pair the one goes whose second
    nearest neighbour is nearer; so the ends stay.
    """
    at = points.tolist()
    left, right = list(range(-1, len(at) - 1)), [*range(1, len(at)), -1]
    gaps = [*map(math.dist, at[:-1], at[1:]), math.inf]  # from each to the next one alive
    gone = set()
    for _ in range(len(at) - size):
        first = gaps.index(min(gaps))
        second, before = right[first], left[first]
        closer = right[second] >= 0 and gaps[second] < gaps[before]
        goes = second if before < 0 or closer else first
        previous, following = left[goes], right[goes]
        gone.add(goes)
        gaps[goes] = math.inf
        if previous >= 0:
            right[previous] = following
            gaps[previous] = math.dist(at[previous], at[following]) if following >= 0 else math.inf
        if following >= 0:
            left[following] = previous
    return np.array([i for i in range(len(at)) if i not in gone], dtype=np.intp)


def tournament(fit: Array, size: int, rng: np.random.Generator) -> Index:
    """Winners of `size` duels between two drawn at random."""
    first, second = rng.integers(0, len(fit), (2, size))
    return np.asarray(np.where(fit[first] <= fit[second], first, second), dtype=np.intp)


_POPULATIONS = ("population", "archive", "omega")
FORMAT = DocumentFormat(
    "search", "search file", (("problem", "generation", "stale", "rng", *_POPULATIONS),)
)


class ChannelPopulation(NamedTuple):
    """Channels with their privacy and error; an empty place is all zeros, its error infinite."""

    matrices: Array
    privacy: Array
    error: Array

    def joined(self, other: ChannelPopulation) -> ChannelPopulation:
        """Both populations as one."""
        return ChannelPopulation(*map(np.concatenate, zip(self, other, strict=True)))

    def take(self, places: Any) -> ChannelPopulation:
        """Those at these places, in arrays of their own."""
        return ChannelPopulation(*(np.array(array[places]) for array in self))

    def put(self, places: Any, other: ChannelPopulation, at: Any) -> None:
        """Replace the channels at these places by those of another population."""
        for array, replacing in zip(self, other, strict=True):
            array[places] = replacing[at]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content: the places that are filled, and what is there."""
        filled = np.flatnonzero(self.matrices.any(axis=(1, 2)))
        errors = self.error[filled].tolist()
        return {
            "size": len(self.error),
            "places": filled.tolist(),
            "matrices": self.matrices[filled].tolist(),
            "privacy": self.privacy[filled].tolist(),
            "error": [error if np.isfinite(error) else None for error in errors],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], n: int) -> ChannelPopulation:
        """The population of n x n channels that `to_dict` described."""
        size, places = int(data["size"]), np.array(data["places"], dtype=np.intp)
        population = cls(np.zeros((size, n, n)), np.zeros(size), np.full(size, np.inf))
        population.matrices[places] = np.array(data["matrices"]).reshape(-1, n, n)
        population.privacy[places] = data["privacy"]
        population.error[places] = [np.inf if error is None else error for error in data["error"]]
        return population


@dataclass(frozen=True)
class SearchState:
    """A search of `Spea2` after some generations; `stale` of them have not changed Omega.

    A search that is continued from its state gives the same numbers as one without interruption.
    """

    problem: FrontProblem
    generation: int
    stale: int
    population: ChannelPopulation
    archive: ChannelPopulation
    omega: ChannelPopulation
    rng: dict[str, Any]

    def to_json(self) -> str:
        """The search file; numbers come back exactly."""
        content = {
            **FORMAT.header,
            "problem": self.problem.to_dict(),
            "generation": self.generation,
            "stale": self.stale,
            "rng": self.rng,
            **{name: getattr(self, name).to_dict() for name in _POPULATIONS},
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SearchState:
        """The state that a search file describes."""
        content = read_document(text, FORMAT)
        with reading(FORMAT.name):
            problem = FrontProblem.from_dict(content["problem"])
            first, second, third = (
                ChannelPopulation.from_dict(content[name], problem.n) for name in _POPULATIONS
            )
            np.random.default_rng().bit_generator.state = content["rng"]
            generation, stale = int(content["generation"]), int(content["stale"])
            return cls(problem, generation, stale, first, second, third, content["rng"])


#: Generations between two calls of `keep`.
_KEPT = 1000
#: Steps of repair for the first population, which is far outside the bounds.
_FIRST = 500


@dataclass(frozen=True)
class Spea2:
    """The sizes of the paper: N_Q, N_V, L, N_Omega; then those it leaves open.

    rate: how often a child is mutated. patience: generations without a change of Omega after
    which it ends (None: never). seed: of all randomness.
    resume: the state of an earlier search of the same problem (`Front.state`, or a search file by
    `SearchState.from_json`), to go on from: `generations` counts all, those before too.
    keep: called with the state every thousand generations and at the end, to save it.
    """

    population: int = 40
    archive: int = 40
    generations: int = 20_000
    omega: int = 1000
    rate: float = 0.7
    patience: int | None = None
    seed: int = 0
    resume: SearchState | None = None
    keep: Callable[[SearchState], None] | None = None

    def __post_init__(self) -> None:
        least = {"population": 2, "archive": 2, "generations": 0, "omega": 2, "seed": 0}
        if self.patience is not None:
            least["patience"] = 1
        for name, smallest in least.items():
            check_whole(name, getattr(self, name), smallest)
        check_share("rate", self.rate)

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """The channels of Omega when the search ends."""
        rng = np.random.default_rng(self.seed)
        state = self._first(problem, rng) if self.resume is None else self.resume
        if state.problem != problem:
            raise DesignError("resume: that search was for another prior, n_records or bounds")
        rng.bit_generator.state = state.rng
        state = replace(state, omega=state.omega.take(...))
        for done in range(state.generation, self.generations):
            if self.patience is not None and state.stale >= self.patience:
                break
            if done % 100 == 0:
                tell(done / self.generations)
            if self.keep is not None and done % _KEPT == 0:
                self.keep(replace(state, omega=state.omega.take(...)))
            state = self.generation(problem, state, rng)
        if self.keep is not None:
            self.keep(state)
        finite = np.isfinite(state.omega.error)
        return SearchResult(tuple(state.omega.matrices[finite]), state=state)

    def _first(self, problem: FrontProblem, rng: np.random.Generator) -> SearchState:
        """Random channels and some of Warner's, an empty archive and an empty Omega."""
        n = problem.n
        classic = _classic(problem, self.population // 2)
        drawn = random_matrices(self.population - len(classic), problem.p, rng)
        first = _evaluated(np.concatenate([classic, repair(drawn, problem, _FIRST)]), problem)
        empty = np.zeros((self.omega, n, n))
        omega = ChannelPopulation(empty, np.zeros(self.omega), np.full(self.omega, np.inf))
        archive, random_state = first.take(slice(0)), dict(rng.bit_generator.state)
        return SearchState(problem, 0, 0, first, archive, omega, random_state)

    def generation(
        self, problem: FrontProblem, state: SearchState, rng: np.random.Generator
    ) -> SearchState:
        """One generation, steps 1 to 6 of the paper's algorithm; changes Omega in place."""
        union = state.population.joined(state.archive)
        fit = fitness(union.privacy, union.error)
        chosen = select(union.privacy, union.error, fit, self.archive)
        archive = union.take(chosen)
        half = -(-self.population // 2)
        parents = archive.matrices[tournament(fit[chosen], 2 * half, rng)]
        children = crossover(parents[:half], parents[half:], rng)[: self.population]
        population = _evaluated(repair(mutate(children, self.rate, rng), problem), problem)
        omega = state.omega
        changed = _store(omega, population.joined(archive))
        return replace(
            state,
            generation=state.generation + 1,
            stale=0 if changed else state.stale + 1,
            population=_updated(population, omega),
            archive=_updated(archive, omega),
            rng=dict(rng.bit_generator.state),
        )


def _classic(problem: FrontProblem, count: int) -> Array:
    """Warner's matrices, evenly spaced in privacy: the search does not start behind the classic."""
    matrices, values, _ = best_warner(problem)
    if not len(matrices):
        return matrices
    least, most = values[0], problem.most_private
    targets = np.linspace(least, least + COVERED * (most - least), count)
    return np.asarray(matrices[np.unique(np.abs(values[:, None] - targets).argmin(axis=0))])


def _evaluated(matrices: Array, problem: FrontProblem) -> ChannelPopulation:
    return ChannelPopulation(
        matrices, privacy(matrices, problem.p), errors(matrices, problem.p, problem.n_records)
    )


def _cells(privacy: Array, size: int) -> Array:
    """The cell of Omega for each privacy: 0.1523 is in cell 152 of 1000."""
    return np.asarray(np.minimum((privacy * size).astype(np.intp), size - 1))


def _store(omega: ChannelPopulation, population: ChannelPopulation) -> bool:
    """Put every channel that is better than the one in its cell into Omega; whether any was."""
    cells = _cells(population.privacy, len(omega.error))
    better = np.flatnonzero(population.error < omega.error[cells])
    if not len(better):
        return False
    worst_first = better[np.argsort(-population.error[better])]  # the last one written stays
    omega.put(cells[worst_first], population, worst_first)
    return True


def _updated(population: ChannelPopulation, omega: ChannelPopulation) -> ChannelPopulation:
    """The population with better channels of Omega in place of its own."""
    cells = _cells(population.privacy, len(omega.error))
    worse = omega.error[cells] < population.error
    if not worse.any():
        return population
    updated = population.take(...)
    updated.put(worse, omega, cells[worse])
    return updated
