"""Tables of nodes: P(E, v, c), its excess over chance and its noise, against tables written out.

Both ways to compute them: from rows, and from counts of cells where the groups have few states.

The true table is known and every report comes exactly as often as the channel says, so that for a
function h of true records and phi = W^T h

    beyond  =  sum over true x of  p(x) h(x),      h = 1[x in E] (1[v] - P(v|E)) (1[c] - P(c|E))
    noise^2 =  sum over true x of  p(x) Var(phi(y) | x) / n
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from tacit import Design, Group, Schema
from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree import tables
from tacit.mine.tree.growth import NONE
from tacit.mine.tree.tables import CellTables, NodeTables, RowTables, TreeReports
from tacit.reconstruction.events import ReportWeights
from tacit.records import PatternTable
from tests.support.families import MAKERS, attributes_of, fits, random_coin
from tests.support.tables import random_table, reported_table

#: TreeReports in all: counts are whole, so shares are rounded to this.
MANY = 2.0**50
#: Rounding of sums of some hundred products of weights up to TAMEST in each group.
ROUNDING = 1e-9
SHAPES = ((2,), (4,), (2, 2), (3, 2), (2, 3, 2))
#: Family of the first group, its sizes, the family of the second, and where the class is.
SETTINGS = [
    (family, sizes, other, where)
    for i, family in enumerate(MAKERS)
    for j, sizes in enumerate(shape for shape in SHAPES if fits(family, shape))
    for other in [("related", "unrelated, by name", "matrix", "truthful")[(i + j) % 4]]
    for where in (["same group", "other group"] if len(sizes) > 1 else ["other group"])
]


@dataclass(frozen=True)
class Setting:
    """A design of two groups, its true table and the reports that are expected."""

    design: Design
    target: str
    true: Array

    @cached_property
    def patterns(self) -> PatternTable:
        counts = np.rint(reported_table(self.design, self.true) * MANY)
        cells = np.flatnonzero(counts.ravel() > 0)
        places = np.stack(np.unravel_index(cells, counts.shape), axis=1)
        codes = np.asfortranarray(places.astype(np.uint8))
        return PatternTable(self.design.reported, codes, counts.ravel()[cells].astype(np.int64))

    @cached_property
    def reports(self) -> TreeReports:
        return TreeReports.of(self.patterns, self.design, self.target)

    @cached_property
    def written_out(self) -> tuple[Array, Array]:
        """M and W over all groups, reported x true and true x reported."""
        reports = ReportWeights(self.patterns, self.design)
        channel, inverse, reported, true = np.ones((1, 1)), np.ones((1, 1)), [], []
        for g, group in enumerate(self.design.groups):
            own = self.design.channel(group.attributes)
            channel = np.kron(channel, own.matrix)
            inverse = np.kron(inverse, reports.inverse(g))
            reported += own.reported.names
            true += group.attributes
        rows = _order(reported, self.design.reported)
        columns = _order(true, self.design.schema)
        return channel[np.ix_(rows, columns)], inverse[np.ix_(columns, rows)]


def _order(names: list[str], schema: Schema) -> Index:
    """Where the cells of a schema stand in a table whose axes have these names."""
    sizes = [schema[name].size for name in names]
    found = np.arange(math.prod(sizes)).reshape(sizes)
    return found.transpose([names.index(name) for name in schema.names]).ravel()


def setting(family: str, sizes: tuple[int, ...], other: str, where: str) -> Setting:
    rest = (2,) if other == "matrix" else (3, 2)
    attributes = attributes_of((*sizes, *rest))
    rng = np.random.default_rng(len(family) + sum(sizes))
    first, second = attributes[: len(sizes)], attributes[len(sizes) :]
    groups = [
        Group([a.name for a in own], random_coin(name, own, rng))
        for name, own in ((family, first), (other, second))
    ]
    design = Design(Schema(attributes), groups)
    target = first[-1] if where == "same group" else second[0]
    return Setting(design, target.name, random_table(3, design.schema.sizes, sparse=False))


def ways(given: Setting) -> list[type[NodeTables]]:
    """The kinds of tables that a design allows."""
    return [RowTables, CellTables] if given.reports.has_cells else [RowTables]


def levels(given: Setting, way: type[NodeTables]) -> Iterator[tuple[NodeTables, list[Mask]]]:
    """Some nodes with their true cells: the root, its children by one attribute, one deeper."""
    shape, sizes = given.true.shape, given.design.schema.sizes
    found, inside = way.root(given.reports), [np.ones(shape, bool)]
    yield found, inside
    for a in given.reports.features[:2]:
        parts = np.where(np.arange(max(sizes)) < sizes[a], np.arange(max(sizes)) > 0, NONE)
        branches = np.tile(parts, (len(inside), 1))
        wanted = np.tile([True, True], (len(inside), 1))
        places = np.full(len(inside), a)
        found = found.children(places, branches, wanted)
        of_a = np.indices(shape)[a]
        inside = [own & part for own in inside for part in (of_a == 0, of_a > 0)]
        yield found, inside


def function(given: Setting, inside: Mask, a: int, v: int, c: int) -> Array:
    """1[x in E] (1[v] - P(v | E)) (1[c] - P(c | E))."""
    places = np.indices(given.true.shape)
    share = given.true[inside].sum()
    of_v, of_c = places[a] == v, places[given.reports.target] == c
    r, q = given.true[inside & of_v].sum() / share, given.true[inside & of_c].sum() / share
    return np.asarray(inside * (of_v - r) * (of_c - q)).ravel()


def splits(found: NodeTables) -> Iterator[tuple[int, Array, list[Array]]]:
    """Attribute, table and moments (beyond, noise, own, cross) of every split, nodes first."""
    nodes = np.arange(found.n)
    for split in found.splits(np.arange(len(found.reports.sizes))[None] != found.reports.target):
        for place, a in enumerate(split.attributes):
            pairs = nodes, np.full(found.n, place)
            yield a, split.value[:, place], [*split.noise(*pairs), *split.moments(*pairs)]


def check(given: Setting, value: Array, moments: list[Array], inside: Mask, a: int) -> None:
    """The table of one node."""
    channel, inverse = given.written_out
    true, n = given.true.ravel(), given.reports.n_records
    beyond, noise, _, _ = moments
    for v in range(given.true.shape[a]):
        if not (inside & (np.indices(given.true.shape)[a] == v)).any():
            np.testing.assert_array_equal(value[v], 0)
            continue
        for c in range(given.true.shape[given.reports.target]):
            h = function(given, inside, a, v, c)
            phi = h @ inverse
            second, mean = phi**2 @ channel, phi @ channel
            variance = true @ (second - mean**2)
            scale = true @ second + ROUNDING
            assert abs(beyond[v, c] - true @ h) < ROUNDING
            assert abs(noise[v, c] ** 2 * n - variance) < ROUNDING * scale


@pytest.mark.parametrize(("family", "sizes", "other", "where"), SETTINGS)
def test_what_is_beyond_chance_and_its_noise_are_those_of_the_tables_written_out(
    family: str, sizes: tuple[int, ...], other: str, where: str
) -> None:
    given = setting(family, sizes, other, where)
    for way in ways(given):
        for found, inside in levels(given, way):
            for a, value, moments in splits(found):
                for node, own in enumerate(inside):
                    check(given, value[node], [moment[node] for moment in moments], own, a)


@pytest.mark.parametrize(("family", "sizes", "other", "where"), SETTINGS)
def test_values_and_second_moments_are_those_of_weights_written_out(
    family: str, sizes: tuple[int, ...], other: str, where: str
) -> None:
    given = setting(family, sizes, other, where)
    _, inverse = given.written_out
    reported = reported_table(given.design, given.true).ravel()
    places, target = np.indices(given.true.shape), given.reports.target
    classes = [places[target] == c for c in range(given.true.shape[target])]
    for way in ways(given):
        found, inside = list(levels(given, way))[-1]
        value, moment = found.by_class()
        for a, table, (_, _, by_pair, cross) in splits(found):
            for node, own in enumerate(inside):
                whole = np.array([(own & of_c).ravel() @ inverse for of_c in classes])
                _same(value[node], whole @ reported)
                _same(moment[node], (whole * reported) @ whole.T)
                for v in range(given.true.shape[a]):
                    here = own & (places[a] == v)
                    g = np.array([(here & of_c).ravel() @ inverse for of_c in classes])
                    _same(table[node, v], g @ reported)
                    _same(by_pair[node, v], (g * reported) @ g.T)
                    _same(cross[node, v], (g * reported) @ whole.T)


def _same(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("family", ["related", "matrix, joint", "unrelated, by name", "truthful"])
def test_how_much_is_worked_on_at_once_changes_nothing(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = setting(family, (3, 2), "related", "same group")

    def last() -> list[Any]:
        return [list(splits(list(levels(given, way))[-1][0])) for way in ways(given)]

    whole = last()
    monkeypatch.setattr(tables, "_AT_ONCE", 1)
    monkeypatch.setattr(tables, "_FEW_STATES", 0)
    for one_way, other_way in zip(whole, last(), strict=True):
        for (_, value, moments), (_, again, parted) in zip(one_way, other_way, strict=True):
            _same(again, value)
            for one, other in zip(moments, parted, strict=True):
                _same(other, one)


@pytest.mark.parametrize("way", [RowTables, CellTables])
def test_children_are_parted_so_that_little_is_looked_at_together(
    way: type[NodeTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = setting("related", (2, 2), "truthful", "same group")
    found, inside = list(levels(given, way))[1]
    by, wanted = np.full(len(inside), 2), np.ones((len(inside), 3), bool)
    wanted[0, 1] = False
    assert len(list(found.memory_batches(by, wanted))) == 1
    monkeypatch.setattr(tables, "ROWS", 2)
    monkeypatch.setattr(tables, "MEMORY", 2)
    parts = list(found.memory_batches(by, wanted))
    assert len(parts) == wanted.sum()
    np.testing.assert_array_equal(np.sum(parts, axis=0), wanted)
    assert list(found.memory_batches(by, np.zeros((len(inside), 3), bool))) == []


def test_a_further_condition_can_only_narrow_what_a_node_allows() -> None:
    sizes = (3, 2, 4)
    records = np.indices(sizes).reshape(3, -1).T
    reports = TreeReports.true(records, np.ones(24), sizes, 1, 24)
    root = tables.root_tables(reports)
    np.testing.assert_array_equal(root.choices, [sizes])
    one_or_others = np.array([[0, 1, 0, NONE]])
    both = root.children(np.array([0]), one_or_others, np.ones((1, 2), bool))
    np.testing.assert_array_equal(both.choices, [[2, 2, 4], [1, 2, 4]])
    by_first_and_last = np.array([[0, 1, 2, NONE], [0, 1, 1, 1]])
    wanted = np.array([[True, True, True], [False, True, False]])
    below = both.children(np.array([0, 2]), by_first_and_last, wanted)
    expected = [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(below.allowed[:, :3], expected)
    np.testing.assert_array_equal(below.choices, [[1, 2, 4], [0, 2, 4], [1, 2, 4], [1, 2, 3]])
    np.testing.assert_array_equal(below.by_class()[0].sum(axis=1), [8, 0, 8, 6])
