"""Tree, grow: a decision tree, grown level by level from the tables of its nodes (see `tables`).

The tables come from reports, unbiased and with the noise of the disguise, or from weighted true
records: a reconstructed joint table, or resampled counts of a forest.

At a node E the tables P(E, v, c) of every attribute are reconstructed (Du & Zhan 2003, section 4.2,
for one related group; Soni & Shrivastva 2013 for two to four; here for any design). The node gets
the best split, unless it is within noise:

    |P(E,v,c) - P(E,v) P(E,c) / P(E)|  <  z * its standard error,  for all v and c.

z is `caution` for a two by two table and larger for larger tables, so that noise alone passes
equally rarely. If the class of a node leads by less than noise, the node takes its parent's class;
its split was the best of m dependent attributes, so the required lead is as rare as `caution`
standard errors among sqrt(m) tries. If hardly any report fits an event, its variance is that of one
more report.

`caution` 0 is the papers' procedure: negative shares are cut at zero, and the tree grows until its
leaves are pure. A node with one class left is pure. A node with none left is empty and takes its
parent's class. Noise means that of the disguise alone, so undisguised records give a plain tree;
sampling noise of the true records is left to pruning.

Criteria:

    entropy   ID3, one branch per category      H(S) - sum_v |S_v|/|S| H(S_v)
    gini      CART, one category or the others  G(S) - |S_v|/|S| G(S_v) - |S_o|/|S| G(S_o)

H = - sum_c Q_c log2 Q_c and G = 1 - sum_c Q_c^2 (Du & Zhan 2003, section 4.2; Breiman et al. 1984).
Shares here are of all records, so gains are |S| times as large; their order at a node is the same.
Negative shares count as 0, those of S too: its impurity is that of its own shares, the same for all
attributes. A split that is not possible has the gain minus infinity.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp
from threadpoolctl import ThreadpoolController

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.numbers import quotient
from tacit.errors import DataError
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.tables import (
    ClassTables,
    NodeTables,
    RecordSums,
    RowTables,
    TreeReports,
    root_tables,
)
from tacit.reconstruction.estimate import covariance_of_means

#: Shares below this, and variances below this share of the second moment, are rounding errors.
_NOTHING, _ROUNDING = 1e-12, 1e-9
#: Smaller than any share, but its logarithm is finite.
_TINY = float(np.finfo(np.float64).tiny)
#: Class shares are equal if they differ by less than this part of the larger one.
_SAME = 1e-9


def first_largest(shares: Array) -> Index:
    """The class with the largest share in each row; the first of those equal up to rounding."""
    largest = shares.max(axis=1, keepdims=True)
    return np.asarray((shares >= largest - _SAME * np.abs(largest)).argmax(axis=1))


def check_max_depth(max_depth: Any) -> None:
    """Raise DataError unless this is a whole number from 0 up, or None."""
    whole = isinstance(max_depth, numbers.Integral) and not isinstance(max_depth, bool)
    if max_depth is not None and (not whole or max_depth < 0):
        raise DataError(f"max_depth must be a whole number from 0 up, or None, got {max_depth!r}")


@dataclass(frozen=True, eq=False)
class Tree:
    """The splits and class shares of all nodes, one entry per node; node 0 is the root.

    Parents come before their children, and siblings are in the order of their numbers. Decision
    trees are depth-first, trees of a forest are by level.

    attribute: the attribute that splits the node. child: the node that each of its categories leads
    to, nodes x categories. value: P(node, class), with its covariance; in a forest, the predicted
    P(class | node). label_source: the node whose shares decide the class of this one: itself, or
    one above if its own shares are within noise.
    """

    attribute: Index
    parent: Index
    child: Index
    value: Array
    covariance: Array
    label_source: Index
    n_records: int

    @classmethod
    def of_chances(cls, attribute: Index, child: Index, chances: Array) -> Tree:
        """A tree of a forest, with the predicted chances of its nodes."""
        n, n_classes = chances.shape
        parent, (nodes, categories) = np.full(n, NONE), np.nonzero(child != NONE)
        parent[child[nodes, categories]] = nodes
        covariance = np.zeros((n, n_classes, n_classes))
        return cls(attribute, parent, child, chances, covariance, np.arange(n), n_records=1)

    def __len__(self) -> int:
        return len(self.attribute)

    @property
    def leaves(self) -> Index:
        """The nodes that are not split."""
        return np.flatnonzero(self.attribute == NONE)

    @cached_property
    def depth(self) -> Index:
        """The number of conditions that lead to each node."""
        depth, above = np.zeros(len(self), np.intp), self.parent
        while (inside := above != NONE).any():
            depth += inside
            above = np.where(inside, self.parent[above], NONE)
        return depth

    @cached_property
    def chances(self) -> Array:
        """The predicted P(class | node): the shares of the label source, none negative."""
        shares = np.maximum(self.value[self.label_source], 0)
        return quotient(shares, shares.sum(axis=1, keepdims=True), 1 / shares.shape[1])

    @cached_property
    def label(self) -> Index:
        """The class of each node."""
        return first_largest(self.chances)

    def find(self, records: Codes | Index, target: int) -> Index:
        """The leaf of each record; records have codes of all attributes except the target."""
        column = self.attribute - (self.attribute > target)
        node = np.zeros(len(records), np.intp)
        moving = np.arange(len(records)) if self.attribute[0] != NONE else np.zeros(0, np.intp)
        while len(moving):
            at = node[moving]
            at = self.child[at, records[moving, column[at]]]
            node[moving] = at
            moving = moving[self.attribute[at] != NONE]
        return node

    def conditions(self, node: int) -> list[tuple[int, Index]]:
        """Attributes and allowed categories on the way to a node, from the root down."""
        path = []
        while node:
            parent = int(self.parent[node])
            path.append((int(self.attribute[parent]), np.flatnonzero(self.child[parent] == node)))
            node = parent
        return path[::-1]

    def prices(self, cost: Array) -> Array:
        """The price per leaf from which on each split is cut; infinite at leaves.

            price of a node = (cost(node) - cost(leaves below)) / (number of leaves below - 1)

        The node with the smallest price is cut first (cost-complexity: Breiman et al. 1984, chapter
        3). From the leaves up: `links` has the cuts below a node, cheapest first, as (price, cost
        that each adds, leaves that it removes); cuts cheaper than that of the node come first.
        """
        n = len(self)
        price, cost_below, leaves = np.full(n, np.inf), np.zeros(n), np.zeros(n, np.intp)
        links: list[list[tuple[float, float, int]]] = [[] for _ in range(n)]
        for node in range(n - 1, -1, -1):
            if self.attribute[node] == NONE:
                cost_below[node], leaves[node] = cost[node], 1
            else:
                order, cheaper = sorted(links[node]), 0
                added, saved = float(cost[node] - cost_below[node]), int(leaves[node] - 1)
                while cheaper < len(order) and order[cheaper][0] * saved < added:
                    added, saved = added - order[cheaper][1], saved - order[cheaper][2]
                    cheaper += 1
                price[node] = added / saved if added > _NOTHING else 0.0
                links[node] = [*order[:cheaper], (float(price[node]), added, saved)]
            if node:
                above = self.parent[node]
                cost_below[above] += cost_below[node]
                leaves[above] += leaves[node]
                links[above] += links[node]
                links[node] = []
        return price

    def cut(self, at: Mask) -> Tree:
        """The tree with these nodes made leaves."""
        remains = np.ones(len(self), bool)
        for node in range(1, len(self)):
            parent = self.parent[node]
            remains[node] = remains[parent] and not at[parent]
        attribute = np.where(at, NONE, self.attribute)
        child = np.where((attribute == NONE)[:, None], NONE, self.child)
        return replace(self, attribute=attribute, child=child).take(np.flatnonzero(remains))

    def depth_first(self) -> Tree:
        """The same tree in depth-first order, so that a subtree is a slice."""
        order = np.argsort(self.depth, kind="stable")
        levels = np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1)
        sizes, position = np.ones(len(self), np.intp), np.zeros(len(self), np.intp)
        for level in levels[:0:-1]:
            np.add.at(sizes, self.parent[level], sizes[level])
        for level in levels[1:]:
            above, before = self.parent[level], np.cumsum(sizes[level]) - sizes[level]
            first = np.append(True, above[1:] != above[:-1])
            position[level] = position[above] + 1 + before - before[first][np.cumsum(first) - 1]
        return self.take(np.argsort(position))

    def take(self, nodes: Index) -> Tree:
        """The tree of these nodes in this order, which must include their parents."""
        number = np.full(len(self) + 1, NONE)
        number[nodes] = np.arange(len(nodes))
        return Tree(
            self.attribute[nodes],
            number[self.parent[nodes]],
            number[self.child[nodes]],
            self.value[nodes],
            self.covariance[nodes],
            number[self.label_source[nodes]],
            self.n_records,
        )


class BestMoments(NamedTuple):
    """Moments of the splits (see `ClassTables.moments`), and those of the nodes, `whole`."""

    own: Array
    cross: Array
    whole: Array


class EntropyCriterion:
    """ID3: one branch per category. The options of a criterion are the splits by an attribute."""

    def impurity(self, table: Array) -> Array:
        """|S| times the impurity of class shares, along the last axis."""
        total = summed(table, -1)[..., None]
        share = np.maximum(table, _TINY) / np.maximum(total, _TINY)
        return np.asarray(-summed(table * np.log2(share), -1))

    def gains(self, table: Array) -> Array:
        """Gain of each option from P(E, v, c), nodes x options."""
        positive, whole = np.maximum(table, 0), np.maximum(summed(table, 1), 0)
        gain = self.impurity(whole) - summed(self.impurity(positive), 1)
        possible = np.count_nonzero(summed(positive, -1) > 0, axis=1) > 1
        return np.where(possible, gain, -np.inf)[:, None]

    def options(self, categories: Mask) -> Mask:
        """Whether each option is significant, given whether each category is."""
        return np.asarray(categories.any(axis=1, keepdims=True))

    def large(self, shares: Array, least: float) -> Mask:
        """Whether each option has two branches of at least this share; nodes x categories."""
        return np.asarray(np.count_nonzero(shares >= least, axis=1)[:, None] > 1)

    def branches(self, sizes: Index, option: Index, most: int) -> Index:
        """The branch of each category, nodes x `most` categories; NONE if it does not exist."""
        categories = np.arange(most)
        return np.where(categories < sizes[:, None], categories, NONE)

    def children(self, split: BestSplits) -> tuple[Array, Array | None]:
        """P(E, b, c) of the branches and their second moments, nodes x branches x classes."""
        return split.value, None if split.moments is None else split.moments.own


class GiniCriterion:
    """CART: one category against the others, as on one-hot data."""

    def impurity(self, table: Array) -> Array:
        total = summed(table, -1)
        return np.asarray(total - summed(table**2, -1) / np.where(total > 0, total, 1.0))

    def gains(self, table: Array) -> Array:
        both = summed(table, 1)[:, None]
        positive, others = np.maximum(table, 0), np.maximum(both - table, 0)
        gain = self.impurity(np.maximum(both, 0)) - self.impurity(positive) - self.impurity(others)
        possible = (summed(positive, -1) > 0) & (summed(others, -1) > 0)
        return np.where(possible, gain, -np.inf)

    def options(self, categories: Mask) -> Mask:
        return categories

    def large(self, shares: Array, least: float) -> Mask:
        others = shares.sum(axis=1, keepdims=True) - shares
        return np.asarray((shares >= least) & (others >= least))

    def branches(self, sizes: Index, option: Index, most: int) -> Index:
        categories = np.arange(most)
        return np.where(categories < sizes[:, None], categories != option[:, None], NONE)

    def children(self, split: BestSplits) -> tuple[Array, Array | None]:
        at = np.arange(len(split.option)), split.option
        value = split.value[at]
        both = np.stack([value, split.value.sum(axis=1) - value], axis=1)
        if split.moments is None:
            return both, None
        moment, cross = split.moments.own[at], split.moments.cross[at]
        others = split.moments.whole - cross - cross.swapaxes(1, 2) + moment
        return both, np.stack([moment, others], axis=1)


SplitCriterion = EntropyCriterion | GiniCriterion
CRITERIA: dict[str, SplitCriterion] = {"entropy": EntropyCriterion(), "gini": GiniCriterion()}


def summed(table: Array, axis: int) -> Array:
    """The sum along the second or the last axis, by planes: faster than many short sums."""
    planes = (table[:, i] if axis == 1 else table[..., i] for i in range(table.shape[axis]))
    return np.asarray(reduce(np.add, planes))


@dataclass(frozen=True)
class GrowthSettings:
    """How to grow.

    caution: the standard errors by which a split must exceed noise. max_depth: the largest depth.
    least: the smallest share of a branch; a smaller one takes the class of its parent, and a split
    needs two others and a gain. tries: how many attributes a node tries, drawn at random (Breiman,
    "Random forests", Machine Learning 45, 2001, as scikit-learn implements it); the others if none
    of these has a possible split. rounding: gains closer than this are equal, and the first
    attribute and option are taken: the two options of a yes/no attribute are the same split, and
    with shares cut at zero many attributes give only pure nodes. Rounding errors should not choose
    among them.
    """

    criterion: SplitCriterion
    caution: float = 0.0
    max_depth: int | None = None
    least: float = 0.0
    tries: int | None = None
    rounding: float = 1e-12

    def least_dependence(self, n_categories: int, n_classes: int) -> float:
        """Standard errors that some cell of a table must exceed."""
        return self._as_rare((n_categories - 1) * (n_classes - 1))

    def least_lead(self, n_attributes: int) -> float:
        """Standard errors by which a class must lead that of the parent."""
        return self._as_rare(math.sqrt(n_attributes)) if self.caution else 0.0

    def _as_rare(self, tries: float) -> float:
        """Standard errors that noise exceeds as often in this many tries as `caution` in one."""
        return -float(ndtri_exp(log_ndtr(-self.caution) - math.log(tries)))


class BestSplits:
    """The best split of each node so far, padded to the largest number of categories.

    `option` is the category to split by, for criteria that need one. `moments` is None without
    noise.
    """

    def __init__(self, settings: GrowthSettings, tables: NodeTables) -> None:
        self.settings, self.tables, n = settings, tables, tables.n
        self.gain = np.full(n, settings.rounding if settings.least else -np.inf)
        self.attribute, self.option = np.full(n, NONE), np.zeros(n, np.intp)
        n_classes = tables.reports.sizes[tables.reports.target]
        self.value = np.zeros((n, max(tables.reports.sizes), n_classes))
        self.moments: BestMoments | None = None
        if settings.caution > 0 and not tables.reports.exact:
            zeros = np.zeros((*self.value.shape, n_classes))
            self.moments = BestMoments(zeros, zeros.copy(), tables.by_class()[1])

    def improve(self, tried: Mask) -> None:
        """Take the best split of each node by the attributes to try, if it is better."""
        rounding = self.settings.rounding
        for split in self.tables.splits(tried):
            gains = self._gains(split, tried[:, split.attributes])
            option = (gains >= gains.max(axis=2, keepdims=True) - rounding).argmax(axis=2)
            gain = np.take_along_axis(gains, option[..., None], axis=2)[..., 0]
            which = np.full(self.tables.n, NONE)
            for i in range(len(split.attributes)):
                better = gain[:, i] > self.gain + rounding
                self.gain[better], which[better] = gain[better, i], i
            if (which != NONE).any():
                self._take(split, which, option)

    def _gains(self, split: ClassTables | RecordSums, tried: Mask) -> Array:
        """The gain of each option, nodes x attributes x options.

        Minus infinity if it is not tried; or if it exceeds the best but is within noise.
        """
        value, settings = split.value[tried], self.settings
        gains = settings.criterion.gains(value if settings.caution == 0 else np.maximum(value, 0))
        if settings.least:
            large = settings.criterion.large(value.sum(axis=2), settings.least)
            gains = np.where(large, gains, -np.inf)
        all_gains = np.full((*tried.shape, gains.shape[1]), -np.inf)
        all_gains[tried] = gains
        if isinstance(split, ClassTables) and self.moments is not None:
            self._drop_noise(split, all_gains)
        return all_gains

    def _drop_noise(self, split: ClassTables, gains: Array) -> None:
        settings, tables = self.settings, self.tables
        nodes, which = np.nonzero(gains.max(axis=2) > self.gain[:, None] + settings.rounding)
        if not len(nodes):
            return
        beyond, noise = split.noise(nodes, which)
        floor = tables.variance_floor(np.full(tables.n, split.attributes[0]))[nodes, None, None]
        stderr = np.sqrt(noise**2 + floor / tables.reports.n_records)
        least = settings.least_dependence(*beyond.shape[1:]) * stderr
        options = settings.criterion.options(np.asarray((np.abs(beyond) >= least).any(axis=2)))
        gains[nodes, which] = np.where(options, gains[nodes, which], -np.inf)

    def _take(self, split: ClassTables | RecordSums, which: Index, option: Index) -> None:
        """Take the split by one of the attributes at the nodes where it is better."""
        nodes = np.flatnonzero(which != NONE)
        better, k = which[nodes], split.value.shape[2]
        self.attribute[nodes] = np.take(split.attributes, better)
        self.option[nodes] = option[nodes, better]
        self.value[nodes] = 0
        self.value[nodes, :k] = split.value[nodes, better]
        if isinstance(split, ClassTables) and self.moments is not None:
            own, cross, _ = self.moments
            own[nodes, :k], cross[nodes, :k] = split.moments(nodes, better)


def best_splits(
    settings: GrowthSettings, tables: NodeTables, rng: np.random.Generator | None = None
) -> BestSplits:
    """The split with the largest gain at each node, among those that exceed noise."""
    features, best = tables.reports.features, BestSplits(settings, tables)
    free = tables.choices > 1
    free[:, tables.reports.target] = False
    if settings.tries is None or settings.tries >= len(features):
        best.improve(free)
        return best
    assert rng is not None
    drawn = rng.random((tables.n, len(features)))
    largest = np.partition(drawn, settings.tries - 1, axis=1)[:, [settings.tries - 1]]
    tried = np.zeros_like(free)
    tried[:, features] = drawn <= largest
    best.improve(free & tried)
    stuck = best.attribute == NONE
    if stuck.any():
        best.improve(free & ~tried & stuck[:, None])
    return best


class GrowingTree:
    """The nodes so far, in the order they were added; one array per property.

    caution: a node is split if its share is this many standard errors above zero.
    lead: a node has its own class if that leads the parent's by this many standard errors.
    least: a smaller node takes the class of its parent; one twice as large is split.
    """

    def __init__(
        self, reports: TreeReports, caution: float, lead: float, least: float = 0.0
    ) -> None:
        self.reports, self.caution, self.lead, self.least = reports, caution, lead, least
        k, c = max(reports.sizes), reports.sizes[reports.target]
        self.parent, self.attribute = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.label_source, self.label = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.value, self.moment = np.zeros((0, c)), np.zeros((0, c, c))
        self.variance_floor, self.gain = np.zeros(0), np.zeros(0)
        self.child = np.zeros((0, k), np.intp)

    def add(
        self, parent: Index, value: Array, moment: Array | None, floor: Array | float = 0.0
    ) -> Index:
        """Add nodes with these parents, P(node, class) and second moments; gives their numbers.

        None means second moments without noise, those of true answers. `floor` is what one more
        report could add to them.
        """
        if moment is None:
            moment = np.maximum(value, 0)[:, :, None] * np.eye(value.shape[1])
        n, new = len(parent), len(self.parent) + np.arange(len(parent))
        for name, rows in {
            "parent": parent,
            "attribute": np.full(n, NONE),
            "label_source": new,
            "label": first_largest(value),
            "value": value,
            "moment": moment,
            "variance_floor": np.broadcast_to(floor, n),
            "gain": np.zeros(n),
            "child": np.full((n, self.child.shape[1]), NONE),
        }.items():
            setattr(self, name, np.concatenate([getattr(self, name), rows]))
        unsure = new[(parent != NONE) & ~self._leads(new)]
        self.label[unsure] = self.label[self.parent[unsure]]
        self.label_source[unsure] = self.label_source[self.parent[unsure]]
        return new

    def split(self, nodes: Index, attribute: Index, child: Index, gain: Array | float = 0) -> None:
        """Split nodes by attributes (NONE: not at all), whose categories lead to these children."""
        self.attribute[nodes], self.child[nodes], self.gain[nodes] = attribute, child, gain

    def may_split(self, nodes: Index) -> Mask:
        """Whether the nodes' shares exceed noise and include more than one class."""
        value = self.value[nodes]
        total = summed(value, -1)
        mixed = summed((value > _NOTHING).astype(np.float64), -1) > 1
        if self.least:
            mixed &= total >= 2 * self.least
        if self.caution == 0:
            return np.asarray(mixed)
        noise = self._noise(nodes).sum(axis=(-2, -1))
        return np.asarray(mixed & (total > self.caution * np.sqrt(np.maximum(noise, 0))))

    def tree(self) -> Tree:
        """The tree, its nodes in the order they were added."""
        records = self.reports.n_records
        return Tree(
            self.attribute,
            self.parent,
            self.child,
            self.value,
            covariance_of_means(self.moment, self.value[:, :, None], self.value[:, None], records),
            self.label_source,
            records,
        )

    def _leads(self, nodes: Index) -> Mask:
        """Whether the nodes' own class leads that of the parent by more than noise."""
        value, largest, above = self.value[nodes], self.label[nodes], self.label[self.parent[nodes]]
        if self.least:
            return np.asarray(value.sum(axis=1) >= self.least)
        if self.lead == 0:
            return np.asarray(value.max(axis=-1) > _NOTHING)
        positive = summed(value, -1) > _NOTHING
        noise, row = self._noise(nodes), np.arange(len(value))
        variance = (
            noise[row, largest, largest] + noise[row, above, above] - 2 * noise[row, largest, above]
        )
        ahead = value[row, largest] - value[row, above]
        return np.asarray(positive & (ahead >= self.lead * np.sqrt(np.maximum(variance, 0))))

    def _noise(self, nodes: Index) -> Array:
        """Covariance of P(node, class) that the disguise adds."""
        value, moment = self.value[nodes], self.moment[nodes]
        identity = np.eye(value.shape[-1])
        added = moment - value[..., None] * identity
        added = np.where(np.abs(added) < _ROUNDING * moment, 0.0, added)
        floor = self.variance_floor[nodes][..., None, None] * identity
        return (added + floor) / self.reports.n_records


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def grow(reports: TreeReports, settings: GrowthSettings) -> Tree:
    """The tree grown from reports or weighted true records, depth-first."""
    return grow_nodes(reports, settings).tree().depth_first()


def grow_nodes(
    reports: TreeReports, settings: GrowthSettings, rng: np.random.Generator | None = None
) -> GrowingTree:
    """The nodes of a tree in the order they were added; `rng` draws the attributes to try."""
    growing = GrowingTree(
        reports, settings.caution, settings.least_lead(len(reports.features)), settings.least
    )
    with _threads().limit(limits=1, user_api="blas"):  # matrices are small: threads would wait
        root = root_tables(reports)
        nodes = growing.add(np.array([NONE]), *root.by_class())
        if growing.may_split(nodes).all() and settings.max_depth != 0:
            descend(root, partial(_split, growing, settings, rng))
    return growing


#: How nodes are split: by which attribute, the branch of each category, the numbers of the
#: children, nodes x branches, and which of these to visit.
Splits = tuple[Index, Index, Index, Mask]


def descend(root: NodeTables, split: Callable[[Index, NodeTables, int], Splits]) -> None:
    """Visit nodes from the root down, level by level, in parts whose tables fit in memory.

    `split` gets the numbers of nodes, their tables and their depth.
    """
    waiting: list[tuple[Index, Callable[[], NodeTables], int]]
    waiting = [(np.zeros(1, np.intp), lambda: root, 0)]
    while waiting:
        nodes, tables_of, depth = waiting.pop()
        tables = tables_of()
        del tables_of  # it holds the tables of the parents
        attribute, branches, children, wanted = split(nodes, tables, depth)
        waiting += [
            (children[batch], partial(tables.children, attribute, branches, batch), depth + 1)
            for batch in tables.memory_batches(attribute, wanted)
        ]


def _split(
    growing: GrowingTree,
    settings: GrowthSettings,
    rng: np.random.Generator | None,
    nodes: Index,
    tables: NodeTables,
    depth: int,
) -> Splits:
    """Split the nodes whose best split exceeds noise."""
    best, criterion = best_splits(settings, tables, rng), settings.criterion
    attribute, sizes = best.attribute, growing.reports.sizes
    split_sizes = np.where(attribute == NONE, 0, np.take(sizes, attribute))
    parts = criterion.branches(split_sizes, best.option, max(sizes))
    n_parts = parts.max(axis=1) + 1
    value, moment = criterion.children(best)
    real = np.arange(value.shape[1]) < n_parts[:, None]
    children = np.full(real.shape, NONE)
    children[real] = growing.add(
        np.repeat(nodes, n_parts),
        value[real],
        None if moment is None else moment[real],
        np.repeat(tables.variance_floor(attribute), n_parts),
    )
    padded = np.concatenate([children, np.full((len(children), 1), NONE)], axis=1)
    gain = np.where(attribute == NONE, 0.0, best.gain)
    growing.split(nodes, attribute, np.take_along_axis(padded, parts, axis=1), gain)
    if depth + 1 == settings.max_depth:
        return attribute, parts, children, np.zeros_like(real)
    return attribute, parts, children, real & growing.may_split(children)


def follow(tree: Tree, reports: TreeReports) -> Tree:
    """The same tree, with the shares of its nodes and their covariance read from these reports."""
    value, moment = np.zeros_like(tree.value), np.zeros_like(tree.covariance)

    def split(nodes: Index, tables: NodeTables, depth: int) -> Splits:
        value[nodes], moment[nodes] = tables.by_class()
        child = tree.child[nodes]
        branches = branches_of(child)
        wanted = branches == np.arange(branches.shape[1])
        return tree.attribute[nodes], branches, child, wanted

    descend(root_tables(reports), split)
    covariance = covariance_of_means(moment, value[:, :, None], value[:, None], reports.n_records)
    return replace(tree, value=value, covariance=covariance, n_records=reports.n_records)


@dataclass(frozen=True, eq=False)
class NodeWalk:
    """One node of a tree with the weights of every pattern, so that nodes can be compared with
    their covariance."""

    tree: Tree
    tables: RowTables
    node: int = 0

    @classmethod
    def root(cls, tree: Tree, reports: TreeReports) -> NodeWalk:
        """The root."""
        return cls(tree, RowTables.root(reports))

    @property
    def is_leaf(self) -> bool:
        """Whether the node is not split."""
        return bool(self.tree.attribute[self.node] == NONE)

    def right(self) -> Array:
        """The weight of each pattern for P(node, class = the node's label)."""
        weights = self.tables.by_row()[:, self.tree.label[self.node]]
        patterns = len(self.tables.reports.shares)
        return np.asarray(np.bincount(self.tables.pattern, weights, patterns), np.float64)

    def children(self) -> Iterator[NodeWalk]:
        """The nodes below, from the first category on."""
        attribute, child = self.tree.attribute[[self.node]], self.tree.child[[self.node]]
        branches = branches_of(child)
        for branch in np.unique(branches[branches != NONE]):
            wanted = np.arange(branches.shape[1])[None] == branch
            tables = self.tables.children(attribute, branches, wanted)
            yield NodeWalk(self.tree, tables, int(child[0, branch]))

    def walk(self) -> Iterator[NodeWalk]:
        """This node and all below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children()


def confusion_weights(tree: Tree, reports: TreeReports) -> Array:
    """The weight of each pattern for true class c and predicted class v, patterns x c x v."""
    n_classes = tree.value.shape[1]
    weights = np.zeros((len(reports.shares), n_classes, n_classes))
    for walk in NodeWalk.root(tree, reports).walk():
        if walk.is_leaf:
            label = tree.label[walk.node]
            np.add.at(weights[:, :, label], walk.tables.pattern, walk.tables.by_row())
    return weights


def branches_of(child: Index) -> Index:
    """The first category that leads where each category does, as the number of its branch."""
    same = child[:, :, None] == child[:, None, :]
    return np.where(child == NONE, NONE, same.argmax(axis=2))
