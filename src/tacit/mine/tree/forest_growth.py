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
from tacit.counting import PatternTable
from tacit.mine.bayes_parameters import likelihood
from tacit.mine.tree.criteria import SplitCriterion
from tacit.mine.tree.forest_bags import Bags, ImputedBags, TableBags, TrueBags
from tacit.mine.tree.imputed_records import RecordPosterior
from tacit.mine.tree.joint_fit import fitted_table
from tacit.mine.tree.random_tree import NONE, RandomGrowth, RandomTree, grow_random_tree
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


def grow_forest(
    bags: Bags, settings: ForestSettings, rng: np.random.Generator, tell: Tell
) -> list[RandomTree]:
    """The trees, those of a bag side by side."""
    trees: list[RandomTree] = []
    while len(trees) < settings.n_trees:
        draw = bags.bag(rng)
        for _ in range(min(BAG, settings.n_trees - len(trees))):
            trees.append(grow_random_tree(draw(), settings.growth, rng))
            tell(len(trees) / settings.n_trees)
    return trees


def reported_bags(found: Reconstruction, target: str) -> Bags:
    """Bags of true records given reports."""
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


def single_leaf(shares: Array, n_features: int) -> RandomTree:
    """A tree without splits."""
    chances = np.maximum(shares, 0)[None] / np.maximum(shares, 0).sum()
    none = np.full((1, 1), NONE)
    return RandomTree(none[0], none, chances, np.zeros(n_features))


def mean_chances(trees: list[RandomTree], records: Codes) -> Array:
    """P(class | record), the mean over the trees."""
    total = np.zeros((len(records), trees[0].chances.shape[1]))
    for tree in trees:
        total += tree.chances[tree.find(records)]
    return np.asarray(total / total.sum(axis=1, keepdims=True))
