"""`tacit numbers`, as a user runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tacit.cli.main import run
from tacit.quantitative import additive, mean, scrambling_from_json, square_wave, variance
from tacit.records import read_frame, read_origin

CARDS = ["numbers", "new", "additive", "--noise=-10:1/4,0:1/2,10:1/4", "--out", "cards.json"]
ESTIMATE = ["numbers", "estimate", "cards.json", "reported.csv", "--column", "income"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    incomes = np.random.default_rng(4).integers(10, 90, 300)
    lines = [f"{income},north" for income in incomes]
    Path("true.csv").write_text("\n".join(["income,region", *lines, ",south"]) + "\n")
    assert run(CARDS) == 0


def _scrambled(out: str = "reported.csv", *options: str) -> None:
    source = ["numbers", "scramble", "cards.json", "true.csv", "--column", "income"]
    assert run([*source, "--out", out, "--seed", "1", *options]) == 0


def test_a_family_is_written_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    own = scrambling_from_json(Path("cards.json").read_text())
    assert own == additive({-10: "1/4", 0: "1/2", 10: "1/4"})
    assert run(["numbers", "check", "cards.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert own.privacy in shown
    assert own.instructions in shown
    wave = ["square_wave", "--epsilon", "1", "--low", "0", "--high", "100", "--out", "wave.json"]
    assert run(["numbers", "new", *wave]) == 0
    capsys.readouterr()
    assert run(["numbers", "check", "wave.json", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["epsilon"] == square_wave(1, 0, 100).epsilon <= 1
    listed = ["eriksson", "--p", "2/3", "--noise", "10,20", "--listed", "--out", "list.json"]
    assert run(["numbers", "new", *listed]) == 0


@pytest.mark.parametrize("out", ["reported.csv", "reported.parquet"])
def test_numbers_are_scrambled_and_estimated(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    _scrambled(out)
    said = capsys.readouterr().err
    assert "1 missing answer passed on as missing" in said
    assert "with seed 1, for simulation only" in said
    frame = read_frame(out)
    assert frame.column_names == ["income"]
    assert frame["income"].null_count == 1
    own = scrambling_from_json(Path("cards.json").read_text())
    origin = read_origin(out)
    assert origin is not None
    assert origin.design == own.fingerprint
    command = [*ESTIMATE[:3], out, *ESTIMATE[4:]]
    assert run([*command, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["estimates"]
    reported = np.array(frame["income"].drop_null())
    assert first["table"]["estimate"] == [float(mean(reported, own))]
    assert second["table"]["stderr"] == [float(variance(reported, own).stderr)]
    assert (first["n_records"], first["n_left_out"]) == (300, 1)
    assert run([*command, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["quantity"] for row in rows] == ["mean of income", "variance of income"]


SURVEY = """
title: Hours
device: die
questions:
  - name: hours
    kind: ordered
    text: How many hours did you work last week without declaring them?
    categories: ["0", "1", "2", "3"]
"""


def test_a_survey_asks_for_numbers_that_a_die_scrambles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CARDS[:3], "--noise=-1,0,1", "--out", "die.json"]) == 0
    command = ["numbers", "group", "die.json", "--question", "hours", "--low", "0", "--high", "3"]
    capsys.readouterr()
    assert run(command) == 0
    group = capsys.readouterr().out
    Path("survey.yaml").write_text(SURVEY + group)
    assert run(["survey", "check", "survey.yaml"]) == 0
    assert "rule out some true answers for certain" in capsys.readouterr().out
    assert run([*command, "--out", "groups.yaml"]) == 0
    assert Path("groups.yaml").read_text() == group
    assert "6 possible reports" in capsys.readouterr().out


def test_draws_without_a_seed_differ(capsys: pytest.CaptureFixture[str]) -> None:
    source = ["numbers", "scramble", "cards.json", "true.csv", "--column", "income"]
    for out in ("first.csv", "second.csv"):
        assert run([*source, "--out", out]) == 0
    assert "seed" not in capsys.readouterr().err
    assert Path("first.csv").read_text() != Path("second.csv").read_text()


def test_ranges_are_for_the_square_wave(capsys: pytest.CaptureFixture[str]) -> None:
    wave = ["square_wave", "--epsilon", "2", "--low", "0", "--high", "100", "--out", "cards.json"]
    assert run(["numbers", "new", *wave]) == 0
    _scrambled()
    capsys.readouterr()
    assert run([*ESTIMATE, "--bins", "4"]) == 0
    assert "75 to 100" in capsys.readouterr().out


def test_numbers_of_a_sample_have_its_errors(capsys: pytest.CaptureFixture[str]) -> None:
    rng, own = np.random.default_rng(7), additive({-10: "1/4", 0: "1/2", 10: "1/4"})
    income, w, village = rng.integers(10, 90, 60), rng.integers(1, 4, 60), np.arange(60) // 5
    lines = [f"{a},{b},v{c}" for a, b, c in zip(income, w, village, strict=True)]
    Path("reported.csv").write_text("\n".join(["income,w,village", *lines, ",2,v0"]) + "\n")
    command = [*ESTIMATE, "--weights", "w", "--clusters", "village"]
    assert run([*command, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["estimates"]
    expected = [f(income, own, weights=w, clusters=village) for f in (mean, variance)]
    for found, each in zip((first, second), expected, strict=True):
        assert found["table"]["estimate"] == [pytest.approx(float(each))]
        assert found["table"]["stderr"] == [pytest.approx(float(each.stderr))]
        assert (found["df"], found["n_left_out"]) == (11, 1)
    assert run(command) == 0
    assert "11 degrees of freedom" in capsys.readouterr().out
    for more, message in (
        (["--weights", "wt"], "unknown column 'wt'; did you mean 'w'"),
        (["--weights", "village"], "weights must be numbers"),
        (["--weights", "w", "--bins", "3"], "--bins goes without --weights"),
    ):
        assert run([*ESTIMATE, *more]) == 2
        assert message in capsys.readouterr().err


BAD = [
    (["numbers", "new", "addition", "--out", "x.json"], "did you mean 'additive'"),
    (["numbers", "new", "additive", "--out", "x.json"], "additive needs --noise"),
    (["numbers", "new", "bar_lev", "--noise", "1,2", "--out", "x.json"], "bar_lev needs --p"),
    ([*CARDS, "--epsilon", "1"], "--epsilon does not go with additive"),
    (["numbers", "new", "additive", "--noise", "1:1/2,2", "--out", "x.json"], "all with a share"),
    (["numbers", "new", "additive", "--noise", "1:1/2,1:1/2", "--out", "x.json"], "given twice"),
    (["numbers", "new", "additive", "--noise", "1,x", "--out", "x.json"], "got 'x'"),
    (["numbers", "new", "multiplicative", "--noise=-1,1", "--out", "x.json"], "mean is not 0"),
    (
        ["numbers", "group", "cards.json", "--question", "q", "--low", "3", "--high", "3"],
        "at least two different numbers",
    ),
    ([*ESTIMATE[:-1], "incme"], "reported.csv: unknown column 'incme'; did you mean 'income'"),
    ([*ESTIMATE, "--bins", "4"], "only square_wave tells the whole distribution"),
    ([*ESTIMATE, "--level", "95"], "between 0 and 1"),
    ([*ESTIMATE[:2], "reported.csv", *ESTIMATE[3:]], "not a scrambling file: it holds records"),
    (["estimate", "cards.json", "reported.csv"], "it is a scrambling file; see tacit numbers"),
    ([*ESTIMATE[:3], "true.csv", "--column", "region"], "'region' is not a column of numbers"),
    (
        ["numbers", "scramble", "cards.json", "reported.csv", "--column", "income", "--out", "x"],
        "unknown suffix",
    ),
    (
        ["numbers", "scramble", *ESTIMATE[2:], "--out", "again.csv"],
        "holds reported records",
    ),
    (["numbers", "scramble", *ESTIMATE[2:], "--out", "reported.csv"], "is the file that is read"),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_a_mistake_is_one_line_and_status_2(
    command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _scrambled()
    capsys.readouterr()
    assert run(command) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not Path("x.json").exists()


def test_numbers_of_another_scrambling_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _scrambled()
    assert run([*CARDS[:3], "--noise=-5,5", "--out", "cards.json"]) == 0
    capsys.readouterr()
    assert run(ESTIMATE) == 2
    assert "holds reports of another design" in capsys.readouterr().err
    Path("reported.csv.origin.json").unlink()
    assert run(ESTIMATE) == 0
    assert "does not say how it was scrambled" in capsys.readouterr().err
