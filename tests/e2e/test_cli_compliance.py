"""`tacit compliance`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit import forced, unrelated
from tacit.cli.main import run
from tacit.core.channel import Coin
from tests.support.compliance import design_of


def write(folder: Path, name: str, coin: Coin, no: int, yes: int) -> list[str]:
    """A design and its records; their paths."""
    design, data = folder / f"{name}.json", folder / f"{name}.csv"
    design.write_text(design_of(coin).to_json())
    pd.DataFrame({"drug": np.repeat(["no", "yes"], [no, yes])}).to_csv(data, index=False)
    return [str(design), str(data)]


@pytest.fixture
def halves(tmp_path: Path) -> list[str]:
    first = write(tmp_path, "one", forced("2/3", ["3/4", "1/4"]), 955, 245)
    return first + write(tmp_path, "two", forced("2/3", ["1/4", "3/4"]), 785, 415)


def test_cheaters_are_estimated_from_two_samples(
    halves: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compliance", *halves, "--model", "cheaters", "--safe", "no", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == "cheaters"
    assert found["share"]["table"]["estimate"] == [pytest.approx(0.15)]
    assert run(["compliance", *halves, "--model", "lying-carriers"]) == 0
    shown = capsys.readouterr().out
    assert "share of carriers who deny" in shown
    assert "hypothesis          likelihood ratio  df  p-value" in shown
    assert "everybody complies " in shown


def test_an_unknown_question_and_a_curve_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = ["1/2", "1/2"]
    samples = write(tmp_path, "one", unrelated("0.7", half), 600, 400)
    curve = ["compliance", *samples, "--model", "cheaters", "--shares", "0,0.1", "--json"]
    assert run(curve) == 0
    assert json.loads(capsys.readouterr().out)["table"]["share"] == [0, 0, 0.1, 0.1]
    samples += write(tmp_path, "two", unrelated("0.3", half), 390, 610)
    assert run(["compliance", *samples, "--unknown-question"]) == 0
    assert "unrelated question" in capsys.readouterr().out


def test_records_without_an_answer_are_left_out_and_counted(
    tmp_path: Path, halves: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compliance", *halves, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    data = pd.read_csv(halves[1]).assign(age=30)
    pd.concat([data, pd.DataFrame({"drug": [None] * 7})]).to_csv(halves[1], index=False)
    assert run(["compliance", *halves, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["distribution"].pop("n_left_out") == 7
    assert found == whole
    for more in ([], ["--shares", "0.1"]):
        command = ["compliance", *halves[: 2 if more else 4], "--model", "cheaters", *more]
        assert run(command) == 0
        assert "(7 without an answer left out)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "cheaters"], "use two samples whose coins differ"),
        (["--model", "careless"], "ask an anchor question"),
        (["--model", "careless", "--anchor", "moon"], "both --anchor and --known"),
        (["--shares", "0.1"], "--shares needs a --model"),
        (["--model", "cheaters", "--shares", "a"], "shares must be numbers"),
        (["third.json"], "got 3 files"),
        (["--level", "95"], "between 0 and 1"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    halves: list[str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compliance", *halves[:2], *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
