"""What every family promises of its channel."""

from __future__ import annotations

import decimal
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tacit import reconstruct
from tacit.core.arrays import Array
from tacit.core.channel import FAMILIES, coin_from_dict
from tacit.core.channel.channel import Channel
from tacit.errors import DesignError, SingularChannelError
from tacit.records import count
from tests.support.families import CASES, MAKERS, SINGULAR, Case
from tests.support.tables import brute_force, cells_of

EXACT: dict[str, Any] = dict(rtol=0, atol=1e-14)  # a few roundings of numbers up to 1
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def channel_of(case: Case) -> Channel:
    return case.coin.channel(case.attributes)


@cache
def exact_of(case: Case) -> Any:
    return brute_force(case.coin, case.attributes)


def floats(exact: Any) -> Array:
    return np.asarray(exact, dtype=np.float64)


def test_every_family_is_among_the_cases() -> None:
    assert {case.coin.family for case in CASES} == set(FAMILIES)
    assert {case.family for case in CASES} == set(MAKERS)


@every_case
def test_the_exact_columns_sum_to_one(case: Case) -> None:
    assert set(exact_of(case).sum(axis=0)) == {Fraction(1)}


@every_case
def test_the_matrix_is_the_sum_over_strategies_of_kronecker_products(case: Case) -> None:
    np.testing.assert_allclose(channel_of(case).matrix, floats(exact_of(case)), **EXACT)
    np.testing.assert_allclose(channel_of(case).matrix.sum(axis=0), 1, **EXACT)


@every_case
def test_the_shapes_are_those_of_the_attributes(case: Case) -> None:
    channel, reported = channel_of(case), case.coin.reported(case.attributes)
    assert channel.true_shape == tuple(a.size for a in case.attributes)
    assert channel.reported_shape == tuple(a.size for a in reported)
    assert channel.matrix.shape == (len(cells_of(reported)), len(cells_of(case.attributes)))


@every_case
def test_epsilon_is_the_log_of_the_largest_ratio_in_a_row_rounded_up(case: Case) -> None:
    assert_rounded_up(channel_of(case).epsilon, exact_of(case))
    assert case.design.epsilon == channel_of(case).epsilon


@every_case
def test_the_epsilon_of_a_coin_is_that_of_attributes_it_can_disguise_rounded_up(case: Case) -> None:
    attributes = case.coin.example_attributes
    case.coin.check(attributes)
    assert_rounded_up(case.coin.epsilon, brute_force(case.coin, attributes))
    if [a.size for a in attributes] == [a.size for a in case.attributes]:
        assert case.coin.epsilon == channel_of(case).epsilon


def assert_rounded_up(epsilon: float, exact_matrix: Any) -> None:
    rows = [list(row) for row in exact_matrix]
    if any(min(row) == 0 for row in rows):
        assert epsilon == math.inf
        return
    ratio = max(max(row) / min(row) for row in rows)
    with decimal.localcontext() as context:
        context.prec = 80
        exact = Decimal(ratio.numerator) / Decimal(ratio.denominator)
        assert Decimal(epsilon).exp() >= exact
        assert Decimal(math.nextafter(epsilon, -math.inf)).exp() < exact


@every_case
def test_the_condition_is_that_of_the_matrix(case: Case) -> None:
    channel = channel_of(case)
    expected = np.linalg.cond(floats(exact_of(case)))
    assert channel.condition == pytest.approx(expected, rel=1e-12 * expected)
    assert channel.reconstructable


@every_case
def test_the_inverse_undoes_the_matrix(case: Case) -> None:
    channel = channel_of(case)
    rows, columns = channel.matrix.shape
    if channel.inverse is None:
        assert rows > columns
        return
    np.testing.assert_allclose(channel.inverse.matrix() @ channel.matrix, np.eye(rows), atol=1e-13)


@every_case
def test_transposed_and_squared_maps_are_those_of_the_entries(case: Case) -> None:
    channel = channel_of(case)
    for linear in (channel.forward, channel.inverse):
        if linear is None:
            continue
        entries = linear.matrix()
        scale = np.abs(entries).max() ** 2
        assert linear.shape == entries.shape
        np.testing.assert_allclose(linear.T.matrix(), entries.T, atol=1e-14 * scale)
        np.testing.assert_allclose(linear.power(2).matrix(), entries**2, atol=1e-13 * scale)
        np.testing.assert_allclose(linear.T.power(2).matrix(), entries.T**2, atol=1e-13 * scale)


@every_case
def test_second_moments_are_those_of_the_weights_of_reports(case: Case) -> None:
    channel = channel_of(case)
    if channel.inverse is None:
        return
    moments = channel.inverse.matrix() ** 2 @ channel.matrix
    close: dict[str, Any] = dict(rtol=1e-11, atol=1e-12)
    own, (low, high) = channel.moments(2).inside[0], channel.moments(2).outside
    np.testing.assert_allclose(own, np.diagonal(moments), **close)
    others = moments[~np.eye(len(moments), dtype=bool)].reshape(len(moments), -1)
    np.testing.assert_allclose(low, others.min(axis=1), **close)
    np.testing.assert_allclose(high, others.max(axis=1), **close)


def test_second_moments_of_two_groups_are_those_of_their_product() -> None:
    for first in CASES[::7]:
        for second in CASES[3::11]:
            one, two = channel_of(first), channel_of(second)
            if one.inverse is None or two.inverse is None:
                continue
            moments = np.kron(one.inverse.matrix(), two.inverse.matrix()) ** 2
            moments = moments @ np.kron(one.matrix, two.matrix)
            others = moments[~np.eye(len(moments), dtype=bool)].reshape(len(moments), -1)
            found = one.moments(2) * two.moments(2)
            own, low, high = (np.ravel(m) for m in (found.inside[0], *found.outside))
            np.testing.assert_allclose(own, np.diagonal(moments), rtol=1e-10)
            np.testing.assert_allclose(low, others.min(axis=1), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(high, others.max(axis=1), rtol=1e-9, atol=1e-12)


def marginalised(case: Case, kept: tuple[int, ...], seed: int) -> Array:
    """The channel of some attributes, by summing the joint one over any law of the others."""
    sizes = [a.size for a in case.attributes]
    others = [i for i in range(len(sizes)) if i not in kept]
    joint = floats(exact_of(case)).reshape(*sizes, *sizes)
    law = np.random.default_rng(seed).gamma(0.5, size=sizes) + 1e-9
    law /= law.sum(axis=tuple(others), keepdims=True)
    summed = (joint * law).sum(axis=(*others, *(len(sizes) + i for i in others)))
    order = [sorted(kept).index(i) for i in kept]
    cells = math.prod(sizes[i] for i in kept)
    moved = summed.transpose([*order, *(len(kept) + i for i in order)])
    return np.asarray(moved.reshape(cells, cells))


@every_case
def test_the_channel_of_some_attributes_is_the_marginal_of_the_joint_one(case: Case) -> None:
    positions = range(len(case.attributes))
    for kept in (k for r in range(1, len(positions) + 1) for k in permutations(positions, r)):
        if not case.coin.separable and len(kept) < len(positions):
            with pytest.raises(DesignError, match="together"):
                case.coin.channel(case.attributes, kept)
        elif case.coin.separable:
            marginal = case.coin.channel(case.attributes, kept)
            np.testing.assert_allclose(marginal.matrix, marginalised(case, kept, 1), atol=1e-13)
            np.testing.assert_allclose(marginal.matrix, marginalised(case, kept, 2), atol=1e-13)


@every_case
def test_any_order_of_the_group_gives_the_same_channel_with_its_axes_moved(case: Case) -> None:
    if case.coin.reported(case.attributes) != case.attributes:
        return
    names = case.design.schema.names
    sizes = case.design.schema.sizes
    whole = case.design.channel(names).matrix.reshape(*sizes, *sizes)
    for order in permutations(range(len(sizes))):
        moved = case.design.channel([names[i] for i in order]).matrix
        expected = whole.transpose([*order, *(len(sizes) + i for i in order)])
        np.testing.assert_allclose(moved, expected.reshape(moved.shape), **EXACT)


@every_case
def test_a_coin_comes_back_from_its_json(case: Case) -> None:
    text = json.dumps(case.coin.to_dict())
    again = coin_from_dict(json.loads(text), "coin")
    assert again == case.coin
    assert hash(again) == hash(case.coin)
    assert json.dumps(again.to_dict()) == text


@pytest.mark.parametrize(("case", "parameter"), SINGULAR, ids=str)
def test_a_coin_that_tells_nothing_names_group_and_parameter(case: Case, parameter: str) -> None:
    assert not channel_of(case).reconstructable
    assert np.linalg.matrix_rank(floats(exact_of(case))) < len(cells_of(case.attributes))
    codes = np.zeros((10, len(case.attributes)), np.uint8)
    rec = reconstruct(count(codes, case.design.reported), case.design)
    names = case.design.schema.names
    with pytest.raises(SingularChannelError) as caught:
        rec.table(names)
    assert f"group [{', '.join(names)}]" in str(caught.value)
    assert parameter in str(caught.value)
    with pytest.raises(SingularChannelError):
        rec.probability(dict.fromkeys(names, "c0"))


def test_every_family_but_the_truth_has_a_singular_case() -> None:
    assert {case.coin.family for case, _ in SINGULAR} == set(FAMILIES) - {"truthful"}
