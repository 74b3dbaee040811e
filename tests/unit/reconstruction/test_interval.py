"""Intervals: inside [0, 1], never empty, Wilson's and the normal ones where they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from tacit import Attribute, Design, Group, Schema, reconstruct
from tacit.channel import Coin, forced, matrix, related, truthful, unrelated
from tacit.reconstruction.interval import ScoreTest, normal_interval, score_interval

BINARY = [truthful(), related(0.7), related("1/5"), forced("2/3", ["1/2", "1/2"])]
BINARY += [unrelated(0.5, [0.9, 0.1]), matrix([[0.8, 0.3], [0.2, 0.7]])]


def score(center: float, own: float = 1.0, other: float = 0.0, n: int = 100) -> ScoreTest:
    return ScoreTest(np.array(center), np.array(own), np.array(other), n)


def test_far_from_the_bounds_a_truthful_interval_is_wilsons() -> None:
    """The peer is scipy.stats.binomtest(...).proportion_ci(method='wilson')."""
    for yes, n in [(30, 100), (400, 1000), (70, 100)]:
        lower, upper = score_interval(score(yes / n, n=n), 0.95)
        peer = binomtest(yes, n).proportion_ci(0.95, method="wilson")
        assert float(lower) == pytest.approx(peer.low, abs=1e-9)
        assert float(upper) == pytest.approx(peer.high, abs=1e-9)


def test_at_zero_the_interval_is_one_sided() -> None:
    """The upper limit solves p0 = z * sqrt(p0 (1 - p0) / n) with the two-sided z at its room."""
    lower, upper = score_interval(score(0.0), 0.95)
    assert lower == 0
    z2 = norm.ppf(0.95) ** 2
    assert z2 / (100 + z2) <= upper <= norm.ppf(0.975) ** 2 / (100 + norm.ppf(0.975) ** 2)


def test_intervals_shrink_with_the_level_and_with_the_number_of_records() -> None:
    widths = [np.ptp(score_interval(score(0.3), level)) for level in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    assert np.ptp(score_interval(score(0.3, n=10_000), 0.95)) < widths[1] / 5


@pytest.mark.parametrize("center", [-5.0, -0.5, -0.01, 0.0, 0.02, 0.5, 0.99, 1.0, 1.01, 4.0])
@pytest.mark.parametrize(("own", "other"), [(1.3, 0.1), (4.0, 3.5), (40.0, 39.9)])
def test_any_estimate_has_an_interval_inside_the_bounds_that_is_not_empty(
    center: float, own: float, other: float
) -> None:
    for n in (5, 10_000):
        lower, upper = score_interval(score(center, own, other, n), 0.95)
        assert 0 <= lower < upper <= 1
        assert lower <= np.clip(center, 0, 1) <= upper


def test_the_normal_interval_is_symmetric_and_exact() -> None:
    lower, upper = normal_interval(np.array([1.0, -3.0]), np.array([0.5, 0.0]), 0.9)
    np.testing.assert_allclose(upper - 1, [norm.ppf(0.95) * 0.5, -4])
    np.testing.assert_allclose(lower + upper, [2, -6])


@pytest.mark.parametrize("coin", BINARY, ids=str)
def test_yes_and_no_have_mirrored_intervals(coin: Coin) -> None:
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], coin)])
    for yes in (0, 5, 35, 50, 65, 95, 100):
        codes = (np.arange(100) < yes).astype(np.uint8)[:, None]
        lower, upper = reconstruct(codes, design).table(["a"]).interval()
        np.testing.assert_allclose(lower, 1 - upper[::-1], atol=1e-9, err_msg=f"{yes} % yes")


@pytest.mark.parametrize("coin", BINARY, ids=str)
def test_a_probability_has_the_interval_of_its_cell(coin: Coin) -> None:
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], coin)])
    for yes in (0, 10, 50, 90, 100):
        rec = reconstruct((np.arange(100) < yes).astype(np.uint8)[:, None], design)
        cell, event = rec.table(["a"]).interval(), rec.probability({"a": "yes"}).interval()
        np.testing.assert_allclose(event.lower, cell.lower[1], atol=1e-9, err_msg=f"{yes} % yes")
        np.testing.assert_allclose(event.upper, cell.upper[1], atol=1e-9, err_msg=f"{yes} % yes")
