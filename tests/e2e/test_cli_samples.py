"""Options of the commands for samples, and missing answers, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tacit import reconstruct
from tacit.cli.main import run
from tacit.reconstruction.sampling import jackknife
from tests.support.samples import DISGUISED, HOW, sample

SAMPLE = ["--weights", "w", "--strata", "region", "--clusters", "village"]
START = ["estimate", "design.json", "reported.csv"]
YES = {"smokes": "yes"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(DISGUISED.to_json())
    sample(DISGUISED).write_csv("reported.csv")
    return tmp_path


@pytest.fixture
def gaps(files: Path) -> Path:
    frame = pl.read_csv("reported.csv").with_row_index()
    smokes = pl.when(pl.col("index") < 40).then(None).otherwise(pl.col("smokes"))
    frame.with_columns(smokes=smokes).drop("index").write_csv("reported.csv")
    return files


def _json(capsys: pytest.CaptureFixture[str], command: list[str]) -> dict[str, object]:
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    content: dict[str, object] = json.loads(capsys.readouterr().out)
    return content


def test_estimate_has_the_errors_of_the_sample(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*START, "--table", "smokes", *SAMPLE]) == 0
    assert "15 degrees of freedom" in capsys.readouterr().out
    content = _json(capsys, [*START, "--table", "smokes", *SAMPLE, "--errors", "jackknife"])
    (found,) = content["estimates"]  # type: ignore[misc]
    rec = reconstruct("reported.csv", DISGUISED, errors=jackknife, **HOW)
    expected = rec.table(["smokes"])
    assert found["table"]["stderr"] == pytest.approx(expected.stderr.tolist())
    assert found["df"] == 15
    fpc = _json(capsys, [*START, "--where", "smokes=yes", *SAMPLE, "--fpc", "9"])
    (corrected,) = fpc["estimates"]  # type: ignore[misc]
    exact = reconstruct("reported.csv", DISGUISED, fpc=9, **HOW).probability(YES)
    assert corrected["table"]["stderr"] == [pytest.approx(float(exact.stderr))]


def test_compare_and_test_take_samples(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["--between", "income=high", "--between", "income=low"]
    command = ["compare", "design.json", "reported.csv", "--where", "smokes=yes", *groups]
    content = _json(capsys, [*command, *SAMPLE])
    rec = reconstruct("reported.csv", DISGUISED, **HOW)
    expected = rec.difference(YES, between=({"income": "high"}, {"income": "low"}))
    third = content["estimates"][2]  # type: ignore[index]
    assert third["table"]["stderr"] == [pytest.approx(float(expected.stderr))]
    test = ["test", "design.json", "reported.csv", "--independence", "smokes,income"]
    found = _json(capsys, [*test, *SAMPLE])
    assert found["pvalue"] == pytest.approx(rec.independence(["smokes", "income"]).pvalue)


def test_regress_and_evaluate_take_samples(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regress = ["regress", "design.json", "reported.csv", "--formula", "smokes ~ income"]
    assert run([*regress, *SAMPLE, "--effects"]) == 0
    assert "weighted pseudo-likelihood" in capsys.readouterr().out
    assert run([*regress, "--linear", *SAMPLE]) == 2
    learn = ["mine", "nb", "design.json", "reported.csv", "--target", "smokes"]
    assert run([*learn, "--out", "model.json"]) == 0
    assert run(["evaluate", "model.json", "design.json", "reported.csv", *SAMPLE]) == 0
    out = capsys.readouterr().out
    assert out.count("15 degrees of freedom") == 3


def test_missing_answers_are_counted_and_bounded(
    gaps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*START, "--table", "smokes"]) == 0
    assert "360 reported records (40 without an answer left out)" in capsys.readouterr().out
    assert run([*START, "--where", "smokes=yes", "--bounds"]) == 0
    assert "400 reported records, 40 without an answer" in capsys.readouterr().out
    content = _json(capsys, [*START, "--where", "smokes=yes", "--bounds", *SAMPLE])
    (found,) = content["bounds"]  # type: ignore[misc]
    assert found["n_missing"] == 40
    test = ["test", "design.json", "reported.csv", "--independence", "smokes,income"]
    assert _json(capsys, test)["n_left_out"] == 40
    groups = ["--between", "income=high", "--between", "income=low"]
    assert run(["compare", "design.json", "reported.csv", "--where", "smokes=yes", *groups]) == 0
    assert "(40 without an answer left out)" in capsys.readouterr().out


def test_disguise_leaves_missing_answers_missing(
    gaps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("reported.csv").rename("true.csv")
    for out in ("again.csv", "again.parquet"):
        assert run(["disguise", "design.json", "true.csv", "--out", out, "--seed", "1"]) == 0
        assert "40 missing answers passed on as missing" in capsys.readouterr().err
        read = pl.read_csv(out) if out.endswith("csv") else pl.read_parquet(out)
        assert read["smokes"].is_null().to_list() == [True] * 40 + [False] * 360


BAD = [
    (["--weights", "wt"], "unknown column 'wt'"),
    (["--weights", "region"], "the column has no numbers"),
    (["--weights", "smokes"], "'smokes' is a disguised answer"),
    (["--strata", "w", "--clusters", "w"], "has one cluster"),
    (["--weights", "w", "--fpc", "399"], "fewer than the 400 records"),
    (["--weights", "w", "--errors", "bootstrp"], "did you mean 'bootstrap'"),
    (["--errors", "jackknife"], "--errors goes with --weights"),
    (["--bounds"], "--bounds goes with --where"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_mistake_is_one_line_and_exit_status_2(
    files: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert run([*START, *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("value", "message"), [(0, "is 0"), (-1, "negative"), (None, "missing")])
def test_a_bad_weight_is_named_with_its_record(
    files: Path, capsys: pytest.CaptureFixture[str], value: int | None, message: str
) -> None:
    frame = pl.read_csv("reported.csv").with_row_index()
    weights = pl.when(pl.col("index") == 7).then(value).otherwise(pl.col("w"))
    frame.with_columns(w=weights).drop("index").write_csv("reported.csv")
    for command in (START, ["regress", *START[1:], "--formula", "smokes ~ income"]):
        assert run([*command, "--weights", "w"]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert "at record 7" in err


def test_the_database_of_a_survey_has_no_weights(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["estimate", "design.json", "--database", "survey.db", "--weights", "w"]
    assert run(command) == 2
    assert "has no sampling weights" in capsys.readouterr().err
