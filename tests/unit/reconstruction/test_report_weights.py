"""Weights of reports for events, against tables and against the inverse written out."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.core.arrays import Array
from tacit.core.channel.weights import Events
from tacit.errors import DataError, SingularChannelError
from tacit.reconstruction.estimate import linear_estimate
from tacit.reconstruction.events import ReportWeights, event_weights
from tests.support.families import attributes_of, designs, seeds

#: Rounding of sums of products of weights; the groups of the tests have condition at most 20.
ROUNDING: dict[str, Any] = dict(rtol=1e-9, atol=1e-9)

Allowed = list[list[int]]


def random_events(design: Design, rng: np.random.Generator, number: int = 3) -> list[Allowed]:
    """Allowed codes of every attribute: some, or all of them."""
    return [
        [sorted(rng.permutation(k)[: rng.integers(1, k + 1)].tolist()) for k in design.schema.sizes]
        for _ in range(number)
    ]


def indicator(design: Design, allowed: Allowed) -> Array:
    """1 for the true cells of an event."""
    sides = [np.isin(np.arange(k), a) for k, a in zip(design.schema.sizes, allowed, strict=True)]
    return reduce(np.multiply.outer, [side.astype(float) for side in sides])


def events_of(design: Design, events: list[Allowed]) -> Events:
    rows = [Events.conjunction(design.schema.sizes, dict(enumerate(e))).allowed for e in events]
    return Events(design.schema.sizes, np.concatenate(rows))


def records(design: Design, n: int, rng: np.random.Generator) -> Any:
    true = [np.minimum(*rng.integers(0, k, (2, n))) for k in design.schema.sizes]
    return disguise(np.stack(true, axis=1).astype(np.uint8), design, rng)


@settings(max_examples=30)
@given(designs(max_attributes=4, largest=3), seeds())
def test_a_probability_is_that_of_the_table_with_its_error_and_interval(
    design: Design, seed: int
) -> None:
    """`expectation` goes through the whole table, one linear map per group."""
    rng = np.random.default_rng(seed)
    rec = reconstruct(records(design, 60, rng), design)
    for allowed in random_events(design, rng):
        labels = zip(design.schema.attributes, allowed, strict=True)
        found = rec.probability({a.name: [a.categories[i] for i in own] for a, own in labels})
        expected = rec.expectation(indicator(design, allowed), design.schema.names)
        np.testing.assert_allclose(found.value, expected.value, **ROUNDING)
        np.testing.assert_allclose(found.stderr**2, expected.stderr**2, **ROUNDING)
        if found.score is not None:
            np.testing.assert_allclose(found.interval(), expected.interval(), rtol=0, atol=1e-7)


@given(designs(max_attributes=4, largest=3), seeds())
def test_several_events_have_the_covariance_of_the_table(design: Design, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rec = reconstruct(records(design, 60, rng), design)
    events = random_events(design, rng)
    weights = event_weights(ReportWeights(rec.patterns, design), events_of(design, events))
    found = linear_estimate([(weights, rec.patterns.counts)], "P", (Attribute("E", [1, 2, 3]),))
    table = rec.table(design.schema.names)
    rows = np.stack([indicator(design, allowed).ravel() for allowed in events])
    np.testing.assert_allclose(found.value, rows @ table.value.ravel(), **ROUNDING)
    np.testing.assert_allclose(found.covariance, rows @ table.covariance @ rows.T, **ROUNDING)


def test_weights_in_blocks_give_the_same_estimate() -> None:
    rng = np.random.default_rng(2)
    weights, counts = rng.normal(size=(50, 2)), rng.integers(1, 9, 50)
    which = (Attribute("E", [1, 2]),)
    whole = linear_estimate([(weights, counts)], "P", which)
    parts = linear_estimate([(weights[i::7], counts[i::7]) for i in range(7)], "P", which)
    np.testing.assert_allclose(parts.value, whole.value)
    np.testing.assert_allclose(parts.covariance, whole.covariance)
    assert parts.n_records == whole.n_records == counts.sum()


@pytest.mark.parametrize("sizes", [(2,) * 40, (3,) * 40, (2, 3, 4, 5) * 10, (3,) * 70])
@pytest.mark.parametrize("theta", [0.8, 0.6])
def test_an_event_may_have_any_number_of_conditions(sizes: tuple[int, ...], theta: float) -> None:
    """Half of the people are in the event; the others differ from it in every answer."""
    schema, n = Schema(attributes_of(sizes)), 4000
    design = Design(schema, [Group(schema.names, related(theta))])
    true = np.zeros((n, len(sizes)), np.uint8)
    true[n // 2 :] = 1
    rec = reconstruct(disguise(true, design, np.random.default_rng(3)), design)
    found = rec.probability({a.name: "c0" for a in schema})
    assert abs(float(found) - 0.5) < 5 * float(found.stderr)
    lower, upper = found.interval()
    assert 0 <= lower < 0.5 < upper <= 1


def test_many_conditions_of_three_categories_are_those_of_the_whole_table() -> None:
    schema = Schema(attributes_of((3,) * 9 + (2,)))
    design = Design(schema, [Group(schema.names, related(0.7))])
    rng = np.random.default_rng(4)
    rec = reconstruct(records(design, 500, rng), design)
    allowed: Allowed = [[0], [0, 1], [0, 2], [0], [0, 1], [0], [0, 1], [1], [0, 1], [0]]
    event = {a.name: [a.categories[i] for i in own] for a, own in zip(schema, allowed, strict=True)}
    found = rec.probability(event)
    expected = rec.expectation(indicator(design, allowed), schema.names)
    np.testing.assert_allclose(found.value, expected.value, **ROUNDING)
    np.testing.assert_allclose(found.stderr, expected.stderr, **ROUNDING)
    np.testing.assert_allclose(found.interval(), expected.interval(), rtol=0, atol=1e-7)


@pytest.mark.slow
def test_conditions_on_too_many_different_sizes_are_refused() -> None:
    schema = Schema(attributes_of(tuple(range(3, 27))))
    design = Design(schema, [Group(schema.names, related(0.8))])
    rec = reconstruct(np.zeros((5, 24), np.uint8), design)
    with pytest.raises(DataError, match=r"24 different sizes .* fewer conditions"):
        rec.probability({a.name: "c0" for a in schema})


def test_only_the_groups_of_an_event_must_be_reconstructable() -> None:
    schema = Schema(attributes_of((2, 2)))
    design = Design(schema, [Group(["a0"], related(0.8)), Group(["a1"], related("1/2"))])
    rec = reconstruct(np.zeros((10, 2), np.uint8), design)
    assert float(rec.probability({"a0": "c0"})) > 1
    with pytest.raises(SingularChannelError, match=r"group \[a1\]"):
        rec.probability({"a0": "c0", "a1": "c0"})


def test_tables_are_kept_for_further_questions() -> None:
    design = Design(Schema(attributes_of((2, 3))), [Group(["a0", "a1"], related(0.8))])
    rec = reconstruct(np.zeros((10, 2), np.uint8), design)
    assert rec._problem(["a0"]) is rec._problem(("a0",))
    assert rec._problem(["a0", "a1"]) is not rec._problem(["a1", "a0"])
