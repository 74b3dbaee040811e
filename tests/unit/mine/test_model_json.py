"""Models as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.errors import FileError
from tacit.mine import NaiveBayes, literal, model_from_json, model_to_json

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("Größe", ["klein", "mittel", "groß"]),
        Attribute("ill", [False, True]),
    ]
)
DESIGN = Design(SCHEMA, [Group(SCHEMA.names, related(0.8))])
ANSWERS = np.array([[a, b] for a in range(2) for b in range(3)], dtype=np.uint8)


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    rng = np.random.default_rng(5)
    ill = rng.random(3000) < 0.3
    smokes = rng.random(3000) < np.where(ill, 0.7, 0.2)
    size = np.where(ill, rng.integers(1, 3, 3000), rng.integers(0, 3, 3000))
    true = np.stack([smokes, size, ill], axis=1).astype(np.uint8)
    return NaiveBayes(DESIGN, "ill").fit(disguise(true, DESIGN, rng))


def test_a_model_comes_back_and_predicts_the_same(model: NaiveBayes) -> None:
    again = model_from_json(model_to_json(model))
    np.testing.assert_allclose(
        again.predict_log_proba(ANSWERS), model.predict_log_proba(ANSWERS), rtol=1e-13
    )
    np.testing.assert_array_equal(again.predict(ANSWERS), model.predict(ANSWERS))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.fingerprint_ == DESIGN.fingerprint
    assert again.parameters_.n_records == 3000


def test_a_model_is_the_same_after_a_second_round(model: NaiveBayes) -> None:
    text = model_to_json(model)
    assert "Größe" in text
    assert json.loads(text)["version"] == 1


def test_a_literal_model_is_saved_too(model: NaiveBayes) -> None:
    reports = np.random.default_rng(1).integers(0, 2, (200, 3)).astype(np.uint8)
    fitted = NaiveBayes(DESIGN, "ill", method=literal).fit(reports)
    again = model_from_json(model_to_json(fitted))
    np.testing.assert_array_equal(again.predict(ANSWERS), fitted.predict(ANSWERS))


def _without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda content: {k: v for k, v in content.items() if k != key}


def _with(**new: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content | new


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a newer version": (_with(version=2), "version 2.*upgrade"),
    "version 0": (_with(version=0), "version"),
    "a version that is true": (_with(version=True), "version"),
    "another kind of file": (_with(tacit="design"), "naive-bayes"),
    "an unknown key": (_with(priors=[0.5, 0.5]), "unknown key 'priors'.*'prior'"),
    "no prior": (_without("prior"), "'prior' is missing"),
    "a prior of three classes": (_with(prior=[0.2, 0.3, 0.5]), "do not fit"),
    "a prior of text": (_with(prior=["a", "b"]), "not a model file"),
    "a prior of objects": (_with(prior={"no": 1}), "not a model file"),
    "a prior that does not sum to 1": (_with(prior=[0.9, 0.9]), "sum to 1"),
    "a negative prior": (_with(prior=[-0.5, 1.5]), "prior"),
    "tables of the wrong shape": (_with(tables=[[[0.5, 0.5]], [[1.0]]]), "do not fit"),
    "ragged tables": (
        _with(tables=[[[0.5], [0.5, 0.5]], [[0.2, 0.3, 0.5], [0.1, 0.4, 0.5]]]),
        "not a model file",
    ),
    "too few tables": (_with(tables=[]), "do not fit"),
    "tables that do not sum to 1": (
        _with(tables=[[[0.5, 0.6], [0.5, 0.5]], [[0.2, 0.3, 0.5], [0.1, 0.4, 0.5]]]),
        "sum to 1",
    ),
    "records that are text": (_with(n_records="many"), "n_records"),
    "a design that is no fingerprint": (_with(design=7), "design"),
    "a list": (lambda content: [content], "JSON object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_file_is_one_clear_error(name: str, model: NaiveBayes) -> None:
    spoil, message = BROKEN[name]
    text = json.dumps(spoil(json.loads(model_to_json(model))))
    with pytest.raises(FileError, match=message):
        model_from_json(text)


@pytest.mark.parametrize("text", ["", "naive Bayes", "{", '{"tacit": NaN', "[" * 100_000])
def test_what_is_not_json_is_a_file_error(text: str) -> None:
    with pytest.raises(FileError, match="not a model file"):
        model_from_json(text)


def test_a_target_that_is_no_attribute_is_an_error(model: NaiveBayes) -> None:
    content = json.loads(model_to_json(model)) | {"target": "smoke"}
    with pytest.raises(ValueError, match="smoke") as caught:
        model_from_json(json.dumps(content))
    assert type(caught.value).__module__ == "tacit.errors"


def test_a_model_without_design_or_fit_cannot_be_saved() -> None:
    with pytest.raises(FileError, match="fitted to reported records"):
        model_to_json(NaiveBayes())
    with pytest.raises(FileError, match="fitted to reported records"):
        model_to_json(NaiveBayes(DESIGN, "ill"))
    plain = NaiveBayes().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(FileError, match="fitted to reported records"):
        model_to_json(plain)
