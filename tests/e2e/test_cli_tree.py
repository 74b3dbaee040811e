"""`tacit mine tree`, and trees in `tacit evaluate` and `tacit predict`, as a user runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import DecisionTree, NaiveBayes, model_from_json, model_to_json, reduced_error
from tacit.output.number_text import number_of
from tacit.records import files
from tests.support.commands import is_one_error
from tests.support.origins import unknown_origin

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("ill", [False, True]),
        Attribute("size", ["klein", "mittel", "groß"]),
        Attribute("x", range(16)),
    ]
)
DESIGN = Design(
    SCHEMA, [Group(["ill"], related(0.8)), Group(["smokes", "size", "x"], related(0.9))]
)
OTHER = Design(SCHEMA, [Group(SCHEMA.names, related(0.8))])
OF_ILL = (
    "mine",
    "tree",
    "design.json",
    "reported.parquet",
    "--target",
    "ill",
    "--out",
    "tree.json",
)
TESTED = ("evaluate", "tree.json", "design.json", "test.csv")
PREDICTED = ("predict", "tree.json", "known.csv", "--out", "out.csv")


def people(n_records: int, seed: int) -> pa.Table:
    """True records, where illness goes with smoking and size together."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_records) < 0.4
    smokes = np.where(rng.random(n_records) < np.where(ill, 0.7, 0.3), "yes", "no")
    tall = ill ^ (smokes == "no")
    size = np.where(tall, rng.integers(1, 3, n_records), rng.integers(0, 2, n_records))
    labels = np.array(SCHEMA["size"].categories)
    x = rng.integers(0, 16, n_records)
    return pa.table({"smokes": smokes, "size": labels[size], "ill": ill, "x": x})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with designs, reported records to learn from and to test on, and true ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("design.json").write_text(DESIGN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    rng = np.random.default_rng(3)
    pq.write_table(disguise(people(5000, 1), DESIGN, rng), "reported.parquet")
    pa_csv.write_csv(disguise(people(2000, 2), DESIGN, rng), "test.csv")
    pa_csv.write_csv(people(50, 4), "known.csv")


@pytest.fixture
def model() -> DecisionTree:
    """The tree of the library, saved as tree.json."""
    fitted = DecisionTree(DESIGN, "ill").fit("reported.parquet")
    Path("tree.json").write_text(model_to_json(fitted))
    return fitted


def contents() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in os.listdir()}


# mine -------------------------------------------------------------------------------------------


def test_the_tree_is_that_of_the_library(tacit_: Any, model: DecisionTree) -> None:
    expected = Path("tree.json").read_text()
    ran = tacit_(*OF_ILL)
    assert (ran.status, ran.err) == (0, unknown_origin("reported.parquet"))
    assert Path("tree.json").read_text() == expected


def test_the_options_are_those_of_the_library(tacit_: Any) -> None:
    options = ("--criterion", "gini", "--caution", "0.5", "--max-depth", "2")
    assert tacit_(*OF_ILL, *options).status == 0
    expected = DecisionTree(DESIGN, "ill", "gini", 0.5, 2).fit("reported.parquet")
    assert Path("tree.json").read_text() == model_to_json(expected)


def test_the_tree_is_pruned_on_the_validation_records(tacit_: Any) -> None:
    ran = tacit_(*OF_ILL, "--caution", "0", "--prune", "test.csv")
    assert (ran.status, ran.err) == (0, unknown_origin("reported.parquet", "test.csv"))
    grown = DecisionTree(DESIGN, "ill", caution=0).fit("reported.parquet")
    pruned = reduced_error(grown, "test.csv")
    assert pruned.get_n_leaves() < grown.get_n_leaves()
    assert Path("tree.json").read_text() == model_to_json(pruned)
    before = f"pruned from {grown.get_n_leaves():,} leaves on 2,000 reported records"
    assert before in ran.out


def test_the_tree_and_its_size_are_shown(tacit_: Any) -> None:
    ran = tacit_(*OF_ILL, "--max-depth", "2")
    model = DecisionTree(DESIGN, "ill", max_depth=2).fit("reported.parquet")
    title = "wrote tree.json: decision tree for ill, from 5,000 reported records, by entropy"
    assert ran.out.splitlines()[0] == title
    at_most = number_of(model.get_depth(), "condition")
    assert f"{model.get_n_leaves()} leaves, at most {at_most} to one" in ran.out
    assert model.text() in ran.out
    assert "hidden" not in ran.out


def test_a_tree_of_one_leaf_is_shown(tacit_: Any) -> None:
    ran = tacit_(*OF_ILL, "--max-depth", "0")
    assert ran.status == 0
    assert "1 leaf;" in ran.out
    assert "every record: ill = False" in ran.out


def test_a_large_tree_is_cut_and_says_how_much_is_hidden(tacit_: Any) -> None:
    ran = tacit_(*OF_ILL, "--caution", "0")
    found = DecisionTree(DESIGN, "ill", caution=0).fit("reported.parquet")
    leaves = found.get_n_leaves()
    assert leaves > 50
    shown = next(depth for depth in (2, 1) if found.text(depth) in ran.out)
    assert f"(shown to {shown} of {found.get_depth()} conditions: " in ran.out
    assert f"of {leaves} leaves are hidden)" in ran.out
    assert len(ran.out.splitlines()) < 80


def test_the_strongest_rules_come_first_with_their_intervals(
    tacit_: Any, model: DecisionTree
) -> None:
    best = max(model.rules().known, key=lambda rule: rule.support * rule.confidence)
    lines = tacit_(*OF_ILL, "--level", "0.9").out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("if "))
    assert lines[head].count("90 % interval") == 2
    lower, upper = (float(limit) for limit in best.confidence_interval(0.9))
    assert f"{best.support:.4f}" in lines[head + 2]
    told = f"{best.confidence:.4f} {lower:.4f} .. {upper:.4f}"
    assert told in " ".join(lines[head + 2].split())


@pytest.mark.parametrize("width", [80, 120])
def test_rules_fit_on_the_screen(tacit_: Any, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = tacit_(*OF_ILL, "--caution", "0").out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("if "))
    assert max(map(len, lines[head:])) <= width
    assert "... 56 more rules; --json has all" in lines[head:]


def test_the_table_says_which_records_the_figures_come_from(tacit_: Any) -> None:
    def shown(*more: str) -> str:
        return " ".join(tacit_(*OF_ILL, *more).out.split())

    assert "from the 5,000 records that also chose the tree" in shown()
    found = json.loads(tacit_(*OF_ILL, "--honest", "0.4", "--json").out)
    (kept,) = {rule["n_records"] for rule in found["rules"]}
    assert kept + found["n_records"] == 5000
    assert abs(kept - 2000) < 5 * (5000 * 0.4 * 0.6) ** 0.5
    assert {rule["estimated_from"] for rule in found["rules"]} == {"other records"}
    told = f"from {kept:,} records that did not choose the tree"
    assert told in shown("--honest", "0.4")


def test_only_so_many_rules_are_shown(tacit_: Any) -> None:
    told = DecisionTree(DESIGN, "ill", caution=0).fit("reported.parquet").rules().known
    ran = tacit_(*OF_ILL, "--caution", "0")
    assert f"... {len(told) - 10:,} more rules; --json has all" in ran.out


def test_json_says_the_same(tacit_: Any, model: DecisionTree) -> None:
    found = json.loads(tacit_(*OF_ILL, "--level", "0.9", "--json").out)
    assert (found["design"], found["target"]) == (DESIGN.fingerprint, "ill")
    assert (found["criterion"], found["n_records"], found["level"]) == ("entropy", 5000, 0.9)
    assert (found["leaves"], found["depth"]) == (model.get_n_leaves(), model.get_depth())
    assert found["pruned"] is None
    assert found["prior"]["class"] == [False, True]
    assert found["prior"]["estimate"] == model.prior().value.tolist()
    right = [rule["support"] * rule["confidence"] for rule in found["rules"]]
    assert right == sorted(right, reverse=True)
    rules = [rule.to_dict(0.9) for rule in model.rules().known]
    assert sorted(found["rules"], key=str) == sorted(rules, key=str)
    assert found["notes"] == model.notes()


def test_json_says_what_was_pruned(tacit_: Any) -> None:
    found = json.loads(tacit_(*OF_ILL, "--caution", "0", "--prune", "test.csv", "--json").out)
    grown = DecisionTree(DESIGN, "ill", caution=0).fit("reported.parquet")
    assert found["pruned"] == {"leaves": grown.get_n_leaves(), "n_records": 2000}


@pytest.mark.parametrize(("name", "begins"), [("t.svg", b"<svg"), ("t.PNG", b"\x89PNG")])
def test_the_tree_is_drawn(tacit_: Any, name: str, begins: bytes) -> None:
    ran = tacit_(*OF_ILL, "--figure", name)
    assert (ran.status, ran.err) == (0, unknown_origin("reported.parquet"))
    assert Path(name).read_bytes().startswith(begins)
    again = Path(name).read_bytes()
    assert tacit_(*OF_ILL, "--figure", name).status == 0
    assert Path(name).read_bytes() == again


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({5: "il"}, "unknown attribute 'il'; did you mean 'ill'?"),
        ({3: "no_size.csv"}, "no_size.csv: there is no column for attribute 'size'"),
        ({3: "none.csv"}, "none.csv: no such file"),
        ({3: "empty.csv"}, "empty.csv: the file is empty"),
        ({3: "header.csv"}, "holds 0 records"),
        ({2: "none.json"}, "none.json: no such file"),
        ({2: "one.json"}, "attribute 'ill': needs 2 or more categories, got 1"),
        ({2: "alone.json"}, "the design has no other attribute to predict 'ill' from"),
        ({7: "reported.parquet"}, "is the file that is read"),
        ({7: "design.json"}, "is the file that is read"),
        ({7: "none/tree.json"}, "the folder none does not exist"),
        ({8: "--criterion", 9: "magic"}, "'magic' is not one of 'entropy', 'gini'"),
        ({8: "--caution", 9: "-1"}, "caution must be a number from 0 up, got -1.0"),
        ({8: "--caution", 9: "nan"}, "caution must be a number from 0 up, got nan"),
        ({8: "--caution", 9: "inf"}, "caution must be a number from 0 up, got inf"),
        ({8: "--max-depth", 9: "-1"}, "max_depth must be a whole number from 0 up"),
        ({8: "--max-depth", 9: "1.5"}, "--max-depth"),
        ({8: "--level", 9: "2"}, "the confidence level must lie between 0 and 1"),
        ({8: "--honest", 9: "1"}, "--honest: share must lie between 0 and 1, got 1.0"),
        ({8: "--honest", 9: "0.00001"}, "--honest: 5000 reported records are too few to split"),
        ({8: "--prune", 9: "none.csv"}, "none.csv: no such file"),
        ({8: "--prune", 9: "header.csv"}, "header.csv: holds 0 records"),
        ({8: "--prune", 9: "reported.parquet"}, "learnt from these records; prune it on others"),
        ({8: "--prune", 9: "test.csv", 7: "test.csv"}, "test.csv: is the file that is read"),
        ({8: "--figure", 9: "tree.gif"}, "unknown suffix '.gif' of a figure; allowed: .svg, .png"),
        ({8: "--figure", 9: "none/tree.svg"}, "the folder none does not exist"),
        ({8: "--figure", 9: "t.svg", 7: "./t.svg"}, "t.svg: is where the model goes"),
    ],
)
def test_bad_input_is_one_error_and_writes_nothing(
    tacit_: Any, changed: dict[int, str], said: str
) -> None:
    pa_csv.write_csv(people(5, 1).drop_columns("size"), "no_size.csv")
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("ill,smokes,size,x\n")
    one = json.loads(DESIGN.to_json())
    one["attributes"][1]["categories"] = [False]
    Path("one.json").write_text(json.dumps(one))
    alone = SCHEMA.subset(["ill"])
    Path("alone.json").write_text(Design(alone, [Group(["ill"], related(0.8))]).to_json())
    before = contents()
    arguments = dict(enumerate(OF_ILL)) | changed
    is_one_error(tacit_(*arguments.values()), said)
    assert contents() == before


def test_a_figure_over_records_is_refused(tacit_: Any) -> None:
    os.symlink("reported.parquet", "link.svg")
    before = contents()
    is_one_error(tacit_(*OF_ILL, "--figure", "link.svg"), "is the file that is read")
    assert contents() == before


def test_a_model_that_cannot_be_written_leaves_the_old_one(
    tacit_: Any, model: DecisionTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents()

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    is_one_error(tacit_(*OF_ILL, "--max-depth", "1"), "tree.json: cannot be written: No space left")
    assert contents() == before


def test_the_help_has_an_example(tacit_: Any) -> None:
    ran = tacit_("mine", "tree", "--help")
    assert (ran.status, ran.err) == (0, "")
    assert "Example: tacit mine tree survey.json" in ran.out


# evaluate and predict ---------------------------------------------------------------------------


def test_the_measures_of_a_tree_are_those_of_the_library(tacit_: Any, model: DecisionTree) -> None:
    ran = tacit_(*TESTED, "--json")
    assert (ran.status, ran.err) == (0, unknown_origin("test.csv"))
    expected = [measure(model, "test.csv", DESIGN) for measure in (accuracy, confusion, recall)]
    found = json.loads(ran.out)["estimates"]
    assert [estimate["table"] for estimate in found] == [e.columns() for e in expected]


def test_the_predictions_of_a_tree_are_those_of_the_library(
    tacit_: Any, model: DecisionTree
) -> None:
    ran = tacit_(*PREDICTED)
    assert (ran.status, ran.err) == (0, "")
    found = pa_csv.read_csv("out.csv")
    assert found.column_names == ["ill", "P(False)", "P(True)"]
    assert found["ill"].to_pylist() == model.predict(people(50, 4)).tolist()
    chances = np.stack([found["P(False)"], found["P(True)"]], axis=1)
    np.testing.assert_array_equal(chances, model.predict_proba(people(50, 4)))


@pytest.mark.parametrize("miner", [NaiveBayes, DecisionTree])
def test_a_model_of_another_design_is_refused(tacit_: Any, miner: Any) -> None:
    Path("tree.json").write_text(model_to_json(miner(DESIGN, "ill").fit("reported.parquet")))
    ran = tacit_("evaluate", "tree.json", "other.json", "test.csv")
    is_one_error(ran, "tree.json: was learnt under another design")


@pytest.mark.parametrize("miner", [NaiveBayes, DecisionTree])
def test_a_category_that_the_model_does_not_know_is_one_error(tacit_: Any, miner: Any) -> None:
    Path("tree.json").write_text(model_to_json(miner(DESIGN, "ill").fit("reported.parquet")))
    Path("known.csv").write_text("smokes,size,x\nno,klein,1\nno,gross,1\n")
    before = contents()
    is_one_error(tacit_(*PREDICTED), "unknown category 'gross' of attribute 'size' at record 1")
    assert contents() == before


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content | {"version": 2}, "tree.json: the model file has version 2"),
        (lambda content: content | {"tacit": "design"}, "tree.json: not a model file"),
        (lambda content: content | {"nodes": []}, "tree.json: not a model file: nodes must be"),
        (lambda content: content | {"target": "smoke"}, "tree.json: not a model file: unknown"),
    ],
)
@pytest.mark.parametrize("command", [TESTED, PREDICTED])
def test_a_bad_tree_file_is_one_error(
    tacit_: Any, model: DecisionTree, command: tuple[str, ...], spoil: Any, said: str
) -> None:
    content = json.loads(Path("tree.json").read_text())
    Path("tree.json").write_text(json.dumps(spoil(content)))
    before = contents()
    is_one_error(tacit_(*command), said)
    assert contents() == before


def test_a_written_tree_is_read_back(tacit_: Any) -> None:
    assert tacit_(*OF_ILL, "--criterion", "gini").status == 0
    saved = model_from_json(Path("tree.json").read_text())
    fitted = DecisionTree(DESIGN, "ill", "gini").fit("reported.parquet")
    np.testing.assert_array_equal(
        saved.predict_proba(people(50, 4)), fitted.predict_proba(people(50, 4))
    )
