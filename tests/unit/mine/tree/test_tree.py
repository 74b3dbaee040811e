"""Tree and GrowingTree: a small tree by hand, looked at from all sides."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.mine.tree.growth import NONE, GrowingTree, Tree
from tacit.mine.tree.tables import TreeReports

# Attributes 0 (two categories), 1 (the class), 2 (three): the root asks 2, its second child 0.
#   0 root: 2 = 0 -> 1, 2 = 1 -> 2, 2 = 2 -> 1
#   2: 0 = 0 -> 3, 0 = 1 -> 4, within noise
VALUE = np.array([[0.5, 0.5], [0.4, 0.1], [0.1, 0.4], [0.11, -0.01], [-0.01, 0.41]])


def small() -> Tree:
    return Tree(
        attribute=np.array([2, NONE, 0, NONE, NONE]),
        parent=np.array([NONE, 0, 0, 2, 2]),
        child=np.array(
            [[1, 2, 1], [NONE] * 3, [3, 4, NONE], [NONE] * 3, [NONE] * 3],
        ),
        value=VALUE,
        covariance=np.zeros((5, 2, 2)),
        label_source=np.array([0, 1, 2, 3, 2]),
        n_records=100,
    )


def test_records_find_their_leaf_whatever_the_place_of_the_target() -> None:
    records = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(small().find(records, 1), [1, 1, 3, 4, 1, 1])


def test_the_root_alone_is_the_leaf_of_every_record() -> None:
    alone = small().cut(np.array([True, False, False, False, False]))
    assert len(alone) == 1
    np.testing.assert_array_equal(alone.find(np.zeros((4, 2), np.uint8), 1), 0)
    assert len(alone.find(np.zeros((0, 2), np.uint8), 1)) == 0


def test_leaves_depth_and_conditions() -> None:
    tree = small()
    np.testing.assert_array_equal(tree.leaves, [1, 3, 4])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 2, 2])
    assert tree.conditions(0) == []
    (first, kept), (second, last) = tree.conditions(4)
    assert (first, kept.tolist(), second, last.tolist()) == (2, [1], 0, [1])
    assert tree.conditions(1)[0][1].tolist() == [0, 2]


def test_chances_are_those_of_the_label_source_without_negative_shares() -> None:
    np.testing.assert_allclose(
        small().chances, [[0.5, 0.5], [0.8, 0.2], [0.2, 0.8], [1, 0], [0.2, 0.8]]
    )
    np.testing.assert_array_equal(small().label, [0, 0, 1, 0, 1])


def test_a_node_with_no_share_at_all_has_even_chances() -> None:
    tree = Tree(
        np.array([NONE]), np.array([NONE]), np.full((1, 2), NONE), np.array([[-0.1, 0.0]]),
        np.zeros((1, 2, 2)), np.array([0]), 3,
    )  # fmt: skip
    np.testing.assert_array_equal(tree.chances, [[0.5, 0.5]])


def test_a_cut_keeps_the_nodes_above_and_numbers_them_anew() -> None:
    cut = small().cut(np.array([False, False, True, False, False]))
    np.testing.assert_array_equal(cut.attribute, [2, NONE, NONE])
    np.testing.assert_array_equal(cut.child, [[1, 2, 1], [NONE] * 3, [NONE] * 3])
    np.testing.assert_array_equal(cut.parent, [NONE, 0, 0])
    np.testing.assert_array_equal(cut.label_source, [0, 1, 2])
    np.testing.assert_array_equal(cut.value, VALUE[:3])
    assert cut.n_records == 100
    np.testing.assert_array_equal(cut.find(np.array([[0, 1], [1, 1]]), 1), [2, 2])


def test_a_cut_leaves_the_tree_it_was_made_from_as_it_is() -> None:
    tree = small()
    tree.cut(np.ones(5, bool))
    np.testing.assert_array_equal(tree.attribute, small().attribute)
    np.testing.assert_array_equal(tree.child, small().child)


# GrowingTree ----------------------------------------------------------------------------------

SIZES = (2, 2, 3)


def nodes(caution: float = 2.0, lead: float = 2.0) -> GrowingTree:
    """No nodes yet, of a survey of 100 records."""
    records = np.zeros((1, 3), np.uint8)
    return GrowingTree(TreeReports.true(records, np.ones(1), SIZES, 1, 100), caution, lead)


def moments(value: list[float], noise: float) -> np.ndarray:
    """Second moments for a standard error of `noise` by the disguise, each class by itself."""
    return np.diag(value) + np.eye(len(value)) * noise**2 * 100


def grown(value: list[float], noise: float, lead: float = 2.0) -> GrowingTree:
    """A root with classes .7 and .3, and one child."""
    found = nodes(lead=lead)
    found.add(np.array([NONE]), np.array([[0.7, 0.3]]), moments([0.7, 0.3], 0.01)[None])
    found.add(np.array([0]), np.array([value]), moments(value, noise)[None])
    return found


@pytest.mark.parametrize(("noise", "label_source"), [(0.01, 1), (0.06, 1), (0.08, 0), (0.5, 0)])
def test_a_node_within_noise_takes_the_class_of_its_parent(noise: float, label_source: int) -> None:
    """It leads by .2, with a standard error of sqrt(2) noise."""
    found = grown([0.1, 0.3], noise)
    assert found.label_source[1] == label_source
    assert found.label[1] == label_source


def test_a_node_of_the_same_class_speaks_for_itself() -> None:
    assert grown([0.3, 0.1], 0.5).label_source[1] == 1


@pytest.mark.parametrize("wrong", [-1e-17, 0.0, 1e-17])
def test_of_equal_classes_the_first_is_taken_whatever_rounding_did(wrong: float) -> None:
    found = grown([0.1, 0.1 + wrong], 0.0, lead=0.0)
    assert found.label[1] == 0
    assert found.tree().label[1] == 0


def test_an_empty_node_takes_the_class_of_its_parent() -> None:
    assert grown([0.0, 0.0], 0.0).label_source[1] == 0
    assert grown([-0.1, 0.05], 0.0).label_source[1] == 0
    assert grown([-0.1, -0.05], 0.0, lead=0.0).label_source[1] == 0


def test_with_negative_shares_cut_at_zero_a_node_with_one_class_left_is_pure() -> None:
    """The papers' procedure: P(node) is negative here, but a class is left."""
    found = grown([-0.1, 0.05], 0.0, lead=0.0)
    assert (found.label_source[1], found.label[1]) == (1, 1)


@pytest.mark.parametrize(
    ("value", "noise", "may"),
    [
        ([0.2, 0.1], 0.01, True),
        ([0.2, 0.1], 0.2, False),  # a share of .3, a standard error of .2 sqrt(2)
        ([0.2, 0.0], 0.01, False),
        ([0.2, -0.1], 0.01, False),
        ([0.2, 1e-15], 0.01, False),
    ],
)
def test_only_nodes_of_several_classes_and_a_share_beyond_noise_are_split(
    value: list[float], noise: float, may: bool
) -> None:
    assert grown(value, noise).may_split(np.array([1])).tolist() == [may]


def test_nodes_come_out_in_depth_first_order_whatever_order_they_were_found_in() -> None:
    """A root with two children; the second is split first, then the first."""
    found, one = nodes(), np.array([[0.5, 0.5]])
    found.add(np.array([NONE]), one, None)
    found.add(np.array([0, 0]), np.array([[0.3, 0.2], [0.2, 0.3]]), None)
    found.split(np.array([0]), np.array([0]), np.array([[1, 2, NONE]]))
    found.add(np.array([2, 2]), np.array([[0.1, 0.2], [0.1, 0.1]]), None)
    found.split(np.array([2]), np.array([2]), np.array([[3, 4, 4]]))
    found.add(np.array([1, 1]), np.array([[0.3, 0.1], [0.0, 0.1]]), None)
    found.split(np.array([1]), np.array([2]), np.array([[5, 5, 6]]))
    tree = found.tree().depth_first()
    np.testing.assert_array_equal(tree.parent, [NONE, 0, 1, 1, 0, 4, 4])
    np.testing.assert_array_equal(tree.attribute, [0, 2, NONE, NONE, 2, NONE, NONE])
    np.testing.assert_array_equal(tree.child[[0, 1, 4]], [[1, 4, NONE], [2, 2, 3], [5, 6, 6]])
    np.testing.assert_allclose(tree.value[[2, 5]], [[0.3, 0.1], [0.1, 0.2]])


def test_without_noise_covariances_are_those_of_true_answers() -> None:
    found = nodes()
    found.add(np.array([NONE]), np.array([[0.6, 0.4]]), None)
    expected = (np.diag([0.6, 0.4]) - np.outer([0.6, 0.4], [0.6, 0.4])) / 100
    np.testing.assert_allclose(found.tree().covariance[0], expected)
