"""Latent classes under every family and grouping."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from tacit import Design
from tacit.models.latent_classes import LatentModel
from tacit.records import PatternTable
from tests.support.families import designs, seeds
from tests.support.latent import all_reports, brute_reports, random_model


@settings(max_examples=60)
@given(design=designs(max_attributes=4, largest=3), seed=seeds())
def test_likelihood_and_posterior_are_those_of_brute_force(design: Design, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(1, 5))
    prior, tables = random_model(design.schema.sizes, n_classes, rng)
    expected, classes = brute_reports(design, prior, tables)
    possible = expected > 0
    patterns = np.asfortranarray(all_reports(design)[possible])
    counts = np.ones(len(patterns), np.int64)
    model = LatentModel(PatternTable(design.reported, patterns, counts), design, n_classes)
    point = model.join(prior, tables)
    np.testing.assert_allclose(np.exp(model.logs(point)), expected[possible], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(model.classes(point), classes[possible], atol=1e-9)
