"""Several waves: every one draws anew, and what they reveal together is stated."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit import Design, related, uniform_perturbation
from tacit.core.bounds import DesignReports
from tacit.core.channel import Coin
from tacit.core.design import Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import SurveyError
from tacit.survey import Published, survey_from_dict
from tacit.survey.disclosure_bound import disclosure_bound, understates, waves_sentence

#: SHA-256 of the survey below as it was published before surveys could have waves.
BEFORE = "97c16621a4b8850d673d50994afdda036e67a0f26a1a638fa432b8e51f277a3f"
#: The coins of the table in decision 0056, and how many answers there are.
COINS: dict[str, tuple[Coin, int]] = {
    "related 7/10": (related("7/10"), 2),
    "related 4/5": (related("4/5"), 2),
    "uniform 1/2": (uniform_perturbation("1/2"), 4),
}
CHANGED = Fraction(1, 10)


def survey(**more: Any) -> Any:
    return survey_from_dict(
        {
            "title": "Smoking",
            "questions": [{"name": "a", "kind": "yes_no", "text": "Do you smoke?"}],
            "groups": [{"questions": ["a"], "family": "related", "theta": "7/10"}],
            **more,
        }
    )


def design_of(coin: Coin, size: int) -> Design:
    return Design(Schema([Attribute("a", list(range(size)))]), [Group(["a"], coin)])


def matrix_of(coin: Coin, size: int) -> list[list[Fraction]]:
    """P(reported | true), exactly, by reported and true answer."""
    channel = coin.channel([Attribute("a", list(range(size)))])
    entries = np.asarray(channel.matrix)
    return [[Fraction(float(p)).limit_denominator(1000) for p in row] for row in entries]


def test_a_survey_without_waves_is_published_as_before() -> None:
    assert hashlib.sha256(Published(survey()).to_json().encode()).hexdigest() == BEFORE


@pytest.mark.parametrize("waves", [1, 0, -2, 25, 1.5, "2", True])
def test_waves_are_a_whole_number_from_2(waves: object) -> None:
    with pytest.raises(SurveyError, match="waves"):
        survey(waves=waves)


def test_waves_change_the_survey_but_not_its_design() -> None:
    once, twice = Published(survey()), Published(survey(waves=2))
    assert once.fingerprint == twice.fingerprint
    assert once.survey.fingerprint != twice.survey.fingerprint
    assert Published.from_json(twice.to_json()).to_json() == twice.to_json()
    assert twice.survey.terms == once.survey.terms


def test_the_published_bound_counts_all_waves() -> None:
    """At related 7/10 two equal reports make an answer .49 / (.49 + .09) likely."""
    bound = Published(survey(waves=2)).disclosure_bound
    assert bound["waves"] == 2
    assert bound["attributes"]["a"]["disguised"] == {"guess": 0.7, "certainty": 0.845}
    thrice = Published(survey(waves=3)).disclosure_bound["attributes"]["a"]["disguised"]
    assert thrice == {"guess": 0.784, "certainty": 0.928}


def test_a_bound_of_one_wave_does_not_pass_for_that_of_several() -> None:
    made = Published(survey(waves=2))
    assert not understates(made.disclosure_bound, made.design, 2)
    assert understates(disclosure_bound(made.design), made.design, 2)


def test_the_sentence_states_all_waves_and_one() -> None:
    said = waves_sentence(survey().design, 2)
    assert "The same people answer 2 times, and chance decides anew each time." in said
    assert "at most 70 of 100 cases and is at most 85 % sure (one wave: 70 and 70 %)" in said
    assert "Epsilon of an answer is at most 1.70 (one wave: 0.85)." in said
    open_only = survey(questions=[{"name": "a", "kind": "yes_no", "text": "?", "sensitive": False}],
                       groups=[])  # fmt: skip
    assert "no answer is disguised" in waves_sentence(open_only.design, 2)


@pytest.mark.parametrize("name", COINS)
@pytest.mark.parametrize("waves", [2, 3])
def test_no_adversary_beats_the_bound_whatever_changes_between_waves(name: str, waves: int) -> None:
    """Random distributions of how answers change, and the one in which they never do."""
    coin, size = COINS[name]
    matrix = np.array(matrix_of(coin, size), dtype=float)
    bound = DesignReports(design_of(coin, size), waves=waves).bound("a")
    rng = np.random.default_rng(0)
    stay = np.eye(size)
    most = 0.0
    for step in (stay, *(rng.dirichlet(np.ones(size) * 0.2, size).T for _ in range(20))):
        later = matrix @ step  # P(later report | first answer)
        joint = np.full((1, size), 1 / size)
        for likelihood in (matrix, *[later] * (waves - 1)):
            joint = (joint[:, None, :] * likelihood[None, :, :]).reshape(-1, size)
        accuracy = joint.max(axis=1).sum()
        certainty = (joint / joint.sum(axis=1, keepdims=True)).max()
        assert accuracy <= bound.accuracy
        assert certainty <= bound.worst_posterior
        most = max(most, accuracy)
    assert most > 0.99 * bound.accuracy or size > 2, "for two answers the bound is reached"


# What a keyed draw would reveal: the numbers of decision 0056 -------------------------------------


def pair(name: str, keyed: bool) -> dict[tuple[int, int, int, int], Fraction]:
    """P(reports | answers) of two waves, by (report, report, answer, answer)."""
    coin, size = COINS[name]
    m = matrix_of(coin, size)
    both = {}
    for r, s, x, y in product(range(size), repeat=4):
        new = m[r][x] * m[s][y]
        both[r, s, x, y] = (m[r][x] if r == s else Fraction(0)) if keyed and x == y else new
    return both


def certainty_unchanged(name: str, keyed: bool) -> Fraction:
    """The largest probability of an answer that did not change, given both reports."""
    size, both = COINS[name][1], pair(name, keyed)
    found = Fraction(0)
    for r, s in product(range(size), repeat=2):
        shares = [both[r, s, x, x] for x in range(size)]
        if sum(shares):
            found = max(found, max(shares) / sum(shares))
    return found


def certainty_of_change(name: str, keyed: bool) -> Fraction:
    """How sure two different reports make that the answer changed; before, it was 1/10."""
    size, both = COINS[name][1], pair(name, keyed)
    differ = {True: Fraction(0), False: Fraction(0)}
    for (r, s, x, y), likelihood in both.items():
        if r != s:
            prior = CHANGED / (size * (size - 1)) if x != y else (1 - CHANGED) / size
            differ[x != y] += prior * likelihood
    return differ[True] / (differ[True] + differ[False])


def revealed_by_the_secret(name: str) -> Fraction:
    """How often the secret of a keyed draw and one report leave a single possible answer."""
    coin, size = COINS[name]
    m = matrix_of(coin, size)
    found = Fraction(0)
    for drawn in product(range(size), repeat=size):  # the report for each answer
        chance = Fraction(1)
        for answer, report in enumerate(drawn):
            chance *= m[report][answer]
        found += chance * sum(drawn.count(report) == 1 for report in drawn) / size
    return found


@pytest.mark.parametrize(
    ("name", "unchanged", "change", "epsilon", "secret"),
    [
        ("related 7/10", (".70", ".85"), ".14", "1.70", ".58"),
        ("related 4/5", (".80", ".95"), ".20", "2.78", ".68"),
        ("uniform 1/2", (".63", ".90"), ".14", "3.22", ".53"),
    ],
)
def test_a_draw_keyed_by_a_secret_would_reveal_for_certain_what_new_draws_do_not(
    name: str, unchanged: tuple[str, str], change: str, epsilon: str, secret: str
) -> None:
    """The table of decision 0056, rounded up."""
    keyed, new = (certainty_unchanged(name, way) for way in (True, False))
    assert (rounded_up(keyed), rounded_up(new)) == unchanged
    assert certainty_of_change(name, True) == 1
    assert rounded_up(certainty_of_change(name, False)) == change
    assert rounded_up(revealed_by_the_secret(name)) == secret
    assert f"Epsilon of an answer is at most {epsilon} " in waves_sentence(
        design_of(*COINS[name]), 2
    )
    assert any(not p for p in pair(name, True).values()), "no finite epsilon"
    assert all(pair(name, False).values())


def rounded_up(share: Fraction) -> str:
    return f"{-(-100 * share.numerator // share.denominator) / 100:.2f}".removeprefix("0")
