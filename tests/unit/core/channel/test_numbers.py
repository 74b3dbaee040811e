"""Exact parameters, and logarithms that are never rounded down."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.channel.numbers import fraction, log_up, probabilities, probability
from tacit.errors import DesignError


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.7, Fraction(7, 10)),
        (1e-20, Fraction(1, 10**20)),
        ("1/6", Fraction(1, 6)),
        (" 0.25 ", Fraction(1, 4)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(1), Fraction(1)),
        (1, Fraction(1)),
    ],
    ids=repr,
)
def test_a_number_is_the_decimal_or_fraction_it_prints_as(value: object, exact: Fraction) -> None:
    assert fraction(value, "x") == exact


@pytest.mark.parametrize("value", [None, "x", True, [0.5], "1/0", float("nan"), float("inf"), 1j])
def test_what_is_no_number_is_an_error_that_names_it(value: object) -> None:
    with pytest.raises(DesignError, match="theta must be a number"):
        probability(value, "theta")


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12))
def test_floats_that_sum_to_one_but_for_rounding_are_stored_so_that_they_do(
    weights: list[float],
) -> None:
    given_floats = (np.array(weights) / np.sum(weights)).tolist()
    stored = probabilities(given_floats, "y")
    assert sum(stored) == 1
    assert max(abs(float(s) - g) for s, g in zip(stored, given_floats, strict=True)) < 1e-9


@pytest.mark.parametrize(
    "values", [["1/3", "1/3"], [0.5, 0.4999], [], [Fraction(1, 2)], [0.6, 0.6]]
)
def test_what_does_not_sum_to_one_is_an_error(values: list[object]) -> None:
    with pytest.raises(DesignError, match="must sum to 1"):
        probabilities(values, "y")


@given(st.fractions(min_value=1, max_value=10**12).filter(lambda r: r > 1))
def test_a_logarithm_is_the_smallest_float_that_is_not_below(ratio: Fraction) -> None:
    with localcontext() as context:
        context.prec = 90
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        assert Decimal(log_up(ratio)) >= exact
        assert Decimal(math.nextafter(log_up(ratio), 0)) < exact


@pytest.mark.parametrize("digits", [30, 70, 400])
def test_a_ratio_of_almost_one_is_never_rounded_to_no_privacy_loss(digits: int) -> None:
    ratio = 1 + Fraction(1, 10**digits)
    with localcontext() as context:
        context.prec = 2 * digits + 60
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        assert Decimal(log_up(ratio)) >= exact > 0


def test_a_huge_ratio_has_a_finite_logarithm_and_none_an_infinite_one() -> None:
    assert log_up(Fraction(10**400)) == pytest.approx(400 * math.log(10))
    assert log_up(None) == math.inf
    assert log_up(Fraction(1)) == 0
