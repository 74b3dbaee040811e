"""Intervals: inside [0, 1], never empty, exact, Wilson's and normal where they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from tacit import Attribute, Design, Group, Schema, reconstruct
from tacit.core.channel import Coin, forced, matrix, related, truthful, unrelated
from tacit.reconstruction.interval import KnownMoments, ScoreTest, normal_interval, score_interval

BINARY = [truthful(), related(0.7), related("1/5"), forced("2/3", ["1/2", "1/2"])]
BINARY += [unrelated(0.5, [0.9, 0.1]), matrix([[0.8, 0.3], [0.2, 0.7]])]


def score(center: float, own: float = 1.0, other: float = 0.0, n: int = 100) -> ScoreTest:
    """The test of an event; third moments as if weights were the truth plus normal noise."""
    second = KnownMoments(*map(np.asarray, (0.0, own, other, other)))
    third = KnownMoments(*map(np.asarray, (0.0, 1 + 3 * other, 0.0, 0.0)))
    return ScoreTest.of(np.array(center), n, second, third)


def clopper_pearson(yes: int, n: int, level: float) -> tuple[float, float]:
    found = binomtest(yes, n).proportion_ci(level, method="exact")
    return found.low, found.high


@pytest.mark.parametrize(("yes", "n"), [(30, 100), (400, 1000), (70, 100), (12, 40)])
def test_far_from_the_bounds_a_truthful_interval_is_exact(yes: int, n: int) -> None:
    """The peer is scipy.stats.binomtest(...).proportion_ci(method='exact')."""
    lower, upper = score_interval(score(yes / n, n=n), 0.95)
    np.testing.assert_allclose((lower, upper), clopper_pearson(yes, n, 0.95), rtol=1e-9)


def test_next_to_a_bound_the_whole_error_probability_is_on_the_other_side() -> None:
    """3 of 100: at the lower limit an estimate of 0 cannot be rejected."""
    lower, upper = score_interval(score(0.03), 0.95)
    assert float(lower) == pytest.approx(clopper_pearson(3, 100, 0.90)[0], rel=1e-9)
    assert float(upper) == pytest.approx(clopper_pearson(3, 100, 0.95)[1], rel=1e-9)


def test_at_zero_the_upper_limit_is_exact() -> None:
    lower, upper = score_interval(score(0.0), 0.95)
    assert lower == 0
    assert (1 - upper) ** 100 == pytest.approx(0.025)


def test_a_skewed_estimate_near_0_does_not_allow_a_share_of_1() -> None:
    """At a share of 1 the estimate lies 24 standard errors off, beyond both fitted values."""
    found = ScoreTest.of_noise(np.array(0.08), np.array(0.0443), 100, np.array(0.325))
    lower, upper = score_interval(found, 0.95)
    assert 0 <= lower < 0.02
    assert 0.15 < upper < 0.2
    # The same from the other side.
    mirrored = score_interval(found.mirrored(), 0.95)
    np.testing.assert_allclose(mirrored, (1 - upper, 1 - lower), atol=1e-9)


def test_limits_are_the_same_whether_they_are_searched_together_or_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Binomial, skewed and nearly normal cells; near 0, near 1 and between."""
    centers = np.array([[-0.05, 0.0, 0.02, 0.1, 0.3], [0.5, 0.8, 0.95, 1.0, 1.1]])
    for errors, third in ((0.05, None), (0.06, 0.4), (0.2, 3.0)):
        skew = None if third is None else np.full(centers.shape, third)
        found = ScoreTest.of_noise(centers, np.full(centers.shape, errors), 100, skew)
        together = np.array(score_interval(found, 0.95))
        for place in range(centers.size):
            alone = score_interval(found.part(np.array([place]), (1,)), 0.95)
            np.testing.assert_array_equal(together.reshape(2, -1)[:, place], np.ravel(alone))
        with monkeypatch.context() as patch:
            patch.setattr("tacit.reconstruction.interval._FEW", 0)
            np.testing.assert_array_equal(score_interval(found, 0.95), together)


def test_with_much_noise_the_interval_is_wilsons_with_the_variance_of_the_design() -> None:
    """n (x - p)^2 = z^2 (p (1 - p) + noise) at both limits."""
    for limit in score_interval(score(0.4, own=7.0, other=6.0, n=100_000), 0.95):
        z = (0.4 - limit) / np.sqrt((limit * (1 - limit) + 6.0) / 100_000)
        assert abs(z) == pytest.approx(norm.ppf(0.975), rel=1e-9)


@pytest.mark.parametrize("coin", BINARY, ids=str)
def test_an_impossible_estimate_never_has_a_shorter_interval(coin: Coin) -> None:
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], coin)])
    for n in (20, 1000):
        found = [
            reconstruct((np.arange(n) < yes).astype(np.uint8)[:, None], design).table(["a"])
            for yes in range(0, n + 1, max(1, n // 100))
        ]
        outside = [e for e in found if e.value[1] <= 0]
        if outside:
            nearest = max(outside, key=lambda e: float(e.value[1])).interval()
            for each in outside:
                np.testing.assert_allclose(each.interval(), nearest)
                assert (each.stderr > 0).all() or each.value[1] == 0


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
