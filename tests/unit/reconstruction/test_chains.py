"""Questions that conditions tie together are estimated together: one number for one share."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    forced,
    reconstruct,
    related,
    truthful,
)
from tacit.core.arrays import Codes
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import SingularChannelError
from tacit.reconstruction import inversion
from tacit.reconstruction.reconstruct import Reconstruction

SCHEMA = Schema(
    [
        Attribute("region", ["north", "south", "east"]),
        Attribute("smokes", ["no", "yes"]),
        Attribute("packs", ["few", "many", DOES_NOT_APPLY]),
        Attribute("age", ["young", "old"]),
        Attribute("brand", ["red", "blue", DOES_NOT_APPLY]),
    ]
)
CHAIN = ["smokes", "packs", "brand"]
ASKED = {"packs": {"smokes": ["yes"]}, "brand": {"packs": ["many"]}}
GROUPS = [
    Group(["smokes"], related("3/4")),
    Group(["packs"], forced("2/3", ["1/3", "1/3", "1/3"])),
    Group(["brand"], related("4/5")),
]
DESIGN = Design(SCHEMA, [*GROUPS, Group(["region", "age"], truthful())], ASKED)


def people(n: int) -> Codes:
    rng = np.random.default_rng(3)
    smokes = rng.random(n) < 0.6
    packs = np.where(smokes, rng.random(n) < 0.5, 2)
    brand = np.where(packs == 1, rng.random(n) < 0.4, 2)
    region, age = rng.integers(0, 3, n), rng.integers(0, 2, n)
    return np.column_stack([region, smokes, packs, age, brand]).astype(np.uint8)


REPORTED = disguise(people(700), DESIGN, np.random.default_rng(4))
FOUND = reconstruct(REPORTED, DESIGN)


def shares_of_many(found: Reconstruction) -> list[float]:
    """The share of people who smoke many packs, from whatever may show it."""
    whole = found.table(CHAIN)
    smokers = float(found.table(["smokes"]).value[1])
    groups = found.table(["region"]).value
    return [
        float(found.table(["packs"]).value[1]),
        float(found.table(["smokes", "packs"]).value[1, 1]),
        float(found.table(["packs", "brand"]).value[1].sum()),
        1 - float(found.table(["brand"]).value[2]),
        float(found.table(["brand", "smokes"]).value[:2].sum()),
        float(whole.value[:, 1].sum()),
        float(found.table(["region", "packs", "age"]).value[:, 1].sum()),
        float(found.table(["age", "brand"]).value[:, :2].sum()),
        float(groups @ found.table(["packs"], given=["region"]).value[:, 1]),
        float(found.probability({"packs": "many"})),
        float(found.probability({"brand": ["red", "blue"]})),
        float(found.probability({"packs": "many", "brand": ["red", "blue"]})),
        float(found.asked("packs").value[1]) * smokers,
        float(found.probability({"packs": "many"}, given={"smokes": "yes"})) * smokers,
        float(found.expectation(lambda label: label == "many", ["packs"])),
    ]


def test_one_share_has_one_number_in_every_table_of_a_chain() -> None:
    numbers = shares_of_many(FOUND)
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-9)
    control = reconstruct(REPORTED, Design(SCHEMA, DESIGN.groups))
    other = [control.table(["packs"]).value[1], 1 - control.table(["brand"]).value[2]]
    assert other[0] != pytest.approx(other[1], abs=0.01), "without conditions they do differ"


def test_its_standard_error_and_interval_are_the_same_too() -> None:
    share = FOUND.probability({"packs": "many"})
    table = FOUND.table(["packs"])
    assert float(share.stderr) == table.stderr[1]
    assert [float(end) for end in share.interval()] == [end[1] for end in table.interval()]
    for own in (FOUND.table(CHAIN), FOUND.table(["packs", "smokes"])):
        axis = [a.name for a in own.attributes].index("packs")
        cells = np.zeros(own.value.shape)
        cells.swapaxes(0, axis)[1] = 1
        variance = cells.ravel() @ own.covariance @ cells.ravel()
        assert np.sqrt(variance) == pytest.approx(table.stderr[1], rel=1e-9)


def test_a_table_is_the_same_in_every_order_of_its_attributes() -> None:
    names = ["region", "packs", "smokes"]
    first = FOUND.table(names)
    for order in permutations(range(3)):
        again = FOUND.table([names[place] for place in order])
        assert again.value == pytest.approx(first.value.transpose(order), abs=1e-12)
        assert again.stderr == pytest.approx(first.stderr.transpose(order), abs=1e-12)


def test_design_weights_do_not_part_the_numbers() -> None:
    weights = np.where(REPORTED[:, 0] == 1, 3.0, 1.0)
    numbers = shares_of_many(reconstruct(REPORTED, DESIGN, weights=weights))
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-9)


def test_the_others_of_a_chain_make_a_single_question_more_precise() -> None:
    for name in CHAIN:
        own, alone = FOUND.table([name]), FOUND.table([name], inversion)
        assert (own.stderr <= alone.stderr + 1e-9).all()
        assert own.stderr.sum() < 0.95 * alone.stderr.sum()


def test_an_undisguised_question_that_others_depend_on_is_counted() -> None:
    groups = [Group(["smokes", "region", "age"], truthful()), *GROUPS[1:]]
    design = Design(SCHEMA, groups, ASKED)
    reported = disguise(people(700), design, np.random.default_rng(4))
    found = reconstruct(reported, design)
    assert found.table(["smokes"]).method == "inversion"
    assert found.table(["smokes"]).value[1] == (reported[:, 1] == 1).mean()
    numbers = shares_of_many(found)
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-9)


def test_questions_of_one_throw_stay_in_the_estimate_of_a_chain() -> None:
    groups = [Group(["smokes", "age"], related("3/4")), *GROUPS[1:], Group(["region"], truthful())]
    design = Design(SCHEMA, groups, ASKED)
    numbers = shares_of_many(reconstruct(REPORTED, design))
    assert numbers == pytest.approx([numbers[0]] * len(numbers), abs=1e-9)


def test_what_people_did_not_answer_is_not_taken_for_an_answer() -> None:
    """A chain in which answers are missing: each table is from the records that have its own."""
    columns = {
        name: [SCHEMA[name].categories[code] for code in REPORTED[:, place]]
        for place, name in enumerate(SCHEMA.names)
    }
    columns["brand"][:300] = [None] * 300
    table = pa.table(columns)
    found = reconstruct(table, DESIGN)
    alone = reconstruct(REPORTED, Design(SCHEMA, DESIGN.groups)).table(["smokes"])
    assert found.table(["smokes"]).value.tolist() == alone.value.tolist()
    assert found.table(["brand"]).n_records == 400
    share = found.difference({"packs": "many"}, between=({"age": "old"}, {"age": "young"}))
    complete = reconstruct(REPORTED, DESIGN).patterns
    assert share.n_records == complete.n_records


def test_missing_answers_elsewhere_do_not_part_a_chain() -> None:
    columns = {
        name: [SCHEMA[name].categories[code] for code in REPORTED[:, place]]
        for place, name in enumerate(SCHEMA.names)
    }
    columns["region"][0] = None
    found = reconstruct(pa.table(columns), DESIGN)
    shares = [found.probability({"packs": "many"}), found.table(["packs", "brand"]).value[1].sum()]
    assert float(shares[0]) == pytest.approx(float(shares[1]), abs=1e-9)
    # Also among the records that have a region.
    pair, triple = (found.table(["region", *names]) for names in (["packs"], ["packs", "brand"]))
    assert pair.value == pytest.approx(triple.value.sum(axis=2), abs=1e-9)


def test_a_chain_of_too_many_combinations_is_estimated_table_by_table() -> None:
    names = [f"q{i}" for i in range(8)]
    schema = Schema(
        [Attribute("first", ["no", "yes"])]
        + [Attribute(name, ["no", "yes", DOES_NOT_APPLY]) for name in names]
    )
    groups = [Group([name], related("4/5")) for name in schema.names]
    design = Design(schema, groups, {name: {"first": ["yes"]} for name in names})
    true = np.zeros((500, 9), np.uint8)
    true[:, 1:] = 2
    found = reconstruct(disguise(true, design, np.random.default_rng(1)), design)
    assert found.table(["q0"]).method == "inversion"
    assert found.table(["first", "q0"]).value[0, 0] == 0


def test_a_question_that_cannot_be_estimated_does_not_stop_the_others_of_its_chain() -> None:
    groups = [*GROUPS[:2], Group(["brand"], related("1/3")), Group(["region", "age"], truthful())]
    found = reconstruct(REPORTED, Design(SCHEMA, groups, ASKED))
    assert found.table(["smokes"]).value.sum() == pytest.approx(1)
    assert found.table(["smokes", "packs"]).value[0, 0] == 0
    with pytest.raises(SingularChannelError, match="brand"):
        found.table(["brand"])
