"""Random trees from reports, in bags that share one resample of the counts of patterns.

What the reports say about the true records depends on the size of the joint table:

    joint tables   the joint table of largest penalised likelihood, fitted anew to every resample
    imputed bags   larger domains: true records drawn given the reports and naive Bayes
    true bags      records that are reported as they are

The forest has no splits if the reports do not show that the class depends on some attribute (see
`likelihood.TreeChoice.may_split`). If the joint table of all attributes is small, the default tree
becomes a member with the weight that predicts held-out reports best (see `ReportedForest`). Trees
number the features, and the class is last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice, repeat
from typing import Self

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Codes, Index, row_products
from tacit.core.channel.families import Attributes
from tacit.core.channel.linear_maps import row_shares
from tacit.core.channel.numbers import Unit
from tacit.core.channel.strategies import UnitChannel
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.core.schema import Schema
from tacit.mine.tree import likelihood as joint
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.growth import CRITERIA, GrowthSettings, SplitCriterion, Tree, grow_nodes
from tacit.mine.tree.tables import TreeReports
from tacit.models.naive_bayes import CHUNK, ConditionalModel, Tables, likelihood
from tacit.reconstruction import Reconstruction
from tacit.records import PatternTable, Progress

#: Trees that share a resample.
BAG = 4
#: Cells of the largest joint table, true or reported; larger domains are imputed.
MOST_CELLS = 1 << 16
#: Fewest disguised records of a branch, and most branches of that size that all could fill.
_LEAST, _MOST_LEAVES = 10.0, 1 << 12
#: True records that are drawn for a pattern, at most; they share its count.
_MOST_DRAWN = 4
#: Cells in which fewer records are expected are left out.
_NOTHING = 0.01
#: Gains below this share of a record are rounding errors.
_NO_GAIN = 1e-9
#: Decimals of predicted chances: a saved forest stays short and predicts the same.
_DECIMALS = 6
#: Records of its parent that are added to every node.
_ADDED = 1.0
#: Weights of the default tree that are compared.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Resamples of a fold, and trees of each.
_RESAMPLES, _TREES = 5, 3

#: The records of each tree, in bags that share one resample of the reports.
Bags = Iterator[Iterable[TreeReports]]


def random_growth(
    criterion: SplitCriterion, tries: int, max_depth: int | None = None, least: float = 1.0
) -> GrowthSettings:
    """How to grow a tree of a forest, from weights in records."""
    return GrowthSettings(criterion, 0.0, max_depth, least, tries, _NO_GAIN)


def random_tree(
    records: TreeReports, growth: GrowthSettings, rng: np.random.Generator
) -> tuple[Tree, Array]:
    """The tree of these records, and what the splits by each feature reduce the impurity by."""
    growing = grow_nodes(records, growth, rng)
    tree, split = growing.tree(), np.flatnonzero(growing.attribute != NONE)
    gains = np.bincount(tree.attribute[split], growing.gain[split], len(records.features))
    total = tree.value.sum(axis=1, keepdims=True)
    chances = tree.value[:1] / total[:1]
    chances = np.resize(chances, tree.value.shape)
    for depth in range(1, int(tree.depth.max()) + 1):
        nodes = np.flatnonzero(tree.depth == depth)
        above = _ADDED * chances[tree.parent[nodes]]
        chances[nodes] = (tree.value[nodes] + above) / (total[nodes] + _ADDED)
    return forest_member(tree, chances), np.asarray(gains, np.float64)


def forest_member(tree: Tree, chances: Array) -> Tree:
    """A tree that predicts these chances at its nodes."""
    return replace(
        tree,
        value=np.round(chances, _DECIMALS),
        covariance=np.zeros_like(tree.covariance),
        label_source=np.arange(len(tree)),
    )


def mean_chances(trees: list[Tree], records: Codes | Index, weights: Array) -> Array:
    """P(class | record), the weighted mean over the trees."""
    total = np.zeros((len(records), trees[0].value.shape[1]))
    for tree, weight in zip(trees, weights, strict=True):
        total += weight * tree.value[tree.find(records, records.shape[1])]
    return row_shares(total)


@dataclass(frozen=True, eq=False)
class UnitDraws:
    """P(true answers | class, reported answers) of a unit, cumulated.

    `columns` are those of its reports. `sums` is flat: classes x reported cells x true cells, each
    row raised by its number.
    """

    attributes: Unit
    true_sizes: tuple[int, ...]
    columns: list[int]
    reported_sizes: tuple[int, ...]
    sums: Array

    @classmethod
    def of(cls, channel: UnitChannel, reported: Attributes, schema: Schema, tables: Tables) -> Self:
        """The draws of a unit of a group that has these reports, in records of the schema."""
        joint = reduce(row_products, (tables[a] for a in channel.attributes))
        chances = joint[:, None] * channel.matrix[None]
        chances = np.maximum(chances, TINY * (channel.matrix[None] > 0))
        chances /= chances.sum(axis=2, keepdims=True) + TINY
        rows = chances.reshape(-1, chances.shape[2]).cumsum(axis=1)
        rows[:, -1] = 1.0
        reports = [reported[i] for i in channel.reports]
        return cls(
            channel.attributes,
            tuple(tables[a].shape[1] for a in channel.attributes),
            [schema.index(report.name) for report in reports],
            tuple(report.size for report in reports),
            (rows + np.arange(len(rows))[:, None]).ravel(),
        )

    def draw(
        self, reports: Codes, classes: Index, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.intp], ...]:
        """The true answers to the attributes of the unit."""
        answers = [reports[:, column] for column in self.columns]
        cell = np.ravel_multi_index(answers, self.reported_sizes)
        row = classes * math.prod(self.reported_sizes) + cell
        width = math.prod(self.true_sizes)
        cells = np.searchsorted(self.sums, row + rng.random(len(row)), side="right")
        cells = np.clip(cells - row * width, 0, width - 1)
        return np.unravel_index(cells, self.true_sizes)


@dataclass(frozen=True, eq=False)
class RecordPosterior:
    """True records drawn given the reports, under a naive Bayes model.

    It has P(c | y), cumulated, classes x patterns; of each group P(s | c, y), cumulated, strategies
    x classes x patterns, and the units of each strategy.

    A report gives P(c | y), the strategy s of each group's coin, P(s | c, y_G), and the true
    answers of each unit, P(x_u | c, s, y_u), all by Bayes' rule (`models.naive_bayes`). A record
    is drawn in this order. Where the coin probably kept the answers, the draw is the report, so
    that dependences beyond naive Bayes are kept too; where it did not, the draw comes from the
    model (multiple imputation: Rubin, 1987).
    """

    reports: Codes
    schema: Schema
    classes: npt.NDArray[np.float32]
    groups: list[tuple[npt.NDArray[np.float32], list[list[UnitDraws]]]]

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
            reported = group.coin.reported(design.attributes_of(group))
            units = [
                [UnitDraws.of(unit, reported, patterns.schema, tables) for unit in strategy]
                for _, strategy in design.unit_channels(group)
            ]
            groups.append((cumulated, units))
        cumulated = classes.cumsum(axis=0).astype(np.float32)
        return cls(patterns.patterns, design.schema, cumulated, groups)

    def draw(self, rows: Index, rng: np.random.Generator) -> Codes:
        """A true record for each of these patterns."""
        cumulated = self.classes[:, rows]
        drawn = rng.random(len(rows), np.float32)
        classes = (drawn * cumulated[-1] >= cumulated[:-1]).sum(axis=0)
        records = np.empty((len(rows), len(self.schema)), code_type(self.schema))
        reports = self.reports[rows]
        for strategies, units_of_group in self.groups:
            cumulated = strategies[:, classes, rows]
            drawn = rng.random(len(rows), np.float32)
            strategy = (drawn * cumulated[-1] >= cumulated[:-1]).sum(axis=0)
            for s, units in enumerate(units_of_group):
                some = np.flatnonzero(strategy == s)
                for unit in units:
                    answers = unit.draw(reports[some], classes[some], rng)
                    for a, codes in zip(unit.attributes, answers, strict=True):
                        records[some, a] = codes
        return records


def _expected_records(reports: joint.TableReports, table: Array) -> TreeReports:
    """The cells of a table, with the expected number of records in each."""
    expected = table * reports.total
    weights = np.where(expected > _NOTHING, expected, 0.0)
    return TreeReports.of_cells(weights, reports.channel.true.sizes, int(expected.sum()))


def multinomial(counts: Index | Array, rng: np.random.Generator) -> Index:
    """As many records, drawn with replacement: how often each pattern is drawn."""
    n = int(counts.sum())
    return np.asarray(rng.multinomial(n, counts / n))


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees, the weight of each, and the gain of every attribute, trees x attributes."""

    trees: list[Tree]
    weights: Array
    gains: Array


@dataclass(frozen=True, eq=False)
class ReportedForest:
    """Grows the forest of reports; `tell` is called with the share of the trees that are grown."""

    reconstruction: Reconstruction
    target: str
    n_trees: int
    growth: GrowthSettings
    rng: np.random.Generator
    tell: Progress

    def grow(self) -> GrownForest:
        """The forest; a single leaf if the class depends on nothing."""
        reconstruction, target = self.reconstruction, self.target
        design, n_records = reconstruction.design, reconstruction.n_records
        reported_as_is = set(design.schema.names) == set(reconstruction.patterns.schema.names)
        if reported_as_is and TreeReports.of(reconstruction.patterns, design, target).exact:
            return self._grown(self._true_bags())
        growth = replace(self.growth, least=max(_LEAST, n_records / _MOST_LEAVES))
        disguised = replace(self, growth=growth)
        settings = GrowthSettings(CRITERIA["entropy"], joint.CAUTION, growth.max_depth)
        trees = joint.DependentTrees(reconstruction, target, settings)
        if trees.too_few or not trees.may_split:
            shares = np.maximum(reconstruction.table([target]).value, 0)[None]
            leaf = Tree.of_chances(np.array([NONE]), np.array([[NONE]]), shares / shares.sum())
            return GrownForest([leaf], np.ones(1), np.zeros((1, len(design.schema) - 1)))
        if not trees.complete:
            names = design.schema.without(target).names
            channel = design.channel([*names, target])
            if max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes)) > MOST_CELLS:
                return disguised._grown(self._imputed_bags())
            fitted = joint.fitted_table(reconstruction, target, names, np.random.default_rng(0))
            return disguised._grown(self._table_bags(fitted))
        forest = disguised._grown(self._table_bags(trees.choice.fitted))
        weight = disguised._tree_weight(trees.choice)
        if weight == 0:
            return forest
        tree, shares = trees.choice.tree, trees.choice.tree.value[trees.choice.tree.label_source]
        member = forest_member(tree, row_shares(shares))
        weights = np.append(forest.weights * (1 - weight), weight)
        return GrownForest([*forest.trees, member], weights, forest.gains)

    def _grown(self, bags: Bags) -> GrownForest:
        """The trees, those of a bag side by side."""
        trees, gains = [], []
        for records in islice(chain.from_iterable(bags), self.n_trees):
            tree, gain = random_tree(records, self.growth, self.rng)
            trees.append(tree)
            gains.append(gain)
            self.tell(len(trees) / self.n_trees)
        return GrownForest(trees, np.full(len(trees), 1 / len(trees)), np.stack(gains))

    def _true_bags(self) -> Bags:
        """Bags of distinct records that are reported as they are, with their counts."""
        patterns, schema = self.reconstruction.patterns, self.reconstruction.design.schema
        order = [*schema.without(self.target).names, self.target]
        records = patterns.patterns[:, [patterns.schema.index(name) for name in order]]
        sizes = schema.subset(order).sizes
        while True:
            weights = multinomial(patterns.counts, self.rng).astype(np.float64)
            drawn = TreeReports.true(records, weights, sizes, len(sizes) - 1, patterns.n_records)
            yield repeat(drawn, BAG)

    def _imputed_bags(self) -> Bags:
        """Bags of records drawn given the reports, anew for every tree."""
        design, patterns = self.reconstruction.design, self.reconstruction.patterns
        learnt, target = likelihood(self.reconstruction, self.target, 1.0), self.target
        tables = list(learnt.tables)
        tables.insert(design.schema.index(target), np.eye(len(learnt.prior)))
        posterior = RecordPosterior.of(patterns, design, target, learnt.prior, tables)
        order = [design.schema.index(name) for name in design.schema.without(target).names]
        order.append(design.schema.index(target))
        sizes = tuple(design.schema.sizes[a] for a in order)
        while True:
            resampled = multinomial(patterns.counts, self.rng)
            drawn = np.minimum(resampled, _MOST_DRAWN)
            rows = np.repeat(np.arange(len(drawn)), drawn)
            weights = np.repeat(resampled / np.maximum(drawn, 1), drawn)
            records = (posterior.draw(rows, self.rng)[:, order] for _ in range(BAG))
            yield (TreeReports.true(r, weights, sizes, len(sizes) - 1, len(rows)) for r in records)

    def _table_bags(self, fitted: joint.FittedTable) -> Bags:
        """Bags of joint tables."""
        patterns = self.reconstruction.patterns
        while True:
            drawn = patterns.with_counts(multinomial(patterns.counts, self.rng))
            again = Reconstruction(drawn, self.reconstruction.design)
            yield repeat(_expected_records(*joint.refitted_table(fitted, again)), BAG)

    def _tree_weight(self, choice: joint.TreeChoice) -> float:
        """The weight of the default tree that predicts held-out reports best; 0 if it has no split.

            P(c | x) = w P_tree(c | x) + (1 - w) P_forest(c | x)

        If a few attributes decide, a pruned tree is as good as a forest or better. Both are grown
        from two thirds of the reports, and w is the weight that predicts the reported class of the
        other third best, summed over three folds.
        """
        if not len(choice.prices) or len(choice.tree) == 1:
            return 0.0
        strength = choice.fitted.strength * (joint.FOLDS - 1) / joint.FOLDS
        likelihoods = np.zeros(len(WEIGHTS))
        for fold, trees in zip(choice.fitted.folds, choice.fold_trees, strict=True):
            forest = self._forest_table(fold, strength)
            tree = joint.by_leaf(fold, trees[choice.chosen])
            likelihoods += [
                fold.held_out.counts @ fold.held_out.class_likelihoods(w * tree + (1 - w) * forest)
                for w in WEIGHTS
            ]
        return WEIGHTS[int(np.argmax(likelihoods))]

    def _forest_table(self, fold: joint.Fold, strength: float) -> Array:
        """P(x) P(c | x), the latter by a small forest, from the reports to learn from."""
        learnt, table, trees = fold.learnt, fold.prior, []
        for _ in range(_RESAMPLES):
            counts = multinomial(learnt.counts, self.rng).astype(np.float64)
            if not math.isinf(strength):
                drawn = replace(learnt, counts=counts)
                table = joint.penalised(drawn, fold.prior, strength, fold.table)
            records = _expected_records(learnt, table)
            trees += [random_tree(records, self.growth, self.rng)[0] for _ in range(_TREES)]
        chances = mean_chances(trees, learnt.codes, np.ones(len(trees)))
        return np.asarray(fold.table.sum(axis=1)[:, None] * chances)
