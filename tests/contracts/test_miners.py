"""What every miner promises: scikit-learn's estimator checks, and its ways with estimators."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit import Attribute, Design, Group, Schema, disguise, mine, related
from tacit.evaluate import accuracy
from tacit.mine import ChowLiuTree, Forest, LatentClass, NaiveBayes, literal
from tacit.mine.miner import Miner

NAMES = [getattr(mine, name) for name in mine.__all__]
MINERS = [found for found in NAMES if isinstance(found, type) and issubclass(found, Miner)]
every_miner = pytest.mark.parametrize(
    "miner", [pytest.param(m, marks=pytest.mark.slow if m is Forest else ()) for m in MINERS]
)

#: A small forest, which is quick, and what does not classify.
OTHERS = [Forest(n_estimators=4), LatentClass(), ChowLiuTree()]

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("a", "b", "c", "ill")])
DESIGN = Design(SCHEMA, [Group(["a", "ill"], related(0.8)), Group(["b", "c"], related(0.7))])


def true_records(n: int = 3000) -> Any:
    rng = np.random.default_rng(8)
    ill = rng.random(n) < 0.4
    others = [rng.random(n) < np.where(ill, p, 1 - p) for p in (0.8, 0.7, 0.6)]
    return np.stack([*others, ill], axis=1).astype(np.uint8)


REPORTED = disguise(true_records(), DESIGN, np.random.default_rng(9))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([*(miner() for miner in MINERS if miner is not Forest), *OTHERS])
def test_without_a_design_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@every_miner
def test_a_clone_has_the_same_parameters_and_is_not_fitted(miner: Any) -> None:
    model = miner(DESIGN, "ill").fit(REPORTED)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert again.design is not None
    assert again.design == DESIGN
    assert not hasattr(again, "classes_")
    assert is_classifier(again)


@every_miner
def test_fit_returns_itself_and_changes_no_parameter(miner: Any) -> None:
    model = miner(DESIGN, "ill")
    before = model.get_params()
    assert model.fit(REPORTED) is model
    assert model.get_params() == before


@every_miner
def test_parameters_can_be_set_and_are_shown(miner: Any) -> None:
    model = miner().set_params(design=DESIGN, target="ill")
    assert model.fit(REPORTED).predict(true_records()[:5, :-1]).shape == (5,)
    assert "target='ill'" in repr(model)


@every_miner
def test_fitting_twice_gives_the_same_model(miner: Any) -> None:
    model, features = miner(DESIGN, "ill").fit(REPORTED), true_records()[:20, :-1]
    first = model.predict_proba(features)
    np.testing.assert_array_equal(model.fit(REPORTED).predict_proba(features), first)


@every_miner
def test_records_are_not_changed_by_fit_and_predict(miner: Any) -> None:
    reports, features = REPORTED.copy(), true_records()[:, :-1]
    kept = features.copy()
    miner(DESIGN, "ill").fit(reports).predict(features)
    np.testing.assert_array_equal(reports, REPORTED)
    np.testing.assert_array_equal(features, kept)


@every_miner
def test_it_works_in_a_pipeline_without_a_design(miner: Any) -> None:
    words = np.array([["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]] * 5)
    pipeline = make_pipeline(OrdinalEncoder(), miner())
    labels = words[:, 0] == "red"
    assert pipeline.fit(words, labels).score(words, labels) == 1


@every_miner
def test_it_works_in_a_pipeline_on_reported_records(miner: Any) -> None:
    pipeline = make_pipeline(FunctionTransformer(), miner(DESIGN, "ill"))
    pipeline.fit(REPORTED)
    assert pipeline.score(REPORTED) == miner(DESIGN, "ill").fit(REPORTED).score(REPORTED)
    assert set(pipeline.predict(true_records()[:, :-1])) == {"no", "yes"}


@every_miner
def test_cross_validation_on_reported_records_estimates_the_accuracy_on_true_ones(
    miner: Any,
) -> None:
    scores = cross_val_score(miner(DESIGN, "ill"), REPORTED, cv=4)
    folds = np.array_split(np.arange(len(REPORTED)), 4)
    for fold, score in zip(folds, scores, strict=True):
        rest = np.setdiff1d(np.arange(len(REPORTED)), fold)
        model = miner(DESIGN, "ill").fit(REPORTED[rest])
        assert score == float(accuracy(model, REPORTED[fold], DESIGN))
    true = true_records()
    model = miner(DESIGN, "ill").fit(REPORTED)
    right = np.mean(model.predict(true[:, :-1]) == np.array(["no", "yes"])[true[:, -1]])
    error = float(accuracy(model, REPORTED, DESIGN).stderr)
    assert abs(scores.mean() - right) < 5 * error, (scores, right)


def test_a_grid_search_on_reported_records_chooses() -> None:
    grid = GridSearchCV(NaiveBayes(DESIGN, "ill"), {"alpha": [0.1, 1.0], "method": [literal]}, cv=3)
    grid.fit(REPORTED)
    assert grid.best_estimator_.alpha in (0.1, 1.0)
    assert 0.5 < grid.best_score_ < 1


@every_miner
def test_a_fitted_model_can_be_sent_to_another_process(miner: Any) -> None:
    model, features = miner(DESIGN, "ill").fit(REPORTED), true_records()[:20, :-1]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(features), model.predict_proba(features))
