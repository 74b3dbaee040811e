"""Spea2: the search of Huang & Du, SPEA2 on square channels with a large optimal set.

ChannelPopulation Q, archive V and the optimal set Omega, whose cells are indexed by privacy. Each
generation: fitness of Q and V; the next archive by environmental selection; parents by
tournament; crossover, mutation, repair; then Q and V exchange with Omega, cell by cell, the
better one in both. It ends after `generations`, or when Omega has not changed for `patience`.

Reference: Huang & Du (2008), section V with Figure 1. See also `selection` and
`genetic_operators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DesignError
from tacit.optimize.front_problem import FrontProblem
from tacit.optimize.genetic_operators import crossover, mutate, repair
from tacit.optimize.objectives import errors, privacies, random_matrices, unbeaten
from tacit.optimize.search_method import COVERED, SearchResult, check_size
from tacit.optimize.search_state import ChannelPopulation, SearchState
from tacit.optimize.selection import fitness, select, tournament
from tacit.optimize.warner import Warner
from tacit.records import Progress

#: Generations between two calls of `keep`.
_KEPT = 1000
#: Steps of repair for the first population, which is far outside the bounds.
_FIRST = 500


@dataclass(frozen=True)
class Spea2:
    """The sizes of the paper: N_Q, N_V, L, N_Omega; then those it leaves open.

    rate: how often a child is mutated. neighbour: k of the density. patience: generations
    without a change of Omega after which it ends (None: never). seed: of all randomness.
    resume: the state of an earlier search of the same problem (`Front.state`, or a search file by
    `SearchState.from_json`), to go on from: `generations` counts all, those before too.
    keep: called with the state every thousand generations and at the end, to save it.
    """

    population: int = 40
    archive: int = 40
    generations: int = 20_000
    omega: int = 1000
    rate: float = 0.7
    neighbour: int = 1
    patience: int | None = None
    seed: int = 0
    resume: SearchState | None = None
    keep: Callable[[SearchState], None] | None = None

    def __post_init__(self) -> None:
        for name, least in (("population", 2), ("archive", 2), ("generations", 0), ("omega", 2)):
            check_size(getattr(self, name), name, least)
        check_size(self.neighbour, "neighbour", 1)
        check_size(self.seed, "seed", 0)
        if self.patience is not None:
            check_size(self.patience, "patience", 1)
        if not 0 <= self.rate <= 1:
            raise DesignError(f"rate must lie between 0 and 1, got {self.rate!r}")

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """The channels of Omega when the search ends."""
        rng = np.random.default_rng(self.seed)
        state = self._first(problem, rng) if self.resume is None else self.resume
        if state.problem != problem:
            raise DesignError("resume: that search was for another prior, n_records or bounds")
        rng.bit_generator.state = state.rng
        state = replace(state, omega=state.omega.copy())
        for done in range(state.generation, self.generations):
            if self.patience is not None and state.stale >= self.patience:
                break
            if done % 100 == 0:
                tell(done / self.generations)
            if self.keep is not None and done % _KEPT == 0:
                self.keep(_with_rng(replace(state, omega=state.omega.copy()), rng))
            state = self.generation(problem, state, rng)
        state = _with_rng(state, rng)
        if self.keep is not None:
            self.keep(state)
        found = np.isfinite(state.omega.error)
        return SearchResult(tuple(state.omega.matrices[found]), state=state)

    def _first(self, problem: FrontProblem, rng: np.random.Generator) -> SearchState:
        """Random channels and some of Warner's, an empty archive and an empty Omega."""
        n = problem.n
        known = _classic(problem, self.population // 2)
        drawn = random_matrices(self.population - len(known), problem.p, rng)
        first = _evaluated(np.concatenate([known, repair(drawn, problem, _FIRST)]), problem)
        empty = np.zeros((self.omega, n, n))
        omega = ChannelPopulation(empty, np.zeros(self.omega), np.full(self.omega, np.inf))
        return _with_rng(SearchState(problem, 0, 0, first, first.take(slice(0)), omega, {}), rng)

    def generation(
        self, problem: FrontProblem, state: SearchState, rng: np.random.Generator
    ) -> SearchState:
        """One generation, steps 1 to 6 of the paper's algorithm; changes Omega in place."""
        union = state.population + state.archive
        fit = fitness(union.privacy, union.error, self.neighbour)
        chosen = select(union.privacy, union.error, fit, self.archive)
        archive = union.take(chosen)
        half = -(-self.population // 2)
        parents = archive.matrices[tournament(fit[chosen], 2 * half, rng)]
        children = crossover(parents[:half], parents[half:], rng)[: self.population]
        population = _evaluated(repair(mutate(children, self.rate, rng), problem), problem)
        omega = state.omega
        changed = _store(omega, population + archive)
        return replace(
            state,
            generation=state.generation + 1,
            stale=0 if changed else state.stale + 1,
            population=_updated(population, omega),
            archive=_updated(archive, omega),
        )


def _with_rng(state: SearchState, rng: np.random.Generator) -> SearchState:
    """The state with that of its randomness, which moves on by itself."""
    return replace(state, rng=dict(rng.bit_generator.state))


def _classic(problem: FrontProblem, count: int) -> Array:
    """Warner's matrices, evenly spaced in privacy: the search does not start behind the classic."""
    kept = Warner(400).search(problem, lambda _: None).matrices
    found = _evaluated(np.array(kept).reshape(-1, problem.n, problem.n), problem)
    free = unbeaten(found.privacy, found.error)
    if not len(free):
        return found.matrices[:0]
    least, most = found.privacy[free[0]], problem.most_private
    wanted = np.linspace(least, least + COVERED * (most - least), count)
    places = np.abs(found.privacy[free][:, None] - wanted).argmin(axis=0)
    return np.asarray(found.matrices[free[np.unique(places)]])


def _evaluated(matrices: Array, problem: FrontProblem) -> ChannelPopulation:
    return ChannelPopulation(
        matrices, privacies(matrices, problem.p), errors(matrices, problem.p, problem.n_records)
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
    updated = population.copy()
    updated.put(worse, omega, cells[worse])
    return updated
