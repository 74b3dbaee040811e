"""tree_share: how much the default tree counts in a forest, by the likelihood of held-out reports.

    P(c | x) = w P_tree(c | x) + (1 - w) P_forest(c | x)

If a few attributes decide, a pruned tree is as good as a forest or better. Both are grown from two
thirds of the reports, and w is the share that predicts the reported class of the other third best,
summed over three folds.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.tree.forest_bags import multinomial, table_records
from tacit.mine.tree.joint_fit import FOLDS, Fold
from tacit.mine.tree.joint_table import penalised
from tacit.mine.tree.random_tree import (
    RandomGrowth,
    RandomTree,
    grow_random_tree,
    mean_chances,
)
from tacit.mine.tree.table_tree import TableTree
from tacit.mine.tree.tree_choice import TreeChoice, by_leaf

#: Shares that are compared.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Resamples of a fold, and trees of each.
_RESAMPLES, _TREES = 5, 3


def tree_share(choice: TreeChoice, growth: RandomGrowth, rng: np.random.Generator) -> float:
    """The share of the tree that predicts held-out reports best; 0 if it has no split."""
    if not len(choice.prices) or len(choice.tree) == 1:
        return 0.0
    strength = choice.fitted.strength * (FOLDS - 1) / FOLDS
    held = np.zeros(len(SHARES))
    for fold, prior, trees in zip(
        choice.fitted.folds, choice.fitted.fold_priors, choice.fold_trees, strict=True
    ):
        forest = _forest_table(fold, prior, strength, growth, rng)
        tree = by_leaf(fold, trees[choice.chosen])
        held += [
            fold.held.counts @ fold.held.class_likelihoods(w * tree + (1 - w) * forest)
            for w in SHARES
        ]
    return SHARES[int(np.argmax(held))]


def _forest_table(
    fold: Fold, prior: Array, strength: float, growth: RandomGrowth, rng: np.random.Generator
) -> Array:
    """P(x) P(c | x), the latter by a small forest, from the reports to learn from."""
    learnt, trees = fold.learnt, []
    for _ in range(_RESAMPLES):
        drawn = replace(learnt, counts=multinomial(learnt.counts, rng).astype(np.float64))
        table = prior if math.isinf(strength) else penalised(drawn, prior, strength, fold.table)
        records = table_records(learnt.channel, table * learnt.total)
        trees += [grow_random_tree(records, growth, rng)[0] for _ in range(_TREES)]
    chances = mean_chances(trees, learnt.channel.codes, np.ones(len(trees)))
    return np.asarray(fold.table.sum(axis=1)[:, None] * chances)


def random_tree(tree: TableTree) -> RandomTree:
    """A tree on a table of all attributes as a member of a forest."""
    source = np.arange(len(tree))
    for node in np.flatnonzero(tree.small):
        source[node] = source[tree.parent[node]]
    shares = tree.value[source]
    return RandomTree.rounded(
        tree.attribute, tree.child, shares / shares.sum(axis=1, keepdims=True)
    )
