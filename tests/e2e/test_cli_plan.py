"""`tacit plan`, as a user runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tacit import related
from tacit.cli.main import run
from tacit.plan import plan
from tacit.survey import example


@pytest.fixture
def survey(tmp_path: Path) -> str:
    file = tmp_path / "survey.yaml"
    file.write_text(example(["en"], "open", None, None))
    return str(file)


def test_the_command_gives_the_numbers_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "related", "--theta", "0.7", "--width", "0.03", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == plan(related("0.7"), width=0.03).to_dict()
    assert found["solved"] == "respondents"


def test_each_quantity_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    coin = ["plan", "forced", "--theta", "2/3", "--drawn", "1/2,1/2"]
    assert run([*coin, "--power", "0.8", "--null", "0.1"]) == 0
    assert "against a null prevalence of 0.1" in capsys.readouterr().out
    assert run([*coin, "--respondents", "2000", "--difference", "0.1", "--json"]) == 0
    assert 0.5 < json.loads(capsys.readouterr().out)["power"] < 1
    assert run(["plan", "crosswise", "--respondents", "2000", "--width", "0.05", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["solved"] == "privacy"
    assert run(["plan", "frapp", "--categories", "4", "--odds", "5", "--width", "0.05"]) == 0
    assert "5.00-fold" in capsys.readouterr().out


def test_a_survey_file_is_planned_as_a_whole(
    survey: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure, table = tmp_path / "plan.svg", tmp_path / "plan.csv"
    arguments = ["plan", survey, "--respondents", "1000", "--prevalence", "harassed=0.1"]
    assert run([*arguments, "--figure", str(figure), "--out", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "Privacy budget of a record" in shown
    assert "always give the safe answer" in shown
    assert figure.read_text().startswith("<svg")
    rows = csv.DictReader(table.read_text().splitlines())
    assert {row["attribute"]: row["prevalence"] for row in rows}["harassed"] == "0.1"


def test_families_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = tmp_path / "curve.png"
    compared = ["plan", "related", "--compare", "unrelated,crosswise", "--respondents", "1000"]
    assert run([*compared, "--questions", "3", "--figure", str(figure), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert {point["candidate"] for point in points} == {"related", "unrelated", "crosswise"}
    assert figure.stat().st_size > 1000
    assert run(compared) == 0
    assert "Privacy against width: 1 question" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["related"], "the parameter of related is open"),
        (["related", "--theta", "0.7"], "give n, or what it must reach"),
        (["related", "--theta", "0.7", "--width", "0"], "infinitely many respondents"),
        (["related", "--theta", "0.5", "--width", "0.1"], "cannot be told apart"),
        (["related", "--theta", "2", "--width", "0.1"], "must lie between 0 and 1"),
        (["related", "--theta", "0.7", "--width", "0.1", "--prevalence", "2"], "between 0 and 1"),
        (["related", "--theta", "0.7", "--width", "0.1", "--prevalence", "x"], "not a number"),
        (["related", "--width", "0.1", "--prevalence", "a=1", "--prevalence", "1"], "name=SHARE"),
        (["related", "--epsilon", "0", "--width", "0.1"], "epsilon must be above 0"),
        (["related", "--drawn", "1/2,1/2", "--width", "0.1"], "--drawn is for unrelated"),
        (["nothing.yaml", "--width", "0.1"], "no such file"),
        (["nothing", "--width", "0.1"], "neither a family"),
        (["nothing.yaml", "--theta", "1"], "for a family"),
        (["truthful", "--theta", "1"], "no such parameter"),
        (["related", "--compare", "forced", "--power", "0.8"], "--power: --compare shows"),
        (["related", "--compare", "nosuch", "--respondents", "9"], "neither a family"),
    ],
)
def test_impossible_wishes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
