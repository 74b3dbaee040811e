"""grow_forest: random trees from reports, in bags that share one resample (see `forest_bags`).

The forest has no splits if the reports do not show that the class depends on some attribute (see
`split_gate`). If the joint table of all attributes is small, the default tree becomes a member with
the share of the weights that predicts held-out reports best (see `tree_share`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Codes, Index
from tacit.core.channel.coin import UnitChannel
from tacit.core.design import Design, Group
from tacit.core.label_codes import code_type
from tacit.mine.tree.growth import CRITERIA, GrowthSettings
from tacit.mine.tree.likelihood import (
    CAUTION,
    FOLDS,
    FittedTable,
    Fold,
    JointChannel,
    TreeChoice,
    by_leaf,
    fitted_table,
    gated_choice,
    penalised,
    refitted_table,
)
from tacit.mine.tree.random_tree import (
    RandomGrowth,
    RandomTree,
    WeightedRecords,
    grow_random_tree,
    mean_chances,
)
from tacit.mine.tree.reports import TreeReports
from tacit.mine.tree.table_tree import TableTree
from tacit.mine.tree.tree import NONE
from tacit.models.bayes_parameters import likelihood
from tacit.models.block_units import Tables
from tacit.models.conditional_model import CHUNK, ConditionalModel
from tacit.reconstruction import Reconstruction
from tacit.records import PatternTable, Progress

# RecordPosterior: true records drawn given the reports, under a naive Bayes model.
#
# A report gives P(c | y), the strategy s of each group's coin, P(s | c, y_G), and the true answers
# of each unit, P(x_u | c, s, y_u), all by Bayes' rule (see `conditional_model`). A record is drawn
# in this order. Where the coin probably kept the answers, the draw is the report, so that
# dependences beyond naive Bayes are kept too; where it did not, the draw comes from the model
# (multiple imputation: Rubin, 1987).


@dataclass(frozen=True, eq=False)
class UnitDraws:
    """P(true answers | class, reported answers) of a unit, cumulated.

    `sums` is flat: classes x reported cells x true cells, each row raised by its number.
    """

    channel: UnitChannel
    columns: tuple[int, ...]
    reported_sizes: tuple[int, ...]
    true_sizes: tuple[int, ...]
    sums: Array

    @classmethod
    def of(
        cls, channel: UnitChannel, columns: tuple[int, ...], sizes: tuple[int, ...], tables: Tables
    ) -> Self:
        """The draws of a unit whose reports have these columns and sizes."""
        own = tuple(tables[a].shape[1] for a in channel.attributes)
        joint = tables[channel.attributes[0]]
        for a in channel.attributes[1:]:
            joint = (joint[:, :, None] * tables[a][:, None]).reshape(len(joint), -1)
        chances = joint[:, None] * channel.matrix[None]
        chances = np.maximum(chances, TINY * (channel.matrix[None] > 0))
        chances /= chances.sum(axis=2, keepdims=True) + TINY
        rows = chances.reshape(-1, chances.shape[2]).cumsum(axis=1)
        rows[:, -1] = 1.0
        sums = (rows + np.arange(len(rows))[:, None]).ravel()
        return cls(channel, columns, sizes, own, sums)

    def draw(
        self, reports: Codes, classes: Index, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.intp], ...]:
        """The true answers to the attributes of the unit."""
        cell = np.zeros(len(reports), np.intp)
        for column, size in zip(self.columns, self.reported_sizes, strict=True):
            cell = cell * size + reports[:, column]
        row = classes * math.prod(self.reported_sizes) + cell
        width = math.prod(self.true_sizes)
        found = np.searchsorted(self.sums, row + rng.random(len(row)), side="right")
        found = np.clip(found - row * width, 0, width - 1)
        return np.unravel_index(found, self.true_sizes)


class GroupPosterior(NamedTuple):
    """P(s | c, y) of a group, cumulated, strategies x classes x patterns; and its units."""

    strategies: npt.NDArray[np.float32]
    units: tuple[tuple[UnitDraws, ...], ...]


@dataclass(frozen=True, eq=False)
class RecordPosterior:
    """P(c | y), cumulated, classes x patterns, and the posteriors of the groups."""

    reports: Codes
    classes: npt.NDArray[np.float32]
    groups: tuple[GroupPosterior, ...]
    sizes: tuple[int, ...]
    target: int
    kind: npt.DTypeLike

    @classmethod
    def of(
        cls, patterns: PatternTable, design: Design, target: str, prior: Array, tables: Tables
    ) -> Self:
        """The posterior under naive Bayes; the target's own table is the identity."""
        model = ConditionalModel(patterns, design, target)
        chunks = list(model.posterior(prior, tables, CHUNK))
        classes = np.concatenate([chunk.classes for chunk in chunks], axis=1)
        groups = []
        for g, group in enumerate(design.groups):
            shares = [c.by_strategy[g] / np.maximum(c.totals[g], TINY) for c in chunks]
            cumulated = np.concatenate(shares, axis=2).cumsum(axis=0).astype(np.float32)
            groups.append(GroupPosterior(cumulated, _units(design, group, patterns, tables)))
        return cls(
            patterns.patterns,
            classes.cumsum(axis=0).astype(np.float32),
            tuple(groups),
            design.schema.sizes,
            design.schema.index(target),
            code_type(design.schema),
        )

    def draw(self, rows: Index, rng: np.random.Generator) -> Codes:
        """A true record for each of these patterns."""
        cumulated = self.classes[:, rows]
        drawn = rng.random(len(rows), np.float32)
        classes = (drawn * cumulated[-1] >= cumulated[:-1]).sum(axis=0)
        found = np.empty((len(rows), len(self.sizes)), self.kind)
        reports = self.reports[rows]
        for group in self.groups:
            own = group.strategies[:, classes, rows]
            drawn = rng.random(len(rows), np.float32)
            strategy = (drawn * own[-1] >= own[:-1]).sum(axis=0)
            for s, units in enumerate(group.units):
                some = np.flatnonzero(strategy == s)
                for unit in units:
                    answers = unit.draw(reports[some], classes[some], rng)
                    for a, codes in zip(unit.channel.attributes, answers, strict=True):
                        found[some, a] = codes
        return found


def _units(
    design: Design, group: Group, patterns: PatternTable, tables: Tables
) -> tuple[tuple[UnitDraws, ...], ...]:
    """The units of each strategy that the coin may pick."""
    reported = group.coin.reported(design.attributes_of(group))
    columns = [patterns.schema.index(a.name) for a in reported]
    return tuple(
        tuple(
            UnitDraws.of(
                channel,
                tuple(columns[i] for i in channel.reports),
                tuple(reported[i].size for i in channel.reports),
                tables,
            )
            for channel in channels
        )
        for _, channels in design.unit_channels(group)
    )


# Bags: weighted true records to grow trees from, one resample of the reports per bag.
#
# Counts of patterns are resampled, never records. What the reports say about the true records
# depends on the size of the joint table:
#
#     TableBags     the joint table of largest penalised likelihood, fitted anew to every resample
#     ImputedBags   larger domains: true records drawn given the reports and naive Bayes
#     TrueBags      records that are reported as they are


#: True records that are drawn for a pattern, at most; they share its count.
_MOST_DRAWN = 4
#: Cells in which fewer records are expected are left out.
_NOTHING = 0.01

#: Makes the records of the next tree of a bag.
Draw = Callable[[], WeightedRecords]


class Bags(ABC):
    """A source of bags."""

    @abstractmethod
    def bag(self, rng: np.random.Generator) -> Draw:
        """Resample the reports; gives what draws the records of each tree."""


@dataclass(frozen=True, eq=False)
class TableBags(Bags):
    """Bags of joint tables."""

    fitted: FittedTable
    found: Reconstruction
    target: str

    def bag(self, rng: np.random.Generator) -> Draw:
        patterns = resampled(self.found.patterns, rng)
        again = Reconstruction(patterns, self.found.design)
        reports, table = refitted_table(self.fitted, again, self.target)
        records = table_records(reports.channel, table * reports.total)
        return lambda: records


@dataclass(frozen=True, eq=False)
class ImputedBags(Bags):
    """Bags of records drawn given the reports, anew for every tree."""

    posterior: RecordPosterior
    counts: Index

    def bag(self, rng: np.random.Generator) -> Draw:
        counts = multinomial(self.counts, rng)
        drawn = np.minimum(counts, _MOST_DRAWN)
        rows = np.repeat(np.arange(len(counts)), drawn)
        weights = np.repeat(counts / np.maximum(drawn, 1), drawn)
        sizes, target = self.posterior.sizes, self.posterior.target
        others = [a for a in range(len(sizes)) if a != target]

        def draw() -> WeightedRecords:
            records = self.posterior.draw(rows, rng)
            own = tuple(sizes[a] for a in others)
            return WeightedRecords.of(
                records[:, others], records[:, target], weights, own, sizes[target]
            )

        return draw


@dataclass(frozen=True, eq=False)
class TrueBags(Bags):
    """Bags of distinct true records with their counts."""

    features: Codes
    classes: Codes
    counts: Index
    sizes: tuple[int, ...]
    n_classes: int

    def bag(self, rng: np.random.Generator) -> Draw:
        weights: Array = multinomial(self.counts, rng).astype(np.float64)
        records = WeightedRecords.of(
            self.features, self.classes, weights, self.sizes, self.n_classes
        )
        return lambda: records


def table_records(channel: JointChannel, expected: Array) -> WeightedRecords:
    """The cells of a table, with the expected number of records in each."""
    weights = np.where(expected > _NOTHING, expected, 0.0).ravel()
    rows, classes = np.unravel_index(np.arange(expected.size), expected.shape)
    sizes, n_classes = channel.sizes, channel.n_classes
    return WeightedRecords.of(channel.codes[rows], classes, weights, sizes, n_classes)


def resampled(patterns: PatternTable, rng: np.random.Generator) -> PatternTable:
    """As many records, drawn with replacement."""
    counts = multinomial(patterns.counts, rng)
    kept = counts > 0
    return PatternTable(patterns.schema, patterns.patterns[kept], counts[kept])


def multinomial(counts: Index | Array, rng: np.random.Generator) -> Index:
    """As many records, drawn with replacement: how often each pattern is drawn."""
    n = int(counts.sum())
    return np.asarray(rng.multinomial(n, counts / n))


# tree_share: how much the default tree counts in a forest, by the likelihood of held-out reports.
#
# P(c | x) = w P_tree(c | x) + (1 - w) P_forest(c | x)
#
# If a few attributes decide, a pruned tree is as good as a forest or better. Both are grown from
# two thirds of the reports, and w is the share that predicts the reported class of the other third
# best, summed over three folds.


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
