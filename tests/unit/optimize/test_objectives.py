"""Privacy, error and gradient of a channel."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.optimize import objectives
from tests.support.priors import normal


@pytest.fixture
def square() -> np.ndarray:
    return np.random.default_rng(3).dirichlet(np.ones(5), 5).T


PRIOR = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def test_privacy_is_what_the_best_guess_misses(square: np.ndarray) -> None:
    right = sum(max(square[y, x] * PRIOR[x] for x in range(5)) for y in range(5))
    assert objectives.privacy(square, PRIOR) == pytest.approx(1 - right, rel=1e-13)


def test_error_is_the_mean_variance_of_inversion(square: np.ndarray) -> None:
    """Theorem 6 with its variances and covariances written out, the factor 2 left out."""
    inverse, q, n_records = np.linalg.inv(square), square @ PRIOR, 700
    covariance = (np.diag(q) - np.outer(q, q)) / n_records
    expected = np.trace(inverse @ covariance @ inverse.T) / 5
    assert objectives.mse(square, PRIOR, n_records) == pytest.approx(expected, rel=1e-10)


def test_a_report_cut_in_two_does_not_change_the_error(square: np.ndarray) -> None:
    cut = np.vstack([0.3 * square[:1], 0.7 * square[:1], square[1:]])
    assert objectives.mse(cut, PRIOR, 9) == pytest.approx(objectives.mse(square, PRIOR, 9))


def test_a_singular_channel_has_an_infinite_error() -> None:
    assert objectives.mse(np.full((5, 5), 0.2), PRIOR, 100) == np.inf


def test_stacks_have_the_figures_of_their_matrices() -> None:
    stack = objectives.random_matrices(7, normal(6), np.random.default_rng(1))
    one_by_one = [objectives.mse(m, normal(6), 40) for m in stack]
    assert objectives.errors(stack, normal(6), 40) == pytest.approx(one_by_one, rel=1e-8)
    one_by_one = [objectives.privacy(m, normal(6)) for m in stack]
    assert objectives.privacy(stack, normal(6)) == pytest.approx(one_by_one, rel=1e-12)


def test_worst_posterior_is_at_least_the_largest_prior() -> None:
    """Theorem 5."""
    stack = objectives.random_matrices(200, PRIOR, np.random.default_rng(2))
    assert min(objectives.worst_posterior(m, PRIOR) for m in stack) >= PRIOR.max() - 1e-12


@pytest.mark.parametrize("theta", [0.35, 0.6, 0.9])
def test_warner_uniform_perturbation_and_frapp_are_the_same(theta: float) -> None:
    """Theorem 2."""
    n = 5
    matrix = objectives.warner(PRIOR, theta)
    q = (theta - 1 / n) / (1 - 1 / n)
    assert matrix == pytest.approx(q * np.eye(n) + (1 - q) / n)
    ratio = theta * (n - 1) / (1 - theta)
    frapp = (np.ones((n, n)) + (ratio - 1) * np.eye(n)) / (ratio + n - 1)
    assert matrix == pytest.approx(frapp)


def test_epsilon_is_infinite_where_a_row_has_a_zero() -> None:
    assert objectives.epsilon(np.eye(3)) == np.inf
    assert objectives.epsilon(objectives.warner(PRIOR, 0.5)) == pytest.approx(np.log(4))


def test_unbeaten_points_rise_in_both() -> None:
    privacies = np.array([0.1, 0.5, 0.5, 0.3, 0.4])
    errors = np.array([1.0, 5.0, 4.0, 2.0, 6.0])
    assert objectives.unbeaten(privacies, errors).tolist() == [0, 3, 2]
