"""Privacy with conditional questions: the adversary knows which records cannot occur."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.core.arrays import Array
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import DataError
from tacit.privacy import prior, prior_of, report

SMOKES = Attribute("smokes", ["no", "yes"])
PACKS = Attribute("packs", ["few", "many", DOES_NOT_APPLY])
ALONE = Attribute("alone", ["no", "yes"])
ASKED = {"packs": {"smokes": ["yes"]}}


def design(*attributes: Attribute, asked_if: Any = None) -> Design:
    groups = [Group([a.name], related("3/4")) for a in attributes]
    return Design(Schema(attributes), groups, asked_if)


PAIR = design(SMOKES, PACKS, asked_if=ASKED)
UNIFORM = np.array([[0, 0, 1 / 2], [1 / 4, 1 / 4, 0]])


def guessed_right(table: Array, channel: Array, axis: int) -> float:
    """How often the best guess of one attribute is right, from the whole record, by brute force."""
    sizes = table.shape
    total = 0.0
    for reported in range(channel.shape[0]):
        joint = (channel[reported] * table.ravel()).reshape(sizes)
        total += float(joint.sum(axis=1 - axis).max())
    return total


def test_without_a_prior_answers_are_equally_likely_among_those_who_are_asked() -> None:
    assert prior_of(None, PAIR).table(["smokes", "packs"])[:, 0] == pytest.approx(UNIFORM.ravel())
    chain = design(
        SMOKES,
        PACKS,
        Attribute("brand", ["a", "b", DOES_NOT_APPLY]),
        asked_if=ASKED | {"brand": {"packs": ["many"]}},
    )
    table = prior_of(None, chain).table(chain.schema.names)[:, 0].reshape(2, 3, 3)
    assert table[0, 2, 2] == pytest.approx(1 / 2)
    assert table[1, 0, 2] == pytest.approx(1 / 4)
    assert table[1, 1, :2] == pytest.approx(1 / 8)


def test_designs_without_conditions_have_the_prior_they_had() -> None:
    plain = design(SMOKES, PACKS)
    assert [block.names for block in prior_of(None, plain).blocks] == [("smokes",), ("packs",)]


def test_figures_of_the_whole_record_are_those_of_an_adversary_who_knows_the_zeros() -> None:
    found = report(PAIR)
    channel = PAIR.channel(["smokes", "packs"]).matrix
    for axis, name in enumerate(PAIR.schema.names):
        exact = guessed_right(UNIFORM, channel, axis)
        assert 1 - found.map_privacy.attributes[name] == pytest.approx(exact, abs=1e-9)
    # The own report alone would understate the risk.
    assert 1 - found.map_privacy.attributes["smokes"] > 0.81
    assert found.attributes["smokes"].alone.accuracy == pytest.approx(0.75)
    # And whoever knows the packs of somebody knows whether she smokes.
    known = found.knowing_others["smokes"]
    assert known is not None
    assert known.worst_posterior == pytest.approx(1)


def test_the_bound_for_any_dependence_holds_for_structural_zeros() -> None:
    found = report(PAIR)
    for name, held in found.disclosure.attributes.items():
        assert held.accuracy is not None, name
        assert held.bound is not None, name
        assert held.accuracy <= held.bound + 1e-9


def test_sentences_say_what_is_assumed() -> None:
    told = " ".join(report(PAIR).sentences)
    assert "if both answers were equally common)" in told
    assert "if both answers were equally common among those who are asked)" in told


def test_margins_become_the_table_that_has_them_and_the_zeros() -> None:
    prior = prior_of({"smokes": [0.7, 0.3], "packs": [0.2, 0.1, 0.7]}, PAIR)
    expected = [[0, 0, 0.7], [0.2, 0.1, 0]]
    assert prior.table(["smokes", "packs"])[:, 0] == pytest.approx(np.ravel(expected), abs=1e-6)
    assert prior.ties_all


BRAND = Attribute("brand", ["red", "blue", DOES_NOT_APPLY])
#: Two questions for smokers.
BOTH = design(SMOKES, PACKS, BRAND, asked_if=ASKED | {"brand": {"smokes": ["yes"]}})


@pytest.mark.parametrize("prior", [None, {"smokes": [0.5, 0.5], "packs": [1 / 4, 1 / 4, 1 / 2]}])
def test_what_conditions_leave_open_is_not_known(prior: Any) -> None:
    """Heavy smokers who all smoke one brand: a whole record reveals more than unrelated answers."""
    found = report(BOTH, prior and {**prior, "brand": prior["packs"]})
    alike = np.zeros((2, 3, 3))
    alike[0, 2, 2], alike[1, 0, 0], alike[1, 1, 1] = 1 / 2, 1 / 4, 1 / 4
    channel = BOTH.channel(BOTH.schema.names).matrix
    right = float((channel * alike.ravel()).max(axis=1).sum())
    assert right > found.record.from_record.accuracy + 0.02
    held = found.disclosure.record
    assert held.accuracy is None
    assert held.bound is not None
    assert held.bound >= right
    assert found.map_privacy.attributes["packs"] is None
    assert "how the answers of those who are asked go together is not known" in found.basis()
    # What follows from the conditions alone is known.
    known = found.knowing_others["smokes"]
    assert known is not None
    assert known.worst_posterior == pytest.approx(1)


def test_a_joint_table_says_how_answers_go_together() -> None:
    """Negative control of the test above, and so does a chain, whatever its margins."""
    alike = np.zeros((2, 3, 3))
    alike[0, 2, 2], alike[1, 0, 0], alike[1, 1, 1] = 1 / 2, 1 / 4, 1 / 4
    assert report(BOTH, alike).disclosure.attributes["packs"].accuracy is not None
    chain = design(SMOKES, PACKS, BRAND, asked_if=ASKED | {"brand": {"packs": ["many"]}})
    assert prior_of(None, chain).ties_all


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        ({"smokes": [0.7, 0.3], "packs": [0.2, 0.2, 0.6]}, "contradict their conditions"),
        (np.full((2, 3), 1 / 6), "records that cannot occur: smokes no, packs few"),
    ],
)
def test_a_prior_that_contradicts_the_conditions_is_refused(prior: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        prior_of(prior, PAIR)


def test_an_estimated_prior_has_the_zeros() -> None:
    three = design(SMOKES, PACKS, ALONE, asked_if=ASKED)
    rng = np.random.default_rng(3)
    smokes = rng.random(2000) < 0.4
    true = np.column_stack([smokes, np.where(smokes, rng.integers(0, 2, 2000), 2), smokes])
    found = reconstruct(disguise(true.astype(np.uint8), three, rng), three)
    prior = prior_of(found, three)
    tables = prior.table(["smokes", "packs"]).reshape(2, 3, -1)
    for smoker, packs in itertools.product(range(2), range(3)):
        impossible = (smoker == 1) == (packs == 2)
        assert (tables[smoker, packs].max() < 1e-9) == impossible


def test_tables_too_large_to_tie_leave_what_rests_on_them_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prior, "MAX_TIED", 4)
    found = report(PAIR)
    assert found.knowing_others == {"smokes": None, "packs": None}
    assert found.map_privacy.attributes["smokes"] is None


def test_models_of_reported_records_know_the_zeros() -> None:
    three = design(SMOKES, PACKS, ALONE, asked_if=ASKED)
    rng = np.random.default_rng(3)
    smokes = rng.random(2000) < 0.4
    true = np.column_stack([smokes, np.where(smokes, rng.integers(0, 2, 2000), 2), smokes])
    found = reconstruct(disguise(true.astype(np.uint8), three, rng), three)
    known = report(three, found).knowing_others["smokes"]
    assert known is not None
    assert known.interval("map_privacy")[1] < 1e-9, "packs tell who smokes"
    # Negative control: without the condition in the design it is only estimated.
    blind = design(SMOKES, PACKS, ALONE)
    plain = report(blind, reconstruct(found.patterns, blind)).knowing_others["smokes"]
    assert plain is not None
    assert plain.interval("map_privacy")[1] > 0.02
