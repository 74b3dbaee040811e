"""em is the constrained maximum, as an independent optimiser finds it, and says how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit import Attribute, Design, Group, Schema, matrix, related, unrelated
from tacit.core.arrays import Array
from tacit.errors import SingularChannelError
from tacit.reconstruction import em, inversion
from tacit.reconstruction.likelihood import MAX_ITERATIONS, TOLERANCE
from tests.support.families import MAKERS, attributes_of, fits, random_coin
from tests.support.tables import counts_of, problem_of, random_table

CASES = 50
SHAPES = [(2,), (3,), (5,), (6,), (2, 3), (3, 3), (2, 2, 2)]


def gradient(M: Array, f: Array, p: Array) -> Array:
    """Of the log-likelihood a record; at the maximum 1 where p > 0 and at most 1 elsewhere."""
    return np.asarray(M.T @ (f / (M @ p)))


def newton(M: Array, f: Array, p: Array, support: Any) -> Array:
    """Newton's method for the multiplier form on a face of the simplex: gradient = 1 there."""
    for _ in range(100):
        seen = M[:, support]
        hessian = -(seen.T * (f / (M @ p) ** 2)) @ seen
        step = np.linalg.solve(hessian, 1 - gradient(M, f, p)[support])
        p = p.copy()
        falling = step < 0
        room = np.min(-p[support][falling] / step[falling], initial=np.inf)
        p[support] += min(1.0, 0.9 * room) * step
    return p


def constrained_maximum(M: Array, f: Array) -> Array:
    """SLSQP finds the face of the simplex, Newton the point on it; the test checks optimality."""
    n = M.shape[1]
    found = minimize(
        lambda p: -f @ np.log(np.maximum(M @ p, 1e-300)),
        np.full(n, 1 / n),
        jac=lambda p: -gradient(M, f, np.maximum(p, 1e-15)),
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    support = found.x > 1e-5
    for _ in range(n):
        p = np.where(support, np.maximum(found.x, 1e-5), 0)
        p = newton(M, f, p / p.sum(), support)
        outside = np.where(support, 0, gradient(M, f, p))
        vanishing = support & (p < 1e-10)
        if not vanishing.any() and outside.max() <= 1 + 1e-9:
            return p
        support = (support & ~vanishing) | (outside > 1 + 1e-9)
    raise AssertionError("the reference did not converge")


def random_case(number: int) -> tuple[Design, Array, int]:
    """A coin of any family, and counts of a survey whose truth is often near the border."""
    rng = np.random.default_rng(number)
    sizes = SHAPES[number % len(SHAPES)]
    attributes = attributes_of(sizes)
    able = [f for f in MAKERS if fits(f, sizes) and f != "truthful"]
    coin = random_coin(able[int(rng.integers(len(able)))], attributes, rng)
    design = Design(Schema(attributes), [Group([a.name for a in attributes], coin)])
    n = int(rng.choice([500, 3000, 20_000]))
    return design, counts_of(design, random_table(number, sizes), n, number), n


@pytest.fixture(scope="module")
def compared() -> list[tuple[Array, Array, Array, Any]]:
    """em's value, the reference's, its gradient, and the convergence of em, for every case."""
    result = []
    for number in range(CASES):
        design, counts, n = random_case(number)
        problem = problem_of(design, counts, design.schema.names, n)
        found = em(problem)
        M, f = problem.channel.matrix, problem.frequencies.ravel()
        best = constrained_maximum(M, f)
        result.append((found.value.ravel(), best, gradient(M, f, best), found.convergence))
    return result


@pytest.mark.slow
def test_em_is_the_constrained_maximum_in_50_random_cases(compared: Any) -> None:
    assert len(compared) == CASES
    apart = [np.abs(found - best).max() for found, best, _, _ in compared]
    assert max(apart) <= 1e-6, apart


def test_the_reference_is_optimal_and_often_on_the_border(compared: Any) -> None:
    for _, best, slope, _ in compared:
        assert best.sum() == pytest.approx(1, abs=1e-12)
        assert (best >= 0).all()
        assert slope.max() <= 1 + 1e-8
        np.testing.assert_allclose(slope[best > 0], 1, atol=1e-8)
    on_border = sum((best == 0).any() for _, best, _, _ in compared)
    assert 10 <= on_border <= 45


def test_convergence_is_stated_with_a_small_gap(compared: Any) -> None:
    for _, _, _, convergence in compared:
        assert convergence.converged
        assert convergence.gap <= TOLERANCE
        assert 1 <= convergence.iterations < MAX_ITERATIONS


def small() -> Any:
    design, counts, n = random_case(3)
    return problem_of(design, counts, design.schema.names, n)


def test_too_few_iterations_are_stated_too() -> None:
    stopped = em(small(), max_iterations=1)
    assert stopped.convergence is not None
    assert not stopped.convergence.converged
    assert stopped.convergence.iterations == 1
    assert stopped.convergence.gap > TOLERANCE
    assert stopped.convergence.last_change > 0
    assert "NOT converged after 1 iteration)" in str(stopped)
    assert stopped.to_dict()["convergence"]["converged"] is False
    assert "NOT converged" not in str(em(small()))


def test_the_gap_bounds_what_the_likelihood_can_still_gain() -> None:
    best = em(small()).convergence
    for iterations in (1, 2, 3, 5):
        stopped = em(small(), max_iterations=iterations).convergence
        assert best is not None
        assert stopped is not None
        assert 0 <= best.log_likelihood - stopped.log_likelihood <= stopped.gap + 1e-15


def test_inside_the_simplex_em_equals_inversion() -> None:
    design = Design(Schema([Attribute("a", ["n", "y"])]), [Group(["a"], related(0.7))])
    problem = problem_of(design, np.array([500.0, 500.0]), ["a"], 1000)
    np.testing.assert_allclose(em(problem).value, inversion(problem).value, atol=1e-6)
    assert em(problem).method == "em"


def test_beyond_the_simplex_em_stays_on_its_border() -> None:
    design = Design(Schema([Attribute("a", ["n", "y"])]), [Group(["a"], related(0.7))])
    problem = problem_of(design, np.array([800.0, 200.0]), ["a"], 1000)
    assert inversion(problem).value[1] < 0
    np.testing.assert_allclose(em(problem).value, [1, 0], atol=1e-6)


def test_reported_categories_that_nobody_chose_are_no_obstacle() -> None:
    coin = matrix([["1/2", "1/4"], ["1/4", "1/2"], ["1/4", "1/4"]])
    design = Design(Schema([Attribute("a", ["n", "y"])]), [Group(["a"], coin)])
    found = em(problem_of(design, np.array([10.0, 0.0, 0.0]), ["a"], 10))
    np.testing.assert_allclose(found.value, [1, 0], atol=1e-6)


def test_attributes_that_were_not_asked_for_are_summed_out() -> None:
    design = Design(
        Schema(attributes_of((2, 2))),
        [Group(["a0", "a1"], matrix(np.eye(4) * 0.6 + 0.1))],
    )
    counts = np.array([[40.0, 20.0], [28.0, 12.0]])
    joint = em(problem_of(design, counts, ["a0", "a1"], 100)).value
    alone = em(problem_of(design, counts, ["a1"], 100)).value
    np.testing.assert_allclose(alone, joint.sum(axis=0), atol=1e-6)


def test_em_of_a_channel_that_tells_nothing_is_an_error() -> None:
    design = Design(Schema(attributes_of((2,))), [Group(["a0"], unrelated(0, [0.5, 0.5]))])
    with pytest.raises(SingularChannelError, match="theta=0"):
        em(problem_of(design, np.array([5.0, 5.0]), ["a0"], 10))


def test_em_leaps_where_plain_steps_crawl_along_the_border() -> None:
    design = Design(Schema([Attribute("a", range(5))]), [Group(["a"], related("3/28"))])
    counts = np.array([665.0, 423, 572, 669, 671])
    found = em(problem_of(design, counts, ["a"], 3000))
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.value.min() >= 0
