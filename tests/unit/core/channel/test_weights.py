"""Group weights: g(y; E) is the sum of W[x, y] over the true answers x in E, for every family.

A report goes through the conditions one at a time, and its state must weigh what the inverse of the
channel, written out, says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.core.arrays import Array, Mask
from tacit.core.channel.weights import Events, GroupWeights
from tacit.mine import DecisionTree
from tests.support.families import CASES, Case
from tests.support.tables import cells_of

#: Rounding of an inverse whose condition is at most TAMEST.
ROUNDING: dict[str, Any] = dict(rtol=0, atol=1e-10)
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def inverse(case: Case) -> Array:
    """A left inverse W of the channel, true x reported."""
    return np.linalg.pinv(case.coin.channel(case.attributes).matrix)


def weights_for(case: Case) -> GroupWeights:
    places = tuple(range(len(case.attributes)))
    return case.coin.channel(case.attributes).weights(places, lambda: inverse(case))


def conditions(sizes: tuple[int, ...], rng: np.random.Generator) -> list[tuple[int, Mask]]:
    """A few conditions on random attributes, each narrower than those before, as in a tree."""
    allowed, found = [np.ones(k, bool) for k in sizes], []
    for a in rng.integers(len(sizes), size=4):
        narrower = allowed[a] & (rng.random(sizes[a]) < 0.7)
        if 0 < narrower.sum() < allowed[a].sum():
            allowed[a] = narrower
            found.append((int(a), narrower))
    return found


def read(case: Case, steps: list[tuple[int, Mask]]) -> tuple[Events, Array]:
    """The event of these conditions, and g of every report after them."""
    own, sizes = weights_for(case), tuple(a.size for a in case.attributes)
    reports = np.arange(case.coin.channel(case.attributes).matrix.shape[0])
    states, events = own.start(reports), Events.certain(sizes)
    codes = np.array(cells_of(case.attributes))
    for a, allowed in steps:
        hit = allowed[codes[:, a]] if own.by_attribute else np.zeros(len(reports), bool)
        states = own.step(states, a, hit)
        events.allowed[0, events.span(a)] &= allowed
    return events, own.weights(events, states)[0]


@every_case
def test_what_a_report_weighs_is_the_sum_of_the_inverse_over_the_event(case: Case) -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        events, found = read(case, conditions(tuple(a.size for a in case.attributes), rng))
        cells = np.array(cells_of(case.attributes))
        inside = np.all([events.of(a)[0, cells[:, a]] for a in range(cells.shape[1])], axis=0)
        np.testing.assert_allclose(found, inside.astype(float) @ inverse(case), **ROUNDING)


@every_case
def test_a_group_without_conditions_weighs_one(case: Case) -> None:
    """Columns of M sum to 1, so rows of M^-1 do; other left inverses need not."""
    if case.coin.channel(case.attributes).inverse is not None:
        np.testing.assert_allclose(read(case, [])[1], 1, **ROUNDING)


@every_case
def test_the_parts_of_an_event_add_up_to_it(case: Case) -> None:
    """g of all reports for the event parted by an attribute sums to g of the event."""
    own, sizes = weights_for(case), tuple(a.size for a in case.attributes)
    reports = np.arange(case.coin.channel(case.attributes).matrix.shape[0])
    states = np.unique(own.start(reports))
    certain = Events.certain(sizes)
    whole = own.weights(certain, states)
    for a, k in enumerate(sizes):
        found = own.parted(certain, [a], states)
        if not own.by_attribute:
            np.testing.assert_allclose(found[..., 1].sum(axis=1), whole, **ROUNDING)
            continue
        found = np.broadcast_to(found, (1, k, *found.shape[2:]))
        hits, misses = found[:, 0, :, 1], found[:, 1:, :, 0].sum(axis=1)
        np.testing.assert_allclose(hits + misses, np.ones((1, len(states))), **ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("n_attributes", [60, 64, 66, 70])
def test_a_related_group_may_have_any_number_of_attributes(n_attributes: int) -> None:
    """One attribute of three categories, and only the last attribute tells the class."""
    schema = Schema(
        [Attribute("class", ["no", "yes"]), Attribute("three", ["x", "y", "z"])]
        + [Attribute(f"q{i}", ["no", "yes"]) for i in range(n_attributes - 2)]
    )
    rng = np.random.default_rng(5)
    true = rng.integers(0, 2, (3000, n_attributes)).astype(np.uint8)
    true[:, -1] = true[:, 0]
    design = Design(schema, [Group(schema.names, related(0.8))])
    model = DecisionTree(design, "class", max_depth=1).fit(disguise(true, design, rng))
    assert model.tree_.attribute[0] == n_attributes - 1


def test_only_groups_that_always_tell_the_truth_are_exact() -> None:
    attributes = (Attribute("a", ["x", "y"]),)

    def exact(coin: Any) -> bool:
        return coin.channel(attributes).weights((0,), lambda: np.eye(2)).exact

    assert exact(truthful())
    assert not exact(related(0.9))
