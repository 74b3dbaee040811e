"""`tacit survey round`: from a model to a survey that devices answer, and to its accuracy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tacit import disguise, mine
from tacit.cli.main import run
from tacit.core.label_codes import decode
from tacit.records import count_reported, write_frame
from tacit.survey import read_published
from tests.support.studio import reports, survey


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A published survey, a tree and clusters learnt from its records."""
    own = survey()
    (tmp_path / "published.json").write_text(own.to_json(), encoding="utf-8")
    counts = count_reported(reports(own, 2000), own.design)
    tree = mine.DecisionTree(own.design, "stole", caution=0).fit(counts)
    (tmp_path / "tree.json").write_text(mine.model_to_json(tree), encoding="utf-8")
    classes = mine.LatentClass(own.design, 2).fit(counts)
    (tmp_path / "classes.json").write_text(mine.model_to_json(classes), encoding="utf-8")
    return tmp_path


def test_a_model_becomes_a_survey_whose_estimate_is_its_accuracy(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    made = ["survey", "round", "published.json", "tree.json", "--theta", "9/10"]
    assert run([*made, "--out", "round.json"]) == 0
    assert "3 questions that stay on the device" in capsys.readouterr().out
    assert run(["survey", "check", "round.json"]) == 0
    assert run(["survey", "publish", "round.json", "--out", "published-round.json"]) == 0
    design = read_published("published-round.json").design
    rng = np.random.default_rng(3)
    right = (rng.random(5000) < 0.8).astype(np.uint8)[:, None]
    reported = decode(disguise(right, design, rng), design.reported, "pyarrow")
    write_frame("reported.csv", reported)
    capsys.readouterr()
    assert run(["estimate", "published-round.json", "reported.csv", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["estimates"][0]["table"]
    error = table["stderr"][1]
    assert abs(table["estimate"][1] - 0.8) < 5 * error  # once in a million by chance
    assert error < 0.01


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["tree.json", "--theta", "1/2"], "--theta"),
        (["tree.json", "--theta", "x"], "--theta"),
        (["classes.json"], "decision tree or naive Bayes"),
        (["published.json"], "published.json"),
        (["nothing.json"], "nothing.json"),
    ],
)
def test_what_cannot_be_a_round_is_one_clear_error(
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    word: str,
) -> None:
    monkeypatch.chdir(files)
    model, *others = arguments
    assert run(["survey", "round", "published.json", model, *others, "--out", "round.json"]) == 2
    told = capsys.readouterr().err
    assert word in told
    assert "Traceback" not in told
    assert not (files / "round.json").exists()


def test_the_survey_is_json_and_overwrites_nothing_that_is_read(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    for out in ("round.yaml", "tree.json"):
        assert run(["survey", "round", "published.json", "tree.json", "--out", out]) == 2
        assert out in capsys.readouterr().err
