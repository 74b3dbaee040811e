"""Published estimators and variances of the named families, beside their source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    christofides,
    forced,
    kuk,
    mangat,
    mangat_singh,
    reconstruct,
    related,
    triangular,
)
from tacit.core.channel import Coin
from tacit.reconstruction import em
from tests.support.tables import brute_force

FLAG = Attribute("a", ["no", "yes"])


def of(coin: Coin) -> Design:
    return Design(Schema([FLAG]), [Group(["a"], coin)])


def estimated(coin: Coin, counts: list[int], **method: Any) -> tuple[float, float]:
    """Share of yes and its standard error from counts of reports."""
    records = np.repeat(np.arange(len(counts)), counts)[:, None]
    found = reconstruct(records, of(coin)).table(["a"], **method)
    return float(found.value[1]), float(found.stderr[1])


def published(pi: float, n: int, extra: float) -> tuple[float, float]:
    """All of these papers write the variance as pi (1 - pi) / n plus what the disguise adds."""
    return pi, math.sqrt(pi * (1 - pi) / n + extra / n)


def test_mangat() -> None:
    """Mangat (1994): pi = (lambda - 1 + p) / p, V = pi (1-pi)/n + (1-pi)(1-p)/(n p)."""
    p, n, yes = 0.7, 1000, 460
    pi = (yes / n - 1 + p) / p
    wanted = published(pi, n, (1 - pi) * (1 - p) / p)
    assert estimated(mangat("0.7"), [n - yes, yes]) == pytest.approx(wanted)


def test_mangat_and_singh() -> None:
    """Mangat & Singh (1990), q = (1-T)(1-p): pi = (lambda - q)/(1-2q), V adds q(1-q)/(1-2q)^2."""
    truth, p, n, yes = 0.3, 0.8, 1000, 300
    q = (1 - truth) * (1 - p)
    wanted = published((yes / n - q) / (1 - 2 * q), n, q * (1 - q) / (1 - 2 * q) ** 2)
    assert estimated(mangat_singh("0.3", "0.8"), [n - yes, yes]) == pytest.approx(wanted)


def test_triangular() -> None:
    """Yu, Tian & Tang (2008): pi = (s/n - p)/(1-p), V = pi (1-pi)/n + (1-pi) p/(n (1-p))."""
    p, n, triangle = 0.25, 800, 310
    pi = (triangle / n - p) / (1 - p)
    wanted = published(pi, n, (1 - pi) * p / (1 - p))
    assert estimated(triangular("1/4"), [n - triangle, triangle]) == pytest.approx(wanted)


def test_kuk_with_one_card() -> None:
    """Kuk (1990): pi = (r - t2)/(t1 - t2), V = phi (1-phi)/(n (t1-t2)^2), phi the share of red."""
    n, red = 412, 171
    pi = (red / n - 0.2) / 0.6
    wanted = pi, math.sqrt(red / n * (1 - red / n) / n) / 0.6
    assert estimated(kuk("0.8", "0.2"), [n - red, red]) == pytest.approx(wanted)


@pytest.mark.parametrize("cards", [2, 3, 5])
def test_kuk_with_several_cards_is_not_worse_than_the_mean_of_red_cards(cards: int) -> None:
    """RRTCS 0.0.4, Kuk: r = (f/k - p2)/(p1 - p2), V(r) = b r + c, b = (1-p1-p2)/(k (p1-p2)),
    c = p2 (1-p2)/(k (p1-p2)^2); the mean of r has variance pi (1-pi)/n + (b pi + c)/n.

    tacit weighs the whole distribution of the number, which has at most that variance.
    """
    p1, p2, pi, n = 0.8, 0.3, 0.3, 100_000
    coin = kuk("0.8", "0.3", cards)
    expected = n * (of(coin).channel(["a"]).matrix @ [1 - pi, pi])
    b, c = (1 - p1 - p2) / (cards * (p1 - p2)), p2 * (1 - p2) / (cards * (p1 - p2) ** 2)
    value, stderr = estimated(coin, np.rint(expected).astype(int).tolist())
    _, of_means = published(pi, n, b * pi + c)
    assert value == pytest.approx(pi, abs=1e-4)
    assert 0.9 * of_means < stderr < of_means


def test_christofides() -> None:
    """Christofides (2003): pi = (mean - E D)/(L + 1 - 2 E D), V adds Var D/(L + 1 - 2 E D)^2.

    With L = 2 it is the same estimate; with more numbers tacit weighs their whole distribution.
    """
    n, twos = 1000, 430
    mean = 1 + twos / n
    expected, variance = 1.25, 0.1875
    pi = (mean - expected) / (3 - 2 * expected)
    wanted = published(pi, n, variance / (3 - 2 * expected) ** 2)
    assert estimated(christofides(["3/4", "1/4"]), [n - twos, twos]) == pytest.approx(wanted)
    law, pi = np.array([0.5, 0.3, 0.15, 0.05]), 0.2
    coin = christofides(["0.5", "0.3", "0.15", "0.05"])
    counts = np.rint(100_000 * (of(coin).channel(["a"]).matrix @ [1 - pi, pi])).astype(int)
    numbers = np.arange(1, 5)
    first = law @ numbers
    of_means = published(pi, 100_000, (law @ numbers**2 - first**2) / (5 - 2 * first) ** 2)[1]
    value, stderr = estimated(coin, counts.tolist())
    assert value == pytest.approx(pi, abs=1e-4)
    assert 0.9 * of_means < stderr < of_means


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (mangat("0.7"), forced("0.7", [0, 1])),
        (triangular("0.3"), forced("0.7", [0, 1])),
        (triangular("0.3"), mangat("0.7")),
        (mangat_singh("0.3", "0.8"), related("0.86")),
        (kuk("0.8", "0.2"), related("0.8")),
        (christofides(["0.8", "0.2"]), related("0.8")),
    ],
    ids=str,
)
def test_families_that_are_one_channel_under_two_names(first: Coin, second: Coin) -> None:
    assert (brute_force(first, (FLAG,)) == brute_force(second, (FLAG,))).all()
    one, other = (coin.channel((FLAG,)) for coin in (first, second))
    assert one.epsilon == other.epsilon
    assert one.overlap == other.overlap
    counts = [620, 380]
    assert estimated(first, counts) == pytest.approx(estimated(second, counts))
    assert estimated(first, counts, method=em) == pytest.approx(
        estimated(second, counts, method=em)
    )


@pytest.mark.parametrize("coin", [mangat("0.7"), triangular("0.3")], ids=str)
def test_an_answer_that_only_one_truth_can_send_has_no_epsilon(coin: Coin) -> None:
    """A reported no is certainly true."""
    assert coin.channel((FLAG,)).epsilon == math.inf
    assert brute_force(coin, (FLAG,))[0, 1] == 0


def test_epsilon_of_kuk_is_that_of_a_card_times_their_number() -> None:
    for cards in (1, 2, 3):
        assert kuk("0.8", "0.2", cards).channel((FLAG,)).epsilon == pytest.approx(
            cards * math.log(4)
        )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kuk(1, 0), "mix red and black cards"),
        (lambda: kuk("1/2", "1/3", 0), "cards must be a whole number from 1 to 50"),
        (lambda: kuk("1/2", "1/3", True), "cards must be a whole number from 1 to 50"),
        (lambda: kuk("1/2", 1.2), "kuk: red_no must lie between 0 and 1"),
        (lambda: christofides([1]), "at least two numbers"),
        (lambda: christofides(["1/2", 0, "1/2"]), "never leads to the report 2"),
        (lambda: christofides(["1/2", "1/3"]), "christofides: distribution must sum to 1"),
        (lambda: mangat(2), "mangat: p must lie between 0 and 1"),
        (lambda: mangat_singh("x", 1), "mangat_singh: truth must be a number"),
        (lambda: triangular(-1), "triangular: p must lie between 0 and 1"),
        (lambda: of_two(mangat("0.7")), "mangat needs a group of one attribute with two"),
        (lambda: of_two(kuk("1/2", "1/3")), "kuk needs a group of one attribute with two"),
    ],
)
def test_bad_parameters_are_refused(make: Any, said: str) -> None:
    with pytest.raises(Exception, match=said):
        make()


def of_two(coin: Coin) -> Design:
    attributes = [FLAG, Attribute("b", ["no", "yes"])]
    return Design(Schema(attributes), [Group(["a", "b"], coin)])
