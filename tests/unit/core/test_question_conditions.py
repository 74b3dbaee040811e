"""Conditions between questions: what they exclude, and how true records are filled in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.core.conditions import DOES_NOT_APPLY, impossible_cells, linked_parts
from tacit.errors import DataError, DesignError

BLANK = DOES_NOT_APPLY
SMOKES = Attribute("smokes", ["no", "yes"])
PACKS = Attribute("packs", ["few", "many", BLANK])
BRAND = Attribute("brand", ["a", "b", BLANK])
REGION = Attribute("region", ["north", "south"])
SCHEMA = Schema([SMOKES, PACKS, BRAND, REGION])
#: A chain: brand is asked of those who smoke many packs.
CHAIN = {"packs": {"smokes": ["yes"]}, "brand": {"packs": ["many"]}}


def design(asked_if: Any = None, schema: Schema = SCHEMA) -> Design:
    return Design(schema, [Group([name], related("4/5")) for name in schema.names], asked_if)


def cells(asked_if: Any, *names: str) -> set[tuple[str, ...]]:
    """The cells of a table that cannot occur, by their labels."""
    schema = SCHEMA.subset(names)
    found = impossible_cells(design(asked_if).conditions, schema)
    if found is None:
        return set()
    return {
        tuple(str(schema[n].categories[c]) for n, c in zip(names, cell, strict=True))
        for cell in np.argwhere(found)
    }


def test_an_answer_is_impossible_where_the_condition_fails_and_no_answer_where_it_holds() -> None:
    assert cells({"packs": {"smokes": "yes"}}, "smokes", "packs") == {
        ("no", "few"),
        ("no", "many"),
        ("yes", BLANK),
    }


def test_the_order_of_the_attributes_does_not_matter() -> None:
    there = cells({"packs": {"smokes": "yes"}}, "smokes", "packs")
    assert cells({"packs": {"smokes": "yes"}}, "packs", "smokes") == {(b, a) for a, b in there}


def test_with_half_of_a_condition_only_answers_can_be_excluded() -> None:
    both = {"brand": {"smokes": ["yes"], "packs": ["few", "many"]}}
    assert cells(both, "smokes", "brand") == {("no", "a"), ("no", "b")}


def test_a_chain_excludes_answers_across_an_attribute_that_is_left_out() -> None:
    assert cells(CHAIN, "smokes", "brand") == {("no", "a"), ("no", "b")}
    possible = 2 * 3 * 3 - len(cells(CHAIN, "smokes", "packs", "brand"))
    assert possible == 4, "no; yes and few; yes, many and a; yes, many and b"


def test_attributes_without_a_condition_between_them_exclude_nothing() -> None:
    assert cells(CHAIN, "smokes", "region") == set()
    assert cells(CHAIN, "packs") == set()


def test_attributes_fall_into_parts_that_conditions_tie_together() -> None:
    assert linked_parts(design(CHAIN).conditions, SCHEMA) == [
        ("smokes", "packs", "brand"),
        ("region",),
    ]
    assert linked_parts((), SCHEMA) == [(name,) for name in SCHEMA.names]


def test_a_design_with_conditions_equals_what_its_json_gives() -> None:
    made = design(CHAIN)
    assert Design.from_json(made.to_json()) == made
    assert made.asked_if == CHAIN
    assert hash(made) == hash(design(CHAIN))
    assert "asked_if" not in design().to_dict(), "other designs keep their fingerprint"


def test_the_fingerprint_covers_the_conditions() -> None:
    assert len({design(c).fingerprint for c in (None, CHAIN, {"packs": {"smokes": ["no"]}})}) == 3


@pytest.mark.parametrize(
    ("asked_if", "told"),
    [
        ([], "asked_if must be a mapping"),
        ({"pack": {"smokes": "yes"}}, "unknown attribute 'pack' in asked_if"),
        ({"packs": {}}, "must be a mapping from attributes to answers"),
        ({"packs": {"smoke": "yes"}}, "unknown attribute 'smoke'"),
        ({"packs": {"smokes": "maybe"}}, "unknown answer 'maybe' of 'smokes'"),
        ({"packs": {"smokes": []}}, "no answer of 'smokes' is listed"),
        ({"packs": {"smokes": ["no", "yes"]}}, "every answer of 'smokes' is listed"),
        ({"packs": {"packs": "few"}}, "'packs' is not asked before 'packs'"),
        ({"packs": {"brand": "a"}}, "'brand' is not asked before 'packs'"),
        ({"region": {"smokes": "yes"}}, "needs the category 'does not apply'"),
        ({"brand": {"packs": BLANK}}, "unknown answer 'does not apply' of 'packs'"),
    ],
)
def test_a_wrong_condition_is_refused_with_its_reason(asked_if: Any, told: str) -> None:
    with pytest.raises(DesignError, match=told):
        design(asked_if)


def test_the_design_says_who_is_asked() -> None:
    assert "packs is asked if smokes is yes" in str(design(CHAIN).to_table())


# Disguising ---------------------------------------------------------------------------------

TRUTH = Design(SCHEMA, [Group(SCHEMA.names, truthful())], CHAIN)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_what_was_not_asked_does_not_apply() -> None:
    told = disguise(
        frame(
            smokes=["no", "yes", "yes"],
            packs=[None, "few", "many"],
            brand=[None, None, "b"],
            region=["north"] * 3,
        ),
        TRUTH,
        np.random.default_rng(1),
    )
    assert told["packs"].tolist() == [BLANK, "few", "many"]
    assert told["brand"].tolist() == [BLANK, BLANK, "b"]


def test_a_missing_answer_of_someone_who_was_asked_stays_missing() -> None:
    told = disguise(
        frame(smokes=["yes", None], packs=[None, None], brand=[None, None], region=["north"] * 2),
        TRUTH,
        np.random.default_rng(1),
    )
    assert told["packs"].isna().tolist() == [True, True]
    assert told["brand"].isna().tolist() == [True, True], "whether it applies is not known"


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([0, 1, 2, 0], "'packs' must be 'does not apply', unless smokes is yes; record 1 "),
        ([1, 2, 2, 0], "'packs' must not be 'does not apply', because smokes is yes; record 1 "),
        ([1, 0, 1, 0], "'brand' must be 'does not apply', unless packs is many; record 1 "),
    ],
)
def test_a_record_that_contradicts_a_condition_is_refused(record: list[int], told: str) -> None:
    with pytest.raises(DataError, match=told):
        disguise(np.array([[0, 2, 2, 0], record]), TRUTH, np.random.default_rng(1))


def test_without_conditions_every_record_is_disguised() -> None:
    plain = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    disguise(np.array([[0, 1, 2, 0]]), plain, np.random.default_rng(1))
