"""Exact: posteriors priced completely, few reports, proofs that hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.optimize import Exact, Square, front, objectives
from tacit.optimize.exact import _without_loss, family_of, solve
from tacit.optimize.posteriors import CappedPosteriors, subset_forms, subset_sums
from tacit.optimize.problem import problem_of
from tacit.optimize.square import merged
from tacit.optimize.weight_solver import Prices
from tests.support.priors import normal

BOUNDS: list[dict[str, Any]] = [
    {},
    {"delta": 0.8},
    {"delta": 0.5},
    {"delta": 0.37},
    {"epsilon": 0.7},
    {"epsilon": 2.5},
    {"epsilon": 1.0, "delta": 0.6},
    {"epsilon": 2.0, "delta": 0.4},
]


def _random_prices(n: int, rng: np.random.Generator) -> Prices:
    half = rng.normal(size=(n, n))
    return Prices(half @ half.T * rng.exponential(3), rng.normal(size=n), rng.exponential(2))


def _allowed(problem: Any, rng: np.random.Generator, count: int) -> np.ndarray:
    """Posteriors within the bounds, many of them at the borders."""
    if problem.epsilon is None:
        rows = rng.dirichlet(np.full(problem.n, 0.3), count)
        rows = np.minimum(rows, problem.cap)
        rows += (1 - rows.sum(axis=1, keepdims=True)) / problem.n
    else:
        corner = rng.random((count, problem.n))
        between = rng.uniform(1, problem.ratio, corner.shape)
        ratios = np.where(corner < 0.4, 1, np.where(corner < 0.8, problem.ratio, between))
        rows = ratios * problem.p
        rows /= rows.sum(axis=1, keepdims=True)
    return rows[rows.max(axis=1) <= problem.cap]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_no_posterior_is_worth_more_than_the_best_priced(bounds: dict[str, Any]) -> None:
    rng = np.random.default_rng(11)
    for _ in range(6):
        prior = rng.dirichlet(np.full(5, 20.0))
        problem = problem_of(prior, 1, **bounds)
        prices = _random_prices(5, rng)
        found = family_of(problem).price(prices, 5)
        sampled = prices.of(_allowed(problem, rng, 20_000)).max()
        assert sampled <= found.largest + 1e-12 * abs(found.largest)
        assert found.largest == pytest.approx(prices.of(found.posteriors).max())


@pytest.mark.parametrize("bounds", BOUNDS)
def test_priced_posteriors_keep_the_bounds(bounds: dict[str, Any]) -> None:
    problem = problem_of(normal(6), 1, **bounds)
    rows = family_of(problem).price(_random_prices(6, np.random.default_rng(2)), 8).posteriors
    assert rows.sum(axis=1) == pytest.approx(1)
    assert rows.max() <= problem.cap * (1 + 1e-9)
    if problem.epsilon is not None:
        ratios = rows / problem.p
        assert (ratios.max(axis=1) / ratios.min(axis=1)).max() <= problem.ratio * (1 + 1e-9)


def test_alike_categories_are_offered_as_many_posteriors_as_others() -> None:
    """They share their ties: a fixed number a tie would starve the search."""
    for prior in (normal(12), np.full(12, 1 / 12)):
        family = family_of(problem_of(prior, 1, epsilon=1.0))
        prices = _random_prices(12, np.random.default_rng(2))
        assert len(family.price(prices, 36).posteriors) >= 24


def test_forms_of_all_subsets_are_those_one_by_one() -> None:
    rng = np.random.default_rng(4)
    half = rng.normal(size=(4, 4))
    gram, base, steps = half @ half.T, rng.normal(size=4), rng.normal(size=4)
    forms, sums = subset_forms(gram, base, steps), subset_sums(steps)
    for code, bits in enumerate(product([0, 1], repeat=4)):
        chosen = np.array(bits[::-1])  # bit 0 is the first category
        x = base + chosen * steps
        assert forms[code] == pytest.approx(x @ gram @ x)
        assert sums[code] == pytest.approx(chosen @ steps)


@pytest.mark.parametrize("cap", [1.0, 0.6, 0.3])
def test_beyond_enumeration_the_bound_is_still_a_bound(cap: float) -> None:
    """The same family priced both ways."""
    rng = np.random.default_rng(9)
    family = CappedPosteriors(9, cap)
    for _ in range(10):
        prices = _random_prices(9, rng)
        exact = family.price(prices, 4).largest
        searched = prices.of(family._searched(prices, 4)).max()
        assert searched <= exact + 1e-9 <= family._bound(prices) + 2e-9


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.slow
def test_no_square_channel_is_below_the_bound(bounds: dict[str, Any]) -> None:
    prior = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    made = front(prior, 1000, **bounds, method=Exact(4))
    assert (made.mse / made.lower_bound - 1).max() < 1e-3
    assert max(map(len, made.channels)) <= 5 * 6 // 2 + 2
    square = front(prior, 1000, **bounds, method=Square(privacy=made.privacy, starts=1))
    assert (square.mse >= square.lower_bound).all()
    for matrix in (*made.channels, *square.channels):
        assert objectives.worst_posterior(matrix, prior) <= float(made.problem.delta)
        if "epsilon" in bounds:
            assert objectives.epsilon(matrix) <= bounds["epsilon"]


def test_the_undisguised_answer_is_the_end_of_a_front_without_bounds() -> None:
    made = front([0.5, 0.3, 0.2], 100, method=Exact(5))
    assert made.privacy[0] == pytest.approx(0, abs=1e-7)
    assert made.mse[0] == pytest.approx((1 - 0.38) / 300, rel=1e-6)


def test_fewer_reports_cost_what_may_be_spared() -> None:
    few, many = (
        front(normal(8), 1000, delta=0.8, method=Exact(privacy=[0.5], tolerance=tolerance))
        for tolerance in (0.01, 0.0)
    )
    assert len(few.channels[0]) < len(many.channels[0]) <= 8 * 9 // 2 + 2
    assert 1 < few.mse[0] / many.mse[0] <= 1.01 + 1e-6


def test_the_order_of_posteriors_does_not_decide_which_are_left() -> None:
    """Nor does a posterior that is there twice: the same channel on every machine."""
    problem = problem_of([0.6, 0.3, 0.1], 1000, delta=0.8)
    found = solve(problem, 0.7, 1e-4, None).weighing
    twice = np.append(np.arange(len(found.weights)), 0)
    shares = np.where(np.isin(twice, 0), 0.5, 1.0)
    left = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(twice))
        at = twice[order]
        left.append(_without_loss(found.posteriors[at], found.weights[at] * shares[order]))
    for posteriors, weights in left:
        assert len(weights) <= 3 * 4 // 2 + 1
        assert posteriors == pytest.approx(left[0][0])
        assert weights == pytest.approx(left[0][1], abs=1e-9)


def test_category_order_is_irrelevant() -> None:
    prior, order = np.array([0.4, 0.3, 0.2, 0.1]), [2, 0, 3, 1]
    first, second = (
        front(p, 1000, delta=0.7, method=Exact(privacy=[0.45])) for p in (prior, prior[order])
    )
    assert first.lower_bound == pytest.approx(second.lower_bound, rel=1e-3)


def test_merging_reports_keeps_columns_and_lowers_accuracy() -> None:
    made = front(normal(6), 1000, delta=0.8, method=Exact(privacy=[0.5]))
    small = merged(made.channels[0], normal(6))
    assert small.shape == (6, 6)
    assert small.sum(axis=0) == pytest.approx(1)
    assert objectives.privacy(small, normal(6)) >= made.privacy[0] - 1e-9


@pytest.mark.parametrize("bounds", [{"delta": 0.3}, {"epsilon": 1.0}])
@pytest.mark.slow
def test_categories_that_are_alike_do_not_stall_the_search(bounds: dict[str, float]) -> None:
    """At the end of this front reports that exclude one category each and one that tells nothing
    are best; no few of them help alone.
    """
    made = front(np.full(12, 1 / 12), 1000, **bounds, method=Exact(privacy=[0.912]))
    assert made.mse[0] <= 1.001 * made.lower_bound[0]
    assert len(made.channels[0]) <= 20


@pytest.mark.slow
def test_beyond_twenty_categories_the_bound_is_honest() -> None:
    made = front(np.full(22, 1 / 22), 1000, delta=0.9, method=Exact(privacy=[0.2]))
    assert 0 < made.lower_bound[0] < made.mse[0]
    assert made.lower_bound[0] >= (1 - 1 / 22) / 22_000 * (1 - 1e-6)
    assert made.mse[0] < 1.3 * made.lower_bound[0]
