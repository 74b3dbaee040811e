"""The likelihood of a mixture, its maximum, and profile likelihoods, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.compliance.mixture import (
    Quantity,
    ReportMixture,
    most_likely_shares,
    profile,
    profile_intervals,
)
from tacit.core.arrays import Array
from tests.support.compliance import log_likelihood_at

#: Brute force and optimiser agree to this, relative to the number of records.
EXACT = 1e-8


def random_mixture(seed: int, classes: int = 3, samples: int = 2, cells: int = 3) -> ReportMixture:
    rng = np.random.default_rng(seed)
    matrices = tuple(rng.dirichlet(np.ones(cells), classes).T for _ in range(samples))
    shares = rng.dirichlet(np.ones(classes))
    counts = tuple(rng.multinomial(200, k @ shares).astype(float) for k in matrices)
    return ReportMixture(counts, matrices)


def grid(steps: int) -> Array:
    """Points of the simplex of three classes."""
    at = np.arange(steps + 1)
    return np.array([(i, j, steps - i - j) for i in at for j in at if i + j <= steps]) / steps


def by_records(mixture: ReportMixture, shares: Array) -> float:
    """log L, record by record."""
    total = 0.0
    for counts, matrix in zip(mixture.counts, mixture.matrices, strict=True):
        for cell, n in enumerate(counts.astype(int)):
            for _ in range(n):
                total += math.log(sum(matrix[cell, c] * shares[c] for c in range(len(shares))))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_equals_the_sum_over_records(seed: int) -> None:
    mixture = random_mixture(seed)
    shares = np.random.default_rng(seed + 100).dirichlet(np.ones(3))
    assert abs(log_likelihood_at(mixture, shares) - by_records(mixture, shares)) < EXACT


@pytest.mark.parametrize("seed", range(8))
def test_no_point_of_a_grid_is_more_likely_than_the_maximum(seed: int) -> None:
    mixture = random_mixture(seed)
    shares, best = mixture.maximum
    assert shares.min() >= 0
    assert abs(shares.sum() - 1) < EXACT
    assert abs(log_likelihood_at(mixture, shares) - best) < EXACT
    found = max(log_likelihood_at(mixture, point) for point in grid(60))
    assert found <= best + EXACT
    near = [
        log_likelihood_at(mixture, (1 - s) * shares + s * p) for p in grid(8) for s in (1e-3, 1e-5)
    ]
    assert max(near) <= best + EXACT


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("at", [0.0, 0.2, 0.7])
def test_the_profile_is_the_largest_likelihood_with_the_quantity_fixed(
    seed: int, at: float
) -> None:
    """The third share is `at` times that of the last two: one free parameter, searched finely."""
    mixture = random_mixture(seed)
    quantity = Quantity(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    others = np.linspace(0, 1, 4001)
    points = np.column_stack([1 - others, others * (1 - at), others * at])
    brute = max(log_likelihood_at(mixture, point) for point in points)
    shares, found = profile(mixture, quantity, at)
    assert log_likelihood_at(mixture, shares) == pytest.approx(found)
    assert quantity.value(shares) == pytest.approx(at)
    assert brute <= found + EXACT
    assert found - brute < 1e-3


def test_the_interval_of_a_binomial_share_is_its_likelihood_ratio_interval() -> None:
    """30 of 100: limits by direct search; at 0 of 100 the upper limit is 1 - exp(-cut/200)."""
    one = np.eye(2)
    quantity = Quantity(np.array([0.0, 1.0]), np.ones(2))
    cut = 3.841458820694124
    lower, upper = profile_intervals(
        ReportMixture((np.array([70.0, 30]),), (one,)), [quantity], 0.95
    )
    for limit in (lower[0], upper[0]):
        lost = 30 * math.log(0.3 / limit) + 70 * math.log(0.7 / (1 - limit))
        assert abs(2 * lost - cut) < 1e-6
    lower, upper = profile_intervals(
        ReportMixture((np.array([100.0, 0]),), (one,)), [quantity], 0.95
    )
    assert lower[0] == 0
    assert abs(upper[0] - (1 - math.exp(-cut / 200))) < 1e-8


def test_a_report_that_no_class_can_give_has_likelihood_zero() -> None:
    impossible = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert most_likely_shares(impossible, np.array([5.0, 1.0]))[1] == -math.inf


def test_shares_that_lead_to_the_same_reports_are_not_identified() -> None:
    same = np.array([[0.3, 0.3, 0.5], [0.7, 0.7, 0.5]])
    mixture = ReportMixture((np.array([40.0, 60.0]),), (same,))
    assert not mixture.identified(np.array([1.0, 0, 0]))
    assert mixture.identified(np.array([1.0, 1.0, 0]))
