"""A wrong prior or bound is one clear error."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import Attribute
from tacit.errors import DesignError, TacitError
from tacit.optimize import Exact, Spea2, Square, front, objectives
from tacit.optimize.problem import GUARD, problem_of
from tacit.optimize.spea2 import repair

GOOD: dict[str, Any] = {"prior": [0.5, 0.3, 0.2], "n_records": 100}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"prior": [0.5, 0.4]}, "prior must sum to 1, but sums to 0.9"),
        ({"prior": [0.5, 0.5, 0]}, r"prior\[2\] is 0: a category that nobody has"),
        ({"prior": [1.0]}, "prior has 1 category; a disguise needs at least 2"),
        ({"prior": []}, "prior must sum to 1"),
        ({"prior": [0.5, -0.1, 0.6]}, "between 0 and 1"),
        ({"prior": "half"}, "prior must be a list"),
        ({"prior": [[0.5, 0.2], [0.3]]}, "same number of entries"),
        ({"delta": 0.4}, "delta = 0.4 is below the largest prior, 0.5.*Theorem 5.*above 0.5"),
        ({"delta": 0.5}, "leaves no room above the largest prior"),
        ({"delta": 1.2}, "delta must lie between 0 and 1"),
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
        ({"epsilon": -1.5}, "epsilon must be above 0, got -1.5"),
        ({"n_records": 0}, "n_records must be a whole number from 1 up, got 0"),
        ({"n_records": 2.5}, "n_records must be a whole number from 1 up"),
    ],
)
def test_bad_input_is_one_clear_error(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(TacitError, match=said):
        front(**GOOD | wrong)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Exact(0), "points must be a whole number from 1 up, got 0"),
        (lambda: Exact(privacy=[]), "privacy must be numbers"),
        (lambda: Exact(privacy=["x"]), "privacy must be a list of numbers"),
        (lambda: Exact(gap=0), "gap must lie"),
        (lambda: Square(starts=-1), "starts must be a whole number"),
        (lambda: Spea2(population=1), "population must be a whole number from 2 up"),
        (lambda: Spea2(rate=1.5), "rate must lie between 0 and 1"),
    ],
)
def test_a_method_checks_its_own_parameters(make: Any, said: str) -> None:
    with pytest.raises(TacitError, match=said):
        make()


@pytest.mark.parametrize("method", [Exact, Square])
def test_a_privacy_beyond_that_of_no_report_is_refused(method: Any) -> None:
    with pytest.raises(DesignError, match=r"privacy 0.6 is impossible.*up to 0.499990"):
        front(**GOOD, method=method(privacy=[0.6]))
    with pytest.raises(DesignError, match=r"privacy 0.499999 leaves no room for a search"):
        front(**GOOD, method=method(privacy=[0.499999]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], pytest.param([0.25] * 4, marks=pytest.mark.complete)],
)
def test_a_privacy_just_below_that_of_no_report_can_be_had(prior: list[float]) -> None:
    wanted = [1 - max(prior) - 1.1e-5]
    exact, square = (
        front(prior, 100, delta=0.8, method=method)
        for method in (Exact(privacy=wanted), Square(privacy=wanted, starts=0))
    )
    assert exact.privacy[0] >= wanted[0] - 1e-9
    assert exact.mse[0] <= 1.01 * exact.lower_bound[0]  # the precision of doubles there
    assert exact.mse[0] <= square.mse[0] < np.inf


def test_a_table_is_a_prior_of_joint_categories() -> None:
    problem = problem_of(np.array([[0.1, 0.2], [0.3, 0.4]]), 10)
    assert (problem.n, problem.shape) == (4, (2, 2))


def test_a_mapping_names_the_categories() -> None:
    problem = problem_of({"no": "2/3", "yes": "1/3"}, 10)
    assert problem.attributes == (Attribute("answer", ["no", "yes"]),)
    assert problem.prior == (Fraction(2, 3), Fraction(1, 3))


@pytest.mark.parametrize("bounds", [{"delta": 0.8}, {"epsilon": 0.5}, {"delta": 0.6, "epsilon": 3}])
def test_a_channel_on_the_bounds_is_little_better_than_one_within_the_guards(
    bounds: dict[str, float],
) -> None:
    """What `guarded` claims, for channels on the true bounds: mixed, they are within the guards."""
    problem = problem_of([0.5, 0.3, 0.2], 100, **bounds)
    share = 1 - problem.guarded**0.5
    assert 0 < share < 1e-5
    wild = objectives.random_matrices(50, problem.p, np.random.default_rng(1))
    wide = replace(problem, delta=problem.delta / Fraction(1 - GUARD))
    for matrix in repair(wild, wide):
        flat = np.outer(matrix @ problem.p, np.ones(3))
        mixed = (1 - share) * matrix + share * flat
        if problem.epsilon is None:
            assert objectives.worst_posterior(mixed, problem.p) <= problem.cap * (1 + 1e-12)
        before, after = (objectives.trace(m, problem.p) for m in (matrix, mixed))
        assert after * problem.guarded <= before * (1 + 1e-9)


def test_bounds_are_held_exactly() -> None:
    problem = problem_of(["1/2", "1/2"], 10, delta="3/4", epsilon=1.0986123)
    good = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    tiny = Fraction(1, 10**15)
    bad = [[good[0][0] + tiny, good[0][1]], [good[1][0] - tiny, good[1][1]]]
    assert problem.holds(good)
    assert not problem.holds(bad)
