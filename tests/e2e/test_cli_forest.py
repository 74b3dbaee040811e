"""`tacit mine forest`, and forests in `tacit evaluate` and `tacit predict`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.core.label_codes import decode
from tacit.evaluate import accuracy
from tacit.mine import Forest, model_from_json, model_to_json
from tests.support.commands import is_one_error

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("smokes", "coughs", "ill")])
DESIGN = Design(SCHEMA, [Group(SCHEMA.names, related(0.8))])
LEARN = "mine forest design.json reported.csv --target ill --trees 8 --out forest.json"


def codes(seed: int) -> Any:
    """Reported records, where illness goes with smoking and coughing."""
    rng = np.random.default_rng(seed)
    ill = rng.random(3000) < 0.4
    others = [rng.random(3000) < np.where(ill, p, 1 - p) for p in (0.85, 0.7)]
    true = np.stack([*others, ill], axis=1).astype(np.uint8)
    return disguise(true, DESIGN, rng)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A design, reported records to learn from and to test on, and true ones to predict."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("design.json").write_text(DESIGN.to_json())
    for name, seed in (("reported.csv", 1), ("test.csv", 2)):
        pa_csv.write_csv(decode(codes(seed), SCHEMA, "pyarrow"), name)
    known = {"smokes": ["yes", "no"], "coughs": ["yes", "no"]}
    pa_csv.write_csv(pa.table(known), "known.csv")


def model() -> Forest:
    return Forest(DESIGN, "ill", n_estimators=8).fit(codes(1))


def test_the_model_is_that_of_the_library(tacit: Any) -> None:
    ran = tacit(*LEARN.split())
    assert ran.status == 0
    assert Path("forest.json").read_text() == model_to_json(model())
    assert "forest for ill, from 3,000 reported records, by gini" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    found = model().importances()
    assert ["smokes", f"{found.value[0]:.4f}"] in [line[:2] for line in lines]


def test_the_summary_as_json_has_the_importances(tacit: Any) -> None:
    content = json.loads(tacit(*LEARN.split(), "--json", "--level", "0.9").out)
    assert content["tacit"] == "forest-summary"
    assert content["importances"] == model().importances().columns()
    assert content["trees"] == len(model().trees_)
    assert content["notes"] == model().notes()


def test_settings_reach_the_model(tacit: Any) -> None:
    tacit(*LEARN.split(), "--seed", "3", "--criterion", "entropy", "--max-depth", "1")
    text = Path("forest.json").read_text()
    settings = {"n_estimators": 8, "criterion": "entropy", "max_depth": 1, "random_state": 3}
    assert text == model_to_json(Forest(DESIGN, "ill", **settings).fit(codes(1)))
    assert text != model_to_json(model())


def test_a_forest_is_tested_and_predicts(tacit: Any) -> None:
    tacit(*LEARN.split())
    tested = json.loads(tacit("evaluate", "forest.json", "design.json", "test.csv", "--json").out)
    again = model_from_json(model_to_json(model()))
    assert tested["estimates"][0] == json.loads(
        json.dumps(accuracy(again, codes(2), DESIGN).to_dict())
    )
    assert tacit("predict", "forest.json", "known.csv", "--out", "out.csv").status == 0
    assert pa_csv.read_csv("out.csv")["ill"].to_pylist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("mine forest design.json reported.csv --target age --out forest.json", "'age'"),
        ("mine forest design.json reported.csv --target ill --out reported.csv", "reported.csv"),
        ("mine forest design.json none.csv --target ill --out forest.json", "none.csv"),
        (f"{LEARN} --trees 0", "--trees"),
        (f"{LEARN} --max-features 0", "--max-features"),
        (f"{LEARN} --max-depth -1", "max_depth"),
    ],
)
def test_a_mistake_is_one_error_and_writes_nothing(tacit: Any, arguments: str, said: str) -> None:
    is_one_error(tacit(*arguments.split()), said)
    assert not Path("forest.json").exists()
