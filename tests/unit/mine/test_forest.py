"""Forest: random trees from reported records."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit import uniform_perturbation as unrelated
from tacit.errors import DataError, FileError
from tacit.evaluate import accuracy
from tacit.mine import DecisionTree, Forest, model_from_json, model_to_json
from tacit.mine.forest import importances_by_bag
from tacit.mine.tree import forest
from tacit.records import count

NAMES = ("a", "b", "c", "d", "ill")
SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in NAMES])
DESIGN = Design(SCHEMA, [Group(["a", "c", "ill"], related(0.8)), Group(["b", "d"], related(0.7))])
POSSIBLE = np.indices((2,) * 4).reshape(4, -1).T.astype(np.uint8)


def true_records(n: int, seed: int) -> Any:
    """Answers that depend on the class, the first ones most, and the last one not at all."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    others = [rng.random(n) < np.where(ill, p, 1 - p) for p in (0.85, 0.75, 0.65, 0.5)]
    return np.stack([*others, ill], axis=1).astype(np.uint8)


def bayes_rule() -> Any:
    """The class of largest posterior of every possible record."""
    logs = np.log([0.6, 0.4])[:, None] + np.zeros(len(POSSIBLE))
    for column, p in zip(POSSIBLE.T, (0.85, 0.75, 0.65, 0.5), strict=True):
        logs += np.log(np.where(column, [[1 - p], [p]], [[p], [1 - p]]))
    return np.array(["no", "yes"])[logs.argmax(axis=0)]


REPORTED = disguise(true_records(20_000, 1), DESIGN, np.random.default_rng(2))


@cache
def fitted(**settings: Any) -> Forest:
    return Forest(DESIGN, "ill", **settings).fit(REPORTED)


# What it learns -------------------------------------------------------------------------------


def test_it_finds_the_best_classifier_of_disguised_records() -> None:
    np.testing.assert_array_equal(fitted().predict(POSSIBLE), bayes_rule())


@pytest.mark.parametrize("k", [100, 200])
def test_a_forest_splits_by_an_attribute_of_many_categories(k: int) -> None:
    answers = np.arange(8 * k) % k
    features = np.stack([answers, np.arange(8 * k) % 3], axis=1)
    model = Forest(n_estimators=5, max_features=2).fit(features, answers % 2)
    assert model.score(features, answers % 2) == 1


@pytest.mark.slow
def test_so_does_it_from_drawn_true_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_CELLS", 1)
    model = Forest(DESIGN, "ill").fit(REPORTED)
    np.testing.assert_array_equal(model.predict(POSSIBLE), bayes_rule())


@pytest.mark.slow
def test_truthful_reports_give_the_forest_of_undisguised_records() -> None:
    true = true_records(2000, 3)
    design = Design(SCHEMA, [Group(NAMES, truthful())])
    reported = Forest(design, "ill", random_state=5).fit(true)
    plain = Forest(random_state=5).fit(true[:, :-1], true[:, -1])
    np.testing.assert_array_equal(reported.predict_proba(POSSIBLE), plain.predict_proba(POSSIBLE))
    np.testing.assert_array_equal(reported.feature_importances_, plain.feature_importances_)


def test_undisguised_records_give_the_predictions_of_scikit_learn() -> None:
    true = true_records(20_000, 4)
    ours = Forest(max_features=2).fit(true[:, :-1], true[:, -1])
    peer = RandomForestClassifier(100, max_features=2, random_state=0)
    peer.fit(true[:, :-1], true[:, -1])
    # The largest standard error of a leaf's share is .024, and both see the same records.
    gap = np.abs(ours.predict_proba(POSSIBLE) - peer.predict_proba(POSSIBLE))
    assert gap.max() < 0.02
    importance = np.abs(ours.feature_importances_ - peer.feature_importances_)
    assert importance.max() < 0.1


def test_a_class_that_depends_on_nothing_gives_no_splits() -> None:
    rng = np.random.default_rng(6)
    true = rng.integers(0, 2, (2000, 5)).astype(np.uint8)
    model = Forest(DESIGN, "ill").fit(disguise(true, DESIGN, rng))
    assert model.get_n_leaves() == 1
    assert "no tree has a split" in model.summary()
    assert not model.feature_importances_.any()
    assert len(np.unique(model.predict_proba(POSSIBLE), axis=0)) == 1


def test_the_importances_are_shares_and_order_the_attributes() -> None:
    found = fitted().importances()
    assert found.names[0] == "a"
    assert found.names[-1] == "d"
    np.testing.assert_allclose(found.value.sum(), 1, rtol=1e-12)
    assert (found.stderr > 0).all()
    assert "importance" in str(found)
    assert "<table>" in fitted()._repr_html_()
    assert list(found.to_frame(backend="pandas").columns)[:2] == ["attribute", "importance"]


def test_the_estimated_accuracy_is_near_that_on_true_records() -> None:
    true = true_records(20_000, 7)
    model = fitted()
    estimate = accuracy(model, disguise(true, DESIGN, np.random.default_rng(8)), DESIGN)
    right = np.mean((model.predict(true[:, :-1]) == "yes") == true[:, -1])
    assert abs(float(estimate) - right) < 5 * float(estimate.stderr)


# Randomness -----------------------------------------------------------------------------------


def test_a_seed_gives_the_same_forest_from_codes_and_from_counts() -> None:
    again = Forest(DESIGN, "ill").fit(count(REPORTED, DESIGN.reported))
    np.testing.assert_array_equal(again.predict_proba(POSSIBLE), fitted().predict_proba(POSSIBLE))


def test_another_seed_gives_another_forest() -> None:
    other = fitted(random_state=1).predict_proba(POSSIBLE)
    assert (other != fitted().predict_proba(POSSIBLE)).any()


def test_progress_goes_up_to_one() -> None:
    told: list[float] = []
    model = Forest(DESIGN, "ill", n_estimators=6).fit(REPORTED, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    assert len(model.trees_) == 6


# Files ----------------------------------------------------------------------------------------


def test_a_saved_forest_predicts_the_same() -> None:
    text = model_to_json(fitted())
    again = model_from_json(text)
    assert isinstance(again, Forest)
    np.testing.assert_array_equal(again.predict_proba(POSSIBLE), fitted().predict_proba(POSSIBLE))
    assert str(again.importances()) == str(fitted().importances())
    np.testing.assert_array_equal(again.prior().value, fitted().prior().value)
    assert again.fingerprint_ == DESIGN.fingerprint


def _no_trees(content: Any) -> None:
    content["trees"] = []


def _unknown_attribute(content: Any) -> None:
    content["trees"][1][0]["attribute"] = "e"


def _back(content: Any) -> None:
    content["trees"][0][0]["children"][1] = 0


def _chances(content: Any) -> None:
    content["trees"][0][-1] = [0.5, 0.6]


def _errors(content: Any) -> None:
    content["stderr"] = [0.1]


MISTAKES = {
    "trees must be a list": _no_trees,
    "tree 1: node 0: .*'e'": _unknown_attribute,
    "tree 0: node 0: a category leads to node 0": _back,
    "do not sum to 1": _chances,
    "stderr must have": _errors,
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_damaged_file_is_an_error_that_says_where(message: str) -> None:
    content = json.loads(model_to_json(fitted()))
    MISTAKES[message](content)
    with pytest.raises(FileError, match=message):
        model_from_json(json.dumps(content))


# Mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number from 1 up, got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number"),
        ({"criterion": "id3"}, "'id3'.*entropy"),
        ({"max_features": 0}, "max_features must be a whole number from 1 up"),
        ({"max_depth": -1}, "max_depth must be a whole number from 0 up"),
        ({"random_state": None}, "random_state must be a whole number from 0 up"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Forest(DESIGN, "ill", **settings).fit(REPORTED)


def test_a_category_that_is_too_large_is_an_error() -> None:
    with pytest.raises(DataError, match="category 5000 is too large"):
        Forest().fit([[0], [5000]], [0, 1])


# Beside a tree --------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_better_than_one_tree_where_many_answers_count_a_little() -> None:
    rng = np.random.default_rng(9)
    schema = Schema([Attribute(f"x{i}", ["no", "yes"]) for i in range(10)] + [SCHEMA["ill"]])
    ill = rng.random(8000) < 0.5
    others = rng.random((8000, 10)) < np.where(ill, 0.62, 0.38)[:, None]
    true = np.column_stack([others, ill]).astype(np.uint8)
    names = schema.names
    design = Design(schema, [Group(names[i::2], unrelated(0.7)) for i in range(2)])
    reported = disguise(true[:4000], design, rng)
    right = {
        model: np.mean(
            (model(design, "ill").fit(reported).predict(true[4000:, :-1]) == "yes")
            == true[4000:, -1]
        )
        for model in (Forest, DecisionTree)
    }
    assert right[Forest] > right[DecisionTree]


def test_errors_of_importances_are_those_of_little_bags() -> None:
    gains = np.random.default_rng(1).uniform(size=(12, 3))
    shares = gains / gains.sum(axis=1, keepdims=True)
    bags = [shares[start : start + 4] for start in (0, 4, 8)]
    between = np.var([bag.mean(axis=0) for bag in bags], axis=0, ddof=1)
    within = np.mean([bag.var(axis=0, ddof=1) for bag in bags], axis=0)
    expected = np.sqrt(np.maximum(between - within / 4, 0) + within / 12)
    value, stderr = importances_by_bag(gains, 4)
    np.testing.assert_allclose(value, shares.mean(axis=0))
    np.testing.assert_allclose(stderr, expected)
