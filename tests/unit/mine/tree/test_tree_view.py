"""The tree in words, for models of every origin."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.errors import DataError
from tacit.mine import DecisionTree
from tacit.mine.miner import attributes_of_codes, with_target
from tacit.mine.tree.growth import NONE, Tree
from tacit.mine.tree.view import TreeView

SCHEMA = Schema(
    [
        Attribute("size", ["small", "mid", "tall", "huge"]),
        Attribute("ill", ["no", "yes"]),
        Attribute("smokes", ["no", "yes"]),
    ]
)
VALUE = np.array(
    [[0.6, 0.4], [0.11, 0.21], [0.49, 0.19], [0.3, 0.08], [0.2, 0.02], [0.1, 0.06], [0.19, 0.11]]
)
#: size is mid, or else smokes or not, and of smokers size is small or not.
TREE = Tree(
    attribute=np.array([0, NONE, 2, 0, NONE, NONE, NONE]),
    parent=np.array([NONE, 0, 0, 2, 3, 3, 2]),
    child=np.array(
        [
            [2, 1, 2, 2],
            [NONE] * 4,
            [6, 3, NONE, NONE],
            [4, 5, 5, 5],
            [NONE] * 4,
            [NONE] * 4,
            [NONE] * 4,
        ]
    ),
    value=VALUE,
    covariance=np.array([np.diag(v) - np.outer(v, v) for v in VALUE]) / 1000,
    label_source=np.array([0, 1, 2, 3, 4, 2, 6]),
    n_records=1000,
)


def test_a_tree_is_read_from_the_root_down() -> None:
    assert TreeView(TREE, SCHEMA, "ill").text().splitlines() == [
        "size = mid: ill = yes, confidence 66 % +- 3, share 32 % +- 1",
        "size not mid",
        "    smokes = yes",
        "        size = small: ill = no, confidence 91 % +- 2, share 22 % +- 1",
        "        size not small: ill = no, confidence 62 % +- 4, share 16 % +- 1, "
        "class of its parent (its own is within noise)",
        "    smokes = no: ill = no, confidence 63 % +- 3, share 30 % +- 1",
    ]


def test_what_is_below_the_depth_asked_for_is_counted() -> None:
    *_, last = TreeView(TREE, SCHEMA, "ill", max_depth=1).text().splitlines()
    assert last == (
        "size not mid: ill = no, confidence 72 % +- 2, share 68 % +- 1, ... 3 leaves below"
    )
    root = "every record: ill = no, confidence 60 % +- 2, share 100 % +- 0"
    assert TreeView(TREE, SCHEMA, "ill", max_depth=0).text() == f"{root}, ... 4 leaves below"
    assert TreeView(TREE.cut(np.ones(7, bool)), SCHEMA, "ill").text() == root


@pytest.mark.parametrize("depth", [-1, 1.5, True, "2"])
def test_a_depth_that_is_none_is_an_error(depth: int) -> None:
    with pytest.raises(DataError, match="max_depth must be a whole number from 0 up, or None"):
        TreeView(TREE, SCHEMA, "ill", max_depth=depth).text()


def test_a_tree_that_knows_no_errors_is_shown_without() -> None:
    plain = Tree(
        TREE.attribute,
        TREE.parent,
        TREE.child,
        TREE.value,
        np.full((7, 2, 2), np.nan),
        TREE.label_source,
        TREE.n_records,
    )
    first, *rest = TreeView(plain, SCHEMA, "ill").text().splitlines()
    assert first == "size = mid: ill = yes, confidence 65.6 %, share 32.0 %"
    assert "+-" not in "".join(rest)


def test_leaves_are_counted_below_every_node() -> None:
    view = TreeView(TREE, SCHEMA, "ill")
    assert view.leaves_below.tolist() == [4, 0, 3, 2, 0, 0, 0]


def test_records_without_a_schema_get_names() -> None:
    features = Schema(attributes_of_codes(np.array([[2, 0], [1, 0]])))
    schema = with_target(features, None, [7, 8])
    assert (schema.names, schema.sizes) == (("x0", "x1", "class"), (3, 2, 2))
    assert schema["class"].categories == (7, 8)
    schema = with_target(Schema(attributes_of_codes(np.array([[1]]), ["class"])), None, ["a"])
    assert schema.names == ("class", "class_")
    assert schema["class_"].categories == ("a", "other")


@pytest.fixture(scope="module")
def model() -> DecisionTree:
    design = Design(
        SCHEMA, [Group(["size", "ill"], related("9/10")), Group(["smokes"], related("9/10"))]
    )
    rng = np.random.default_rng(3)
    ill = rng.random(6000) < 0.4
    size = np.where(ill, rng.integers(1, 4, 6000), rng.integers(0, 3, 6000))
    smokes = rng.random(6000) < np.where(ill ^ (size > 1), 0.8, 0.3)
    codes = np.stack([size, ill, smokes], axis=1).astype(np.uint8)
    return DecisionTree(design, "ill", caution=2).fit(disguise(codes, design, rng))


def test_every_leaf_of_a_model_has_a_line(model: DecisionTree) -> None:
    lines = model.text().splitlines()
    ends = [line for line in lines if "confidence" in line]
    assert len(ends) == model.get_n_leaves() > 2
    assert len(lines) == len(model.tree_) - 1


def test_a_restored_model_is_read_like_the_one_it_was(model: DecisionTree) -> None:
    again = DecisionTree(target="ill")
    again.restore(model.tree_, model.schema_, "ill")
    again.set_fitted(model.features_, model.classes_, model.fingerprint_)
    assert again.text() == model.text()
    assert again.rules() == model.rules()
    assert again.summary().splitlines()[:3] == model.summary().splitlines()[:3]


def test_figures_are_read_from_other_reports_and_classes_from_the_model(
    model: DecisionTree,
) -> None:
    other = np.array([[0, 1, 0], [3, 0, 1], [1, 1, 1]] * 5, dtype=np.uint8)
    classes = re.findall("ill = [a-z]+", model.text())
    found = model.text(reported=other)
    assert found != model.text()
    assert re.findall("ill = [a-z]+", found) == classes


def test_a_saved_model_does_not_take_other_reports(model: DecisionTree) -> None:
    again = DecisionTree(target="ill")
    again.restore(model.tree_, model.schema_, "ill")
    again.set_fitted(model.features_, model.classes_, model.fingerprint_)
    with pytest.raises(DataError, match="a saved model"):
        again.text(reported=np.zeros((5, 3), np.uint8))


def test_the_summary_says_what_the_reports_do_not_tell(model: DecisionTree) -> None:
    lines = model.summary().splitlines()
    assert lines[0] == "Decision tree for ill from 6,000 records"
    assert lines[1].startswith(f"{model.get_n_leaves()} leaves, at most {model.get_depth()} ")
    assert lines[2].startswith("P(ill): no ")
    assert [line.removeprefix("Note: ") for line in lines[3:]] == model.notes()
    few = DecisionTree(model.design, "ill", max_depth=0).fit(
        np.array([[0, 0, 0], [1, 1, 1]], np.uint8)
    )
    assert "1 leaf: every record gets the same class" in few.summary()
    assert "Note: it is uncertain which class is the most common" in few.summary()


def test_a_model_of_true_records_is_read_by_the_names_of_its_columns() -> None:
    records = pd.DataFrame({"wet": [0, 0, 1, 1, 2], "cold": [0, 1, 0, 1, 1]})
    model = DecisionTree(target="falls").fit(records, ["snow", "rain", "snow", "rain", "rain"])
    found = model.text().splitlines()
    assert [line.split(",")[0] for line in found] == [
        "cold = 0: falls = snow",
        "cold = 1: falls = rain",
    ]
    named = DecisionTree().fit(records.to_numpy(), [1, 1, 1, 1, 1])
    assert named.text().startswith("every record: class = 1, confidence 100 %")
