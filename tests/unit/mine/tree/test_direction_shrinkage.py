"""Dependence between groups: kept if the unbiased tables are sure of it, gone if they are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.core.arrays import Array
from tacit.mine.tree.likelihood import shrunk_by_direction
from tacit.reconstruction import reconstruct

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("a", "b", "class")])


def linked(theta: float, n: int = 4000) -> Callable[[Array], Array]:
    """Reports in which b, a group of its own, is mostly the class."""
    rng = np.random.default_rng(1)
    own = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.1, 1 - own, own)
    true = np.column_stack([rng.integers(0, 2, n), b, own]).astype(np.uint8)
    design = Design(SCHEMA, [Group(["a", "class"], related(theta)), Group(["b"], related(theta))])
    channel = design.channel(SCHEMA.names)
    reports = reconstruct(disguise(true, design, rng), design)
    return partial(shrunk_by_direction, channel, reports)


def model(agreement: float) -> Array:
    """a is independent; b is the class with this probability."""
    pair = np.array([[agreement, 1 - agreement], [1 - agreement, agreement]]) / 2
    return np.asarray(np.stack([pair, pair]).reshape(4, 2) / 2)


def agreement(table: Array) -> float:
    cube = table.reshape(2, 2, 2).sum(axis=0)
    return float(cube[0, 0] + cube[1, 1])


def test_a_link_that_the_tables_are_sure_of_stays() -> None:
    found = linked(0.9)(model(0.9))
    np.testing.assert_allclose(found, model(0.9), rtol=0, atol=1e-9)


def test_a_link_in_the_other_direction_is_removed() -> None:
    assert agreement(linked(0.9)(model(0.1))) == pytest.approx(0.5)


def test_where_the_direction_is_unsure_a_part_of_the_link_stays() -> None:
    """At theta .55 the dependence of the table, .2, has a standard error of about .4."""
    links = linked(0.55)
    both = [agreement(links(model(each))) for each in (0.9, 0.1)]
    assert sorted(both)[0] == pytest.approx(0.5) or sorted(both)[1] == pytest.approx(0.5)
    assert 0.1 < min(both) <= max(both) < 0.9


def test_margins_stay() -> None:
    table = np.random.default_rng(2).dirichlet(np.ones(8)).reshape(4, 2)
    found = linked(0.6)(table)
    for axes in ((0, 1), (0, 2), (1, 2)):
        expected = table.reshape(2, 2, 2).sum(axis=axes)
        np.testing.assert_allclose(found.reshape(2, 2, 2).sum(axis=axes), expected, atol=1e-12)
