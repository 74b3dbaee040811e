"""The data that come with the package."""

from __future__ import annotations

import math
from collections import Counter
from importlib.resources import files

import pytest

from tacit.coding import encode
from tacit.datasets import adult_survey, load_adult

LARGEST = 1_000_000


def test_adult_has_all_records_of_both_files() -> None:
    adult = load_adult()
    assert adult.num_rows == 32_561 + 16_281
    assert adult.num_columns == 15
    assert Counter(adult["income"].to_pylist()) == {">50K": 7_841 + 3_846, "<=50K": 37_155}


def test_adult_is_in_the_order_of_its_files() -> None:
    adult = load_adult()
    first, last = adult.slice(0, 1).to_pylist()[0], adult.slice(48_841).to_pylist()[0]
    assert (first["age"], first["fnlwgt"], first["occupation"]) == (39, 77_516, "Adm-clerical")
    assert (last["age"], last["fnlwgt"], last["income"]) == (35, 182_148, ">50K")
    assert Counter(adult["income"].slice(0, 32_561).to_pylist())[">50K"] == 7_841


def test_an_unknown_answer_of_adult_stays_a_question_mark() -> None:
    adult = load_adult()
    assert sum(column.null_count for column in adult.columns) == 0
    assert Counter(adult["workclass"].to_pylist())["?"] == 1_836 + 963


def test_the_data_are_small_and_carry_their_attribution() -> None:
    folder = files("tacit.datasets").joinpath("data")
    assert len(folder.joinpath("adult.parquet").read_bytes()) < LARGEST
    attribution = folder.joinpath("ATTRIBUTION.md").read_text(encoding="utf-8")
    for words in ("Becker", "Kohavi", "1996", "CC BY 4.0", "UCI Machine Learning"):
        assert words in attribution


def test_the_survey_on_adult_fits_its_design() -> None:
    people, design = adult_survey()
    assert encode(people, design.schema).shape == (48_842, 5)
    assert [len(group.attributes) for group in design.groups] == [1, 4]


def test_the_survey_on_adult_protects_every_record() -> None:
    _, design = adult_survey()
    channel = design.channel(design.schema.names)
    assert channel.ratio == 3 * 28
    assert math.exp(channel.epsilon) == pytest.approx(84, rel=1e-12)
    assert channel.reconstructable
