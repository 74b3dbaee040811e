"""Random trees on weighted records."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tacit.mine import DecisionTree
from tacit.mine.tree.forest import random_growth, random_tree
from tacit.mine.tree.growth import CRITERIA
from tacit.mine.tree.tables import TreeReports

SIZES = (2, 3, 4)
POSSIBLE = np.array(list(product(*map(range, SIZES))))


def records_of(n: int, seed: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = np.stack([rng.integers(0, k, n) for k in SIZES], axis=1)
    classes = (features.sum(axis=1) + (rng.random(n) < 0.3)) % n_classes
    return features, classes


def weighted_records(
    features: np.ndarray, classes: np.ndarray, weights: np.ndarray, sizes: tuple[int, ...], k: int
) -> TreeReports:
    records = np.column_stack([features, classes])
    return TreeReports.true(records, weights, (*sizes, k), len(sizes), len(records))


def grown(criterion: str, tries: int, least: float, seed: int = 0):  # type: ignore[no-untyped-def]
    features, classes = records_of(400, 1)
    weighted = weighted_records(features, classes, np.ones(400), SIZES, 3)
    growth = random_growth(CRITERIA[criterion], tries, least=least)
    return random_tree(weighted, growth, np.random.default_rng(seed))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_tree_that_tries_all_attributes_predicts_like_a_decision_tree(criterion: str) -> None:
    features, classes = records_of(400, 1)
    tree, _ = grown(criterion, 3, 1e-3)
    peer = DecisionTree(criterion=criterion).fit(features, classes)
    found = tree.value[tree.find(POSSIBLE, len(SIZES))].argmax(axis=1)
    np.testing.assert_array_equal(found, peer.predict(POSSIBLE))


def test_yes_no_records_give_the_leaves_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(0, 2, (500, 4))
    chances = 0.1 + features @ np.array([0.4, 0.2, 0.13, 0.06])
    classes = (rng.random(500) < chances).astype(np.intp)
    weighted = weighted_records(features, classes, np.ones(500), (2,) * 4, 2)
    growth = random_growth(CRITERIA["gini"], 4, least=20.0)
    tree, gains = random_tree(weighted, growth, rng)
    peer = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(features, classes)
    assert len(tree.leaves) == peer.get_n_leaves()
    np.testing.assert_allclose(gains / gains.sum(), peer.feature_importances_, rtol=1e-9)


def test_weights_count_like_repeated_records() -> None:
    features, classes = records_of(60, 2)
    weights = np.random.default_rng(4).integers(0, 4, 60)
    growth = random_growth(CRITERIA["gini"], 2, least=3.0)
    one = weighted_records(features, classes, weights.astype(float), SIZES, 3)
    rows = np.repeat(np.arange(60), weights)
    many = weighted_records(features[rows], classes[rows], np.ones(len(rows)), SIZES, 3)
    first, second = (random_tree(r, growth, np.random.default_rng(5))[0] for r in (one, many))
    np.testing.assert_array_equal(first.attribute, second.attribute)
    np.testing.assert_array_equal(first.value, second.value)


def test_every_chosen_split_has_two_branches_with_enough_records() -> None:
    features, _ = records_of(400, 1)
    tree, _ = grown("gini", 2, 25.0)
    leaves = tree.find(features, len(SIZES))
    assert len(tree.leaves) > 3
    assert np.bincount(leaves)[np.unique(leaves)].min() >= 25


def test_the_depth_is_limited() -> None:
    features, classes = records_of(400, 1)
    weighted = weighted_records(features, classes, np.ones(400), SIZES, 3)
    growth = random_growth(CRITERIA["gini"], 2, max_depth=1)
    assert random_tree(weighted, growth, np.random.default_rng(0))[0].leaves.size == 2


def test_nodes_try_other_attributes_if_the_drawn_ones_allow_no_split() -> None:
    rng = np.random.default_rng(6)
    useful = rng.integers(0, 2, 200)
    features = np.column_stack([np.zeros((200, 5), np.intp), useful])
    weighted = weighted_records(features, useful, np.ones(200), (2,) * 6, 2)
    for seed in range(20):
        growth = random_growth(CRITERIA["gini"], 1)
        tree, gains = random_tree(weighted, growth, np.random.default_rng(seed))
        assert len(tree.leaves) == 2
        assert gains.argmax() == 5


def test_different_draws_give_different_trees() -> None:
    trees = [grown("gini", 1, 5.0, seed)[0] for seed in range(5)]
    assert len({tuple(tree.attribute) for tree in trees}) > 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rounding_of_the_weights_does_not_change_the_splits(criterion: str) -> None:
    """Processors round sums differently: equally good splits are chosen by their order instead."""
    rng = np.random.default_rng(8)
    features = rng.integers(0, 3, (400, 4))
    classes = rng.integers(0, 2, 400)
    weights = np.repeat(0.1, 400)
    growth, trees = random_growth(CRITERIA[criterion], tries=2, least=0.53), []
    for rounding in (0.0, *[2.0**-50] * 5):
        rounded = weights * (1 + rounding * rng.choice([-1, 0, 1], 400))
        records = weighted_records(features, classes, rounded, (3,) * 4, 2)
        trees.append(random_tree(records, growth, np.random.default_rng(1))[0])
    for tree in trees[1:]:
        assert np.array_equal(tree.attribute, trees[0].attribute)
        assert np.array_equal(tree.child, trees[0].child)
