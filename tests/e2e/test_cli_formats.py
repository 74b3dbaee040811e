"""`--format` of the commands that print tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tacit import reconstruct
from tacit.cli.main import run
from tests.support.regions import REGIONS, regional

COMMANDS = {
    "estimate": ["--table", "smokes,income", "--table", "drinks"],
    "compare": ["--where", "smokes=yes", "--between", "income=low", "--between", "income=high"],
    "test": ["--independence", "smokes,income"],
    "regress": ["--formula", "smokes ~ income", "--effects"],
    "compliance": ["--attribute", "smokes"],
}
ROWS = {"estimate": 8, "compare": 5, "test": 1, "regress": 5, "compliance": 3}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(REGIONS.to_json())
    regional().to_csv("reported.csv", index=False)


def _printed(capsys: pytest.CaptureFixture[str], command: str, *options: str) -> str:
    assert run([command, "design.json", "reported.csv", *COMMANDS[command], *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_format_is_printed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = _printed(capsys, command)
    assert plain == _printed(capsys, command, "--format", "text")
    markdown = _printed(capsys, command, "--format", "markdown")
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    tables = sum(line.startswith("|:--") for line in lines)
    assert len(lines) == ROWS[command] + 2 * tables
    latex = _printed(capsys, command, "--format", "latex")
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == tables
    rows = list(csv.reader(io.StringIO(_printed(capsys, command, "--format", "csv"))))
    assert len(rows) == 1 + ROWS[command]
    assert {len(row) for row in rows} == {len(rows[0])}
    formatted = _printed(capsys, command, "--format", "json")
    assert json.loads(formatted) == json.loads(_printed(capsys, command, "--json"))


def _rows(capsys: pytest.CaptureFixture[str], command: list[str]) -> list[dict[str, str]]:
    assert run([*command, "--format", "csv"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_compliance_has_estimates_and_tests_in_one_csv_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ["--model", "cheaters", "--attribute", "smokes"]
    command = ["compliance", "design.json", "reported.csv", *model]
    curve = _rows(capsys, [*command, "--shares", "0,0.1"])
    assert [(row["share"], row["category"]) for row in curve][2:] == [("0.1", "no"), ("0.1", "yes")]
    assert run([*command, "--shares", "0,0.1", "--format", "latex"]) == 0
    assert r"\caption{smokes from" in capsys.readouterr().out
    *shares, test = _rows(capsys, ["compliance", "design.json", "reported.csv", *model[2:]])
    assert [row["smokes"] for row in shares] == ["no", "yes"]
    assert {row["pvalue"] for row in shares} == {""}
    assert (test["quantity"], test["estimate"], test["df"]) == ("the samples agree", "", "0")


@pytest.mark.parametrize(("options", "rows"), [([], 7), (["--compare"], 66)])
def test_privacy_has_every_format(
    options: list[str], rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["privacy", "design.json", *options]
    printed = {}
    for name in ("text", "markdown", "latex", "json"):
        assert run([*command, "--format", name]) == 0
        printed[name] = capsys.readouterr().out
    assert run(command) == 0
    assert capsys.readouterr().out == printed["text"]
    assert run([*command, "--json"]) == 0
    assert capsys.readouterr().out == printed["json"]
    assert printed["latex"].count(r"\toprule") == printed["markdown"].count("|:--") > 0
    for name in ("text", "markdown", "latex"):
        assert "Privacy is rounded down" in printed[name]
    assert len(_rows(capsys, command)) == rows


def test_evaluate_and_query_have_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    source = ["design.json", "reported.csv"]
    assert run(["mine", "nb", *source, "--target", "smokes", "--out", "model.json"]) == 0
    assert run(["mine", "joint", *source, "--out", "joint.json"]) == 0
    capsys.readouterr()
    measured = _rows(capsys, ["evaluate", "model.json", *source])
    assert [row["quantity"] for row in measured][::6] == ["accuracy", "recall by smokes"]
    assert measured[2]["predicted"] == "yes"
    (asked,) = _rows(capsys, ["query", "joint.json", "--where", "smokes=yes"])
    assert 0 < float(asked["estimate"]) < 1
    assert run(["evaluate", "model.json", *source, "--format", "latex"]) == 0
    assert capsys.readouterr().out.count(r"\toprule") == 3


def test_csv_has_all_digits(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(_printed(capsys, "estimate", "--format", "csv"))))
    own = reconstruct(regional(), REGIONS).table(["smokes", "income"])
    assert [float(row["estimate"]) for row in rows[:6]] == own.value.ravel().tolist()
    assert rows[6]["smokes"] == ""
    assert rows[6]["drinks"] == "no"


@pytest.mark.parametrize("command", COMMANDS)
def test_two_formats_at_once_are_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [command, "design.json", "reported.csv", *COMMANDS[command]]
    assert run([*given, "--json", "--format", "csv"]) == 2
    assert capsys.readouterr().err == "error: give --json or --format csv, not both\n"
    assert run([*given, "--format", "word"]) == 2
    assert "'word' is not one of 'text', 'markdown', 'latex'" in capsys.readouterr().err
