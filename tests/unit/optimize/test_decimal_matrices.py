"""Rounding to exact decimals never breaks a bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import DesignError
from tacit.optimize.fronts import rational
from tacit.optimize.objectives import random_matrices
from tacit.optimize.problem import problem_of
from tacit.optimize.spea2 import repair


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 6),
    room=st.floats(1e-3, 1),
    epsilon=st.sampled_from([None, 0.05, 1.0, 4.0]),
)
def test_columns_sum_to_one_and_bounds_hold(
    seed: int, n: int, room: float, epsilon: float | None
) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(n, 3.0)) * 0.9 + 0.1 / n
    delta = prior.max() + room * (1 - prior.max())
    problem = problem_of(prior, 100, delta, epsilon)
    matrix = repair(random_matrices(1, problem.p, rng), problem)[0]
    rows = rational(matrix, problem)
    assert all(sum(column) == 1 for column in zip(*rows, strict=True))
    assert all(0 <= entry <= 1 for row in rows for entry in row)
    assert problem.holds(rows)
    assert np.array(rows, dtype=float) == pytest.approx(matrix, abs=1e-3)


def test_a_matrix_at_its_bound_is_moved_inside() -> None:
    """Beyond it by a billionth, which rounding to decimals alone does not fix."""
    problem = problem_of(["1/4", "1/4", "1/4", "1/4"], 100, delta="0.7")
    at_bound = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    over = at_bound + 1e-9 * (np.eye(4) - 0.25)
    rows = rational(over, problem)
    assert problem.holds(rows)
    assert max(float(entry) for row in rows for entry in row) == pytest.approx(0.7, abs=1e-8)


def test_zeros_stay_zero_and_reports_that_never_come_are_left_out() -> None:
    problem = problem_of([0.5, 0.5], 100, delta=0.9)
    rows = rational(np.array([[0.8, 0.3], [0.0, 0.0], [0.2, 0.7]]), problem)
    assert rows == ((Fraction(4, 5), Fraction(3, 10)), (Fraction(1, 5), Fraction(7, 10)))


def test_what_is_far_outside_is_refused() -> None:
    with pytest.raises(DesignError, match="too far outside its bounds"):
        rational(np.eye(2), problem_of([0.5, 0.5], 100, delta=0.6))
