"""TreeChoice: a tree grown on a joint table and pruned by the held-out likelihood of reports.

A tree is grown on n * p and has a sequence of smaller trees by cost-complexity. A pruned tree is
the model P(x) P(c | leaf of x). The smallest tree within one paired standard error of the best
held-out likelihood is taken; for the folds, trees are grown on the tables of the folds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.mine.tree.joint_fit import FOLDS, FittedTable, Fold
from tacit.mine.tree.joint_table import TableReports, maximised
from tacit.mine.tree.split_gate import LEVEL, STANDARD_ERRORS, STRENGTH, leaf_step, paired
from tacit.mine.tree.table_tree import TableGrowth, TableTree, grow_on_table

#: Pruned trees that are compared.
_PRUNED = 8


@dataclass(frozen=True, eq=False)
class TreeChoice:
    """The full tree, prices to prune at, and the pruned trees of each fold."""

    fitted: FittedTable
    full: TableTree
    prices: Array
    fold_trees: tuple[tuple[TableTree, ...], ...]

    @classmethod
    def of(cls, fitted: FittedTable, growth: TableGrowth) -> TreeChoice:
        """Grow on the table of all reports, and on those of the folds."""
        full = _grown(fitted.reports, fitted.table, growth)
        prices = _between(full.price)
        grown = [_grown(fold.learnt, fold.table, growth) for fold in fitted.folds]
        return cls(
            fitted, full, prices, tuple(tuple(tree.cut(p) for p in prices) for tree in grown)
        )

    @property
    def root(self) -> TableTree:
        """The tree without splits."""
        return self.full.cut(math.inf)

    @property
    def tree(self) -> TableTree:
        """The chosen tree."""
        return self.full.cut(self.prices[self.chosen]) if len(self.prices) else self.full

    def may_split(self, p_value: float) -> bool:
        """Whether either test of `split_gate` shows dependence; `p_value` is that of the first."""
        return p_value < LEVEL or self.standard_errors() > STANDARD_ERRORS

    @cached_property
    def _counts(self) -> Array:
        """How many people sent each held-out report."""
        return np.concatenate([fold.held.counts for fold in self.fitted.folds])

    @cached_property
    def _likely(self) -> Array:
        """Log-likelihood of each held-out report under each pruned tree, trees x reports."""
        return np.concatenate(
            [
                np.stack([fold.held.class_likelihoods(by_leaf(fold, tree)) for tree in trees])
                for fold, trees in zip(self.fitted.folds, self.fold_trees, strict=True)
            ],
            axis=1,
        )

    @cached_property
    def chosen(self) -> int:
        """The largest price within one paired standard error of the best."""
        best = int(np.argmax(self._likely @ self._counts))
        enough = best
        for i in range(best + 1, len(self.prices)):
            behind, error = paired(self._likely[best] - self._likely[i], self._counts)
            if behind <= error:
                enough = i
        return enough

    def standard_errors(self) -> float:
        """By how many paired standard errors some tree beats a class independent of all else.

        The chosen tree, the smallest one and one between them are tried.
        """
        if not len(self.prices):
            return 0.0
        last = len(self.prices) - 1
        none = self._refitted([np.zeros(len(self.full.leaf), np.intp)] * FOLDS)
        largest = 0.0
        for i in sorted({self.chosen, (self.chosen + last + 1) // 2, last}):
            own = self._refitted([trees[i].leaf for trees in self.fold_trees])
            mean, error = paired(own - none, self._counts)
            largest = max(largest, mean / error if error > 0 else 0.0)
        return largest

    def _refitted(self, leaves: list[Index]) -> Array:
        """Held-out likelihoods of models with these leaves, fitted to the other reports."""
        found = []
        for fold, prior, leaf in zip(
            self.fitted.folds, self.fitted.fold_priors, leaves, strict=True
        ):
            numbered = np.unique(leaf, return_inverse=True)[1]
            m_step = leaf_step(prior, STRENGTH, numbered, fold.learnt.total)
            found.append(fold.held.class_likelihoods(maximised(fold.learnt, m_step, fold.table)))
        return np.concatenate(found)


def _grown(reports: TableReports, table: Array, growth: TableGrowth) -> TableTree:
    channel = reports.channel
    return grow_on_table(table, channel.codes, channel.sizes, reports.total, growth)


def _between(price: Array) -> Array:
    """Prices between those at which the tree gets smaller, at most `_PRUNED` of them."""
    steps = np.unique(price[np.isfinite(price) & (price > 0)])
    between = np.sqrt(steps[:-1] * steps[1:]) if len(steps) > 1 else steps / 2
    if len(between) <= _PRUNED:
        return np.asarray(between)
    places = np.unique(np.round(np.linspace(0, len(between) - 1, _PRUNED)).astype(np.intp))
    return np.asarray(between[places])


def by_leaf(fold: Fold, tree: TableTree) -> Array:
    """P(x) P(c | leaf of x), with one record of the whole added to every leaf."""
    whole = tree.value[0] / tree.value[0].sum() / fold.learnt.total
    sums = tree.value + whole
    chances = sums / sums.sum(axis=1, keepdims=True)
    return np.asarray(fold.table.sum(axis=1)[:, None] * chances[tree.leaf])
