"""Decision trees as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.errors import FileError
from tacit.mine import DecisionTree, NaiveBayes, model_from_json, model_to_json

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("ill", [False, True]),
        Attribute("Größe", ["klein", "mittel", "groß"]),
        Attribute("age", [20, 40, 60, 80]),
    ]
)
DESIGN = Design(
    SCHEMA, [Group(["smokes", "ill"], related(0.9)), Group(["Größe", "age"], related(0.9))]
)
ANSWERS = np.array(
    [[a, b, c] for a in range(2) for b in range(3) for c in range(4)], dtype=np.uint8
)
ARRAYS = ("attribute", "parent", "child", "value", "covariance", "label_source")


def reports() -> Any:
    rng = np.random.default_rng(5)
    ill = rng.random(5000) < 0.4
    smokes = rng.random(5000) < np.where(ill, 0.8, 0.2)
    size = np.where(smokes, rng.integers(1, 3, 5000), rng.integers(0, 3, 5000))
    age = np.where(ill ^ (size > 1), rng.integers(0, 2, 5000), rng.integers(1, 4, 5000))
    true = np.stack([smokes, ill, size, age], axis=1).astype(np.uint8)
    return disguise(true, DESIGN, rng)


def fitted(criterion: str = "entropy", caution: float = 2.0, target: str = "ill") -> DecisionTree:
    return DecisionTree(DESIGN, target, criterion, caution).fit(reports())


@pytest.fixture(scope="module")
def model() -> DecisionTree:
    return fitted()


def tree_from(text: str) -> DecisionTree:
    again = model_from_json(text)
    assert isinstance(again, DecisionTree)
    return again


@pytest.mark.parametrize("target", ["ill", "age"])
@pytest.mark.parametrize("caution", [0, 0.5, 2.0])
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_a_tree_comes_back_and_predicts_exactly_the_same(
    criterion: str, caution: float, target: str
) -> None:
    model = fitted(criterion, caution, target)
    assert len(model.tree_) > 1
    again = tree_from(model_to_json(model))
    answers = ANSWERS if target == "ill" else ANSWERS[:, [0, 0, 1]] % [2, 2, 3]
    np.testing.assert_array_equal(again.predict(answers), model.predict(answers))
    np.testing.assert_array_equal(again.predict_proba(answers), model.predict_proba(answers))
    np.testing.assert_array_equal(again.apply(answers), model.apply(answers))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.criterion, again.caution) == (criterion, caution)
    assert (again.fingerprint_, again.target) == (DESIGN.fingerprint, target)
    assert again.tree_.n_records == 5000


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_the_tree_comes_back_node_by_node(criterion: str) -> None:
    model = fitted(criterion)
    again = tree_from(model_to_json(model))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again.tree_, name), getattr(model.tree_, name))


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_a_tree_grown_without_caution_is_saved_with_what_the_reports_tell(criterion: str) -> None:
    model = fitted(criterion, 0)
    again = tree_from(model_to_json(model))
    np.testing.assert_array_equal(again.tree_.value, model.tree_.value)
    np.testing.assert_array_equal(again.tree_.covariance, model.estimated_tree().covariance)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_rules_and_text_are_those_of_the_model_that_was_saved(criterion: str) -> None:
    model = fitted(criterion)
    again = tree_from(model_to_json(model))
    assert again.rules() == model.rules()
    assert again.text() == model.text()


def test_a_tree_of_one_leaf_is_saved_too() -> None:
    model = DecisionTree(DESIGN, "ill", max_depth=0).fit(reports())
    again = tree_from(model_to_json(model))
    assert again.max_depth == 0
    np.testing.assert_array_equal(again.predict_proba(ANSWERS), model.predict_proba(ANSWERS))


def test_a_file_is_read_by_a_person(model: DecisionTree) -> None:
    text = model_to_json(model)
    root, *others = json.loads(text)["nodes"]
    assert root["attribute"] in ("smokes", "Größe", "age")
    labels = [label for branch in root["branches"] for label in branch["categories"]]
    assert sorted(map(str, labels)) == sorted(map(str, SCHEMA[root["attribute"]].categories))
    assert {type(node["class"]) for node in others} == {bool}
    assert [line.startswith('{"node": ') for line in text.splitlines()].count(True) == len(
        model.tree_
    )


# Broken files ----------------------------------------------------------------------------------

Content = dict[str, Any]


def _with(**new: Any) -> Callable[[Content], Content]:
    return lambda content: content | new


def _without(key: str) -> Callable[[Content], Content]:
    return lambda content: {k: v for k, v in content.items() if k != key}


def _node(number: int, **new: Any) -> Callable[[Content], Content]:
    def spoil(content: Content) -> Content:
        nodes = list(content["nodes"])
        nodes[number] = {k: v for k, v in (nodes[number] | new).items() if v is not ...}
        return content | {"nodes": nodes}

    return spoil


def _branch(number: int, **new: Any) -> Callable[[Content], Content]:
    """The same with one branch of the root changed."""

    def spoil(content: Content) -> Content:
        branches = list(content["nodes"][0]["branches"])
        branches[number] = branches[number] | new
        return _node(0, branches=branches)(content)

    return spoil


def _one_more_node(content: Content) -> Content:
    last = content["nodes"][-1]
    return content | {"nodes": [*content["nodes"], last | {"node": last["node"] + 1}]}


_OLD = {"categories": [60, 80], "node": 2}

BROKEN: dict[str, tuple[Callable[[Content], Any], str]] = {
    "a newer version": (_with(version=2), "version 2.*upgrade"),
    "another kind": (_with(tacit="design"), '"naive-bayes" or "decision-tree"'),
    "the other kind of model": (_with(tacit="naive-bayes"), "unknown key 'criterion'"),
    "a kind that is a list": (_with(tacit=["decision-tree"]), "JSON object"),
    "an unknown key": (_with(node=[]), "unknown key 'node'.*'nodes'"),
    "no nodes": (_without("nodes"), "'nodes' is missing"),
    "an unknown criterion": (_with(criterion="entropie"), "criterion 'entropie'.*'entropy'"),
    "a criterion that is a list": (_with(criterion=[]), "criterion"),
    "a negative caution": (_with(caution=-1), "caution must be a number from 0 up, got -1"),
    "a caution of text": (_with(caution="2"), "caution"),
    "an infinite caution": (_with(caution=1e999), "Infinity is not a JSON number"),
    "a negative depth": (_with(max_depth=-1), "max_depth .* got -1"),
    "records that are none": (_with(n_records=0), "n_records"),
    "a design that is no fingerprint": (_with(design="abc"), "fingerprint"),
    "an unknown target": (_with(target="il"), "unknown attribute 'il'; did you mean 'ill'"),
    "a target that is a list": (_with(target=["ill"]), "not a model file"),
    "an empty list of nodes": (_with(nodes=[]), "at least one node"),
    "nodes by name": (_with(nodes={}), "nodes must be a list"),
    "a node that is a list": (_with(nodes=[[]]), "node 0: it must be an object"),
    "an unknown key of a node": (_node(1, share=[1]), "node 1: unknown key 'share'.*'shares'"),
    "a node without shares": (_node(1, shares=...), "node 1: the key 'shares' is missing"),
    "a wrong number": (_node(1, node=2), "node 1: nodes are numbered in order from 0, got 2"),
    "a number that is true": (_node(1, node=True), "node 1: .*got True"),
    "an unknown attribute": (_node(0, attribute="smoke"), "node 0: unknown attribute 'smoke'"),
    "an attribute that is a number": (_node(0, attribute=3), "node 0: attribute must be a text"),
    "the target as a split": (_node(0, attribute="ill"), "node 0: it is split by the target 'ill'"),
    "an attribute without branches": (_node(0, branches=...), "node 0: .*come together"),
    "branches without attribute": (_node(0, attribute=...), "node 0: .*come together"),
    "one branch": (_node(0, branches=[]), "node 0: branches must be a list of two or more"),
    "an unknown category": (_branch(0, categories=["ja"]), "node 0: unknown category 'ja'"),
    "a category in two branches": (_branch(0, categories=["yes"]), "'yes' .*in two branches"),
    "a branch of nothing": (_branch(0, categories=[]), "node 0: a branch has a list"),
    "an unknown key of a branch": (_branch(0, leads=1), "node 0: unknown key 'leads'"),
    "a branch to its own node": (_branch(0, node=0), "node 0: a branch leads to node 0"),
    "a branch to nowhere": (_branch(0, node=999), "node 0: a branch leads to node 999"),
    "a branch to a text": (_branch(0, node="1"), "node 0: a branch has"),
    "two branches to one node": (_branch(1, node=1), "no branch leads to node"),
    "a branch into the other": (_branch(1, node=2), "they lead to node 2 instead of node"),
    "a category in no branch": (
        _node(0, attribute="age", branches=[{"categories": [20], "node": 1}, _OLD]),
        "node 0: category 40 of 'age' is in no branch",
    ),
    "a node that nothing leads to": (_one_more_node, "no branch leads to node"),
    "too few shares": (_node(1, shares=[0.5]), "node 1: shares must be 2 finite numbers"),
    "shares of text": (_node(1, shares=["0.5", "0.5"]), "node 1: shares must be 2 finite"),
    "infinite shares": (_node(1, shares=[float("nan"), 0.5]), "NaN is not a JSON number"),
    "a ragged covariance": (_node(1, covariance=[[1.0], [1.0, 0]]), "covariance must be 2 x 2"),
    "another class": (
        _node(0, **{"class": "maybe"}),
        "node 0: its class is 'maybe', but its shares",
    ),
    "a root without a class": (_node(0, takes_parents_class=True), "node 0: takes_parents_class"),
    "a list": (lambda content: [content], "JSON object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_tree_file_is_one_clear_error(name: str, model: DecisionTree) -> None:
    content = json.loads(model_to_json(model))
    assert content["nodes"][0]["attribute"] == "smokes"
    spoil, message = BROKEN[name]
    with pytest.raises(FileError, match=message):
        model_from_json(json.dumps(spoil(content)))


def test_a_number_beyond_all_bounds_is_an_error(model: DecisionTree) -> None:
    text = model_to_json(model).replace('"shares": [', '"shares": [1e999, ', 1)
    with pytest.raises(FileError, match="node 0: shares must be 2 finite numbers"):
        model_from_json(text)


def test_a_tree_without_design_or_fit_cannot_be_saved() -> None:
    plain = DecisionTree().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    for unsaved in (DecisionTree(), DecisionTree(DESIGN, "ill"), plain, "tree"):
        with pytest.raises(FileError, match="fitted to reported records"):
            model_to_json(unsaved)  # type: ignore[arg-type]


def test_both_kinds_are_distinguished(model: DecisionTree) -> None:
    bayes = NaiveBayes(DESIGN, "ill").fit(reports())
    assert isinstance(model_from_json(model_to_json(bayes)), NaiveBayes)
    assert isinstance(model_from_json(model_to_json(model)), DecisionTree)
