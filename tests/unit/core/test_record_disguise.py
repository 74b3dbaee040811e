"""disguise: frames and arrays in, the same kind out; who may draw, and what is left out."""

from __future__ import annotations

import re
from datetime import date
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, matrix, related, truthful, unrelated
from tacit.errors import DataError, SchemaError
from tests.support.families import CASES, Case, attributes_of

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(
    SCHEMA, [Group(["smokes"], related(0.7)), Group(["income"], unrelated(0.5, [0, 0, 1]))]
)
LABELS = {"smokes": ["no", "yes"] * 50, "income": ["low", "mid", "high", "mid"] * 25}
MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def random_codes(schema: Schema, n: int = 300) -> Any:
    return np.stack([rng().integers(0, k, n) for k in schema.sizes], axis=1).astype(np.uint8)


def columns(frame: Any) -> dict[str, list[Any]]:
    return {name: list(np.asarray(frame[name]).tolist()) for name in SCHEMA.names}


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_gives_a_frame_of_labels_of_the_same_library(make: Any) -> None:
    reported = disguise(make(LABELS), DESIGN, rng())
    assert type(reported) is type(make(LABELS))
    assert set(columns(reported)["smokes"]) == {"no", "yes"}
    assert set(columns(reported)["income"]) == {"low", "mid", "high"}
    assert columns(reported)["income"].count("high") > 50


@pytest.mark.parametrize("make", MAKERS)
def test_columns_that_the_design_does_not_know_are_left_out(make: Any) -> None:
    reported = disguise(make({"name": ["Ann"] * 100, **LABELS}), DESIGN, rng())
    named = getattr(reported, "column_names", None) or list(reported.columns)
    assert list(named) == ["smokes", "income"]


@pytest.mark.parametrize("make", MAKERS)
def test_columns_to_keep_follow_the_reports_unchanged_and_record_by_record(make: Any) -> None:
    others = {"age": list(range(100)), "name": ["Ann", "Bo"] * 50, "born": [date(1990, 1, 2)] * 100}
    reported = disguise(make({**others, **LABELS}), DESIGN, rng(), keep=["born", "age"])
    assert type(reported) is type(make(LABELS))
    named = getattr(reported, "column_names", None) or list(reported.columns)
    assert list(named) == ["smokes", "income", "born", "age"]
    assert np.asarray(reported["age"]).tolist() == others["age"]
    assert [str(day)[:10] for day in np.asarray(reported["born"])] == ["1990-01-02"] * 100
    assert columns(reported) == columns(disguise(make(LABELS), DESIGN, rng()))


def test_columns_to_keep_are_in_the_order_of_the_records_whatever_the_index() -> None:
    true = pd.DataFrame({**LABELS, "age": range(100)}, index=range(100)[::-1])
    reported = disguise(true, DESIGN, rng(), keep=["age"])
    assert reported["age"].tolist() == true["age"].tolist()
    assert reported["age"].dtype == true["age"].dtype
    with pytest.warns(UserWarning, match="reports already"):
        disguise(reported, DESIGN, rng(), keep=("age",))


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (["agee"], "unknown column 'agee' in keep; did you mean 'age'?"),
        (["age", "smokes"], "'smokes' is an attribute of the design, so it is disguised"),
        ("age", "keep must be a list of names of columns, got 'age'"),
        ([["age"]], "keep must be a list of names of columns"),
        (3, "keep must be a list of names of columns, got 3"),
    ],
)
def test_what_cannot_be_kept_is_an_error_that_says_why(keep: Any, said: str) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        disguise(pa.table({**LABELS, "age": range(100)}), DESIGN, keep=keep)


def test_an_array_has_no_columns_to_keep() -> None:
    with pytest.raises(DataError, match="an array of codes"):
        disguise(random_codes(SCHEMA), DESIGN, rng(), keep=["age"])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_memory_order_and_layout_do_not_change_what_is_allowed(case: Case) -> None:
    """Reports of probability zero never occur, whatever the order in memory."""
    codes = random_codes(case.design.schema)
    wide = np.zeros((len(codes), 2 * codes.shape[1]), np.uint8)
    wide[:, ::2] = codes
    M = case.coin.channel(case.attributes).matrix
    for given in (np.ascontiguousarray(codes), np.asfortranarray(codes), wide[:, ::2]):
        reported = disguise(given, case.design, rng())
        assert reported.shape == (len(codes), len(case.design.reported))
        truth = np.ravel_multi_index(tuple(codes.T.astype(np.intp)), case.design.schema.sizes)
        report = np.ravel_multi_index(tuple(reported.T.astype(np.intp)), case.design.reported.sizes)
        assert (M[report, truth] > 1e-12).all()
        np.testing.assert_array_equal(given, codes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_groups_with_the_same_odds_throw_separate_coins_and_a_group_throws_one(order: Any) -> None:
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    design = Design(schema, [Group(["a", "b"], related(0.6)), Group(["c"], related(0.6))])
    flipped = disguise(np.zeros((200, 3), np.uint8, order=order), design, rng())
    np.testing.assert_array_equal(flipped[:, 0], flipped[:, 1])
    assert (flipped[:, 0] != flipped[:, 2]).any()


def test_the_result_has_the_memory_order_of_the_records() -> None:
    codes = random_codes(SCHEMA)
    assert disguise(np.asfortranarray(codes), DESIGN, rng()).flags.f_contiguous
    assert disguise(np.ascontiguousarray(codes), DESIGN, rng()).flags.c_contiguous


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_seed_gives_the_same_reports_and_another_seed_others(case: Case) -> None:
    codes = random_codes(case.design.schema)
    first = disguise(codes, case.design, np.random.default_rng(1))
    np.testing.assert_array_equal(first, disguise(codes, case.design, np.random.default_rng(1)))
    if case.family != "truthful":
        other = disguise(codes, case.design, np.random.default_rng(2))
        entropy = disguise(codes, case.design)
        assert (first != other).any()
        assert (first != entropy).any()


def test_a_generator_moves_on_so_that_two_surveys_differ() -> None:
    codes, source = random_codes(SCHEMA), rng()
    assert (disguise(codes, DESIGN, source) != disguise(codes, DESIGN, source)).any()


@pytest.mark.parametrize("wrong", [7, "seed", np.random, object()], ids=["7", "text", "m", "o"])
def test_an_rng_of_a_wrong_type_is_an_error_that_shows_a_right_one(wrong: Any) -> None:
    with pytest.raises(DataError, match=r"numpy\.random\.default_rng\(7\), or None"):
        disguise(random_codes(SCHEMA), DESIGN, wrong)


def test_extreme_coins_do_what_they_say() -> None:
    schema = Schema(attributes_of((2, 2, 3)))
    design = Design(
        schema,
        [
            Group(["a0"], related(0)),
            Group(["a1"], truthful()),
            Group(["a2"], matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]])),
        ],
    )
    codes = random_codes(schema)
    for source, order in product((rng(), None), ("C", "F")):
        reported = disguise(np.asarray(codes, order=order), design, source)
        np.testing.assert_array_equal(reported[:, 0], 1 - codes[:, 0])
        np.testing.assert_array_equal(reported[:, 1], codes[:, 1])
        np.testing.assert_array_equal(reported[:, 2], (codes[:, 2] + 1) % 3)


def test_one_related_group_lies_about_all_or_nothing() -> None:
    schema = Schema(attributes_of((2, 3, 4)))
    codes = random_codes(schema)
    design = Design(schema, [Group(["a2", "a0", "a1"], related(0.6))])
    differs = disguise(codes, design, rng()) != codes
    assert (differs.all(axis=1) | ~differs.any(axis=1)).all()
    assert 0 < differs[:, 0].sum() < len(codes)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (np.array([[0, 3]]), "'income'.*3"),
        (np.array([[0, 1, 0]]), "2 attributes"),
        (np.array([[0.0, 1.0]]), "integers"),
        (np.zeros((0, 2), int), "0 records"),
        (pd.DataFrame({"smokes": ["no"]}), "no column for attribute 'income'"),
        (pd.DataFrame({"smokes": ["nope"], "income": ["low"]}), "did you mean 'no'"),
        ([[0, 1]], "type list"),
    ],
)
def test_records_that_do_not_fit_the_design_are_an_error(records: Any, said: str) -> None:
    with pytest.raises((DataError, SchemaError), match=said):
        disguise(records, DESIGN, rng())


def test_seventy_yes_no_attributes_keep_their_groups_together() -> None:
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(70)])
    groups = [Group(schema.names[i : i + 7], related("2/3")) for i in range(0, 70, 7)]
    true = random_codes(schema, 200)
    flips = disguise(true, Design(schema, groups), rng()) ^ true
    assert (flips.reshape(200, 10, 7) == flips.reshape(200, 10, 7)[:, :, :1]).all()
