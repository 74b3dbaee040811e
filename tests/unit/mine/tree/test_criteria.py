"""Criteria: gains and branches beside the formulas written out for one node at a time."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.core.arrays import Array
from tacit.mine import DecisionTree
from tacit.mine.tree.growth import CRITERIA, NONE, BestMoments

SAME: dict[str, Any] = dict(rtol=0, atol=1e-12)
ENTROPY, GINI = CRITERIA["entropy"], CRITERIA["gini"]


def entropy(shares: Array) -> float:
    """- sum Q log2 Q."""
    chances = [q / shares.sum() for q in shares if q > 0]
    return -sum(q * math.log2(q) for q in chances)


def gini(shares: Array) -> float:
    """1 - sum Q^2."""
    return 1 - sum((q / shares.sum()) ** 2 for q in shares) if shares.sum() > 0 else 0.0


def tables(seed: int, nodes: int = 20, k: int = 4, classes: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    shares = rng.random((nodes, k, classes)) * (rng.random((nodes, k, classes)) < 0.7)
    return np.asarray(shares / shares.sum() * 0.8)


def test_the_gain_of_id3_is_that_of_the_formula_times_the_share_of_the_node() -> None:
    for table, found in zip(tables(1), ENTROPY.gains(tables(1)), strict=True):
        after = sum(own.sum() * entropy(own) for own in table if own.sum() > 0)
        expected = table.sum() * entropy(table.sum(axis=0)) - after
        np.testing.assert_allclose(found, [expected], **SAME)


def test_the_gain_of_cart_is_that_of_the_formula_times_the_share_of_the_node() -> None:
    for table, found in zip(tables(2), GINI.gains(tables(2)), strict=True):
        whole = table.sum(axis=0)
        for v, own in enumerate(table):
            others = whole - own
            expected = (
                whole.sum() * gini(whole) - own.sum() * gini(own) - others.sum() * gini(others)
            )
            if own.sum() > 0 and others.sum() > 0:
                np.testing.assert_allclose(found[v], expected, **SAME)
            else:
                assert found[v] == -np.inf


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=list(CRITERIA))
def test_a_split_with_one_branch_gains_minus_infinity(criterion: Any) -> None:
    table = np.zeros((1, 3, 2))
    table[0, 1] = 0.3, 0.2
    assert (criterion.gains(table) == -np.inf).all()


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=list(CRITERIA))
def test_an_attribute_that_tells_nothing_gains_nothing_but_can_split(criterion: Any) -> None:
    table = np.multiply.outer([0.2, 0.3, 0.1], [0.6, 0.4])[None]
    np.testing.assert_allclose(criterion.gains(table), 0, **SAME)


@pytest.mark.parametrize("k", [2, 127, 128, 129, 255, 256, 257, 300, 600])
def test_an_attribute_of_any_number_of_categories_can_split(k: int) -> None:
    """A class that the attribute tells for certain: the gain is all of the entropy, one bit."""
    table = np.zeros((1, k, 2))
    table[0, ::2, 0], table[0, 1::2, 1] = 0.5 / len(range(0, k, 2)), 0.5 / len(range(1, k, 2))
    np.testing.assert_allclose(ENTROPY.gains(table), [[1]], **SAME)


@pytest.mark.parametrize("k", [100, 200])
def test_a_tree_splits_by_an_attribute_of_many_categories(k: int) -> None:
    answers = np.arange(4 * k) % k
    features = np.stack([answers, np.arange(4 * k) % 3], axis=1)
    classes = answers % 2
    model = DecisionTree().fit(features, classes)
    assert model.get_n_leaves() == k
    assert model.score(features, classes) == 1


def test_id3_has_a_branch_a_category_and_cart_one_for_all_others() -> None:
    sizes, option = np.array([3, 2, 0]), np.array([1, 0, 0])
    np.testing.assert_array_equal(
        ENTROPY.branches(sizes, option, 4),
        [[0, 1, 2, NONE], [0, 1, NONE, NONE], [NONE] * 4],
    )
    np.testing.assert_array_equal(
        GINI.branches(sizes, option, 4), [[1, 0, 1, NONE], [0, 1, NONE, NONE], [NONE] * 4]
    )


def test_id3_looks_at_all_categories_and_cart_at_its_own() -> None:
    out = np.array([[False, True, False], [False, False, False]])
    np.testing.assert_array_equal(ENTROPY.options(out), [[True], [False]])
    np.testing.assert_array_equal(GINI.options(out), out)


def test_the_second_moments_of_the_other_categories_are_those_of_the_node_less_its_own() -> None:
    """By weights of 50 reports written out, for one node with three categories and two classes."""
    rng = np.random.default_rng(3)
    weights, shares = rng.normal(size=(3, 2, 50)), rng.dirichlet(np.ones(50))
    value = (weights @ shares)[None]
    whole = weights.sum(axis=0)
    own = np.einsum("vck,vdk,k->vcd", weights, weights, shares)[None]
    cross = np.einsum("vck,dk,k->vcd", weights, whole, shares)[None]
    all_of_it = np.einsum("ck,dk,k->cd", whole, whole, shares)[None]
    kept = BestMoments(own, cross, all_of_it)
    chosen: Any = SimpleNamespace(option=np.array([2]), value=value, moments=kept)
    shares_below, moments = GINI.children(chosen)
    assert moments is not None
    for branch, some in enumerate(([2], [0, 1])):
        expected = weights[some].sum(axis=0)
        np.testing.assert_allclose(shares_below[0, branch], expected @ shares, **SAME)
        np.testing.assert_allclose(moments[0, branch], (expected * shares) @ expected.T, **SAME)
