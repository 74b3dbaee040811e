"""What a newcomer reads: singulars, no nan, and one clear line for every wrong file."""

from __future__ import annotations

import math
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, related
from tacit.cli.models import read_model
from tacit.collect.store import Store
from tacit.evaluate import recall
from tacit.mine import DecisionTree, NaiveBayes, model_to_json
from tacit.optimize import Warner, front
from tacit.papers.report import Chart, Curve, draw
from tacit.survey import example, publish, read_survey
from tests.support.published import published, response

SCHEMA = Schema([Attribute("ill", ["no", "yes"]), Attribute("smokes", ["no", "yes"])])
DESIGN = Design(SCHEMA, [Group([name], related("5/6")) for name in SCHEMA.names])
SURVEY = published()
#: A plural after the number one, such as "1 answers" or "1 reported records".
ONE_OF_MANY = re.compile(r"(?<![\d.,])1 (?:[a-z-]+ )?(?!conditions? to)[a-z]+(?<!s)s\b(?! %)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of everything."""
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(DESIGN.to_json())
    pa_csv.write_csv(pa.table({"ill": ["no"], "smokes": ["yes"]}), "one.csv")
    Path("survey.yaml").write_text(example(), encoding="utf-8")
    publish(read_survey("survey.yaml"), "published.json")
    publish(SURVEY.survey, "small.json")


def stored(n: int) -> None:
    store = Store("survey.db")
    store.register(SURVEY)
    store.write([response(SURVEY, number) for number in range(n)], date(2027, 1, 1))
    store.close()


def test_one_of_anything_is_singular(tacit: Any) -> None:
    stored(1)
    database = ("--database", "survey.db")
    learn = ("design.json", "reported.csv", "--target", "ill", "--out", "model.json")
    for command in (
        ["disguise", "design.json", "one.csv", "--seed", "1", "--out", "reported.csv"],
        ["estimate", "design.json", "reported.csv"],
        ["estimate", "design.json", "reported.csv", "--table", "ill", "--method", "em"],
        ["mine", "nb", *learn],
        ["mine", "tree", *learn, "--figure", "tree.svg"],
        ["predict", "model.json", "one.csv", "--out", "predicted.csv"],
        ["evaluate", "model.json", "design.json", "reported.csv"],
        ["survey", "check", "survey.yaml", "--respondents", "1"],
        ["survey", "export", "small.json", *database, "--out", "r.csv"],
        ["survey", "close", "small.json", *database],
    ):
        status, out, err = tacit(*command)
        assert status == 0, err
        assert not ONE_OF_MANY.search(out + err), command


def test_the_check_for_plurals_can_fail() -> None:
    for wrong in ("wrote r.csv: 1 records", "from 1 reported records", "front of 1 channels"):
        assert ONE_OF_MANY.search(wrong)
    for right in ("1 record", "from 1 reported record", "21 records", "0.1 records", "1 leaf"):
        assert not ONE_OF_MANY.search(right)


def test_a_front_of_one_channel_is_singular_in_text_and_picture() -> None:
    found = front([0.5, 0.5], 1, method=Warner(1))
    legend = found.plot().axes[0].get_legend()
    assert legend is not None
    said = [found.caption(), *(text.get_text() for text in legend.get_texts())]
    assert len(found) == 1
    assert not any(map(ONE_OF_MANY.search, said)), said


def test_what_is_not_known_is_said_in_a_word() -> None:
    """Nobody is reported ill, so the share of the ill that a model finds is not a number."""
    reported = np.zeros((40, 2), np.uint8)
    reported[:, 1] = np.arange(40) % 2
    model = NaiveBayes(DESIGN, "ill").fit(reported)
    found = recall(model, reported, DESIGN)
    assert math.isnan(float(found.value[1]))
    assert "nan" not in str(found)
    assert found.to_table().rows[1] == ("yes", "not informative", "unknown", "0.0000 .. 1.0000")


def test_a_confidence_that_tells_nothing_is_not_given_as_a_number() -> None:
    """From a dozen records: the standard error of a leaf's confidence may be near 1."""
    told = []
    for seed in range(20):
        reported = np.random.default_rng(seed).integers(0, 2, (12, 2)).astype(np.uint8)
        text = DecisionTree(DESIGN, "ill", caution=0).fit(reported).text()
        assert all(int(error) <= 29 for error in re.findall(r"\+- (\d+)", text)), text
        told.append(text)
    assert any("confidence unknown" in text for text in told)


def test_a_rule_whose_interval_leaves_nothing_out_has_no_confidence_in_numbers(tacit: Any) -> None:
    unknown = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        reported = {name: np.where(rng.random(12) < 0.5, "yes", "no") for name in SCHEMA.names}
        pa_csv.write_csv(pa.table(reported), "reported.csv")
        learn = ("mine", "tree", "design.json", "reported.csv", "--target", "ill", "--caution", "0")
        status, out, err = tacit(*learn, "--out", "tree.json")
        assert status == 0, err
        assert "0.0 .. 100.0" not in out
        unknown += len(re.findall(r"unknown +unknown$", out, re.MULTILINE))
        model = read_model(Path("tree.json"))
        assert "0.0000 .. 1.0000" not in str(model.rules())
    assert unknown


def test_an_axis_of_whole_numbers_has_no_ticks_between_them() -> None:
    whole = Curve("by groups", [(1.0, 0.1), (2.0, 0.2), (3.0, 0.3), (4.0, 0.4)])
    ticks = draw(Chart("x", "title", "groups", "share", (whole,))).axes[0].get_xticks()
    assert all(float(tick).is_integer() for tick in ticks)
    shares = Curve("by theta", [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.4, 0.4)])
    ticks = draw(Chart("x", "title", "theta", "share", (shares,))).axes[0].get_xticks()
    assert not all(float(tick).is_integer() for tick in ticks)


PUBLISH = "it is a survey file; publish it first: tacit survey publish survey.yaml --out"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("serve survey.yaml", f"survey.yaml: not a published survey: {PUBLISH}"),
        ("survey export survey.yaml --out r.csv", PUBLISH),
        ("estimate survey.yaml one.csv", f"survey.yaml: not a design file: {PUBLISH}"),
        ("estimate survey.yaml --table ill", f"survey.yaml: not a design file: {PUBLISH}"),
        ("estimate one.csv published.json", "one.csv: not a design file: it holds records; the"),
        ("estimate one.parquet published.json", "not a design file: it holds records"),
        ("estimate design.json design.json", "design.json: unknown suffix '.json'; allowed: .csv"),
        ("serve design.json", "not a published survey: it is a design file, which has no"),
        ("serve text.json", "text.json: not a published survey: not JSON in line 1"),
        ("serve empty.json", "empty.json: the file is empty"),
        (
            "survey check published.json",
            "not a survey file: it is a published survey",
        ),
        ("survey check one.csv", "one.csv: not a survey file: it holds records"),
        ("survey check one.parquet", "one.parquet: not a survey file: it holds records"),
        (
            "survey publish design.json --out p.json",
            "not a survey file: it is a design file",
        ),
        ("evaluate design.json model.json one.csv", "not a design file: it is a model file"),
        ("predict design.json one.csv --out p.csv", "not a model file: it is a design file"),
        ("estimate reported.csv.origin.json one.csv", "it is the note on the origin of records"),
        (
            "privacy design.json --prior published.json",
            "not a prior file: it says that it is a",
        ),
        ("optimize survey.yaml", "survey.yaml: not a prior file: it is a survey file"),
    ],
)
def test_the_wrong_file_is_an_error_of_one_line_that_says_what_it_is(
    tacit: Any, command: str, said: str
) -> None:
    stored(2)
    Path("text.json").write_text("this is text")
    Path("empty.json").write_text("")
    pq.write_table(pa.table({"ill": ["no"]}), "one.parquet")
    assert tacit("disguise", "design.json", "one.csv", "--out", "reported.csv")[0] == 0
    rng = np.random.default_rng(1)
    model = NaiveBayes(DESIGN, "ill").fit(rng.integers(0, 2, (50, 2)).astype(np.uint8))
    Path("model.json").write_text(model_to_json(model))
    database = ("--database", "survey.db") if "export" in command or "--table" in command else ()
    status, out, err = tacit(*command.split(), *database)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
