"""A tree distribution against the joint table written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import chi2

from tacit.core.arrays import Array
from tacit.models.tree_distribution import ROOT, TreeDistribution, rooted_forest
from tests.support.chance import FALSE_ALARM

SIZES = (2, 3, 2, 4, 2, 3)
#: Two trees; some parents come after their children.
FORESTS = {
    "two trees": (ROOT, 0, 0, ROOT, 3, 1),
    "a path": (ROOT, 0, 1, 2, 3, 4),
    "a star": (5, 5, 5, 5, 5, ROOT),
    "independent": (ROOT,) * 6,
    "back and forth": (2, 4, ROOT, 0, 3, 1),
}
every_forest = pytest.mark.parametrize("parents", FORESTS.values(), ids=FORESTS)


def tree_of(parents: Sequence[int], seed: int = 1) -> TreeDistribution:
    rng = np.random.default_rng(seed)
    tables = [
        rng.dirichlet(np.ones(k)) if p == ROOT else rng.dirichlet(np.ones(k), SIZES[p])
        for p, k in zip(parents, SIZES, strict=True)
    ]
    return TreeDistribution(tuple(parents), tuple(tables))


def written_out(tree: TreeDistribution) -> Array:
    """P(x) of every cell, one by one."""
    joint = np.ones(SIZES)
    for cell in np.ndindex(*SIZES):
        for v, parent in enumerate(tree.parents):
            table = tree.tables[v]
            joint[cell] *= table[cell[v]] if parent == ROOT else table[cell[parent], cell[v]]
    return joint


def random_events(n: int, seed: int = 2) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [(rng.random((n, k)) < 0.6).astype(float) for k in SIZES]


def inside(events: Sequence[Array], e: int) -> Array:
    """1 for the cells of an event."""
    found: Array = np.ones(())
    for mask in events:
        found = np.multiply.outer(found, mask[e])
    return found


def summed(table: Array, kept: Sequence[int]) -> Array:
    """Sums over the other axes, axes in the order asked."""
    others = tuple(v for v in range(table.ndim) if v not in kept)
    return table.sum(axis=others).transpose(np.argsort(np.argsort(kept)))


@every_forest
def test_the_joint_table_is_the_product_of_its_tables(parents: tuple[int, ...]) -> None:
    tree = tree_of(parents)
    np.testing.assert_allclose(tree.joint(), written_out(tree), rtol=1e-12)
    for v, margin in enumerate(tree.margins):
        np.testing.assert_allclose(margin, summed(tree.joint(), [v]), rtol=1e-12)
    for parent, child in tree.edges:
        np.testing.assert_allclose(tree.pair(child), summed(tree.joint(), [parent, child]))


@every_forest
def test_message_passing_equals_sums_over_the_joint_table(parents: tuple[int, ...]) -> None:
    tree, events = tree_of(parents), random_events(8)
    joint, chances = written_out(tree), tree.probability(events)
    nodes, edges = tree.given(events)
    for e in range(8):
        part = joint * inside(events, e)
        np.testing.assert_allclose(tree.probability(events)[e], part.sum(), atol=1e-15)
        np.testing.assert_allclose(chances[e], part.sum(), atol=1e-15)
        for v in range(len(SIZES)):
            expected = summed(part, [v]) / summed(joint, [v])
            np.testing.assert_allclose(nodes[v][e], expected, atol=1e-13)
        for parent, child in tree.edges:
            expected = summed(part, [parent, child]) / summed(joint, [parent, child])
            np.testing.assert_allclose(edges[child][e], expected, atol=1e-13)


@every_forest
def test_the_part_around_some_nodes_has_their_table(parents: tuple[int, ...]) -> None:
    tree = tree_of(parents)
    for asked in ([0], [0, 3], [1, 4, 5], list(range(6))):
        part = tree.around(asked)
        places = part.nodes
        assert set(asked) <= set(places)
        kept = [places.index(v) for v in asked]
        own, whole = summed(part.joint(), kept), summed(tree.joint(), asked)
        np.testing.assert_allclose(own, whole, rtol=1e-12)
        ends = {v for v in places if _degree(part, places.index(v)) <= 1}
        assert ends <= set(asked), "every end of the part was asked for"


def _degree(tree: TreeDistribution, v: int) -> int:
    return len(tree.children[v]) + (tree.parents[v] != ROOT)


def test_a_category_that_never_occurs_does_no_harm() -> None:
    tables = (np.array([1.0, 0.0]), np.array([[0.3, 0.7], [0.5, 0.5]]), np.eye(2))
    tree = TreeDistribution((ROOT, 0, 1), tables)
    events = [np.ones((1, 2)), np.ones((1, 2)), np.array([[0.0, 1.0]])]
    assert tree.probability(events)[0] == pytest.approx(0.7)
    assert np.isfinite(tree.given(events)[0][0]).all()
    assert (tree.draws(1000, np.random.default_rng(1))[:, 0] == 0).all()


def test_draws_follow_the_joint_table() -> None:
    """A chi-square test; draws of another tree must fail it."""
    tree, n = tree_of(FORESTS["back and forth"]), 50_000
    expected = n * tree.joint().ravel()
    most = chi2.isf(FALSE_ALARM, expected.size - 1)

    def distance(drawn: TreeDistribution) -> float:
        codes = drawn.draws(n, np.random.default_rng(3))
        counts = np.bincount(np.ravel_multi_index(codes.T, SIZES), minlength=expected.size)
        return float(((counts - expected) ** 2 / expected).sum())

    assert distance(tree) <= most
    assert distance(tree_of(FORESTS["back and forth"], seed=2)) > most


def test_the_forest_has_the_largest_total_score() -> None:
    scores = np.zeros((5, 5))
    scores[0, 1], scores[0, 2], scores[1, 2], scores[3, 4] = 3, 2, 1, 0.5
    assert rooted_forest(scores) == (ROOT, 0, 0, ROOT, 3)
    assert rooted_forest(np.zeros((3, 3))) == (ROOT,) * 3
