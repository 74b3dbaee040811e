"""Scrambling by cards of a few whole numbers, as a family of designs and surveys."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.errors import TacitError
from tacit.quantitative import Scrambling, additive, as_matrix, mean, square_wave
from tests.support.scramblings import SCRAMBLINGS, TRUE, law

CARDS = {name: own for name, own in SCRAMBLINGS.items() if name != "square_wave"}


@pytest.mark.parametrize("name", CARDS)
def test_every_column_has_the_exact_probabilities_of_the_reports(name: str) -> None:
    coin = as_matrix(CARDS[name], TRUE)
    assert coin.labels is not None
    reports = [Fraction(str(label)) for label in coin.labels.categories]
    assert reports == sorted(reports)
    for x, column in zip(TRUE, coin.columns, strict=True):
        own = law(CARDS[name], x)
        assert list(column) == [own.get(report, Fraction(0)) for report in reports]


def _design(cards: Scrambling) -> Design:
    attribute = Attribute("hours", range(5))
    return Design(Schema([attribute]), [Group(["hours"], as_matrix(cards, range(5)))])


def test_means_of_categories_and_of_numbers_agree_within_their_errors() -> None:
    """The matrix is estimated by least squares, which is not worse than the mean of the sums."""
    cards, rng = additive([-1, 0, 1]), np.random.default_rng(5)
    design = _design(cards)
    true = rng.integers(0, 5, (4000, 1)).astype(np.uint8)
    reported = disguise(true, design, rng)
    labels = np.array([float(str(label)) for label in design.reported["hours"].categories])
    found = reconstruct(reported, design).expectation(float, ["hours"])
    plain = mean(labels[reported[:, 0]], cards)
    assert float(found.stderr) <= 1.001 * float(plain.stderr)
    assert abs(float(found) - true.mean()) < 5 * float(found.stderr)
    assert abs(float(found) - float(plain)) < 5 * float(plain.stderr)


@pytest.mark.parametrize(
    ("scrambling", "numbers", "message"),
    [
        (square_wave(1, 0, 10), range(5), "square_wave is not for cards"),
        (additive([0, 1]), [3], "at least two different numbers"),
        (additive([0, 1]), [3, 3], "at least two different numbers"),
        (additive([0, 1]), ["x", 1], "numbers: a number"),
        (additive([0, 1]), range(300), "301 different reports are possible"),
        (SCRAMBLINGS["eriksson, listed"], [0, 7], "7 in place 1 is not on the list"),
        (None, range(5), "scrambling must be one of"),
    ],
)
def test_a_mistake_is_one_clear_error(scrambling: Any, numbers: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        as_matrix(scrambling, numbers)
