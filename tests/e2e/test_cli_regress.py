"""tacit regress, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacit.cli.main import run
from tacit.records import read_frame
from tests.support.regressions import DESIGNS, people, reported


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    design = DESIGNS["one group"]
    Path("survey.json").write_text(design.to_json())
    data = reported(people(400), design)
    data.to_csv("reported.csv", index=False)
    return data


def test_coefficients_are_printed_as_json_and_written(
    survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["regress", "survey.json", "reported.csv", "--formula", "smokes ~ age + C(region)"]
    assert run([*arguments, "--json", "--out", "coefficients.csv", "--effects"]) == 0
    out = capsys.readouterr()
    content = json.loads(out.out)
    assert content["tacit"] == "regression"
    assert len(content["results"]) == 2
    table = content["results"][0]["table"]
    assert table["coefficient"] == ["Intercept", "age", "C(region)[T.b]", "C(region)[T.c]"]
    written = read_frame("coefficients.csv")
    assert written.column("estimate").to_pylist() == pytest.approx(table["estimate"])
    assert "does not say which design made it" in out.err


@pytest.mark.parametrize(
    "options",
    [["income ~ age", "--ordered"], ["wage ~ income", "--linear"], ["smokes ~ income", "--robust"]],
)
def test_every_kind_of_regression_prints_a_table(
    survey: pd.DataFrame, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["regress", "survey.json", "reported.csv", "--formula", *options]) == 0
    assert "95 % interval" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["smokes ~ agee"], "unknown name 'agee' in the formula; did you mean 'age'?"),
        (["smokes ~ np.exp(income)"], "'income' is disguised"),
        (["smokes ~ age + I(age)"], "collinear"),
        (["wage ~ income", "--linear", "--ordered"], "--linear has sandwich errors and no"),
        (["smokes ~ age", "--level", "2"], "level"),
        (["smokes ~ age", "--out", "reported.csv"], "reported.csv"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    survey: pd.DataFrame, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["regress", "survey.json", "reported.csv", "--formula", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
