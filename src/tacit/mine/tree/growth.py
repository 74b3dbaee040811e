"""grow: a decision tree from reports, level by level, that accounts for the noise of the disguise.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.criteria import summed
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.split_choice import GrowthSettings, best_splits
from tacit.mine.tree.tables_of_reports import root_tables
from tacit.mine.tree.tree import NONE, Tree, first_largest
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction.linear_estimate import covariance_of_means

#: Shares below this, and variances below this share of the second moment, are rounding errors.
_NOTHING, _ROUNDING = 1e-12, 1e-9
_COLUMNS = (
    "parent",
    "depth",
    "label_source",
    "label",
    "value",
    "moment",
    "unseen",
    "attribute",
    "child",
)


class GrowingTree:
    """The nodes so far, in the order they were added; one array per property.

    caution: a node is split if its share is this many standard errors above zero.
    lead: a node has its own class if that leads the parent's by this many standard errors.
    """

    def __init__(self, reports: TreeReports, caution: float, lead: float) -> None:
        self.reports, self.caution, self.lead = reports, caution, lead
        k, c = max(reports.sizes), reports.sizes[reports.target]
        self.n = 0
        self.parent, self.depth = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.label_source, self.label = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.value, self.moment = np.zeros((0, c)), np.zeros((0, c, c))
        self.unseen = np.zeros(0)
        self.attribute, self.child = np.zeros(0, np.intp), np.zeros((0, k), np.intp)

    def add(
        self, parent: Index, value: Array, moment: Array | None, unseen: Array | float = 0.0
    ) -> Index:
        """Add nodes with these parents, P(node, class) and second moments; gives their numbers.

        None means second moments without noise, those of true answers. `unseen` is what one more
        report could add to them.
        """
        if moment is None:
            moment = np.maximum(value, 0)[:, :, None] * np.eye(value.shape[1])
        new = np.arange(self.n, self.n + len(parent))
        self.n += len(parent)
        for name in _COLUMNS:
            setattr(self, name, _with_room(getattr(self, name), self.n))
        self.parent[new], self.value[new], self.moment[new] = parent, value, moment
        self.unseen[new] = unseen
        self.depth[new] = np.where(parent == NONE, 0, self.depth[parent] + 1)
        self.attribute[new], self.child[new] = NONE, NONE
        own = first_largest(value)
        above = np.where(parent == NONE, own, self.label[parent])
        sure = (parent == NONE) | self._leads(new, own, above)
        self.label[new] = np.where(sure, own, above)
        self.label_source[new] = np.where(sure, new, self.label_source[parent])
        return new

    def split(self, nodes: Index, attribute: Index, child: Index) -> None:
        """Split nodes by attributes (NONE: not at all), whose categories lead to these children."""
        self.attribute[nodes], self.child[nodes] = attribute, child

    def may_split(self, nodes: Index) -> Mask:
        """Whether the nodes' shares exceed noise and include more than one class."""
        value = self.value[nodes]
        total = summed(value, -1)
        mixed = summed((value > _NOTHING).astype(np.float64), -1) > 1
        if self.caution == 0:
            return np.asarray(mixed)
        noise = self._noise(nodes).sum(axis=(-2, -1))
        return np.asarray(mixed & (total > self.caution * np.sqrt(np.maximum(noise, 0))))

    def tree(self) -> Tree:
        """The tree, its nodes in depth-first order."""
        n = self.n
        value, moment = self.value[:n], self.moment[:n]
        records = self.reports.n_records
        covariance = covariance_of_means(moment, value[:, :, None], value[:, None], records)
        found = Tree(
            self.attribute[:n],
            self.parent[:n],
            self.child[:n],
            value,
            covariance,
            self.label_source[:n],
            records,
        )
        return found.take(np.argsort(_depth_first(found.parent, self.depth[:n])))

    def _leads(self, nodes: Index, own: Index, above: Index) -> Mask:
        """Whether the nodes' own class leads that of the parent by more than noise."""
        value = self.value[nodes]
        if self.lead == 0:
            return np.asarray(value.max(axis=-1) > _NOTHING)
        known = summed(value, -1) > _NOTHING
        noise, each = self._noise(nodes), np.arange(len(value))
        variance = noise[each, own, own] + noise[each, above, above] - 2 * noise[each, own, above]
        ahead = value[each, own] - value[each, above]
        return np.asarray(known & (ahead >= self.lead * np.sqrt(np.maximum(variance, 0))))

    def _noise(self, nodes: Index) -> Array:
        """Covariance of P(node, class) that the disguise adds."""
        value, moment = self.value[nodes], self.moment[nodes]
        identity = np.eye(value.shape[-1])
        own = moment - value[..., None] * identity
        own = np.where(np.abs(own) < _ROUNDING * moment, 0.0, own)
        return (own + self.unseen[nodes][..., None, None] * identity) / self.reports.n_records


def _with_room(array: npt.NDArray[np.generic], n: int) -> npt.NDArray[np.generic]:
    """The array with room for n entries; if it must grow, it at least doubles."""
    if n <= len(array):
        return array
    room = np.zeros((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    room[: len(array)] = array
    return room


def _depth_first(parent: Index, depth: Index) -> Index:
    """The position of each node in depth-first order, children in the order of their numbers."""
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    sizes, place = np.ones(len(parent), np.intp), np.zeros(len(parent), np.intp)
    for level in levels[:0:-1]:
        np.add.at(sizes, parent[level], sizes[level])
    for level in levels[1:]:
        above, before = parent[level], np.cumsum(sizes[level]) - sizes[level]
        first = np.append(True, above[1:] != above[:-1])
        place[level] = place[above] + 1 + before - before[first][np.cumsum(first) - 1]
    return place


class Frontier(NamedTuple):
    """Nodes that may be split: their numbers in the tree, and their tables."""

    nodes: Index
    tables: NodeTables
    depth: int


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def grow(reports: TreeReports, settings: GrowthSettings) -> Tree:
    """The tree grown from reports."""
    with _threads().limit(limits=1, user_api="blas"):  # matrices are small: threads would wait
        growing = GrowingTree(reports, settings.caution, settings.least_lead(len(reports.features)))
        root = root_tables(reports)
        nodes = growing.add(np.array([NONE]), *root.by_class())
        waiting: list[Callable[[], Frontier]] = []
        if growing.may_split(nodes).all() and settings.max_depth != 0:
            waiting.append(lambda: Frontier(nodes, root, 0))
        while waiting:
            frontier = waiting.pop()()
            waiting.extend(_split(growing, settings, frontier))
        return growing.tree()


def _split(
    growing: GrowingTree, settings: GrowthSettings, frontier: Frontier
) -> Iterator[Callable[[], Frontier]]:
    """Split the nodes whose best split exceeds noise; gives the next frontiers."""
    best, criterion = best_splits(settings, frontier.tables), settings.criterion
    attribute, sizes = best.attribute, growing.reports.sizes
    own_sizes = np.where(attribute == NONE, 0, np.take(sizes, attribute))
    parts = criterion.branches(own_sizes, best.option, max(sizes))
    n_parts = parts.max(axis=1) + 1
    value, moment = criterion.children(best)
    real = np.arange(value.shape[1]) < n_parts[:, None]
    children = np.full(real.shape, NONE)
    children[real] = growing.add(
        np.repeat(frontier.nodes, n_parts),
        value[real],
        None if moment is None else moment[real],
        np.repeat(frontier.tables.unseen(attribute), n_parts),
    )
    padded = np.concatenate([children, np.full((len(children), 1), NONE)], axis=1)
    growing.split(frontier.nodes, attribute, np.take_along_axis(padded, parts, axis=1))
    depth = frontier.depth + 1
    if depth == settings.max_depth:
        return
    branches = np.where(frontier.tables.events.padded(attribute), parts, NONE)
    last = depth + 1 == settings.max_depth
    for some in frontier.tables.affordable(attribute, real & growing.may_split(children)):
        below = partial(frontier.tables.below, attribute, branches, some, last)
        yield partial(_frontier, children[some], below, depth)


def _frontier(nodes: Index, tables_of: Callable[[], NodeTables], depth: int) -> Frontier:
    return Frontier(nodes, tables_of(), depth)
