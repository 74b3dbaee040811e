"""Spea2: its parts against their definitions, and searches that can be continued."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import DesignError, FileError
from tacit.optimize import Spea2, front
from tacit.optimize.objectives import random_matrices
from tacit.optimize.problem import problem_of
from tacit.optimize.spea2 import (
    SearchState,
    crossover,
    fitness,
    mutate,
    repair,
    select,
    spread,
    tournament,
)
from tests.support.priors import normal

SMALL = Spea2(population=10, archive=12, omega=50, generations=30, seed=3)


def _points(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    return rng.random(count), rng.random(count)


def test_fitness_is_raw_fitness_plus_density() -> None:
    privacies, errors = _points(25)
    dominates = np.array(
        [
            [
                a != b
                and privacies[a] >= privacies[b]
                and errors[a] <= errors[b]
                and (privacies[a] > privacies[b] or errors[a] < errors[b])
                for b in range(25)
            ]
            for a in range(25)
        ]
    )
    strength = dominates.sum(axis=1)
    for i, found in enumerate(fitness(privacies, errors)):
        raw = strength[dominates[:, i]].sum()
        near = sorted(np.hypot(privacies - privacies[i], errors - errors[i]))[1]
        assert found == pytest.approx(raw + 1 / (near + 2))


def test_equal_channels_do_not_dominate_each_other() -> None:
    assert (fitness(np.full(4, 0.5), np.full(4, 0.1)) < 1).all()


def test_a_small_front_is_filled_up_with_the_fittest() -> None:
    privacies, errors = _points(30)
    fit = fitness(privacies, errors)
    free = int((fit < 1).sum())
    chosen = select(privacies, errors, fit, free + 3)
    assert sorted(fit[chosen]) == sorted(fit)[: free + 3]


def test_a_large_front_loses_its_most_crowded() -> None:
    """Against the definition: the one whose sorted distances are smallest goes first."""
    rng = np.random.default_rng(8)
    points = np.column_stack([np.sort(rng.random(15)), np.sort(rng.random(15))])
    alive = list(range(15))
    while len(alive) > 6:
        near = {
            i: sorted(np.hypot(*(points[i] - points[j])) for j in alive if j != i) for i in alive
        }
        alive.remove(min(alive, key=near.__getitem__))
    assert spread(points, 6).tolist() == alive


def test_tournaments_are_won_by_the_fitter() -> None:
    fit = np.array([3.0, 0.1, 2.0, 1.0])
    wins = np.bincount(tournament(fit, 4000, np.random.default_rng(1)), minlength=4)
    assert wins.argsort().tolist() == [0, 2, 3, 1]


def test_children_swap_columns_at_a_line() -> None:
    rng = np.random.default_rng(2)
    first, second = random_matrices(20, normal(5), rng), random_matrices(20, normal(5), rng)
    children = crossover(first, second, rng)
    for pair in range(20):
        own = [(children[pair][:, x] == first[pair][:, x]).all() for x in range(5)]
        assert own == sorted(own, reverse=True)
        assert 0 < sum(own) < 5
        twin = np.where(own, second[pair], first[pair])
        assert (children[20 + pair] == twin).all()


def test_a_mutation_changes_one_column_and_keeps_proportions() -> None:
    before = random_matrices(50, normal(6), np.random.default_rng(4))
    after = mutate(before, 1.0, np.random.default_rng(5))
    assert after.sum(axis=1) == pytest.approx(1)
    for old, new in zip(before, after, strict=True):
        (column,) = np.flatnonzero((np.abs(old - new) > 1e-15).any(axis=0))
        old, new = old[:, column], new[:, column]
        entry = np.abs(new - old).argmax()
        others = np.delete(old, entry), np.delete(new, entry)
        if new[entry] > old[entry]:
            assert others[1] / others[0] == pytest.approx(others[1].sum() / others[0].sum())
        else:
            gains = (others[1] - others[0]) / (1 - others[0])
            assert gains == pytest.approx(gains[0])


@pytest.mark.parametrize("bounds", [{"delta": 0.5}, {"delta": 0.8}, {"epsilon": 1.0, "delta": 0.4}])
def test_repaired_channels_keep_the_bounds(bounds: dict[str, float]) -> None:
    problem = problem_of(normal(6), 100, **bounds)
    wild = random_matrices(300, problem.p, np.random.default_rng(6))
    tame = repair(wild, problem)
    assert not problem.keeps(wild).all()
    assert problem.keeps(tame).all()
    assert tame.sum(axis=1) == pytest.approx(1)
    kept = problem.keeps(wild)
    assert (tame[kept] == wild[kept]).all()


def test_a_search_continued_is_the_search_done_at_once() -> None:
    problem = problem_of({"a": 0.3, "b": 0.3, "c": 0.2, "d": 0.1, "e": 0.1}, 1000, delta=0.7)
    whole = SMALL.search(problem, lambda _: None).state
    half = replace(SMALL, generations=15).search(problem, lambda _: None).state
    saved = SearchState.from_json(half.to_json())
    rest = replace(SMALL, resume=saved).search(problem, lambda _: None).state
    assert rest.generation == whole.generation == 30
    assert rest.to_json() == whole.to_json()
    assert saved.to_json() == half.to_json()


@pytest.mark.slow
def test_a_state_is_kept_every_thousand_generations() -> None:
    problem = problem_of([0.6, 0.4], 1000, delta=0.7)
    kept: list[SearchState] = []
    method = Spea2(4, 4, 1500, omega=20, seed=3, keep=kept.append)
    whole = method.search(problem, lambda _: None).state
    assert [state.generation for state in kept] == [0, 1000, 1500]
    rest = replace(method, resume=kept[1]).search(problem, lambda _: None).state
    assert rest.to_json() == whole.to_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tacit": "front"}, 'not a search file.*"tacit": "search"'),
        ({"version": 2}, "the search file has version 2, this tacit reads up to 1"),
        ({"omega": {"size": 3}}, "not a search file: KeyError"),
        ({"archive": {"size": 1, "places": [5], "matrices": []}}, "not a search file"),
        ({"rng": {"bit_generator": "dice"}}, "not a search file"),
        ({"problem": 1}, "not a search file: TypeError"),
    ],
)
def test_a_broken_search_file_is_an_error(change: dict[str, object], said: str) -> None:
    state = SMALL.search(problem_of([0.6, 0.4], 100), lambda _: None).state
    with pytest.raises(FileError, match=said):
        SearchState.from_json(json.dumps(json.loads(state.to_json()) | change))


def test_another_seed_is_another_search() -> None:
    problem = problem_of(normal(5), 1000, delta=0.7)
    first, second = (
        replace(SMALL, seed=seed).search(problem, lambda _: None).state for seed in (1, 2)
    )
    assert first.to_json() != second.to_json()


def test_a_search_ends_when_omega_stays_the_same() -> None:
    made = front([0.6, 0.4], 1000, method=Spea2(4, 4, 5000, omega=4, patience=25))
    assert made.state.stale == 25
    assert made.state.generation < 5000


def test_a_bound_that_no_warner_matrix_of_the_grid_keeps_is_no_obstacle() -> None:
    made = front([0.5, 0.3, 0.2], 1000, epsilon=0.001, method=Spea2(generations=5))
    assert made.problem.holds(made[0].rows)


@pytest.mark.parametrize("other", [{"delta": 0.6}, {"n_records": 999}, {"prior": normal(6)}])
def test_a_state_of_another_problem_is_refused(other: dict[str, object]) -> None:
    """Channels found under a wider bound would break a narrower one."""
    given = {"prior": normal(5), "n_records": 1000, "delta": 0.9}
    state = SMALL.search(problem_of(**given), lambda _: None).state
    with pytest.raises(DesignError, match="another prior, n_records or bounds"):
        front(**given | other, method=Spea2(generations=1, resume=state))
