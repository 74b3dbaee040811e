"""Supports and rules of itemsets, for every family and grouping, against sums over all reports."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.core.arrays import Array
from tacit.core.channel import matrix, truthful, uniform_perturbation
from tacit.mine.apriori import (
    ExactSupports,
    FrequentSets,
    HitSupports,
    ItemList,
    Supports,
    WeightSupports,
    halves,
    supports_of,
)
from tacit.reconstruction.events import ReportWeights, event_weights
from tacit.records import PatternTable, count
from tests.support.families import designs, seeds

RECORDS = 60
ROUNDINGS = 1e-9


def reported(design: Design, seed: int, n: int = RECORDS) -> PatternTable:
    rng = np.random.default_rng(seed)
    true = np.stack([rng.integers(0, k, n) for k in design.schema.sizes], axis=1)
    return count(disguise(true.astype(np.uint8), design, rng), design.reported)


def every_level(supports: Supports, found: FrequentSets, longest: int) -> None:
    """Keep all sets."""
    for _ in range(longest):
        sets = found.candidates()
        supports.level(sets)
        found.add(sets)
        supports.keep(np.ones(len(sets), bool))


def by_events(reports: ReportWeights, found: FrequentSets, sets: Array) -> Array:
    """g of every record, records x sets."""
    weights = event_weights(reports, found.items.events(sets))
    return np.repeat(weights, reports.patterns.counts, axis=0)


@pytest.mark.slow
@given(designs(max_attributes=4, largest=3), seeds())
@settings(max_examples=60)
def test_supports_are_probabilities_with_their_standard_errors(design: Design, seed: int) -> None:
    patterns = reported(design, seed)
    found = FrequentSets(ItemList.of(design, None))
    supports = supports_of(ReportWeights(patterns, design), found)
    truth = reconstruct(patterns, design)
    for _ in range(len(design.schema)):
        sets = found.candidates()
        moments = supports.level(sets)
        errors = moments.stderr(RECORDS)
        for place, itemset in enumerate(sets.tolist()):
            estimate = truth.probability(found.items.labels(itemset))
            assert moments.mean[place] == pytest.approx(float(estimate.value), abs=ROUNDINGS)
            variance = max(0.0, estimate.covariance[0, 0])
            assert errors[place] == pytest.approx(variance**0.5, abs=1e-6)
        found.add(sets)
        supports.keep(np.ones(len(sets), bool))


@pytest.mark.slow
@given(designs(max_attributes=3, largest=3), seeds(), st.data())
@settings(max_examples=60)
def test_rules_have_the_joint_covariance_of_their_three_supports(
    design: Design, seed: int, data: st.DataObject
) -> None:
    patterns = reported(design, seed)
    found = FrequentSets(ItemList.of(design, None))
    reports = ReportWeights(patterns, design)
    supports = supports_of(reports, found)
    every_level(supports, found, len(design.schema))
    for length, sets in enumerate(found, start=1):
        if length == 1:
            continue
        inside = np.array(data.draw(st.permutations([True] + [False] * (length - 1))))
        moments = supports.rules(sets, inside)
        parts = [by_events(reports, found, sets[:, chosen]) for chosen in halves(inside)]
        for place in range(len(sets)):
            columns = np.stack([weights[:, place] for weights in parts])
            spread = np.cov(columns, bias=True) / RECORDS
            assert np.abs(moments.mean[place] - columns.mean(axis=1)).max() < ROUNDINGS
            assert np.abs(moments.covariance[place] - spread).max() < ROUNDINGS
            a, b, _ = columns
            cubes = [(a ** (3 - k) * b**k).mean() for k in range(4)]
            assert moments.cubes[place] == pytest.approx(cubes, rel=ROUNDINGS, abs=ROUNDINGS)


SCHEMA = Schema(
    [
        Attribute("a", ["no", "yes"]),
        Attribute("b", ["x", "y", "z"]),
        Attribute("c", ["no", "yes"]),
        Attribute("d", ["no", "yes"]),
    ]
)
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.2], [0.1, 0.1, 0.7]]


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        ([Group(SCHEMA.names, truthful())], ExactSupports),
        ([Group([name], related(0.8)) for name in SCHEMA.names], HitSupports),
        (
            [Group(["d", "b"], uniform_perturbation(0.6)), Group(["a", "c"], related(0.8))],
            HitSupports,
        ),
        ([Group(["b"], matrix(THREE)), Group(["a", "c", "d"], related(0.8))], WeightSupports),
    ],
)
def test_every_way_gives_the_same_moments_as_weights(
    groups: list[Group], kind: type[Supports]
) -> None:
    design = Design(SCHEMA, groups)
    reports = ReportWeights(reported(design, 3, n=2000), design)
    found = FrequentSets(ItemList.of(design, None))
    fast, slow = supports_of(reports, found), WeightSupports(reports, found)
    assert type(fast) is kind
    for length in range(1, 5):
        sets = found.candidates()
        for one, other in zip(fast.level(sets), slow.level(sets), strict=True):
            assert np.abs(one - other).max() < ROUNDINGS
        found.add(sets)
        fast.keep(np.ones(len(sets), bool))
        for inside in map(np.array, product([False, True], repeat=length)):
            if inside.any() and not inside.all():
                for one, other in zip(
                    fast.rules(sets, np.array(inside)),
                    slow.rules(sets, np.array(inside)),
                    strict=True,
                ):
                    assert one == pytest.approx(other, rel=ROUNDINGS, abs=ROUNDINGS)


def test_candidates_are_the_sets_all_of_whose_subsets_were_kept() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    rng = np.random.default_rng(4)
    for _ in range(50):
        found = FrequentSets(ItemList.of(design, {a.name: list(a.categories) for a in SCHEMA}))
        kept = {(): True}
        for length in range(1, 5):
            sets = [tuple(row) for row in found.candidates().tolist()]
            places = found.items.attribute
            expected = [
                one
                for one in combinations(range(len(found.items)), length)
                if len({places[i] for i in one}) == length
                and all(sub in kept for sub in combinations(one, length - 1))
            ]
            assert sets == expected
            chosen = rng.random(len(sets)) < 0.8
            kept |= {one: True for one, yes in zip(sets, chosen, strict=True) if yes}
            found.add(np.array(sets, np.intp).reshape(-1, length)[chosen])
