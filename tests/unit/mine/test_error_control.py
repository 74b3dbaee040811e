from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tacit.errors import DataError
from tacit.mine import FalseDiscovery, FamilyWise, PlainThreshold
from tacit.mine.error_control import ThresholdTests, shares_of_lengths


def of_p_values(p_values: list[float]) -> ThresholdTests:
    """Some of four possible tests."""
    z = norm.isf(p_values)
    noise, skewness = np.ones(len(z)), np.zeros(len(z))
    return ThresholdTests(np.array(z), noise, skewness, np.full(len(z), 1 / 4), 4)


def test_family_wise_is_bonferroni_over_all_possible_tests() -> None:
    found = FamilyWise(0.05).accepted(of_p_values([0.0124, 0.0126, 0.001]))
    assert found.tolist() == [True, False, True]


def test_false_discovery_is_benjamini_yekutieli_if_all_tests_are_made() -> None:
    """Steps at r * .05 / (4 * (1 + 1/2 + 1/3 + 1/4)): .006, .012, .018, .024."""
    step = 0.05 / (4 * (1 + 1 / 2 + 1 / 3 + 1 / 4))
    p_values = [0.9 * step, 2.5 * step, 2.9 * step, 4.1 * step]
    assert FalseDiscovery(0.05).accepted(of_p_values(p_values)).tolist() == [True] * 3 + [False]
    assert not FalseDiscovery(0.05).accepted(of_p_values([1.1 * step] * 1)).any()


def test_what_was_accepted_before_makes_further_tests_milder() -> None:
    tests = of_p_values([0.011])
    assert not FalseDiscovery(0.05).accepted(tests).any()
    assert FalseDiscovery(0.05).accepted(tests, before=1).all()
    assert not FalseDiscovery(0.05).accepted(of_p_values([0.03]), before=10**9).any()


def test_a_plain_threshold_ignores_noise() -> None:
    tests = ThresholdTests(np.array([-0.1, 0.0, 0.1]), np.ones(3), np.zeros(3), np.ones(3), 3)
    assert PlainThreshold().accepted(tests).tolist() == [False, True, True]


def test_without_noise_only_what_is_above_the_threshold_is_accepted() -> None:
    tests = ThresholdTests(
        np.array([-0.1, 0.0, 0.1]), np.zeros(3), np.zeros(3), np.full(3, 1 / 3), 3
    )
    assert tests.p_values.tolist() == [1.0, 1.0, 0.0]
    assert FalseDiscovery().accepted(tests).tolist() == [False, False, True]


def test_skewness_to_the_left_makes_tests_stricter_and_keeps_their_order() -> None:
    """A tenth: z = 3 becomes 3 - .1 (9/3 + 1/6) + .01 27/27 = 2.693."""
    z = np.linspace(0, 60, 601)
    plain, left, right = (
        ThresholdTests(z, np.ones(601), np.full(601, skewness), np.ones(601), 601).p_values
        for skewness in (0.0, -0.1, 0.1)
    )
    assert (plain == right).all()
    assert (left >= plain).all()
    assert (np.diff(left) <= 0).all()
    assert norm.isf(left[30]) == pytest.approx(3 - 0.1 * (3 + 1 / 6) + 0.01, abs=1e-9)


@pytest.mark.parametrize("longest", [1, 2, 7])
def test_the_shares_of_all_sets_sum_to_1(longest: int) -> None:
    numbers = [1, 7, 21, 35, 35, 21, 7, 1]
    shares = shares_of_lengths(range(1, longest + 1), numbers)
    assert sum(share * numbers[k] for k, share in shares.items()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("error", [0, 1, -0.1, "0.05", True, float("nan")])
@pytest.mark.parametrize("kind", [FalseDiscovery, FamilyWise])
def test_an_error_rate_lies_between_0_and_1(kind: type, error: object) -> None:
    with pytest.raises(DataError, match="error must lie between 0 and 1"):
        kind(error)
