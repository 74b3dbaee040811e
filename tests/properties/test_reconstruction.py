"""What holds for every family and every grouping, with k from 2 to 6."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    christofides,
    disguise,
    forced,
    kuk,
    matrix,
    reconstruct,
    related,
)
from tacit.core.arrays import Array
from tacit.core.channel import Coin, coin_from_dict
from tacit.core.channel.families import Christofides, Kuk, OneSided
from tacit.reconstruction import Estimate, em, inversion, simplex
from tests.support.families import designs, partitions, seeds
from tests.support.tables import (
    brute_force,
    cells_of,
    counts_of,
    margin,
    problem_of,
    random_table,
    reported_table,
)

SAME = 1e-9  # what the package promises


def close(got: Array, expected: Array, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


@given(designs(), seeds())
def test_reconstructing_the_disguised_distribution_gives_it_back(design: Design, seed: int) -> None:
    true = random_table(seed, design.schema.sizes)
    problem = problem_of(design, reported_table(design, true) * 1e4, design.schema.names, 10_000)
    for method in (inversion, simplex):
        close(method(problem).value, true)


@given(designs(max_attributes=3, largest=4), seeds())
def test_the_channel_of_a_design_is_the_product_over_its_groups(design: Design, seed: int) -> None:
    true = random_table(seed, design.schema.sizes)
    expected = np.zeros(design.reported.sizes)
    own = [(g, design.attributes_of(g)) for g in design.groups]
    exact = [np.asarray(brute_force(g.coin, a), dtype=np.float64) for g, a in own]
    reports = [g.coin.reported(a) for g, a in own]
    for cell in cells_of(design.schema.attributes):
        outcome = np.array(true[cell])
        for (group, attributes), M in zip(own, exact, strict=True):
            place = np.ravel_multi_index(
                [cell[design.schema.index(n)] for n in group.attributes],
                [a.size for a in attributes],
            )
            outcome = np.multiply.outer(outcome, M[:, place])
        names = [a.name for r in reports for a in r]
        table = outcome.reshape([a.size for r in reports for a in r])
        expected += table.transpose([names.index(n) for n in design.reported.names])
    close(reported_table(design, true), expected, 1e-13)


def subset(design: Design, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    names = rng.permutation(design.schema.names).tolist()
    return names[: int(rng.integers(1, len(names) + 1))]


@given(designs(), seeds())
def test_the_marginal_of_the_reconstruction_is_the_reconstruction_of_the_marginal(
    design: Design, seed: int
) -> None:
    true = random_table(seed, design.schema.sizes)
    counts = counts_of(design, true, 5000, seed)
    whole = inversion(problem_of(design, counts, design.schema.names, 5000))
    names = subset(design, seed)
    part = inversion(problem_of(design, counts, names, 5000))
    close(part.value, margin(whole.value, design.schema.names, names))
    assert tuple(a.name for a in part.attributes) == tuple(names)


@given(designs(), seeds())
def test_values_sum_to_one_and_the_covariance_agrees_with_the_standard_errors(
    design: Design, seed: int
) -> None:
    counts = counts_of(design, random_table(seed, design.schema.sizes), 300, seed)
    names = subset(design, seed)
    problem = problem_of(design, counts, names, 300)
    close(inversion(problem).value.sum(), np.ones(()))
    covariance = inversion(problem).covariance
    scale = max(1.0, np.abs(covariance).max())
    variances, errors = np.diagonal(covariance), inversion(problem).stderr.ravel()
    alike = variances < 1e-12 * scale  # an impossible value then has the error of a possible one
    close(variances[~alike], errors[~alike] ** 2, 1e-12 * scale)
    close(covariance.sum(axis=0), np.zeros(len(covariance)), 1e-12 * scale * len(covariance))


@given(designs(max_attributes=3, largest=4), seeds())
def test_simplex_and_em_give_distributions(design: Design, seed: int) -> None:
    counts = counts_of(design, random_table(seed, design.schema.sizes), 300, seed)
    for method in (simplex, em):
        value = method(problem_of(design, counts, subset(design, seed), 300)).value
        close(value.sum(), np.ones(()))
        assert (value >= 0).all()


@given(designs(), seeds())
def test_intervals_lie_in_the_unit_interval_and_hold_the_nearest_possible_value(
    design: Design, seed: int
) -> None:
    counts = counts_of(design, random_table(seed, design.schema.sizes), 60, seed)
    estimate = inversion(problem_of(design, counts, subset(design, seed), 60))
    lower, upper = estimate.interval(0.9)
    nearest = np.clip(estimate.value, 0, 1)
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    assert (lower <= nearest + 1e-12).all()
    assert (upper >= nearest - 1e-12).all()
    assert (upper > lower).any() or (estimate.stderr == 0).all()


@given(st.integers(1, 5).flatmap(partitions), seeds())
def test_the_kronecker_form_agrees_with_signed_copies(groups: list[list[int]], seed: int) -> None:
    """METHODS 2: 2^g copies of each reported record, with products of signed weights."""
    rng = np.random.default_rng(seed)
    d = sum(map(len, groups))
    thetas = rng.choice([0.1, 0.25, 0.6, 0.7, 0.95], len(groups))
    schema = Schema([Attribute(f"a{i}", [0, 1]) for i in range(d)])
    design = Design(
        schema,
        [
            Group([f"a{i}" for i in g], related(float(t)))
            for g, t in zip(groups, thetas, strict=True)
        ],
    )
    reported = rng.integers(0, 2, (200, d)).astype(np.uint8)
    expected = np.zeros(schema.sizes)
    for flipped in itertools.product([False, True], repeat=len(groups)):
        copy, weight = reported.copy(), 1.0
        for group, theta, flip in zip(groups, thetas, flipped, strict=True):
            copy[:, group] ^= flip
            weight *= (-(1 - theta) if flip else theta) / (2 * theta - 1)
        np.add.at(expected, tuple(copy.T), weight / len(copy))
    close(reconstruct(reported, design).table(schema.names).value, expected)


def reordered(coin: Coin, own: tuple[Attribute, ...], orders: list[list[int]]) -> Coin:
    """The same coin for attributes whose categories stand in these orders."""
    plain: dict[str, Any] = coin.to_dict()
    if coin.family == "matrix":
        cells = np.arange(len(cells_of(own))).reshape([a.size for a in own])
        place = cells[np.ix_(*orders)].ravel()
        table = np.array(plain["matrix"], dtype=object)[:, place]
        return matrix((table[place] if coin.reported(own) == own else table).tolist())
    if coin.family in ("kuk", "christofides", "mangat", "triangular") and orders[0] == [1, 0]:
        return mirrored(coin, own)
    for key in {"personal", "forced"} & set(plain):
        known = plain[key]
        if not isinstance(known, dict) and not isinstance(known[0], list):
            known = {a.name: known for a in own}
        if isinstance(known, dict):
            named = zip(own, orders, strict=True)
            plain[key] = {a.name: [known[a.name][i] for i in order] for a, order in named}
        else:
            plain[key] = np.array(known, dtype=object)[np.ix_(*orders)].tolist()
    return coin_from_dict(plain, "coin")


def mirrored(coin: Coin, own: tuple[Attribute, ...]) -> Coin:
    """A coin for which the second category is yes, if yes comes first."""
    match coin:
        case Kuk(red_yes, red_no, cards):
            return kuk(red_no, red_yes, cards)
        case Christofides(shares):
            return christofides(shares[::-1])
        case OneSided():
            return forced(coin.weight(own), [1, 0])
    raise AssertionError(coin)


@given(designs(max_attributes=3), seeds())
def test_the_order_of_categories_is_irrelevant(design: Design, seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = {a.name: rng.permutation(a.size).tolist() for a in design.schema}
    schema = Schema(
        [Attribute(a.name, [a.categories[i] for i in orders[a.name]]) for a in design.schema]
    )
    groups = [
        Group(
            g.attributes,
            reordered(g.coin, design.attributes_of(g), [orders[n] for n in g.attributes]),
        )
        for g in design.groups
    ]
    moved = Design(schema, groups)
    counts = counts_of(design, random_table(seed, design.schema.sizes), 400, seed)
    places = [
        orders[a.name] if a in design.schema.attributes else list(range(a.size))
        for a in design.reported
    ]
    names = subset(design, seed)

    def both(method: Any) -> tuple[Estimate, Estimate]:
        there = method(problem_of(moved, counts[np.ix_(*places)], names, 400))
        return method(problem_of(design, counts, names, 400)), there

    here = np.ix_(*(orders[name] for name in names))
    first, second = both(inversion)
    close(second.value, first.value[here])
    close(second.stderr, first.stderr[here])
    close(second.interval().upper, first.interval().upper[here])
    close(both(simplex)[1].value, both(simplex)[0].value[here])


@given(designs(max_attributes=3), seeds())
def test_the_order_of_records_attributes_and_groups_is_irrelevant(
    design: Design, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    true = np.stack([rng.integers(0, k, 50) for k in design.schema.sizes], axis=1).astype(np.uint8)
    reported = disguise(true, design, rng)
    again = Design(design.schema, design.groups[::-1])
    names = subset(design, seed)
    shuffled = rng.permutation(reported)
    first = reconstruct(reported, design).table(names)
    close(reconstruct(shuffled, again).table(names).value, first.value)
    turned = reconstruct(reported, design).table(names[::-1])
    close(turned.value.T, first.value)
