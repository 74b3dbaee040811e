"""NaiveBayes: what it takes, what it says, and one clear error for each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.channel import related, truthful
from tacit.counting import count
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError, TacitError
from tacit.evaluate import accuracy
from tacit.label_codes import decode
from tacit.mine import NaiveBayes, likelihood, literal, pairs
from tests.support.families import attributes_of

SCHEMA = Schema(
    [
        Attribute("ill", ["no", "yes"]),
        Attribute("smokes", ["no", "yes"]),
        Attribute("region", ["north", "east", "south"]),
    ]
)
DESIGN = Design(SCHEMA, [Group(["ill", "smokes"], related(0.8)), Group(["region"], related(0.7))])
METHODS = pytest.mark.parametrize("method", [likelihood, literal])


def true_records(n: int = 4000) -> Any:
    rng = np.random.default_rng(2)
    ill = rng.random(n) < 0.3
    smokes = rng.random(n) < np.where(ill, 0.8, 0.2)
    region = np.where(ill, rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.choice(3, n, p=[0.1, 0.3, 0.6]))
    return np.stack([ill, smokes, region], axis=1).astype(np.uint8)


REPORTED = disguise(true_records(), DESIGN, np.random.default_rng(3))
FEATURES = true_records()[:50, 1:]


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes(DESIGN, "ill").fit(REPORTED)


def same(one: NaiveBayes, other: NaiveBayes) -> None:
    np.testing.assert_array_equal(one.predict_proba(FEATURES), other.predict_proba(FEATURES))


def test_frames_codes_pattern_tables_and_files_give_the_same_model(
    model: NaiveBayes, tmp_path: Path
) -> None:
    for backend in ("pandas", "polars", "pyarrow"):
        same(NaiveBayes(DESIGN, "ill").fit(decode(REPORTED, SCHEMA, backend)), model)
    same(NaiveBayes(DESIGN, "ill").fit(count(REPORTED, DESIGN.reported)), model)
    path = tmp_path / "reports.parquet"
    decode(REPORTED, SCHEMA, "polars").write_parquet(path)
    same(NaiveBayes(DESIGN, "ill").fit(path), model)


def test_the_class_may_come_apart_as_y(model: NaiveBayes) -> None:
    labels = np.array(["no", "yes"])[REPORTED[:, 0]]
    same(NaiveBayes(DESIGN, "ill").fit(REPORTED[:, 1:], labels), model)
    frame = decode(REPORTED, SCHEMA, "pandas")
    same(NaiveBayes(DESIGN, "ill").fit(frame.drop(columns="ill"), frame["ill"]), model)


def test_predictions_are_labels_and_probabilities_sum_to_one(model: NaiveBayes) -> None:
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(FEATURES)) == {"no", "yes"}
    probabilities = model.predict_proba(FEATURES)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(
        model.predict(FEATURES), model.classes_[probabilities.argmax(axis=1)]
    )
    np.testing.assert_allclose(np.exp(model.predict_log_proba(FEATURES)), probabilities, rtol=1e-13)


def test_frames_are_predicted_like_codes_with_columns_in_any_order(model: NaiveBayes) -> None:
    frame = decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")
    expected = model.predict(FEATURES)
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(frame[["region", "smokes"]]), expected)
    np.testing.assert_array_equal(model.predict(pl.from_pandas(frame)), expected)


def test_categories_that_nobody_reported_can_be_predicted_for() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    few = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=np.uint8)
    fitted = NaiveBayes(design, "ill").fit(few)
    assert np.isfinite(fitted.predict_log_proba(np.array([[0, 2], [1, 2]]))).all()


@METHODS
def test_score_is_the_estimate_from_reported_records_however_they_are_given(
    method: Any,
) -> None:
    fitted = NaiveBayes(DESIGN, "ill", method=method).fit(REPORTED)
    true = true_records()
    labels = np.array(["no", "yes"])[true[:, 0]]
    right = np.mean(fitted.predict(true[:, 1:]) == labels)
    estimate = accuracy(fitted, REPORTED, DESIGN)
    assert fitted.score(REPORTED) == float(estimate)
    assert fitted.score(REPORTED[:, 1:], REPORTED[:, 0]) == float(estimate)
    assert abs(float(estimate) - right) < 5 * float(estimate.stderr)


def test_the_order_of_attributes_does_not_matter(model: NaiveBayes) -> None:
    order = [2, 0, 1]
    schema = SCHEMA.subset([SCHEMA.names[i] for i in order])
    fitted = NaiveBayes(Design(schema, DESIGN.groups), "ill").fit(REPORTED[:, order])
    np.testing.assert_allclose(
        fitted.predict_proba(FEATURES[:, ::-1]), model.predict_proba(FEATURES), rtol=1e-4
    )


# What it says ---------------------------------------------------------------------------------


def test_the_summary_gives_the_prior_and_what_to_know(model: NaiveBayes) -> None:
    text = model.summary()
    assert "naive Bayes for ill" in text
    assert "P(ill) from 4,000 reported records" in text
    assert "NOT" not in text
    assert "do not tell" not in text


def test_the_summary_says_when_the_commonest_class_cannot_be_told() -> None:
    design = Design(
        SCHEMA,
        [Group([name], related(0.51)) for name in SCHEMA.names],
    )
    reports = disguise(true_records(400), design, np.random.default_rng(4))
    fitted = NaiveBayes(design, "ill").fit(reports)
    assert "it is uncertain which class is the most common" in fitted.summary()


def test_prior_and_log_odds_are_estimates_near_the_truth(model: NaiveBayes) -> None:
    prior, odds = model.prior(), model.log_odds("smokes")
    assert abs(prior.value[1] - 0.3) < 5 * prior.stderr[1]
    truth = np.log(0.8 / 0.2)
    assert abs(odds.value[1, 1] - truth) < 5 * odds.stderr[1, 1]
    np.testing.assert_allclose(odds.value[0], -odds.value[1])
    assert [a.name for a in odds.attributes] == ["ill", "smokes"]
    lower, upper = odds.interval()
    assert ((lower < odds.value) & (odds.value < upper)).all()


def test_fitting_again_forgets_the_first_standard_errors() -> None:
    fitted = NaiveBayes(DESIGN, "ill").fit(REPORTED)
    before = fitted.prior().stderr
    after = fitted.fit(REPORTED[:400]).prior().stderr
    assert (after > 2 * before).all()


# Mistakes -------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[Any, Any, type[TacitError], str]] = {
    "target not in the schema": (
        lambda: NaiveBayes(DESIGN, "smoke"), REPORTED, SchemaError, "'smoke'.*'smokes'"
    ),
    "no target": (lambda: NaiveBayes(DESIGN), REPORTED, DataError, "target"),
    "alpha 0": (lambda: NaiveBayes(DESIGN, "ill", alpha=0), REPORTED, DataError, "alpha.*0"),
    "alpha below 0": (lambda: NaiveBayes(DESIGN, "ill", alpha=-1), REPORTED, DataError, "alpha"),
    "alpha not a number": (
        lambda: NaiveBayes(DESIGN, "ill", alpha=float("nan")), REPORTED, DataError, "alpha"
    ),
    "alpha without end": (
        lambda: NaiveBayes(DESIGN, "ill", alpha=float("inf")), REPORTED, DataError, "alpha"
    ),
    "alpha a text": (lambda: NaiveBayes(DESIGN, "ill", alpha="1"), REPORTED, DataError, "alpha"),
    "no records": (lambda: NaiveBayes(DESIGN, "ill"), REPORTED[:0], DataError, "0 records"),
    "an empty frame": (
        lambda: NaiveBayes(DESIGN, "ill"),
        decode(REPORTED[:1], SCHEMA, "pandas")[:0], DataError, "record",
    ),
    "too few columns": (
        lambda: NaiveBayes(DESIGN, "ill"), REPORTED[:, :2], DataError, "3 attributes"
    ),
    "a code out of range": (
        lambda: NaiveBayes(DESIGN, "ill"), REPORTED + 2, DataError, "allowed: 0 to"
    ),
    "a frame without a column": (
        lambda: NaiveBayes(DESIGN, "ill"), pd.DataFrame({"ill": ["no"], "smokes": ["no"]}),
        TacitError, "region",
    ),
    "a design of another type": (
        lambda: NaiveBayes(DESIGN.to_json(), "ill"), REPORTED, DesignError, "Design, got str"
    ),
    "a schema for a design": (
        lambda: NaiveBayes(SCHEMA, "ill"), REPORTED, DesignError, "Design, got Schema"
    ),
    "a method by name": (
        lambda: NaiveBayes(DESIGN, "ill", method="literal"), REPORTED, DataError, "method"
    ),
    "a pattern table of another schema": (
        lambda: NaiveBayes(DESIGN, "ill"),
        count(REPORTED, Schema(attributes_of((2, 2, 3)))), DataError, "another schema",
    ),
    "a design that tells nothing": (
        lambda: NaiveBayes(Design(SCHEMA, [Group(SCHEMA.names, related(0.5))]), "ill"),
        REPORTED, SingularChannelError, "theta=1/2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_in_fitting_is_one_clear_error(name: str) -> None:
    make, records, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        make().fit(records)


def test_a_schema_with_the_class_alone_has_nothing_to_learn_from() -> None:
    design = Design(SCHEMA.subset(["ill"]), [Group(["ill"], related(0.8))])
    with pytest.raises(TacitError, match="attribute"):
        NaiveBayes(design, "ill").fit(REPORTED[:, :1])


def test_y_of_another_length_or_label_is_an_error() -> None:
    labels = np.array(["no", "yes"])[REPORTED[:, 0]]
    with pytest.raises(DataError, match=r"4000 records.*3999"):
        NaiveBayes(DESIGN, "ill").fit(REPORTED[:, 1:], labels[1:])
    with pytest.raises(TacitError, match="'maybe'"):
        NaiveBayes(DESIGN, "ill").fit(REPORTED[:, 1:], np.where(labels == "no", "maybe", labels))


def test_y_beside_a_pattern_table_is_an_error_not_ignored() -> None:
    with pytest.raises(DataError, match="y"):
        NaiveBayes(DESIGN, "ill").fit(count(REPORTED, DESIGN.reported), REPORTED[:, 0])


def test_an_unseen_category_at_predict_is_an_error_that_names_it(model: NaiveBayes) -> None:
    frame = decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")
    frame.loc[7, "region"] = "west"
    with pytest.raises(DataError, match=r"'west' of attribute 'region' at record 7"):
        model.predict(frame)
    codes = FEATURES.copy()
    codes[7, 1] = 3
    with pytest.raises(DataError, match=r"'region': code 3 at record 7.*0 to 2"):
        model.predict(codes)


def test_an_unseen_category_without_a_design_is_an_error_that_names_it() -> None:
    fitted = NaiveBayes().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match=r"feature 1: category 2.*0 to 1"):
        fitted.predict([[0, 1], [0, 2]])


def test_the_wrong_number_of_columns_at_predict_is_an_error(model: NaiveBayes) -> None:
    with pytest.raises(DataError, match="2 attributes"):
        model.predict(REPORTED)
    with pytest.raises(DataError, match="2 attributes"):
        model.predict(FEATURES[:, :1])


def test_an_unknown_attribute_of_log_odds_names_the_nearest(model: NaiveBayes) -> None:
    with pytest.raises(SchemaError, match="'smokes'"):
        model.log_odds("smoke")
    with pytest.raises(TacitError, match="ill"):
        model.log_odds("ill")


@pytest.mark.parametrize("method", [literal, pairs])
def test_tables_of_pairs_bring_their_standard_errors(method: Any) -> None:
    fitted = NaiveBayes(DESIGN, "ill", method=method).fit(REPORTED)
    unbiased = reconstruct(REPORTED, DESIGN).table(["ill"])
    np.testing.assert_allclose(fitted.prior().stderr, unbiased.stderr, rtol=0.05)
    assert (fitted.log_odds("smokes").stderr > 0).all()


def test_without_a_design_there_are_no_standard_errors() -> None:
    fitted = NaiveBayes().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match="reported records"):
        fitted.prior()


def test_a_model_that_was_not_fitted_says_so() -> None:
    for ask in (
        lambda: NaiveBayes(DESIGN, "ill").predict(FEATURES),
        NaiveBayes(DESIGN, "ill").prior,
        NaiveBayes(DESIGN, "ill").summary,
        NaiveBayes().summary,
    ):
        with pytest.raises(NotFittedError):
            ask()


def test_without_design_y_is_needed() -> None:
    with pytest.raises(ValueError, match="y"):
        NaiveBayes().fit([[0, 1], [1, 0]])


def test_two_maxima_of_like_likelihood_are_told_in_the_standard_error() -> None:
    """Near theta = 1/2 a model and its mirror image explain the reports equally well."""
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(6)])
    design = Design(schema, [Group(schema.names, related(0.51))])
    told = wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        true = (rng.random((1000, 6)) < 0.25).astype(np.uint8)
        model = NaiveBayes(design, "q0").fit(disguise(true, design, rng))
        mirrored = model.prior().value[1] > 0.5
        wrong += mirrored
        told += mirrored and "it is uncertain which class is the most common" in model.notes()
    assert wrong > 0
    assert told == wrong


@pytest.mark.parametrize("method", [likelihood, pairs])
def test_a_class_nobody_reports_is_noted_and_nothing_is_divided_by_zero(method: Any) -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    model = NaiveBayes(design, "ill", method=method).fit(np.array([[1, 0, 0], [1, 1, 2]] * 20))
    assert model.log_odds("smokes").value.shape == (2, 2)
    assert ("no record of class no" in model.notes()) == (method is likelihood)


def test_y_may_be_codes_beside_codes_and_labels_beside_a_frame() -> None:
    frame = decode(REPORTED, SCHEMA, "pandas")
    expected = NaiveBayes(DESIGN, "ill").fit(REPORTED).parameters_.prior
    for X, y in (
        (REPORTED[:, 1:], REPORTED[:, 0]),
        (frame.drop(columns="ill"), frame["ill"]),
        (frame, frame["ill"].to_numpy()),
    ):
        np.testing.assert_array_equal(
            NaiveBayes(DESIGN, "ill").fit(X, y).parameters_.prior, expected
        )
    for wrong in ("no", [None] * len(frame), frame[["ill"]], [{}] * len(frame)):
        with pytest.raises(TacitError, match=r"y must|missing cells|type"):
            NaiveBayes(DESIGN, "ill").fit(frame, wrong)
