"""Limits of support and confidence: known cases, and the number of rules by brute force."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy.stats import norm

from tacit.errors import DataError
from tacit.mine.tree.view import (
    NO_NOISE,
    RuleNoise,
    confidence_limits,
    deviates,
    log_choices,
    size_of_rule,
    support_limits,
)

Z = 1.96


def test_without_disguise_the_limits_are_those_of_wilson() -> None:
    """7 of 10: (7 + z^2/2 -+ z sqrt(7 * 3 / 10 + z^2/4)) / (10 + z^2)."""
    reach = Z * math.sqrt(2.1 + Z**2 / 4)
    expected = [(7 + Z**2 / 2 + side * reach) / (10 + Z**2) for side in (-1, 1)]
    assert list(support_limits(0.7, NO_NOISE, 10, Z)) == pytest.approx(expected, rel=1e-12)
    found = confidence_limits(0.1, 0.7, NO_NOISE, 100, Z)
    assert list(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_leaf_of_one_class_has_no_interval_of_width_zero(confidence: float) -> None:
    lower, upper = confidence_limits(0.03, confidence, NO_NOISE, 100, Z)
    assert upper - lower == pytest.approx(Z**2 / (3 + Z**2), rel=1e-12)


def test_a_confidence_whose_support_is_within_noise_may_be_anything() -> None:
    assert tuple(confidence_limits(0.01, 0.9, RuleNoise(5, 2, 3), 1000, Z)) == (0, 1)


def test_the_two_classes_of_a_rule_have_mirrored_limits() -> None:
    """x and s - x: the noise of the other class follows from D."""
    own = RuleNoise(2.0, 0.9, 1.5)
    other = RuleNoise(2.0, 2.0 - 0.9, 2.0 - 2 * 0.9 + 1.5)
    lower, upper = confidence_limits(0.3, 0.7, own, 5000, Z)
    mirrored = confidence_limits(0.3, 0.3, other, 5000, Z)
    assert [1 - upper, 1 - lower] == pytest.approx([float(end) for end in mirrored], rel=1e-9)


def test_an_unknown_confidence_has_unknown_limits() -> None:
    assert all(math.isnan(end) for end in confidence_limits(0.0, math.nan, NO_NOISE, 10, Z))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 4), (5, 2)])
def test_the_choices_are_all_sets_of_allowed_categories(sizes: tuple[int, ...]) -> None:
    every = [range(1, k + 1) for k in sizes]
    numbers = [0] * 12
    for allowed in itertools.product(*every):
        ways = math.prod(math.comb(k, own) for k, own in zip(sizes, allowed, strict=True))
        numbers[size_of_rule(allowed, sizes)] += ways
    for d, found in enumerate(log_choices(sizes, 2, 4)):
        assert math.exp(found) == pytest.approx(2 * (d + 1) * (d + 2) * max(numbers[d], 1))
    (alone,) = log_choices(sizes, 3, 0)
    assert math.exp(alone) == pytest.approx(2 * 4)


def test_the_errors_of_all_rules_sum_to_that_of_the_level() -> None:
    """Over all sizes: sum of 1 / ((d + 1) (d + 2)) is 1."""
    sizes = [3, 2, 2]
    numbers = [1, 10, 28, 24]
    choices = log_choices(sizes, 2, 3)
    shares = [2 * n * math.exp(-own) for n, own in zip(numbers, choices, strict=True)]
    assert sum(shares) == pytest.approx(1 - 1 / 5)


def test_one_interval_has_the_normal_quantile_and_many_have_a_larger_one() -> None:
    assert deviates(0.95, 0.0) == pytest.approx(norm.ppf(0.975), rel=1e-12)
    assert deviates(0.95, math.log(1000)) == pytest.approx(-norm.ppf(0.025 / 1000), rel=1e-12)
    with pytest.raises(DataError, match="level must lie between 0 and 1"):
        deviates(1.0, 0.0)
