"""Priors and log-odds with their standard errors, against formulas that are known."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, truthful
from tacit.mine import NaiveBayes
from tacit.mine.naive_bayes import log_odds as log_odds_and_slopes

STEP = 1e-30
CODES = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]], [300, 200, 100, 150, 250], axis=0)
SCHEMA = Schema([Attribute("class", ["no", "yes"]), Attribute("answer", ["a", "b", "c"])])


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    return NaiveBayes(design, "class", alpha=1e-9).fit(CODES.astype(np.uint8))


def test_undisguised_the_prior_is_the_share_with_the_binomial_standard_error(
    model: NaiveBayes,
) -> None:
    prior = model.prior()
    np.testing.assert_allclose(prior.value, [0.5, 0.5], rtol=1e-9)
    np.testing.assert_allclose(prior.stderr, np.sqrt(0.25 / 1000), rtol=1e-6)
    assert [a.name for a in prior.attributes] == ["class"]


def test_undisguised_log_odds_are_those_of_the_counts(model: NaiveBayes) -> None:
    odds = model.log_odds("answer")
    assert odds.value.shape == (2, 3)
    expected = np.log([0.6 / 0.2, 0.4 / 0.3])
    np.testing.assert_allclose(odds.value[0, :2], expected, rtol=1e-6)
    np.testing.assert_allclose(odds.value[1, :2], -expected, rtol=1e-6)
    # Variance of the log of a share: (1/p - 1) / n, of both classes.
    variance = (1 / 0.6 - 1) / 500 + (1 / 0.2 - 1) / 500
    np.testing.assert_allclose(odds.stderr[:, 0], np.sqrt(variance), rtol=1e-5)
    assert "log-odds of class by answer" in str(odds)


def test_the_slopes_of_the_log_odds_are_their_derivatives() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=3 + 12)

    def log_odds(z: np.ndarray) -> np.ndarray:
        prior = np.exp(z[:3]) / np.exp(z[:3]).sum()
        table = np.exp(z[3:]).reshape(3, 4)
        table = table / table.sum(axis=1, keepdims=True)
        others = (prior.sum() - prior)[:, None]
        mixed = (prior @ table - prior[:, None] * table) / others
        return np.log(table / mixed).ravel()

    slopes = np.stack([log_odds(logits + 1j * STEP * unit).imag / STEP for unit in np.eye(15)], 1)
    weights = np.exp(logits[:3])
    table = np.exp(logits[3:]).reshape(3, 4)
    shares = table / table.sum(axis=1, keepdims=True)
    found, found_slopes = log_odds_and_slopes(weights / weights.sum(), shares)
    np.testing.assert_allclose(found.ravel(), log_odds(logits), rtol=1e-12)
    np.testing.assert_allclose(found_slopes, slopes, rtol=1e-9, atol=1e-13)
