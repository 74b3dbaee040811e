"""`tacit mine`, `tacit evaluate` and `tacit predict`, as a user runs them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import NaiveBayes, literal, model_from_json, model_to_json, pairs
from tacit.records import files
from tests.support.commands import is_one_error
from tests.support.origins import unknown_origin

SCHEMA = Schema(
    [
        Attribute("ill", [False, True]),
        Attribute("smokes", ["no", "yes"]),
        Attribute("size", ["klein", "mittel", "groß"]),
    ]
)
DESIGN = Design(SCHEMA, [Group(["ill"], related(0.8)), Group(["smokes", "size"], related(0.9))])
OTHER = Design(SCHEMA, [Group(SCHEMA.names, related(0.8))])
OF_ILL = ("mine", "nb", "design.json", "reported.parquet", "--target", "ill", "--out", "model.json")


def people(n_records: int, seed: int) -> pa.Table:
    """True records, where illness goes with smoking and size."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_records) < 0.3
    smokes = np.where(rng.random(n_records) < np.where(ill, 0.7, 0.2), "yes", "no")
    size = np.where(ill, rng.integers(1, 3, n_records), rng.integers(0, 3, n_records))
    labels = np.array(SCHEMA["size"].categories)
    return pa.table(
        {"id": np.arange(n_records), "smokes": smokes, "size": labels[size], "ill": ill}
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with designs, reported records to learn from and to test on, and true ones."""
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(DESIGN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    rng = np.random.default_rng(3)
    pq.write_table(disguise(people(4000, 1), DESIGN, rng), "reported.parquet")
    pa_csv.write_csv(disguise(people(1000, 2), DESIGN, rng), "test.csv")
    pa_csv.write_csv(people(50, 4), "known.csv")


@pytest.fixture
def model() -> NaiveBayes:
    """The model of the library, saved as model.json."""
    fitted = NaiveBayes(DESIGN, "ill").fit("reported.parquet")
    Path("model.json").write_text(model_to_json(fitted))
    return fitted


# mine -------------------------------------------------------------------------------------------


def test_the_model_is_that_of_the_library(tacit_: Any) -> None:
    ran = tacit_(*OF_ILL)
    assert (ran.status, ran.err) == (0, unknown_origin("reported.parquet"))
    written = Path("model.json").read_text()
    assert written == model_to_json(NaiveBayes(DESIGN, "ill").fit("reported.parquet"))


def test_reports_in_csv_give_the_same_model(tacit_: Any) -> None:
    pa_csv.write_csv(pq.read_table("reported.parquet"), "reported.csv")
    assert tacit_(*OF_ILL).status == 0
    csv = ("mine", "nb", "design.json", "reported.csv", "--target", "ill", "--out", "csv.json")
    assert tacit_(*csv).status == 0
    assert Path("csv.json").read_text() == Path("model.json").read_text()


def test_the_prior_and_the_strongest_log_odds_are_shown(tacit_: Any, model: NaiveBayes) -> None:
    ran = tacit_(*OF_ILL)
    assert ran.out.startswith("wrote model.json: naive Bayes for ill\n")
    assert "P(ill) from 4,000 reported records" in ran.out
    words = [line.split() for line in ran.out.splitlines()]
    prior, odds = model.prior(), model.log_odds("smokes")
    assert ["True", f"{prior.value[1]:.4f}", f"{prior.stderr[1]:.4f}"] in [row[:3] for row in words]
    shown = ["True", "smokes", "yes", f"{odds.value[1, 1]:.4f}", f"{odds.stderr[1, 1]:.4f}"]
    assert shown in [row[:5] for row in words]


def test_json_says_the_same(tacit_: Any, model: NaiveBayes) -> None:
    found = json.loads(tacit_(*OF_ILL, "--level", "0.9", "--json").out)
    assert (found["design"], found["target"]) == (DESIGN.fingerprint, "ill")
    assert (found["method"], found["n_records"], found["level"]) == ("likelihood", 4000, 0.9)
    lower, upper = model.prior().interval(0.9)
    assert found["prior"] == {
        "class": [False, True],
        "estimate": model.prior().value.tolist(),
        "stderr": model.prior().stderr.tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
    }
    assert found["notes"] == model.notes()


def test_log_odds_come_strongest_first_and_of_two_classes_once(tacit_: Any) -> None:
    found = json.loads(tacit_(*OF_ILL, "--json").out)["log_odds"]
    strengths = [abs(cell["estimate"]) / cell["stderr"] for cell in found]
    assert strengths == sorted(strengths, reverse=True)
    assert {(cell["class"], cell["attribute"], cell["category"]) for cell in found} == {
        *((True, "smokes", label) for label in ("no", "yes")),
        *((True, "size", label) for label in ("klein", "mittel", "groß")),
    }


def test_log_odds_of_three_classes_are_shown_for_each(tacit_: Any) -> None:
    arguments = ("mine", "nb", "design.json", "reported.parquet", "--target", "size")
    found = json.loads(tacit_(*arguments, "--out", "size.json", "--json").out)["log_odds"]
    assert len(found) == 10
    assert {cell["class"] for cell in found} == {"klein", "mittel", "groß"}


@pytest.mark.parametrize("method", [pairs, literal])
def test_alpha_and_method_are_those_asked_for(tacit_: Any, method: Any) -> None:
    ran = tacit_(*OF_ILL, "--alpha", "2.5", "--method", method.__name__)
    assert ran.status == 0
    assert f"by {method.__name__}" in ran.out
    expected = NaiveBayes(DESIGN, "ill", 2.5, method).fit("reported.parquet")
    assert Path("model.json").read_text() == model_to_json(expected)


def test_the_literal_method_is_named(tacit_: Any) -> None:
    assert "records, by literal" in tacit_(*OF_ILL, "--method", "literal").out


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({5: "il"}, "unknown attribute 'il'; did you mean 'ill'?"),
        ({3: "known.csv"}, "known.csv: there is no column for attribute 'size'"),
        ({3: "none.csv"}, "none.csv: no such file"),
        ({2: "none.json"}, "none.json: no such file"),
        ({7: "reported.parquet"}, "is the file that is read"),
        ({7: "design.json"}, "is the file that is read"),
        ({7: "none/model.json"}, "the folder none does not exist"),
        ({8: "--alpha", 9: "0"}, "alpha must be a number above 0, got 0.0"),
        ({8: "--alpha", 9: "nan"}, "alpha must be a number above 0, got nan"),
        ({8: "--method", 9: "magic"}, "'magic' is not one of"),
        ({8: "--level", 9: "2"}, "the confidence level must lie between 0 and 1"),
    ],
)
def test_bad_input_of_mine_is_one_error(tacit_: Any, changed: dict[int, str], said: str) -> None:
    pa_csv.write_csv(people(5, 1).drop_columns("size"), "known.csv")
    contents = {name: Path(name).read_bytes() for name in os.listdir()}
    arguments = dict(enumerate(OF_ILL)) | changed
    is_one_error(tacit_(*arguments.values()), said)
    assert {name: Path(name).read_bytes() for name in os.listdir()} == contents


# evaluate ---------------------------------------------------------------------------------------


def test_the_measures_are_those_of_the_library(tacit_: Any, model: NaiveBayes) -> None:
    ran = tacit_("evaluate", "model.json", "design.json", "test.csv", "--level", "0.9", "--json")
    assert (ran.status, ran.err) == (0, unknown_origin("test.csv"))
    found = json.loads(ran.out)
    assert (found["design"], found["target"]) == (DESIGN.fingerprint, "ill")
    expected = [measure(model, "test.csv", DESIGN) for measure in (accuracy, confusion, recall)]
    assert [e["table"] for e in found["estimates"]] == [e.columns(0.9) for e in expected]


def test_the_measures_are_shown_with_their_errors(tacit_: Any, model: NaiveBayes) -> None:
    ran = tacit_("evaluate", "model.json", "design.json", "test.csv")
    assert ran.status == 0
    for caption in ("accuracy", "P(ill, predicted)", "recall by ill"):
        assert f"{caption} from 1,000 reported records" in ran.out
    right = accuracy(model, "test.csv", DESIGN)
    assert [f"{float(right):.4f}", f"{right.stderr:.4f}"] in [
        line.split()[:2] for line in ran.out.splitlines()
    ]
    assert ran.out.count("95 % interval") == 3


def test_a_model_of_another_design_is_refused_with_both_fingerprints(
    tacit_: Any, model: NaiveBayes
) -> None:
    ran = tacit_("evaluate", "model.json", "other.json", "test.csv")
    is_one_error(ran, "model.json: was learnt under another design")
    assert DESIGN.fingerprint[:12] in ran.err
    assert OTHER.fingerprint[:12] in ran.err


# predict ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["predicted.csv", "predicted.csv.gz", "predicted.parquet"])
def test_predictions_are_those_of_the_library(tacit_: Any, model: NaiveBayes, out: str) -> None:
    ran = tacit_("predict", "model.json", "known.csv", "--out", out)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"wrote {out}: 50 predictions of ill\n"
    found = pq.read_table(out) if out.endswith("parquet") else pa_csv.read_csv(out)
    assert found.column_names == ["ill", "P(False)", "P(True)"]
    saved = model_from_json(Path("model.json").read_text())
    assert found["ill"].to_pylist() == saved.predict(people(50, 4)).tolist()
    chances = np.stack([found["P(False)"], found["P(True)"]], axis=1)
    np.testing.assert_array_equal(chances, saved.predict_proba(people(50, 4)))


def test_the_class_is_not_read(tacit_: Any, model: NaiveBayes) -> None:
    assert tacit_("predict", "model.json", "known.csv", "--out", "with.csv").status == 0
    nonsense = pa.array(["nobody knows"] * 50)
    for name, table in {
        "none.csv": people(50, 4).drop_columns("ill"),
        "odd.csv": people(50, 4).drop_columns("ill").append_column("ill", nonsense),
    }.items():
        pa_csv.write_csv(table, name)
        assert tacit_("predict", "model.json", name, "--out", "out.csv").status == 0
        assert Path("out.csv").read_bytes() == Path("with.csv").read_bytes()


def test_many_records_are_predicted_batch_by_batch(
    tacit_: Any, model: NaiveBayes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tacit_("predict", "model.json", "known.csv", "--out", "whole.csv").status == 0
    monkeypatch.setattr(files, "BATCH", 7)
    assert tacit_("predict", "model.json", "known.csv", "--out", "parts.csv").status == 0
    assert Path("parts.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_a_target_named_like_a_probability_keeps_its_column(tacit_: Any) -> None:
    schema = Schema([Attribute("P(a)", ["a", "b"]), Attribute("x", [0, 1])])
    design = Design(schema, [Group(schema.names, related(0.8))])
    fitted = NaiveBayes(design, "P(a)").fit(np.random.default_rng(1).integers(0, 2, (99, 2)))
    Path("odd.json").write_text(model_to_json(fitted))
    pq.write_table(pa.table({"x": [0, 1]}), "x.parquet")
    assert tacit_("predict", "odd.json", "x.parquet", "--out", "out.parquet").status == 0
    assert pq.read_table("out.parquet").column_names == ["P(a)_", "P(a)", "P(b)"]


def _no_size() -> None:
    pa_csv.write_csv(people(5, 1).drop_columns("size"), "known.csv")


def _unseen() -> None:
    Path("known.csv").write_text("smokes,size\nno,klein\nno,gross\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_no_size, "known.csv: there is no column for attribute 'size'"),
        (_unseen, "unknown category 'gross' of attribute 'size' at record 1 (counting from 0)"),
        (lambda: Path("known.csv").write_text("smokes,size\n"), "holds 0 records"),
        (lambda: Path("known.csv").write_text(""), "known.csv: the file is empty"),
        (lambda: Path("known.csv").unlink(), "known.csv: no such file"),
    ],
)
def test_bad_records_to_predict_are_one_error(
    tacit_: Any, model: NaiveBayes, spoil: Callable[[], object], said: str
) -> None:
    spoil()
    before = sorted(os.listdir())
    is_one_error(tacit_("predict", "model.json", "known.csv", "--out", "out.csv"), said)
    assert sorted(os.listdir()) == before


def test_the_files_that_are_read_are_not_overwritten(tacit_: Any, model: NaiveBayes) -> None:
    before = Path("known.csv").read_bytes()
    is_one_error(
        tacit_("predict", "model.json", "known.csv", "--out", "known.csv"),
        "is the file that is read",
    )
    assert Path("known.csv").read_bytes() == before


# Model files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "model.json: the file is empty"),
        ("naive Bayes", "model.json: not a model file"),
        (DESIGN.to_json(), "model.json: not a model file"),
        ('{"tacit": "naive-bayes", "version": 99}', "model.json: the model file has version 99"),
        ('{"tacit": "naive-bayes", "version": ' + "9" * 5000 + "}", "model.json: not a model file"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_a_bad_model_file_is_one_error(tacit_: Any, command: str, content: str, said: str) -> None:
    Path("model.json").write_text(content)
    before = sorted(os.listdir())
    arguments = {
        "evaluate": ("evaluate", "model.json", "design.json", "test.csv"),
        "predict": ("predict", "model.json", "known.csv", "--out", "out.csv"),
    }[command]
    is_one_error(tacit_(*arguments), said)
    assert sorted(os.listdir()) == before


def test_bad_test_records_are_one_error(tacit_: Any, model: NaiveBayes) -> None:
    Path("test.csv").write_text("ill,smokes,size\n")
    is_one_error(tacit_("evaluate", "model.json", "design.json", "test.csv"), "holds 0 records")
    Path("test.csv").write_text("ill,smokes\nTrue,no\n")
    is_one_error(tacit_("evaluate", "model.json", "design.json", "test.csv"), "'size'")
