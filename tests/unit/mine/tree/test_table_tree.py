"""Trees on tables: the first split, sizes of branches, and the cost-complexity sequence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tacit.core.arrays import Array, Index
from tacit.mine.tree.growth import CRITERIA, NONE, GrowthSettings, Tree, grow
from tacit.mine.tree.tables import TreeReports

SIZES = (2, 2, 2, 2)
CODES = np.array(list(product(*map(range, SIZES))))
N = 1000.0


def grown(table: Array, criterion: str, least: float = 10.0, max_depth: int | None = None) -> Tree:
    settings = GrowthSettings(CRITERIA[criterion], 0.0, max_depth, least / N)
    return grow(TreeReports.of_cells(table, (*SIZES, 2), int(N)), settings)


def cut(tree: Tree, criterion: str, price: float) -> Tree:
    return tree.cut(tree.prices(CRITERIA[criterion].impurity(tree.value)) <= price)


def any_table(seed: int = 1) -> Array:
    return np.asarray(np.random.default_rng(seed).dirichlet(np.ones(32)).reshape(16, 2))


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("seed", range(4))
def test_sizes_along_the_pruning_path_are_those_of_scikit_learn(criterion: str, seed: int) -> None:
    table = any_table(seed)
    ours = grown(table, criterion, least=0.0)
    rows, classes = np.repeat(CODES, 2, axis=0), np.tile([0, 1], 16)
    peer = DecisionTreeClassifier(criterion=criterion, random_state=0)
    path = peer.cost_complexity_pruning_path(rows, classes, table.ravel())
    steps = np.sqrt(path.ccp_alphas[1:-1] * path.ccp_alphas[2:])
    for alpha in steps[steps > 0]:
        peer.set_params(ccp_alpha=alpha).fit(rows, classes, table.ravel())
        assert len(cut(ours, criterion, alpha).leaves) == peer.get_n_leaves()


def test_values_of_a_node_are_those_of_its_rows() -> None:
    table = any_table()
    tree = grown(table, "entropy")
    leaves = tree.find(CODES, len(SIZES))
    for leaf in tree.leaves:
        np.testing.assert_allclose(tree.value[leaf], table[leaves == leaf].sum(axis=0))
    np.testing.assert_allclose(tree.value[0], table.sum(axis=0))


def test_every_split_has_two_branches_of_enough_records() -> None:
    tree = grown(any_table(), "gini", least=80.0)
    for node in np.flatnonzero(tree.attribute != NONE):
        below = np.unique(tree.child[node][tree.child[node] != NONE])
        assert (tree.value[below].sum(axis=1) * N >= 80).sum() >= 2


def test_the_largest_depth_is_kept() -> None:
    tree = grown(any_table(), "entropy", least=0.0, max_depth=1)
    assert (tree.attribute != NONE).sum() == 1


def brute_force(attribute: Index, parent: Index, cost: Array, price: float) -> int:
    """The fewest leaves among the pruned trees of least cost plus price per leaf."""
    splits = np.flatnonzero(attribute != NONE)
    best = (np.inf, 0)
    for cut in product([False, True], repeat=len(splits)):
        gone = np.zeros(len(parent), bool)
        for node in range(1, len(parent)):
            above = parent[node]
            gone[node] = gone[above] or cut[int(np.searchsorted(splits, above))]
        leaf = ~gone & ((attribute == NONE) | np.isin(np.arange(len(parent)), splits[list(cut)]))
        total = round(float(cost[leaf].sum() + price * leaf.sum()), 12)
        best = min(best, (total, int(leaf.sum())))
    return best[1]


@pytest.mark.parametrize("seed", range(3))
def test_cut_trees_cost_least(seed: int) -> None:
    tree = grown(any_table(seed), "gini", least=100.0)
    cost = CRITERIA["gini"].impurity(tree.value)
    for price in (1e-4, 1e-3, 3e-3, 1e-2, 0.1):
        expected = brute_force(tree.attribute, tree.parent, cost, price)
        assert len(cut(tree, "gini", price).leaves) == expected


def test_a_leaf_has_no_price() -> None:
    tree = grown(any_table(), "gini", max_depth=0)
    assert tree.prices(np.array([0.5])).tolist() == [np.inf]


def test_a_small_branch_takes_the_class_of_its_parent() -> None:
    table = np.array([[0.5, 0.1], [0.1, 0.295], [0.0, 0.005]])
    settings = GrowthSettings(CRITERIA["entropy"], least=10 / N)
    tree = grow(TreeReports.of_cells(table, (3, 2), int(N)), settings)
    assert tree.label.tolist() == [0, 0, 1, 0]
    assert tree.label_source.tolist() == [0, 1, 2, 0]
