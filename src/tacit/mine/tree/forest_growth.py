"""grow_forest: random trees from reports, in bags that share one resample (see `forest_bags`).

The forest has no splits if the reports do not show that the class depends on some attribute (see
`split_gate`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array, Codes
from tacit.mine.bayes_parameters import likelihood
from tacit.mine.tree.criteria import SplitCriterion
from tacit.mine.tree.forest_bags import Bags, ImputedBags, TableBags, TrueBags
from tacit.mine.tree.imputed_records import RecordPosterior
from tacit.mine.tree.joint_fit import fitted_table
from tacit.mine.tree.random_tree import RandomGrowth, RandomTree, grow_random_tree
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction import Reconstruction

#: Trees that share a resample.
BAG = 4
#: Cells of the largest joint table, true or reported; larger domains are imputed.
MOST_CELLS = 1 << 16

#: Is told the share of the work that is done.
Tell = Callable[[float], None]


@dataclass(frozen=True)
class ForestSettings:
    """Number of trees, criterion, attributes tried at a node, fewest records of a branch, depth."""

    n_trees: int
    criterion: SplitCriterion
    tries: int
    least: float
    max_depth: int | None = None

    @property
    def growth(self) -> RandomGrowth:
        """How each tree is grown."""
        return RandomGrowth(self.criterion, self.tries, self.least, self.max_depth)


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees, and the gain of every attribute in each of them, trees x attributes."""

    trees: list[RandomTree]
    gains: Array


def grow_forest(
    bags: Bags, settings: ForestSettings, rng: np.random.Generator, tell: Tell
) -> GrownForest:
    """The trees, those of a bag side by side."""
    trees: list[RandomTree] = []
    gains: list[Array] = []
    while len(trees) < settings.n_trees:
        draw = bags.bag(rng)
        for _ in range(min(BAG, settings.n_trees - len(trees))):
            tree, gain = grow_random_tree(draw(), settings.growth, rng)
            trees.append(tree)
            gains.append(gain)
            tell(len(trees) / settings.n_trees)
    return GrownForest(trees, np.stack(gains))


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
    return GrownForest([RandomTree(none[0], none, chances)], np.zeros((1, n_features)))


def mean_chances(trees: list[RandomTree], records: Codes) -> Array:
    """P(class | record), the mean over the trees."""
    total = np.zeros((len(records), trees[0].chances.shape[1]))
    for tree in trees:
        total += tree.chances[tree.find(records)]
    return np.asarray(total / total.sum(axis=1, keepdims=True))
