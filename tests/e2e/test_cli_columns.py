"""Columns that are not disguised, and regressions from counts, on the command line."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from tacit import reconstruct
from tacit.cli.main import run
from tacit.collect.store import Store
from tacit.records import Origin, count_reported
from tacit.records.count_file import StoredCounts
from tacit.regression import logit
from tests.support.published import published, response
from tests.support.regions import REGIONS, regional

START = ["design.json", "reported.csv"]
SMOKES = ["--where", "smokes=yes"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(REGIONS.to_json())
    regional().to_csv("reported.csv", index=False)
    counts = StoredCounts(count_reported(regional(), REGIONS), Origin(REGIONS.fingerprint))
    counts.write(Path("reported.counts"))


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def test_estimate_within_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _printed(capsys, "estimate", *START, "--given", "region", "--table", "smokes")
    assert "P(smokes | region) from 3,000 reported records" in shown
    shown = _printed(capsys, "estimate", *START, *SMOKES, "--given", "region=north,year=2009")
    assert "P(smokes = yes | region = north, year = 2009)" in shown
    mixed = _printed(capsys, "estimate", *START, "--given", "region,income")
    assert "P(smokes | region, income)" in mixed
    assert "P(income" not in mixed


def test_compare_and_test_between_columns(capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["--between", "region=north", "--between", "region=east,region=south"]
    content = json.loads(_printed(capsys, "compare", *START, *SMOKES, *groups, "--json"))
    rec = reconstruct(regional(), REGIONS, columns=["region"])
    pair = {"region": "north"}, {"region": ["east", "south"]}
    own = rec.difference({"smokes": "yes"}, between=pair)
    assert content["estimates"][2]["table"]["estimate"] == [pytest.approx(float(own))]
    assert content["design"] == REGIONS.fingerprint
    asked = ["--homogeneity", "smokes", "--across", "region"]
    test = json.loads(_printed(capsys, "test", *START, *asked, "--json"))
    own_test = rec.homogeneity(["smokes"], across=["region"])
    assert test["statistic"] == pytest.approx(own_test.statistic, rel=1e-6)
    within = _printed(capsys, "test", *START, "--independence", "smokes,income", "--given", "urban")
    assert "given" in within


@pytest.mark.parametrize("source", ["reported.counts", "parts", "parts/*.csv"])
def test_regress_from_counts_and_several_files(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("parts").mkdir()
    regional().iloc[:900].to_csv("parts/1.csv", index=False)
    regional().iloc[900:].to_csv("parts/2.csv", index=False)
    asked = ["--formula", "smokes ~ income", "--json"]
    content = json.loads(_printed(capsys, "regress", "design.json", source, *asked))
    own = logit("smokes ~ income", regional(), REGIONS)
    assert content["results"][0]["table"]["estimate"] == pytest.approx(
        own.values.tolist(), abs=1e-6
    )


def test_regress_from_the_database_of_a_survey(capsys: pytest.CaptureFixture[str]) -> None:
    survey = published()
    Path("published.json").write_text(survey.to_json())
    store = Store("survey.db")
    store.register(survey)
    store.write([response(survey, number % 3) for number in range(60)], date(2027, 1, 1))
    store.close()
    asked = ["--formula", "smokes ~ 1", "--database", "survey.db"]
    assert "from 60 records" in _printed(capsys, "regress", "published.json", *asked)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimate", *START, "--given", "regoin"], "unknown column 'regoin'; did you mean"),
        (["estimate", *START, *SMOKES, "--given", "region=nord"], "unknown category 'nord'"),
        (["compare", *START, *SMOKES, "--between", "region=east"], "--between must be given twice"),
        (
            ["compare", *START, *SMOKES, "--between", "region=east", "--between", "urban"],
            "'urban' is not of the form attribute=category",
        ),
        (["test", *START, "--homogeneity", "smokes", "--across", "regoin"], "unknown column"),
        (["test", *START, "--homogeneity", "region", "--across", "smokes"], "unknown attribute"),
        (
            ["estimate", "design.json", "reported.counts", "--given", "region"],
            "unknown attribute 'region'",
        ),
        (
            ["regress", "design.json", "reported.counts", "--formula", "smokes ~ region"],
            "unknown name 'region' in the formula",
        ),
        (["regress", "design.json", "--formula", "smokes ~ income"], "no records: give a file"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
