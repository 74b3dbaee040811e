"""Trees of every family and grouping: nodes beside the joint table, and what cannot matter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Attribute, Design, Group, Schema, reconstruct
from tacit.core.arrays import Array, Mask
from tacit.core.channel import matrix, related, truthful, unrelated
from tacit.mine import DecisionTree
from tacit.mine.tree.growth import NONE, Tree
from tacit.records import PatternTable
from tests.support.families import attributes_of, designs, seeds
from tests.support.tables import counts_of, random_table

criteria = st.sampled_from(["entropy", "gini"])
#: Rounding, relative to the largest entry of what is summed.
ROUNDING = 1e-9
few = settings(max_examples=settings.default.max_examples * 2 // 5)


def table_of(schema: Schema, counts: Array) -> PatternTable:
    cells = np.flatnonzero(counts.ravel())
    places = np.stack(np.unravel_index(cells, counts.shape), axis=1)
    codes = np.asfortranarray(places.astype(np.uint8))
    return PatternTable(schema, codes, counts.ravel()[cells].astype(np.int64))


def survey(design: Design, seed: int) -> PatternTable:
    """Reports of ten to ten thousand records."""
    n = int(10 ** np.random.default_rng(seed).uniform(1, 4))
    true = random_table(seed, design.schema.sizes)
    return table_of(design.reported, counts_of(design, true, n, seed))


def inside(tree: Tree, node: int, shape: tuple[int, ...]) -> Mask:
    """The true cells that come through a node."""
    found, places = np.ones(shape, bool), np.indices(shape)
    for a, categories in tree.conditions(node):
        found &= np.isin(places[a], categories)
    return found


def same_tree(one: Tree, other: Tree) -> None:
    for name in ("attribute", "parent", "child", "label_source"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.value, other.value, rtol=0, atol=ROUNDING)


# Every node beside the joint table ---------------------------------------------------------------


@few
@given(
    designs(largest=4).filter(lambda design: len(design.schema) > 1),
    criteria,
    st.sampled_from([0, 0.2, 2]),
    seeds(),
)
def test_every_node_is_read_as_from_the_joint_table_with_its_covariance(
    design: Design, criterion: str, caution: float, seed: int
) -> None:
    reports = survey(design, seed)
    target = design.schema.names[seed % len(design.schema)]
    model = DecisionTree(design, target, criterion, caution).fit(reports)
    joint = reconstruct(reports, design).table(design.schema.names)
    classes = np.indices(joint.value.shape)[model.target_index_].ravel() == np.arange(
        len(model.classes_)
    ).reshape(-1, 1)
    nodes = [inside(model.tree_, i, joint.value.shape).ravel() for i in range(len(model.tree_))]
    sides = (np.array(nodes)[:, None] & classes).astype(float)
    value = sides @ joint.value.ravel()
    spread = joint.covariance.reshape(joint.value.size, -1)
    covariance = sides @ spread @ sides.swapaxes(1, 2)
    known = [model.estimated_tree(), model.estimated_tree(reports)]
    for tree in [*known, model.tree_]:
        _close(tree.value, value, np.abs(joint.value).max())
    for tree in known if caution == 0 else [*known, model.tree_]:
        _close(tree.covariance, covariance, np.abs(spread).max())


def _close(found: Array, expected: Array, scale: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * scale)


@few
@given(
    designs(largest=4).filter(lambda design: len(design.schema) > 1),
    criteria,
    st.sampled_from([0, 0.2, 2]),
    st.integers(0, 2),
    seeds(),
)
def test_a_tree_of_less_depth_is_the_deeper_one_cut(
    design: Design, criterion: str, caution: float, depth: int, seed: int
) -> None:
    reports, target = survey(design, seed), design.schema.names[0]
    deep = DecisionTree(design, target, criterion, caution).fit(reports).tree_
    shallow = DecisionTree(design, target, criterion, caution, max_depth=depth).fit(reports)
    assert shallow.get_depth() <= depth
    same_tree(shallow.tree_, deep.cut(deep.depth == depth))


# Plain trees -------------------------------------------------------------------------------------


def entropy(shares: Array) -> float:
    return -sum(q * math.log2(q / shares.sum()) for q in shares if q > 0)


def gini(shares: Array) -> float:
    return float(shares.sum() - (shares**2).sum() / shares.sum()) if shares.sum() else 0.0


Splits = list[tuple[float, int, list[list[int]]]]


def id3(table: Array, free: list[list[int]]) -> Splits:
    """Gain, attribute and branches of every split; the class is the last axis of the table."""
    found = []
    for a, left in enumerate(free):
        by = np.moveaxis(table, a, 0).reshape(table.shape[a], -1, table.shape[-1]).sum(axis=1)
        if len(left) > 1:
            gain = entropy(by.sum(axis=0)) - sum(entropy(own) for own in by)
            found.append((gain, a, [[v] for v in range(table.shape[a])]))
    return found


def cart(table: Array, free: list[list[int]]) -> Splits:
    """The same with one category or the others."""
    found = []
    for a, left in enumerate(free):
        by = np.moveaxis(table, a, 0).reshape(table.shape[a], -1, table.shape[-1]).sum(axis=1)
        for v in left if len(left) > 1 else []:
            whole, others = by.sum(axis=0), by.sum(axis=0) - by[v]
            gain = gini(whole) - gini(by[v]) - gini(others)
            found.append((gain, a, [[v], [w for w in left if w != v]]))
    return found


def plain(table: Array, splits: Callable[[Array, list[list[int]]], Splits]) -> Array:
    """The class that a tree grown as in a textbook gives to every cell of the features."""
    labels = np.zeros(table.shape[:-1], int)

    def grow(here: Array, free: list[list[int]]) -> None:
        cell = np.ix_(*free)
        labels[cell] = here.reshape(-1, here.shape[-1]).sum(axis=0).argmax()
        possible = splits(here, free)
        if possible:
            _, a, branches = max(possible, key=lambda split: split[0])
            for branch in branches:
                part = np.zeros(table.shape[a], bool)
                part[branch] = True
                side = part.reshape([-1 if i == a else 1 for i in range(here.ndim)])
                below = [own if i != a else branch for i, own in enumerate(free)]
                grow(np.where(side, here, 0), below)

    grow(table, [list(range(k)) for k in table.shape[:-1]])
    return labels


def large_counts(sizes: tuple[int, ...], seed: int) -> Array:
    """Counts so large and different that no two gains are the same."""
    return np.random.default_rng(seed).integers(1, 2**40, sizes).astype(np.float64)


shapes = st.lists(st.integers(2, 4), min_size=2, max_size=4).map(tuple)


@few
@given(shapes, st.sampled_from([("entropy", id3), ("gini", cart)]), seeds())
def test_undisguised_it_is_the_tree_of_the_textbook(
    sizes: tuple[int, ...], named: tuple[str, Any], seed: int
) -> None:
    criterion, splits = named
    schema, counts = Schema(attributes_of(sizes)), large_counts(sizes, seed)
    design = Design(schema, [Group(schema.names, truthful())])
    model = DecisionTree(design, schema.names[-1], criterion).fit(table_of(schema, counts))
    features = np.indices(sizes[:-1]).reshape(len(sizes) - 1, -1).T
    found = np.searchsorted(model.classes_, model.predict(features))
    np.testing.assert_array_equal(found, plain(counts, splits).ravel())


@pytest.mark.parametrize("caution", [0.0, 0.5, 2.0, 10.0, 50.0])
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_undisguised_caution_changes_nothing(criterion: str, caution: float) -> None:
    for seed in range(5):
        sizes = (3, 2, 4, 2)
        schema, counts = Schema(attributes_of(sizes)), large_counts(sizes, seed)
        counts *= np.random.default_rng(seed).random(sizes) < 0.6
        design, reports = (
            Design(schema, [Group(schema.names, truthful())]),
            table_of(schema, counts),
        )
        one = DecisionTree(design, "a3", criterion).fit(reports).tree_
        same_tree(DecisionTree(design, "a3", criterion, caution).fit(reports).tree_, one)


def identity(k: int) -> list[list[int]]:
    return np.eye(k, dtype=int).tolist()


ALWAYS_TRUE = {
    "related": lambda own: related(1),
    "unrelated": lambda own: unrelated(1, {a.name: [f"1/{a.size}"] * a.size for a in own}),
    "matrix": lambda own: matrix(identity(math.prod(a.size for a in own))),
}


@pytest.mark.parametrize("family", ALWAYS_TRUE)
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 3)])
def test_a_coin_that_always_tells_the_truth_gives_the_plain_tree(
    family: str, criterion: str, sizes: tuple[int, ...]
) -> None:
    schema, reports = Schema(attributes_of(sizes)), large_counts(sizes, 1)
    own = schema.attributes
    groups = [own[:2], own[2:]]
    plainly = Design(schema, [Group(schema.names, truthful())])
    design = Design(
        schema, [Group([a.name for a in part], ALWAYS_TRUE[family](part)) for part in groups]
    )
    table = table_of(schema, reports)
    features = np.indices((sizes[0], sizes[2])).reshape(2, -1).T
    one = DecisionTree(plainly, "a1", criterion).fit(table)
    for caution in (0.0, 2.0):
        other = DecisionTree(design, "a1", criterion, caution).fit(table)
        assert other.get_n_leaves() == one.get_n_leaves()
        assert other.get_depth() == one.get_depth()
        np.testing.assert_allclose(
            other.predict_proba(features), one.predict_proba(features), rtol=0, atol=ROUNDING
        )


# Orders that cannot matter -----------------------------------------------------------------------


@few
@given(
    designs(largest=4).filter(lambda design: len(design.schema) > 1),
    criteria,
    st.sampled_from([0, 0.2, 2]),
    seeds(),
)
def test_the_order_of_attributes_and_groups_is_irrelevant(
    design: Design, criterion: str, caution: float, seed: int
) -> None:
    """Up to ties: reports are so many and so different that there are none."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 2**40, design.reported.sizes).astype(np.float64)
    order = rng.permutation(len(design.schema))
    turned = Design(Schema([design.schema.attributes[i] for i in order]), list(design.groups)[::-1])
    axes = [design.reported.index(name) for name in turned.reported.names]
    target = design.schema.names[0]
    one = DecisionTree(design, target, criterion, caution, max_depth=2)
    other = DecisionTree(turned, target, criterion, caution, max_depth=2)
    one.fit(table_of(design.reported, counts))
    other.fit(table_of(turned.reported, counts.transpose(axes)))
    features = np.indices(design.schema.sizes[1:]).reshape(len(design.schema) - 1, -1).T
    places = [design.schema.names[1:].index(name) for name in turned.schema.names if name != target]
    np.testing.assert_allclose(
        one.predict_proba(features),
        other.predict_proba(features[:, places]),
        rtol=0,
        atol=1e-6,
    )


@few
@given(st.integers(2, 4), criteria, st.sampled_from([0, 2]), seeds())
def test_the_order_of_categories_is_irrelevant(
    k: int, criterion: str, caution: float, seed: int
) -> None:
    sizes, rng = (3, k, 2), np.random.default_rng(seed)
    schema, counts = Schema(attributes_of(sizes)), large_counts(sizes, seed)
    orders = [rng.permutation(size) for size in sizes]
    turned = Schema(
        [
            Attribute(a.name, [a.categories[i] for i in order])
            for a, order in zip(schema.attributes, orders, strict=True)
        ]
    )
    found = []
    for own, table in ((schema, counts), (turned, counts[np.ix_(*orders)])):
        design = Design(own, [Group(["a0", "a2"], related(0.8)), Group(["a1"], related(0.9))])
        model = DecisionTree(design, "a0", criterion, caution).fit(table_of(own, table))
        features = np.indices((k, 2)).reshape(2, -1).T
        found.append(model.predict_proba(features).reshape(k, 2, 3))
    expected = found[0][np.ix_(orders[1], orders[2], orders[0])]
    np.testing.assert_allclose(found[1], expected, rtol=0, atol=1e-6)


def test_a_tree_has_a_child_for_every_category_and_no_other() -> None:
    """Gini trees as well: both branches together hold all categories of the attribute."""
    sizes = (2, 4, 3)
    schema = Schema(attributes_of(sizes))
    design = Design(schema, [Group(schema.names, related(0.9))])
    for criterion in ("entropy", "gini"):
        model = DecisionTree(design, "a0", criterion, 0).fit(survey(design, 8))
        tree = model.tree_
        for node in np.flatnonzero(tree.attribute != NONE):
            size = sizes[tree.attribute[node]]
            allowed = (tree.child[node] != NONE).sum()
            assert allowed == size
            assert (tree.parent[np.unique(tree.child[node, :size])] == node).all()
