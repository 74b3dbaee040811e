"""grow_forest: random trees from reports, in bags that share one resample (see `forest_bags`).

The forest has no splits if the reports do not show that the class depends on some attribute (see
`split_gate`). If the joint table of all attributes is small, the default tree becomes a member with
the share of the weights that predicts held-out reports best (see `tree_share`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.tree.criteria import CRITERIA
from tacit.mine.tree.forest_bags import Bags, ImputedBags, TableBags, TrueBags
from tacit.mine.tree.imputed_records import RecordPosterior
from tacit.mine.tree.joint_fit import fitted_table
from tacit.mine.tree.likelihood_tree import CAUTION, gated_choice
from tacit.mine.tree.random_tree import RandomGrowth, RandomTree, grow_random_tree
from tacit.mine.tree.split_choice import GrowthSettings
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import TreeReports
from tacit.mine.tree.tree_share import random_tree, tree_share
from tacit.models.bayes_parameters import likelihood
from tacit.reconstruction import Reconstruction
from tacit.records import Progress

#: Trees that share a resample.
BAG = 4
#: Cells of the largest joint table, true or reported; larger domains are imputed.
MOST_CELLS = 1 << 16

#: Fewest disguised records of a branch, and most branches of that size that all could fill.
_LEAST, _MOST_LEAVES = 10.0, 1 << 12


@dataclass(frozen=True)
class ForestSettings(RandomGrowth):
    """How to grow each tree, and how many."""

    n_trees: int = 100

    def of_disguised(self, n_records: int) -> Self:
        """The same for so many disguised records, of which a branch must not have few."""
        return replace(self, least=max(_LEAST, n_records / _MOST_LEAVES))


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees, the weight of each, and the gain of every attribute, trees x attributes."""

    trees: list[RandomTree]
    weights: Array
    gains: Array

    def with_tree(self, tree: RandomTree, share: float) -> GrownForest:
        """The forest with one more tree that has this share of the weights."""
        if share == 0:
            return self
        weights = np.append(self.weights * (1 - share), share)
        return GrownForest([*self.trees, tree], weights, self.gains)


def grow_forest(
    bags: Bags, settings: ForestSettings, rng: np.random.Generator, tell: Progress
) -> GrownForest:
    """The trees, those of a bag side by side."""
    trees: list[RandomTree] = []
    gains: list[Array] = []
    while len(trees) < settings.n_trees:
        draw = bags.bag(rng)
        for _ in range(min(BAG, settings.n_trees - len(trees))):
            tree, gain = grow_random_tree(draw(), settings, rng)
            trees.append(tree)
            gains.append(gain)
            tell(len(trees) / settings.n_trees)
    return GrownForest(trees, np.full(len(trees), 1 / len(trees)), np.stack(gains))


def reported_forest(
    found: Reconstruction,
    target: str,
    settings: ForestSettings,
    rng: np.random.Generator,
    tell: Progress,
) -> GrownForest:
    """The forest of reports; a single leaf if the class depends on nothing."""
    n_features = len(found.design.schema) - 1
    bags = true_bags(found, target)
    if bags is not None:
        return grow_forest(bags, settings, rng, tell)
    settings = settings.of_disguised(found.n_records)
    growth = GrowthSettings(CRITERIA["entropy"], CAUTION, settings.max_depth)
    names, choice, may_split = gated_choice(found, target, growth)
    if choice is None or not may_split:
        return single_leaf(found.table([target]).value, n_features)
    if len(names) < n_features:
        return grow_forest(reported_bags(found, target), settings, rng, tell)
    tables = TableBags(choice.fitted, found, target)
    grown = grow_forest(tables, settings, rng, tell)
    share = tree_share(choice, settings, rng)
    return grown.with_tree(random_tree(choice.tree), share)


def true_bags(found: Reconstruction, target: str) -> Bags | None:
    """Bags of records that are reported as they are; None if some are not."""
    patterns, schema = found.patterns, found.design.schema
    reported = patterns.schema.names
    if (
        set(schema.names) != set(reported)
        or not TreeReports.of(patterns, found.design, target).exact
    ):
        return None
    codes = patterns.patterns[:, [reported.index(name) for name in schema.names]]
    others = [a for a, name in enumerate(schema.names) if name != target]
    sizes = tuple(schema.sizes[a] for a in others)
    classes = codes[:, schema.index(target)]
    return TrueBags(codes[:, others], classes, patterns.counts, sizes, schema[target].size)


def reported_bags(found: Reconstruction, target: str) -> Bags:
    """Bags of true records given disguised ones."""
    design, patterns = found.design, found.patterns
    names = [name for name in design.schema.names if name != target]
    channel = design.channel([*names, target])
    if max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes)) <= MOST_CELLS:
        fitted = fitted_table(found, target, names, np.random.default_rng(0))
        return TableBags(fitted, found, target)
    learnt = likelihood(found, target, 1.0)
    tables = list(learnt.tables)
    tables[design.schema.index(target)] = np.eye(len(learnt.prior))
    posterior = RecordPosterior.of(patterns, design, target, learnt.prior, tables)
    return ImputedBags(posterior, patterns.counts)


def single_leaf(shares: Array, n_features: int) -> GrownForest:
    """A forest of one tree without splits."""
    chances = np.maximum(shares, 0)[None] / np.maximum(shares, 0).sum()
    none = np.full((1, 1), NONE)
    tree = RandomTree(none[0], none, chances)
    return GrownForest([tree], np.ones(1), np.zeros((1, n_features)))
