"""LatentClass: what it learns, says and refuses."""

from __future__ import annotations

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.core.label_codes import decode
from tacit.errors import DataError, DesignError, FileError, SchemaError, SingularChannelError
from tacit.mine import LatentClass, model_from_json, model_to_json
from tacit.records import count
from tests.support.latent import brute_reports, class_tables, true_records

SCHEMA = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(6)])
NAMES = SCHEMA.names
DESIGN = Design(SCHEMA, [Group(NAMES[:3], related(0.85)), Group(NAMES[3:], related(0.8))])
PRIOR = np.array([0.6, 0.4])
YES = np.array([[0.2, 0.3, 0.15, 0.7, 0.25, 0.6], [0.75, 0.8, 0.6, 0.2, 0.8, 0.15]])
TABLES = [np.stack([1 - p, p], axis=1) for p in YES.T]
TRUE, _ = true_records(PRIOR, TABLES, 6000, np.random.default_rng(1))
REPORTED = disguise(TRUE, DESIGN, np.random.default_rng(2))
FEW = REPORTED[:400]


@cache
def fitted() -> LatentClass:
    return LatentClass(DESIGN, 2).fit(REPORTED)


def test_known_classes_are_found_within_their_errors() -> None:
    model = fitted()
    assert np.abs((model.shares().value - PRIOR) / model.shares().stderr).max() < 5
    for name, table in zip(NAMES, TABLES, strict=True):
        found = model.profile(name)
        assert np.abs((found.value - table) / found.stderr).max() < 5


@pytest.mark.slow
def test_both_criteria_choose_the_number_of_classes() -> None:
    some = REPORTED[:2500]
    model = LatentClass(DESIGN, n_init=1).fit(some)
    assert len(model.classes_) == 2
    assert [c.n_classes for c in model.selection_][:3] == [1, 2, 3]
    again = LatentClass(DESIGN, criterion="held_out", n_init=1).fit(some)
    assert len(again.classes_) == 2
    bic = -2 * model.log_likelihood_ + 13 * np.log(len(some))
    assert abs(model.bic_ - bic) < 1e-9


@pytest.mark.slow
def test_independent_answers_are_one_class() -> None:
    rng = np.random.default_rng(3)
    true = (rng.random((3000, 6)) < 0.4).astype(np.uint8)
    model = LatentClass(DESIGN, n_init=3).fit(disguise(true, DESIGN, rng))
    assert len(model.classes_) == 1
    assert model.shares().value == pytest.approx([1.0], abs=1e-12)
    assert (model.predict(true) == 0).all()


@pytest.mark.slow
def test_the_result_depends_neither_on_the_order_of_records_nor_on_their_form(
    tmp_path: Path,
) -> None:
    path = tmp_path / "reports.parquet"
    frame = decode(REPORTED, SCHEMA, "polars")
    frame.write_parquet(path)
    expected = fitted()
    for given in (REPORTED[::-1], frame, path, count(REPORTED, SCHEMA)):
        found = LatentClass(DESIGN, 2).fit(given)
        np.testing.assert_array_equal(found.prior_, expected.prior_)
        np.testing.assert_array_equal(found.tables_, expected.tables_)


def test_labels_do_not_depend_on_the_seed() -> None:
    other = LatentClass(DESIGN, 2, random_state=99).fit(REPORTED)
    assert (np.diff(other.prior_) < 0).all()
    np.testing.assert_allclose(other.tables_, fitted().tables_, atol=1e-3)


def test_predictions_are_bayes_rule_on_true_records() -> None:
    model = fitted()
    joint = np.stack(class_tables(model.prior_, model.tables_), axis=-1)
    expected = joint[tuple(TRUE[:50].T)]
    expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(TRUE[:50]), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(TRUE[:50]), expected.argmax(axis=1))


def test_posteriors_are_bayes_rule_on_reports() -> None:
    model = fitted()
    chances, classes = brute_reports(DESIGN, model.prior_, model.tables_)
    places = np.ravel_multi_index(FEW.T, SCHEMA.sizes)
    np.testing.assert_allclose(model.posterior(FEW), classes[places], rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(FEW), np.log(chances[places]), rtol=1e-9)
    assert abs(model.score(FEW) - np.log(chances[places]).mean()) < 1e-12
    patterns = count(FEW, SCHEMA)
    assert model.posterior(patterns).shape == (len(patterns), 2)


@pytest.mark.slow
def test_it_is_an_estimator_that_can_be_cloned_sent_and_cross_validated() -> None:
    model = clone(fitted())
    assert model.get_params()["n_classes"] == 2
    assert not hasattr(model, "prior_")
    again = pickle.loads(pickle.dumps(fitted()))
    np.testing.assert_array_equal(again.posterior(FEW), fitted().posterior(FEW))
    scores = [
        cross_val_score(LatentClass(DESIGN, k, n_init=3), REPORTED, cv=3).mean() for k in (1, 2)
    ]
    assert scores[0] < scores[1]


def test_it_shows_profiles_notes_and_html() -> None:
    text = fitted().summary()
    assert "2 latent classes from 6,000 reported records" in text
    assert "a5         yes" in text
    assert "<table" in fitted()._repr_html_()
    assert "class 1" in fitted()._repr_mimebundle_()["text/html"]
    assert "LatentClass" in LatentClass()._repr_mimebundle_()["text/plain"]
    columns = fitted().columns()
    assert len(columns["class"]) == 2 + 2 * 12
    assert all(
        0 <= low <= high <= 1 for low, high in zip(columns["lower"], columns["upper"], strict=True)
    )


def test_an_attribute_named_class_keeps_its_name() -> None:
    schema = Schema([Attribute("class", ["no", "yes"]), *SCHEMA.attributes[1:]])
    design = Design(schema, [Group(schema.names, related(0.85))])
    model = LatentClass(design, 2, n_init=2).fit(FEW)
    assert model.target == "class_"
    assert set(model.profile("class").columns()) >= {"class_", "class"}


def test_no_convergence_is_stated() -> None:
    model = LatentClass(DESIGN, 2, max_iter=1, n_init=1).fit(REPORTED)
    assert any("NOT converged after 1 iteration" in note for note in model.notes())
    assert not any("NOT converged" in note for note in fitted().notes())


@pytest.mark.slow
def test_the_progress_is_told() -> None:
    told: list[float] = []
    LatentClass(DESIGN, 2, n_init=2).fit(FEW, progress=told.append)
    LatentClass(DESIGN, n_init=1).fit(FEW, progress=told.append)
    assert min(told) > 0
    assert max(told) <= 1


# Saved models ---------------------------------------------------------------------------------


def test_a_saved_model_predicts_and_has_its_errors() -> None:
    model = fitted()
    again = model_from_json(model_to_json(model))
    assert isinstance(again, LatentClass)
    np.testing.assert_array_equal(again.predict_proba(TRUE), model.predict_proba(TRUE))
    np.testing.assert_array_equal(again.profile("a1").stderr, model.profile("a1").stderr)
    assert again.summary().splitlines()[0] == model.summary().splitlines()[0]
    with pytest.raises(DataError, match="does not contain its design"):
        again.posterior(FEW)
    again.set_params(design=DESIGN)
    np.testing.assert_array_equal(again.posterior(FEW), model.posterior(FEW))
    other = Design(SCHEMA, [Group(NAMES, related(0.8))])
    with pytest.raises(DataError, match="another design"):
        again.set_params(design=other).posterior(FEW)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("shares", [0.5, 0.6], "does not sum to 1"),
        ("shares", [], "do not fit"),
        ("tables", [[[0.5, 0.5]]], "do not fit"),
        ("stderr", [0.1], "do not fit"),
        ("n_records", 0, "positive integer"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(key: str, value: Any, message: str) -> None:
    content = json.loads(model_to_json(fitted())) | {key: value}
    with pytest.raises(FileError, match=message):
        model_from_json(json.dumps(content))


def test_a_model_that_was_not_fitted_cannot_be_saved() -> None:
    with pytest.raises(FileError, match="only a model fitted to reported records"):
        model_to_json(LatentClass(DESIGN))


# Mistakes -------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[dict[str, Any], Any, type[Exception], str]] = {
    "no class": ({"n_classes": 0}, FEW, DataError, "n_classes must be a whole number from 1"),
    "half a class": ({"n_classes": 1.5}, FEW, DataError, "n_classes must be a whole number"),
    "too many classes": ({"n_classes": 40}, REPORTED, DataError, "cannot be identified.*at most 9"),
    "too few records": ({"n_classes": 3}, FEW[:20], DataError, "20 records are too few.*20 param"),
    "no records": ({}, FEW[:0], DataError, "0 records"),
    "too few columns": ({}, FEW[:, :2], DataError, "6 attributes"),
    "a design of another type": ({"design": "x"}, FEW, DesignError, "Design, got str"),
    "a design that tells nothing": (
        *({"design": Design(SCHEMA, [Group(NAMES, related(0.5))])}, FEW),
        *(SingularChannelError, "theta=1/2"),
    ),
    "alpha 0": ({"alpha": 0}, FEW, DataError, "alpha must be a number above 0"),
    "tol": ({"tol": "x"}, FEW, DataError, "tol must be a number above 0"),
    "no start": ({"n_init": 0}, FEW, DataError, "n_init must be a whole number from 1"),
    "no iteration": ({"max_iter": True}, FEW, DataError, "max_iter must be a whole number"),
    "a seed below 0": ({"random_state": -1}, FEW, DataError, "random_state must be"),
    "a criterion": ({"criterion": "aic"}, FEW, DataError, "unknown criterion 'aic'"),
    "another schema": (
        {},
        count(FEW[:, :2], SCHEMA.subset(NAMES[:2])),
        DataError,
        "another schema",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_clear_error(name: str) -> None:
    arguments, records, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        LatentClass(**({"design": DESIGN} | arguments)).fit(records)


def test_an_unknown_attribute_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(SchemaError, match="'a9'"):
        fitted().profile("a9")


def test_true_records_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="0 to 1"):
        fitted().predict(TRUE + 2)
    plain = LatentClass(None, 1).fit(TRUE)
    with pytest.raises(DataError, match="0 to 1"):
        plain.predict(TRUE + 2)
    with pytest.raises(DataError, match="too large"):
        LatentClass().fit(TRUE.astype(int) * 5000)


def test_a_model_that_was_not_fitted_says_so() -> None:
    fresh = LatentClass(DESIGN)
    for ask in (lambda: fresh.predict(TRUE), fresh.shares, fresh.notes, fresh.summary):
        with pytest.raises(NotFittedError):
            ask()


def test_the_starts_that_reached_the_maximum_are_some_of_the_finalists() -> None:
    schema = Schema([Attribute(n, ["no", "yes"]) for n in "abc"])
    design = Design(schema, [Group(["a", "b", "c"], truthful())])
    codes = np.random.default_rng(1).integers(0, 2, (500, 3)).astype(np.uint8)
    found = LatentClass(design, n_classes=1).fit(codes).fit_
    assert (found.reached, found.finalists) == (1, 1)
