"""NaiveBayes: what it says, and its parameters (tests/contracts: what every miner takes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import related, truthful
from tacit.errors import DataError, SchemaError, TacitError
from tacit.evaluate import accuracy
from tacit.mine import NaiveBayes, likelihood, literal, pairs
from tests.support.illness import DESIGN, FEATURES, OTHERS, REPORTED, SCHEMA, true_records

METHODS = pytest.mark.parametrize("method", [likelihood, literal])


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes(DESIGN, "ill").fit(REPORTED)


def test_logarithms_are_those_of_the_probabilities(model: NaiveBayes) -> None:
    found = np.exp(model.predict_log_proba(FEATURES))
    np.testing.assert_allclose(found, model.predict_proba(FEATURES), rtol=1e-13)


def test_categories_that_nobody_reported_can_be_predicted_for() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    few = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=np.uint8)
    fitted = NaiveBayes(design, "ill").fit(few)
    assert np.isfinite(fitted.predict_log_proba(np.array([[0, 2], [1, 2]]))).all()


def test_alpha_records_are_added_to_every_category() -> None:
    """One of four records is ill and of the east; `pairs` adds records to the classes too."""
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    few = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0]], dtype=np.uint8)
    for method in (likelihood, literal):
        tables = NaiveBayes(design, "ill", alpha=2, method=method).fit(few).parameters_.tables
        np.testing.assert_allclose(tables[1][1], [2 / 7, 3 / 7, 2 / 7], rtol=1e-9)
    prior = NaiveBayes(design, "ill", alpha=2, method=pairs).fit(few).parameters_.prior
    np.testing.assert_allclose(prior, [5 / 8, 3 / 8], rtol=1e-9)


@METHODS
def test_score_is_the_estimate_from_reported_records_however_they_are_given(
    method: Any,
) -> None:
    fitted = NaiveBayes(DESIGN, "ill", method=method).fit(REPORTED)
    true = true_records()
    labels = np.array(["no", "yes"])[true[:, 1]]
    right = np.mean(fitted.predict(true[:, OTHERS]) == labels)
    estimate = accuracy(fitted, REPORTED, DESIGN)
    assert fitted.score(REPORTED) == float(estimate)
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


def test_the_summary_says_when_the_commonest_class_is_uncertain() -> None:
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


# Mistakes -------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a method by name": ({"method": "literal"}, "method"),
    **{
        f"alpha {wrong!r}": ({"alpha": wrong}, "alpha")
        for wrong in (0, -1, float("nan"), float("inf"), "1")
    },
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_in_a_parameter_is_one_clear_error(name: str) -> None:
    parameters, message = MISTAKES[name]
    with pytest.raises(DataError, match=message):
        NaiveBayes(DESIGN, "ill", **parameters).fit(REPORTED)


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


def test_two_maxima_of_similar_likelihood_widen_the_standard_error() -> None:
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
    model = NaiveBayes(design, "ill", method=method).fit(np.array([[0, 1, 0], [1, 1, 2]] * 20))
    assert model.log_odds("smokes").value.shape == (2, 2)
    assert ("no record of class no" in model.notes()) == (method is likelihood)
