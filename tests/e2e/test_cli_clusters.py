"""`tacit mine clusters`, and latent classes in `tacit predict` and `tacit evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.cli.main import run
from tacit.core.label_codes import decode
from tacit.mine import LatentClass, model_from_json
from tests.support.latent import true_records

SCHEMA = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(5)])
DESIGN = Design(SCHEMA, [Group(SCHEMA.names, related(0.85))])
YES = np.array([[0.2, 0.3, 0.15, 0.7, 0.25], [0.75, 0.8, 0.6, 0.2, 0.8]])
TABLES = [np.stack([1 - p, p], axis=1) for p in YES.T]
TRUE, _ = true_records(np.array([0.6, 0.4]), TABLES, 3000, np.random.default_rng(1))
FOUND = ("mine", "clusters", "design.json", "reported.csv", "--out", "classes.json")
TWO = (*FOUND, "--classes", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("design.json").write_text(DESIGN.to_json())
    reported = disguise(TRUE, DESIGN, np.random.default_rng(2))
    pa_csv.write_csv(decode(reported, SCHEMA, "pyarrow"), "reported.csv")
    pa_csv.write_csv(decode(TRUE, SCHEMA, "pyarrow"), "known.csv")


def test_the_model_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TWO, "--table", "profiles.csv"]) == 0
    assert "2 latent classes from 3,000 reported records" in capsys.readouterr().out
    saved = model_from_json(Path("classes.json").read_text())
    expected = LatentClass(DESIGN, 2).fit("reported.csv")
    np.testing.assert_array_equal(saved.predict_proba(TRUE), expected.predict_proba(TRUE))
    table = pa_csv.read_csv("profiles.csv").to_pydict()
    np.testing.assert_allclose(table["estimate"][:2], expected.prior_)
    assert table["attribute"][2:4] == ["a0", "a0"]


def test_json_has_the_criteria_of_every_number_that_was_tried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*FOUND, "--criterion", "held-out", "--starts", "2", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["tacit"] == "latent-classes-summary"
    assert [one["n_classes"] for one in content["selection"]][:2] == [1, 2]
    assert content["n_classes"] == max(content["profiles"]["class"]) + 1
    assert len(content["profiles"]["lower"]) == content["n_classes"] * 11


def test_true_records_are_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    for classes in ("1", "2"):
        assert run([*FOUND, "--classes", classes]) == 0
        assert run(["predict", "classes.json", "known.csv", "--out", "predicted.csv"]) == 0
        table = pa_csv.read_csv("predicted.csv").to_pydict()
        model = model_from_json(Path("classes.json").read_text())
        assert table["class"] == model.predict(TRUE).tolist()
    assert "3,000 predictions of class" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*FOUND, "--classes", "0"), "n_classes must be a whole number from 1 up, got 0"),
        ((*FOUND, "--classes", "30"), "cannot be identified"),
        ((*FOUND, "--starts", "0"), "n_init must be a whole number from 1 up"),
        ((*FOUND, "--criterion", "aic"), "'bic', 'held-out'"),
        ((*TWO, "--table", "table.txt"), "table.txt"),
    ],
)
def test_each_mistake_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    (line,) = [line for line in shown.err.splitlines() if line.startswith("error:")]
    assert message in line
    assert not Path("classes.json").exists()


def test_latent_classes_are_not_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(TWO) == 0
    assert run(["evaluate", "classes.json", "design.json", "reported.csv"]) == 2
    assert "has latent classes, which no record reports" in capsys.readouterr().err
