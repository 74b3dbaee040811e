"""Expected widths of intervals against closed forms and against the estimates themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    christofides,
    crosswise,
    forced,
    kuk,
    mangat,
    matrix,
    related,
    truthful,
)
from tacit.core.channel import Coin
from tacit.errors import DataError
from tacit.reconstruction import reconstruct
from tacit.survey import widths

FLAG = Attribute("a", ["no", "yes"])
THREE = Attribute("a", ["x", "y", "z"])


def of(attribute: Attribute, coin: Coin) -> Design:
    return Design(Schema([attribute]), [Group(["a"], coin)])


def test_without_disguise_it_is_the_binomial_error() -> None:
    (width,) = widths(of(FLAG, truthful()), 400)
    assert (width.at_tenth, width.at_half, width.worst) == pytest.approx((0.015, 0.025, 0.025))
    assert width.half(width.at_half) == pytest.approx(0.025 * 1.959963984540054)


@pytest.mark.parametrize("coin", [related("5/6"), crosswise("1/4")])
def test_warner_has_its_own_formula(coin: Coin) -> None:
    """Var = p(1-p)/n + theta(1-theta)/(n (2 theta - 1)^2), Warner (1965)."""
    theta = 5 / 6 if coin == related("5/6") else 1 / 4
    extra = theta * (1 - theta) / (2 * theta - 1) ** 2
    (width,) = widths(of(FLAG, coin), 1000)
    assert width.at_tenth == pytest.approx(math.sqrt((0.09 + extra) / 1000))
    assert width.worst == width.at_half == pytest.approx(math.sqrt((0.25 + extra) / 1000))


SKEW = matrix([["7/10", "1/10", "1/5"], ["1/5", "4/5", "1/5"], ["1/10", "1/10", "3/5"]])


@pytest.mark.parametrize("coin", [related(0.6), forced(0.5, ["1/6", "1/3", "1/2"]), SKEW])
def test_no_true_distribution_has_a_larger_error_than_the_worst(coin: Coin) -> None:
    design, n = of(THREE, coin), 10**6
    (width,) = widths(design, n)
    channel = design.channel(["a"]).factors[0].channel.matrix
    assert width.worst is not None
    found = []
    for p in np.random.default_rng(3).dirichlet([0.5] * 3, 200):
        expected = channel @ p
        weights = np.linalg.inv(channel)
        found.append(np.sqrt((weights**2 @ expected - p**2) / n).max())
    assert max(found) <= width.worst * (1 + 1e-12)
    assert max(found) > 0.9 * width.worst


def test_the_estimate_has_the_error_that_was_planned() -> None:
    """At expected counts, the standard error of the estimate is the one planned."""
    design = of(FLAG, related("3/4"))
    reported = np.repeat([[0], [1]], [7000, 3000], axis=0)  # what p(yes) = .1 leads to
    table = reconstruct(reported, design).table(["a"])
    assert table.value[1] == pytest.approx(0.1)
    assert widths(design, 10_000)[0].at_tenth == pytest.approx(table.stderr[1])


def test_what_has_no_inverse_of_its_own_is_not_known() -> None:
    tall = [["1/2", "0", "0"], ["0", "1/2", "0"], ["0", "0", "1/2"], ["1/2"] * 3]
    (width,) = widths(of(THREE, matrix(tall)), 10)
    assert (width.worst, width.at_tenth, width.at_half) == (None, None, None)
    assert width.half(width.worst) is None


@pytest.mark.parametrize(
    "coin", [kuk("4/5", "1/5", 3), christofides(["1/2", "1/3", "1/6"]), mangat("2/3")]
)
def test_the_error_of_numbered_reports_is_the_one_planned(coin: Coin) -> None:
    """At expected counts; generalised least squares adds half a record per answer."""
    design = of(FLAG, coin)
    counts = 9_000_000 * (design.channel(["a"]).matrix @ [0.9, 0.1])
    reported = np.repeat(np.arange(len(counts)), np.rint(counts / 10).astype(int))[:, None]
    table = reconstruct(reported, design).table(["a"])
    assert table.value[1] == pytest.approx(0.1, abs=1e-5)
    (width,) = widths(design, len(reported))
    assert width.at_tenth == pytest.approx(table.stderr[1], rel=1e-4)
    assert width.worst is not None
    assert width.at_half is not None
    assert width.worst >= width.at_half


@pytest.mark.parametrize("respondents", [0, -5, 1.5, True])
def test_respondents_are_a_whole_number(respondents: int) -> None:
    with pytest.raises(DataError, match="whole number from 1"):
        widths(of(FLAG, truthful()), respondents)
