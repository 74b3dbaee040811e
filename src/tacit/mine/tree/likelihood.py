"""likelihood_tree: a tree grown on the joint table of largest penalised likelihood.

Unbiased tables multiply noise by 1 / (2 theta - 1) per group crossed; a likelihood keeps what they
lose. `fitted_table` fits P(features, class) to the reports, `TreeChoice` grows and prunes trees on
it and decides whether there is a split at all.

A joint table of all attributes is often too large. Then it has those whose dependence with the
class exceeds noise most, and the tree is compared with one grown from the unbiased tables of all
attributes: both are grown on two thirds of the reports, and the second is taken if its accuracy,
estimated from the other third, is larger by more than a paired standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtrc

from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.linear_maps import Linear, row_shares
from tacit.core.design import ProductChannel
from tacit.mine.tree import growth
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.growth import GrowthSettings, Tree
from tacit.mine.tree.tables import TreeReports
from tacit.models.naive_bayes import (
    class_dependence,
    projected_prior,
    shrunk_table,
)
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.likelihood import EMStep, squarem
from tacit.records import PatternTable

#: Share of the uniform table in the prior, so that no cell is impossible.
_UNIFORM = 0.01
#: EM stops if a step would gain about this much log-likelihood per record, or after so many.
_TOLERANCE, _ITERATIONS = 1e-6, 20

#: The M step of a model: expected table in, table of the model out.
MStep = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class TableReports:
    """Distinct reports as cells of the reported table, and how many people sent each.

    The channel is that of some attributes of a design, the target last, as maps of flattened
    tables:

        q = M p,    M = kron over groups of M_G

    A true table has one axis per attribute, the target last, so that a reshape gives features x
    classes.
    """

    channel: ProductChannel
    cells: Index
    counts: Array

    @classmethod
    def of(cls, channel: ProductChannel, patterns: PatternTable) -> TableReports:
        """The reports in a pattern table, summed over attributes that the channel does not have."""
        schema = channel.reported
        columns = [patterns.schema.index(name) for name in schema.names]
        codes = patterns.patterns[:, columns].astype(np.intp)
        cells = np.ravel_multi_index(tuple(codes.T), schema.sizes)
        counts = np.bincount(cells, patterns.counts.astype(np.float64), math.prod(schema.sizes))
        seen = np.flatnonzero(counts)
        return cls(channel, seen, np.asarray(counts[seen], np.float64))

    @property
    def total(self) -> float:
        """The number of reports."""
        return float(self.counts.sum())

    @cached_property
    def codes(self) -> Index:
        """The features of each row of a table, rows x features."""
        sizes = self.channel.true.sizes[:-1]
        return np.indices(sizes).reshape(len(sizes), -1).T

    def leaves(self, tree: Tree) -> Index:
        """The leaf of each row of a table."""
        return tree.find(self.codes, self.codes.shape[1])

    @cached_property
    def _forward(self) -> list[Linear]:
        return [factor.channel.fast_forward for factor in self.channel.factors]

    @cached_property
    def _backward(self) -> list[Linear]:
        return [factor.T for factor in self._forward]

    def reported(self, table: Array) -> Array:
        """M p of a table with features x classes, flattened."""
        true = table.reshape(self.channel.true.sizes)
        return self.channel.to_reported(self._forward, true).ravel()

    def class_likelihoods(self, table: Array) -> Array:
        """log P(reported class | the other reported answers) of each report.

        What models are compared by: the likelihood of whole reports prefers one that describes
        the dependence among attributes well, even if its classes are not the class. That of the
        whole report if the class is reported jointly with other attributes.
        """
        schema, target = self.channel.reported, self.channel.true.names[-1]
        likely = np.maximum(self.reported(table), TINY).reshape(schema.sizes)
        if target in schema:
            likely = likely / likely.sum(schema.index(target), keepdims=True)
        return np.asarray(np.log(likely.ravel()[self.cells]))

    def expected(self, table: Array) -> tuple[Array, float]:
        """p * M^T(n / M p) / n, the table expected given the reports; log-likelihood per record."""
        shares, sizes = self.counts / self.total, self.channel.reported.sizes
        likely = np.maximum(self.reported(table)[self.cells], TINY)
        ratio = np.zeros(math.prod(sizes))
        ratio[self.cells] = shares / likely
        back = self.channel.to_true(self._backward, ratio.reshape(sizes))
        return table * back.reshape(table.shape), float(shares @ np.log(likely))


def with_uniform(table: Array) -> Array:
    """A prior in which every cell is possible."""
    return np.asarray((1 - _UNIFORM) * table / table.sum() + _UNIFORM / table.size)


def penalised(reports: TableReports, prior: Array, strength: float, start: Array) -> Array:
    """The table of largest penalised likelihood.

    The prior p0 counts as `strength` records:

        maximise  sum_y n_y log (M p)_y  +  strength * sum_x p0(x) log p(x)
        p <- (p * M^T(n / M p) + strength * p0) / (n + strength)

    This is concave, so EM, accelerated by SQUAREM, finds its one maximum. Infinite strength leaves
    p0 as it is. p0 is naive Bayes, fitted by EM to the same reports: the M step turns the expected
    table into the closest table of that model. `fitted_table` chooses the strength.
    """
    weight = strength / reports.total

    def step(table: Array) -> EMStep:
        expected, likelihood = reports.expected(table)
        after = (expected + weight * prior) / (1 + weight)
        penalty = weight * float((prior * np.log(np.maximum(table, TINY))).sum())
        return EMStep(after, likelihood + penalty, _gap(after, table))

    return squarem(step, start, _normed, _TOLERANCE, _ITERATIONS)[0]


def maximised(reports: TableReports, m_step: MStep, start: Array) -> Array:
    """The table of largest likelihood in the model of an M step, from a start."""

    def step(table: Array) -> EMStep:
        expected, likelihood = reports.expected(table)
        after = m_step(expected)
        return EMStep(after, likelihood, _gap(after, table))

    return squarem(step, m_step(start), m_step, _TOLERANCE, _ITERATIONS)[0]


def _gap(after: Array, before: Array) -> float:
    """About how much an EM step gains in log-likelihood per record."""
    return float((np.square(after - before) / np.maximum(before, TINY)).sum())


def _normed(table: Array) -> Array:
    return np.asarray(table / table.sum())


def naive_bayes_table(prior: Array, tables: list[Array]) -> Array:
    """P(c) prod_a P(x_a | c), features x classes; tables are classes x categories."""
    joint = np.asarray(prior)[None]
    for table in tables:
        joint = (joint[:, None] * table.T[None]).reshape(-1, len(prior))
    return np.asarray(joint / joint.sum())


def naive_bayes_step(sizes: Sequence[int], n_records: float) -> MStep:
    """The M step of naive Bayes, with one record added to every category; `sizes` of features."""

    def m_step(expected: Array) -> Array:
        classes = expected.sum(axis=0)
        cube = expected.reshape(*sizes, len(classes))
        tables = []
        for a in range(len(sizes)):
            others = tuple(b for b in range(len(sizes)) if b != a)
            margin = cube.sum(axis=others).T + 1 / n_records
            tables.append(row_shares(margin))
        return naive_bayes_table(classes, tables)

    return m_step


def shrunk_by_direction(
    channel: ProductChannel, reconstruction: Reconstruction, table: Array
) -> Array:
    """The table with each group as dependent on the others as its direction is sure.

    If theta is close to 1/2, reports from which two groups depend on each other in one direction
    are nearly those of the opposite one, and a model of largest likelihood has one of them as if it
    were certain. The unbiased table of an attribute and the class has d = P(c, a) - P(c) P(a) with
    its covariance C. For the dependence e of a model, the log-odds of e against -e are

        2 e^T C^-1 d,

    averaged over the attributes of a group, whose noise is nearly the same. With w the chance of e,
    the mean over both directions has 2 w - 1 of the dependence between the group and all others:

        p <- (2 w - 1) p + (2 - 2 w) p(group) p(others),    at least none of it.
    """
    schema, target = channel.true, len(channel.true) - 1
    cube = table.reshape(schema.sizes)
    for factor in channel.factors:
        axes = factor.true_axes
        if target in axes:
            continue
        log_odds = []
        for a in axes:
            model = cube.sum(axis=tuple(b for b in range(cube.ndim) if b not in (a, target))).T
            unbiased = reconstruction.table([schema.names[target], schema.names[a]])
            precision = np.linalg.pinv(unbiased.covariance, rcond=1e-8, hermitian=True)
            log_odds.append(float(2 * _beyond(model) @ precision @ _beyond(unbiased.value)))
        sure = max(0.0, float(np.tanh(np.mean(log_odds) / 2)))  # 2 w - 1
        others = tuple(a for a in range(cube.ndim) if a not in axes)
        apart = cube.sum(axis=axes, keepdims=True) * cube.sum(axis=others, keepdims=True)
        cube = sure * cube + (1 - sure) * apart
    return np.asarray(cube.reshape(table.shape))


def _beyond(table: Array) -> Array:
    """P(c, a) - P(c) P(a), flattened."""
    return np.asarray(table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()


FOLDS = 3
#: Smallest share of a class in the first naive Bayes model.
_LEAST_CLASS = 1e-4
#: Records that the prior may count for.
STRENGTHS = (math.inf, 30_000.0, 3_000.0, 300.0, 30.0, 3.0)


@dataclass(frozen=True, eq=False)
class Fold:
    """Reports to learn from and reports held out; a prior and a table fitted to the former."""

    learnt: TableReports
    held_out: TableReports
    prior: Array
    table: Array


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The joint table of all reports, and that of each fold.

    `kind` is which of the `priors` it has, `likely` the naive Bayes table of largest likelihood.
    """

    reports: TableReports
    table: Array
    kind: int
    likely: Array
    strength: float
    folds: list[Fold]


def fitted_table(
    reconstruction: Reconstruction, target: str, names: Sequence[str], rng: np.random.Generator
) -> FittedTable:
    """The table of some features and the target, with the best prior at its best strength.

    Reports are split into three folds at random. The prior of a fold is naive Bayes, learnt from
    the reports of the other two by likelihood or from reconstructed pairs, and its tables are
    fitted to them at several strengths (see `penalised`). Prior and strength are those that predict
    the reported class of held-out reports from their other answers best.
    """
    channel = reconstruction.design.channel([*names, target])
    by_fold = []
    for learnt, held_out in reconstruction.patterns.folds(FOLDS, rng):
        reports = TableReports.of(channel, learnt), TableReports.of(channel, held_out)
        priors = _priors(reports[0], Reconstruction(learnt, reconstruction.design))[1]
        by_fold.append([Fold(*reports, prior, prior) for prior in priors])
    candidates = [list(folds) for folds in zip(*by_fold, strict=True)]
    kind = int(np.argmax([_held_out_likelihood(candidate) for candidate in candidates]))
    whole = TableReports.of(channel, reconstruction.patterns)
    likely, priors = _priors(whole, reconstruction)
    table, strength, folds = _strengthened(whole, priors[kind], candidates[kind])
    return FittedTable(whole, table, kind, likely, strength, folds)


def refitted_table(
    fitted: FittedTable, reconstruction: Reconstruction
) -> tuple[TableReports, Array]:
    """The table of other reports, with the kind of prior and the strength of this one."""
    reports = TableReports.of(fitted.reports.channel, reconstruction.patterns)
    prior = _priors(reports, reconstruction, fitted.likely)[1][fitted.kind]
    if math.isinf(fitted.strength):
        return reports, prior
    return reports, penalised(reports, prior, fitted.strength, fitted.table)


def _priors(
    reports: TableReports, reconstruction: Reconstruction, start: Array | None = None
) -> tuple[Array, list[Array]]:
    """The naive Bayes table of largest likelihood, and three priors in which all is possible.

    They are naive Bayes from reconstructed pairs, shrunk towards independence by their noise; the
    same of largest likelihood, shrunk by direction; and between them the average of both. If
    attributes depend on each other beyond the class, the classes of largest likelihood may be other
    clusters than the class; the pairs then contradict them, and the average has less of both.
    """
    channel = reports.channel
    *names, target = channel.true.names
    prior = projected_prior(reconstruction, target, 1.0)
    unbiased = [reconstruction.table([target, name]) for name in names]
    tables = [shrunk_table(pair, prior, 1.0) for pair in unbiased]
    by_pairs = naive_bayes_table(np.maximum(prior, _LEAST_CLASS), tables)
    m_step = naive_bayes_step(channel.true.sizes[:-1], reports.total)
    likely = maximised(reports, m_step, by_pairs if start is None else start)
    shrunk = shrunk_by_direction(channel, reconstruction, likely)
    return likely, [with_uniform(prior) for prior in (by_pairs, (by_pairs + shrunk) / 2, shrunk)]


def _held_out_likelihood(folds: Sequence[Fold]) -> float:
    """The log-likelihood of the classes of reports held out."""
    return sum(
        float(fold.held_out.counts @ fold.held_out.class_likelihoods(fold.table)) for fold in folds
    )


def _strengthened(
    reports: TableReports, prior: Array, folds: list[Fold]
) -> tuple[Array, float, list[Fold]]:
    """The table, its strength and the folds at the strength with the largest held-out likelihood.

    From the strongest prior down, until two in a row are worse.
    """
    steps, likelihoods = [folds], [_held_out_likelihood(folds)]
    for strength in STRENGTHS[1:]:
        fold_strength = strength * (FOLDS - 1) / FOLDS
        steps.append(
            [
                replace(fold, table=penalised(fold.learnt, fold.prior, fold_strength, fold.table))
                for fold in steps[-1]
            ]
        )
        likelihoods.append(_held_out_likelihood(steps[-1]))
        if len(likelihoods) > 2 and likelihoods[-1] < likelihoods[-2] < likelihoods[-3]:
            break
    best = int(np.argmax(likelihoods))
    table = prior
    for strength in STRENGTHS[1 : best + 1]:
        table = penalised(reports, prior, strength, table)
    return table, STRENGTHS[best], steps[best]


#: Tables of more reported cells have a Wald test instead: there are enough reports for them.
_MOST_CELLS = 256
_STEPS = 300
#: Share of the uniform table in the start, so that no cell is impossible.
_INSIDE = 0.05

#: Chi-squared statistic and degrees of freedom of each attribute.
ClassTests = dict[str, tuple[float, int]]


def class_tests(reconstruction: Reconstruction, target: str) -> ClassTests:
    """The test of every other attribute.

        2 n (max over P(c, a) of L - max over P(c) P(a) of L),  L = mean over reports of log (M p)_y

    is chi-squared with (classes - 1)(categories - 1) degrees of freedom if both are independent;
    fewer large values occur where shares are at zero. True records are a sample too: reports are
    independent draws from M p. A Wald test from the unbiased table is too large by far if the class
    share is hardly known, because P(c) P(a) is not linear. Both maxima are found by EM, many tables
    at once.
    """
    design, patterns = reconstruction.design, reconstruction.patterns
    classes, names = design.schema[target].size, design.schema.without(target).names
    tests: ClassTests = {}
    alike: dict[tuple[int, int], list[str]] = {}
    for name in names:
        together = design.jointly_reported([target, name])
        cells = math.prod(design.channel(together).reported.sizes)
        if len(together) > 2 or cells > _MOST_CELLS:
            tests[name] = class_dependence(reconstruction.table([target, name]))[1:]
        else:
            alike.setdefault((design.schema[name].size, cells), []).append(name)
    for (size, _), names_alike in alike.items():
        channels = [design.channel([target, name]) for name in names_alike]
        counts = [patterns.marginal(c.reported.names).ravel() for c in channels]
        matrices = np.stack([c.matrix for c in channels])
        ratios = likelihood_ratios(matrices, np.stack(counts).astype(np.float64), classes)
        freedom = (classes - 1) * (size - 1)
        tests |= {n: (float(r), freedom) for n, r in zip(names_alike, ratios, strict=True)}
    return {name: tests[name] for name in names}


def likelihood_ratios(matrices: Array, counts: Array, classes: int) -> Array:
    """The statistic of each table; channels are tables x reported x true cells, class first."""
    n = counts.sum(axis=1)
    seen = (counts / n[:, None])[..., None]
    inverted = np.maximum(np.linalg.pinv(matrices) @ seen, 0)
    inverted /= np.maximum(inverted.sum(axis=1, keepdims=True), TINY)
    start = (1 - _INSIDE) * inverted + _INSIDE / matrices.shape[2]
    apart = _likelihood(matrices, seen, _maximised(matrices, seen, start, classes))
    joint = _likelihood(matrices, seen, _maximised(matrices, seen, start, None))
    return np.asarray(np.maximum(2 * n * (joint - apart), 0))


def _maximised(matrices: Array, seen: Array, start: Array, classes: int | None) -> Array:
    """The tables of largest likelihood; with a number of classes, those of independence."""
    back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    tables = start if classes is None else _independent(start, classes)
    for _ in range(_STEPS):
        tables = tables * (back @ (seen / np.maximum(matrices @ tables, TINY)))
        if classes is not None:
            tables = _independent(tables, classes)
    return tables


def _independent(tables: Array, classes: int) -> Array:
    """P(c) P(a) of each table."""
    cubes = tables.reshape(len(tables), classes, -1)
    product = cubes.sum(axis=2, keepdims=True) * cubes.sum(axis=1, keepdims=True)
    return np.asarray(product.reshape(tables.shape))


def _likelihood(matrices: Array, seen: Array, tables: Array) -> Array:
    likely = np.log(np.maximum(matrices @ tables, TINY))
    return np.asarray((seen * likely).sum(axis=(1, 2)))


#: Level of the first test, over all attributes.
LEVEL = 0.025
#: Standard errors that the second test asks for.
STANDARD_ERRORS = 2.2
#: Records that the prior counts for in both models of the second test.
STRENGTH = 30.0


def smallest_p_value(tests: Sequence[tuple[float, int]]) -> float:
    """The smallest p-value of chi-squared statistics with their degrees of freedom, Bonferroni."""
    values = [float(chdtrc(freedom, statistic)) for statistic, freedom in tests]
    return min(1.0, min(values) * len(values))


def leaf_step(prior: Array, strength: float, leaf: Index, n_records: float) -> MStep:
    """The M step of P(x) P(c | leaf of x): one record of the whole is added to every leaf.

    The margin of the prior counts as `strength` records of the features.
    """
    n_leaves, features = int(leaf.max()) + 1, prior.sum(axis=1)
    weight = strength / n_records

    def m_step(expected: Array) -> Array:
        sums = np.stack([np.bincount(leaf, column, n_leaves) for column in expected.T], axis=1)
        whole = sums.sum(axis=0)
        sums += whole / whole.sum() / n_records
        chances = sums / sums.sum(axis=1, keepdims=True)
        margin = (expected.sum(axis=1) + weight * features) / (1 + weight)
        return np.asarray(margin[:, None] * chances[leaf])

    return m_step


def paired(differences: Array, counts: Array) -> tuple[float, float]:
    """The mean over reports of differences, and its standard error."""
    n = float(counts.sum())
    mean = float(counts @ differences) / n
    variance = float(counts @ np.square(differences - mean)) / max(n - 1, 1)
    return mean, math.sqrt(variance / n)


#: Pruned trees that are compared.
_PRUNED = 8
#: Fewest records that are expected in a branch.
_LEAST = 10.0


@dataclass(frozen=True, eq=False)
class TreeChoice:
    """Trees grown on a joint table and pruned by the held-out likelihood of reports.

    The full tree has a sequence of smaller trees by cost-complexity. A pruned tree is the model
    P(x) P(c | leaf of x). The smallest tree within one paired standard error of the best held-out
    likelihood is chosen; for the folds, trees are grown on the tables of the folds. Trees number
    the features in the order of the joint table, the class last.
    """

    fitted: FittedTable
    full: Tree
    node_prices: Array
    prices: Array
    fold_trees: tuple[tuple[Tree, ...], ...]

    @classmethod
    def of(cls, fitted: FittedTable, settings: GrowthSettings) -> TreeChoice:
        """Grow on the table of all reports, and on those of the folds."""
        full, node_prices = _grown(fitted.reports, fitted.table, settings)
        prices = _between(node_prices)
        fold_trees = []
        for fold in fitted.folds:
            tree, fold_prices = _grown(fold.learnt, fold.table, settings)
            fold_trees.append(tuple(tree.cut(fold_prices <= price) for price in prices))
        return cls(fitted, full, node_prices, prices, tuple(fold_trees))

    @property
    def root(self) -> Tree:
        """The tree without splits."""
        return self.full.cut(np.ones(len(self.full), bool))

    @cached_property
    def tree(self) -> Tree:
        """The chosen tree."""
        if not len(self.prices):
            return self.full
        return self.full.cut(self.node_prices <= self.prices[self.chosen])

    def may_split(self, p_value: float) -> bool:
        """Whether the reports show any dependence of the class: one of two tests is enough.

        1. Some attribute depends on the class (see `class_tests`), Bonferroni over the attributes;
           `p_value` is the smallest.
        2. The tree predicts held-out reports better than a class independent of all attributes, by
           some paired standard errors. Both models, P(x) P(c | leaf of x) and P(x) P(c), are fitted
           to the other reports by EM, with a weak prior of P(x): a wrong P(x) could be repaired by
           the leaves.
        """
        return p_value < LEVEL or self.standard_errors() > STANDARD_ERRORS

    @cached_property
    def _counts(self) -> Array:
        """How many people sent each held-out report."""
        return np.concatenate([fold.held_out.counts for fold in self.fitted.folds])

    @cached_property
    def _likely(self) -> Array:
        """Log-likelihood of each held-out report under each pruned tree, trees x reports."""
        return np.concatenate(
            [
                np.stack([fold.held_out.class_likelihoods(by_leaf(fold, tree)) for tree in trees])
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
        independent = self._refitted([self.root] * FOLDS)
        largest = 0.0
        for i in sorted({self.chosen, (self.chosen + last + 1) // 2, last}):
            likely = self._refitted([trees[i] for trees in self.fold_trees])
            mean, error = paired(likely - independent, self._counts)
            largest = max(largest, mean / error if error > 0 else 0.0)
        return largest

    def _refitted(self, trees: list[Tree]) -> Array:
        """Held-out likelihoods of models with the leaves of trees, fitted to the other reports."""
        likely = []
        for fold, tree in zip(self.fitted.folds, trees, strict=True):
            numbered = np.unique(fold.learnt.leaves(tree), return_inverse=True)[1]
            m_step = leaf_step(fold.prior, STRENGTH, numbered, fold.learnt.total)
            table = maximised(fold.learnt, m_step, fold.table)
            likely.append(fold.held_out.class_likelihoods(table))
        return np.concatenate(likely)


def _grown(reports: TableReports, table: Array, settings: GrowthSettings) -> tuple[Tree, Array]:
    """The tree on a joint table, and the price of each node, with the criterion as the cost."""
    settings = replace(settings, caution=0.0, least=_LEAST / reports.total)
    sizes = reports.channel.true.sizes
    cells = TreeReports.of_cells(table, sizes, int(reports.total))
    grown = growth.grow_nodes(cells, settings).tree()
    tree = growth.follow(grown, cells)  # sums of cells instead of differences
    tree.value[0] = table.sum(axis=0)  # the digits of saved models
    return tree, tree.prices(settings.criterion.impurity(tree.value))


def _between(price: Array) -> Array:
    """Prices between those at which the tree gets smaller, at most `_PRUNED` of them."""
    steps = np.unique(price[np.isfinite(price) & (price > 0)])
    between = np.sqrt(steps[:-1] * steps[1:]) if len(steps) > 1 else steps / 2
    if len(between) <= _PRUNED:
        return np.asarray(between)
    chosen = np.unique(np.round(np.linspace(0, len(between) - 1, _PRUNED)).astype(np.intp))
    return np.asarray(between[chosen])


def by_leaf(fold: Fold, tree: Tree) -> Array:
    """P(x) P(c | leaf of x), with one record of the whole added to every leaf."""
    whole = tree.value[0] / tree.value[0].sum() / fold.learnt.total
    sums = tree.value + whole
    chances = row_shares(sums)
    return np.asarray(fold.table.sum(axis=1)[:, None] * chances[fold.learnt.leaves(tree)])


#: Cells of the largest joint table, true or reported.
MOST_CELLS = 1 << 12
#: Fewer reports than this are not split.
LEAST_RECORDS = 30
#: Standard errors by which a split of unbiased tables must exceed noise.
CAUTION = 2.0


def likelihood_tree(reconstruction: Reconstruction, target: str, settings: GrowthSettings) -> Tree:
    """The tree for the target; without splits if the reports show no dependence of the class."""
    trees = DependentTrees(reconstruction, target, settings)
    if trees.too_few:
        return trees.unbiased(max_depth=0)
    if not trees.may_split:
        return trees.placed(trees.choice.root)
    if not trees.complete and _unbiased_is_better(trees):
        return trees.unbiased()
    return trees.placed(trees.choice.tree)


@dataclass(frozen=True, eq=False)
class DependentTrees:
    """Trees on the joint table of the features that depend on the class most."""

    reconstruction: Reconstruction
    target: str
    settings: GrowthSettings

    @property
    def too_few(self) -> bool:
        """Whether there are too few reports to split."""
        return self.reconstruction.n_records < LEAST_RECORDS

    @cached_property
    def tests(self) -> ClassTests:
        """The test of every other attribute."""
        return class_tests(self.reconstruction, self.target)

    @cached_property
    def names(self) -> list[str]:
        """The features whose joint table fits, chosen by their excess dependence.

        They are given in the order of the schema.
        """
        design, tests, chosen = self.reconstruction.design, self.tests, set[str]()
        for name in sorted(tests, key=lambda n: tests[n][1] - tests[n][0]):
            larger = set(design.jointly_reported([*(chosen | {name}), self.target])) - {self.target}
            channel = design.channel([*larger, self.target])
            cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
            if cells <= MOST_CELLS or not chosen:
                chosen = larger
        return [name for name in design.schema.names if name in chosen]

    @property
    def complete(self) -> bool:
        """Whether the joint table has all features."""
        return len(self.names) == len(self.tests)

    @cached_property
    def choice(self) -> TreeChoice:
        """The trees on the joint table."""
        design = self.reconstruction.design
        reported = design.channel([*self.names, self.target]).reported.names
        # Distinct and sorted: the folds do not depend on the order of the records.
        subset = Reconstruction(self.reconstruction.patterns.subset(reported), design)
        fitted = fitted_table(subset, self.target, self.names, np.random.default_rng(0))
        return TreeChoice.of(fitted, self.settings)

    @property
    def may_split(self) -> bool:
        """Whether the reports show any dependence of the class (see `TreeChoice.may_split`)."""
        return self.choice.may_split(smallest_p_value(list(self.tests.values())))

    def placed(self, tree: Tree) -> Tree:
        """The tree for the whole schema, depth-first; the branch of the first category is first."""
        schema = self.reconstruction.design.schema
        positions = np.array([*(schema.index(name) for name in self.names), NONE])
        child = np.full((len(tree), max(schema.sizes)), NONE)
        child[:, : tree.child.shape[1]] = tree.child
        order, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting += list(dict.fromkeys(child[node][child[node] != NONE].tolist()))[::-1]
        placed = replace(tree, attribute=positions[tree.attribute], child=child)
        return placed.take(np.array(order, np.intp))

    def unbiased(self, **settings: Any) -> Tree:
        """The tree from the unbiased tables of all attributes, with some settings replaced."""
        patterns, design = self.reconstruction.patterns, self.reconstruction.design
        reports = TreeReports.of(patterns, design, self.target)
        return growth.grow(reports, replace(self.settings, caution=CAUTION, **settings))


def _unbiased_is_better(trees: DependentTrees) -> bool:
    """Whether unbiased tables classify more held-out records correctly, beyond a standard error."""
    design, patterns = trees.reconstruction.design, trees.reconstruction.patterns
    first, second = next(patterns.folds(FOLDS, np.random.default_rng(0)))
    learnt = replace(trees, reconstruction=Reconstruction(first, design))
    held_out = TreeReports.of(second, design, trees.target)
    joint = learnt.placed(learnt.choice.tree)
    gain = _right(learnt.unbiased(), held_out) - _right(joint, held_out)
    mean, error = paired(gain, held_out.shares * held_out.n_records)
    return mean > error


def _right(tree: Tree, reports: TreeReports) -> Array:
    """The weight of each pattern for a correct answer."""
    return np.asarray(np.trace(growth.confusion_weights(tree, reports), axis1=1, axis2=2))
