"""`tacit mine joint`, `tacit query` and `tacit synthesize`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.cli.main import run
from tacit.core.label_codes import decode
from tacit.mine import ChowLiuTree, NaiveBayes, model_from_json, model_to_json
from tacit.models.tree_distribution import ROOT, TreeDistribution

SCHEMA = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(4)])
DESIGN = Design(SCHEMA, [Group(SCHEMA.names, related(0.85))])
FLIP = np.array([[0.8, 0.2], [0.3, 0.7]])
TRUTH = TreeDistribution(
    (ROOT, 0, 1, ROOT), (np.array([0.6, 0.4]), FLIP, FLIP, np.array([0.5, 0.5]))
)
TRUE = TRUTH.draws(4000, np.random.default_rng(1)).astype(np.uint8)
REPORTED = disguise(TRUE, DESIGN, np.random.default_rng(2))
FOUND = ("mine", "joint", "design.json", "reported.csv", "--out", "joint.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("design.json").write_text(DESIGN.to_json())
    pa_csv.write_csv(decode(REPORTED, SCHEMA, "pyarrow"), "reported.csv")


def test_the_model_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FOUND, "--table", "edges.csv"]) == 0
    shown = capsys.readouterr().out
    assert "tree of 4 attributes with 2 edges from 4,000 reported records" in shown
    assert "no dependence beyond noise was found for a3" in shown
    saved = model_from_json(Path("joint.json").read_text())
    expected = ChowLiuTree(DESIGN).fit("reported.csv")
    assert isinstance(saved, ChowLiuTree)
    np.testing.assert_array_equal(saved.tree_.joint(), expected.tree_.joint())
    edges = pa_csv.read_csv("edges.csv").to_pydict()
    assert set(zip(edges["first"], edges["second"], strict=True)) == {("a0", "a1"), ("a1", "a2")}


def test_json_has_edges_and_fidelity(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FOUND, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["tacit"] == "chow-liu-tree-summary"
    assert len(content["edges"]["information"]) == 2
    assert [row["compared"] for row in content["fidelity"]["summary"]] == [4, 6, 4]


def test_synthetic_records_come_from_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed gives the same records, with the model or later."""
    assert run([*FOUND, "--synthesize", "500", "--records", "first.csv", "--seed", "3"]) == 0
    later = ("synthesize", "joint.json", "--number", "500", "--out", "second.csv", "--seed", "3")
    assert run(later) == 0
    assert capsys.readouterr().out.count("500 synthetic records") == 2
    assert Path("first.csv").read_bytes() == Path("second.csv").read_bytes()
    table = pa_csv.read_csv("first.csv")
    assert table.column_names == list(SCHEMA.names)
    expected = model_from_json(Path("joint.json").read_text()).synthesize(
        500, np.random.default_rng(3), "pyarrow"
    )
    assert table.to_pydict() == expected.to_pydict()


def test_queries_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FOUND) == 0
    capsys.readouterr()
    asked = ("--table", "a0,a1", "--where", "a2=yes", "--given", "a0=yes", "--json")
    assert run(["query", "joint.json", *asked]) == 0
    table, event = json.loads(capsys.readouterr().out)["estimates"]
    model = ChowLiuTree(DESIGN).fit("reported.csv")
    expected = model.table(["a0", "a1"], given={"a0": "yes"})
    np.testing.assert_allclose(table["table"]["estimate"], expected.value.ravel())
    chance = model.probability({"a2": "yes"}, given={"a0": "yes"})
    assert event["table"]["estimate"] == [pytest.approx(float(chance))]
    assert run(["query", "joint.json"]) == 0
    assert capsys.readouterr().out.count("by Chow-Liu tree") == 4


MISTAKES = [
    ((*FOUND, "--error", "0"), "error must lie between 0 and 1, got 0"),
    ((*FOUND, "--synthesize", "10"), "give --synthesize N and --records FILE together"),
    ((*FOUND, "--records", "r.csv"), "give --synthesize N and --records FILE together"),
    ((*FOUND, "--synthesize", "0", "--records", "r.csv"), "must be 1 or more, got 0"),
    ((*FOUND, "--table", "edges.txt"), "edges.txt"),
    ((*FOUND, "--synthesize", "9", "--records", "a.csv", "--table", "a.csv"), "the same file"),
    (("query", "design.json"), "design.json"),
    (("query", "bayes.json"), "is not a joint distribution"),
    (("synthesize", "bayes.json", "--number", "5", "--out", "s.csv"), "not a joint distribution"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_each_mistake_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bayes.json").write_text(model_to_json(NaiveBayes(DESIGN, "a0").fit(REPORTED)))
    assert run(arguments) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("error:")]
    assert message in line
    assert not Path("joint.json").exists()


@pytest.mark.parametrize("asked", [("--where", "a9=yes"), ("--table", "a0,a0"), ("--given", "a0")])
def test_bad_queries_are_one_line(
    asked: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(FOUND) == 0
    assert run(["query", "joint.json", *asked]) == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_a_joint_distribution_predicts_no_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FOUND) == 0
    assert run(["predict", "joint.json", "reported.csv", "--out", "p.csv"]) == 2
    assert run(["evaluate", "joint.json", "design.json", "reported.csv"]) == 2
    assert capsys.readouterr().err.count("is a joint distribution, which predicts no class") == 2
