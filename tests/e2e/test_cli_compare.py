"""`tacit compare`, `tacit test` and `tacit estimate --given`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct, related, truthful
from tacit.cli.main import run

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related("0.8")), Group(["income"], truthful())])
ROWS = ["no,low"] * 220 + ["no,mid"] * 180 + ["no,high"] * 120 + ["yes,low"] * 80 + ["yes,mid"] * 90
ROWS += ["yes,high"] * 110


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(DESIGN.to_json())
    Path("reported.csv").write_text("\n".join(["smokes,income", *ROWS]) + "\n")
    return tmp_path


def test_compare_prints_both_shares_and_three_comparisons(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = ["--between", "income=high", "--between", "income=low,income=mid"]
    command = ["compare", "design.json", "reported.csv", "--where", "smokes=yes", *groups]
    assert run(command) == 0
    out = capsys.readouterr().out
    for word in ("first group", "second group", "difference", "ratio", "odds ratio", "interval"):
        assert word in out
    assert run([*command, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    rec = reconstruct("reported.csv", DESIGN)
    pair = {"income": "high"}, {"income": ["low", "mid"]}
    expected = float(rec.difference({"smokes": "yes"}, between=pair))
    assert content["estimates"][2]["table"]["estimate"] == [pytest.approx(expected)]


def test_estimate_within_groups(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["estimate", "design.json", "reported.csv"]
    assert run([*start, "--table", "smokes", "--given", "income"]) == 0
    assert "P(smokes | income) from 800 reported records" in capsys.readouterr().out
    assert run([*start, "--given", "income"]) == 0
    assert "P(smokes | income)" in capsys.readouterr().out
    assert run([*start, "--where", "smokes=yes", "--given", "income=high"]) == 0
    assert "P(smokes = yes | income = high)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--independence", "smokes,income"], "independence of smokes, income"),
        (["--homogeneity", "smokes", "--across", "income"], "distributed alike across"),
        (["--goodness-of-fit", "income", "--expected", "0.4,0.3,0.3"], "as expected"),
        (["--trend", "smokes,income", "--method", "pearson"], "no trend between"),
    ],
)
def test_every_test_prints_its_hypothesis_and_p_value(
    files: Path, capsys: pytest.CaptureFixture[str], options: list[str], shown: str
) -> None:
    assert run(["test", "design.json", "reported.csv", *options]) == 0
    out = capsys.readouterr().out
    assert shown in " ".join(out.split())
    assert "p-value" in out
    assert run(["test", "design.json", "reported.csv", *options, "--json"]) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["pvalue"] <= 1


def test_a_misfit_is_told_above_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.csv").write_text("smokes,income\n" + "no,low\n" * 1000)
    assert run(["estimate", "design.json", "few.csv", "--table", "smokes"]) == 0
    assert capsys.readouterr().out.startswith("MISFIT: these reports contradict the design")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("compare --where smokes=yes --between income=low", "must be given twice"),
        ("compare --where smokes=yes --between income=low --between income=lo", "did you mean"),
        ("test", "give one of --independence"),
        ("test --independence smokes,wealth", "unknown attribute 'wealth'"),
        ("test --independence smokes,income --across income", "--across does not go with"),
        ("test --homogeneity smokes", "--homogeneity needs --across"),
        ("test --goodness-of-fit smokes --expected a,b", "not a list of numbers"),
        ("test --independence smokes,income --method walt", "did you mean 'wald'"),
        ("estimate --table smokes --given income=high", "is a condition"),
        ("estimate --table smokes --where smokes=yes --given income", "not with both"),
    ],
)
def test_a_mistake_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    name, *options = command.split()
    assert run([name, "design.json", "reported.csv", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
