"""grow: a decision tree from reports, level by level, that knows the noise of what it reads.

At a node E the tables P(E, v, c) of every attribute are reconstructed (Du & Zhan 2003, section 4.2,
for one related group; Soni & Shrivastva 2013 for two to four; here for any design). The best split
is made, unless it is within noise:

    |P(E,v,c) - P(E,v) P(E,c) / P(E)|  <  z * its standard error,  for all v and c.

z is `caution` for a table of two by two, and so much more for larger ones that noise stands out as
rarely. A node whose class leads by less than noise takes its parent's; since its split was the best
of m attributes, which go together, a lead must be as rare as `caution` errors, sqrt(m) times over.
Where hardly any report fits an event, its variance is that of one report more. With `caution` 0 it
is the papers' procedure: every negative share is cut at zero, a node where one class is left is
pure, one where none is left is empty and takes its parent's class, and the tree grows until its
leaves are pure. Noise is that of the disguise alone, so undisguised records give a plain tree, and
what chance did to the true records is not doubted: that is what pruning is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.special import log_ndtr, ndtri_exp
from threadpoolctl import ThreadpoolController

from tacit.arrays import Array, Index, Mask
from tacit.mine.tree.class_tables import Split
from tacit.mine.tree.criteria import BestSplits, SplitCriterion
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.nodes import GrowingTree
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.tree_reports import TreeReports

#: Gains no further apart are the same, and the first attribute is taken: where shares were cut at
#: zero, many attributes leave nothing but pure nodes, and rounding should not choose among them.
_TIE = 1e-12


@dataclass(frozen=True)
class GrowthSettings:
    """How to grow: what a split is worth, how far it must stand out, and how deep to go."""

    criterion: SplitCriterion
    caution: float
    max_depth: int | None = None

    def beyond(self, n_categories: int, n_classes: int) -> float:
        """Standard errors by which some cell of a table must stand out."""
        return self._as_rare((n_categories - 1) * (n_classes - 1))

    def lead(self, n_attributes: int) -> float:
        """Standard errors by which a class must lead that of the parent."""
        if self.caution == 0:
            return 0.0
        return self._as_rare(math.sqrt(n_attributes))

    def _as_rare(self, times: float) -> float:
        """Standard errors that noise exceeds as often in so many tries as `caution` in one."""
        return -float(ndtri_exp(log_ndtr(-self.caution) - math.log(times)))


@dataclass(frozen=True, eq=False)
class Frontier:
    """Nodes that may be split: their numbers in the tree, and what can be read there."""

    nodes: Index
    tables: NodeTables
    depth: int


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def grow(reports: TreeReports, rule: GrowthSettings) -> Tree:
    """The tree that a rule grows from reports."""
    with _threads().limit(limits=1, user_api="blas"):  # matrices are small: threads would wait
        return _grown(reports, rule)


def _grown(reports: TreeReports, rule: GrowthSettings) -> Tree:
    found = GrowingTree(reports, rule.caution, rule.lead(len(reports.features)))
    root = NodeTables.root(reports)
    nodes = found.add(np.array([NONE]), *root.by_class())
    waiting: list[Callable[[], Frontier]] = []
    if found.may_split(nodes).all():
        waiting.append(lambda: Frontier(nodes, root, 0))
    while waiting:
        frontier = waiting.pop()()
        waiting.extend(_split(found, rule, frontier))
    return found.tree()


def _split(
    found: GrowingTree, rule: GrowthSettings, frontier: Frontier
) -> Iterator[Callable[[], Frontier]]:
    """Split the nodes that are worth it; gives what must be looked at next."""
    chosen, criterion = best_splits(rule, frontier), rule.criterion
    attribute = chosen.attribute
    sizes = np.where(attribute == NONE, 0, np.take(found.reports.sizes, attribute))
    parts = criterion.branches(sizes, chosen.option, max(found.reports.sizes))
    n_parts = parts.max(axis=1) + 1
    value, moment = criterion.children(chosen)
    real = np.arange(value.shape[1]) < n_parts[:, None]
    children = np.full(real.shape, NONE)
    parents = np.repeat(frontier.nodes, n_parts)
    unseen = np.repeat(frontier.tables.unseen(attribute), n_parts)
    moments = None if moment is None else moment[real]
    children[real] = found.add(parents, value[real], moments, unseen)
    found.split(frontier.nodes, attribute, _taken(children, parts))
    branches = np.where(frontier.tables.events.padded(attribute), parts, NONE)
    for some in frontier.tables.affordable(real & found.may_split(children)):
        yield partial(_below, frontier, attribute, branches, children, some)


def _below(
    frontier: Frontier, attribute: Index, branches: Index, children: Index, wanted: Mask
) -> Frontier:
    below = frontier.tables.below(attribute, branches, wanted).merged()
    return Frontier(children[wanted], below, frontier.depth + 1)


def _taken(children: Index, parts: Index) -> Index:
    """The child that each category leads to."""
    padded = np.concatenate([children, np.full((len(children), 1), NONE)], axis=1)
    return np.asarray(np.take_along_axis(padded, parts, axis=1))


def best_splits(rule: GrowthSettings, frontier: Frontier) -> BestSplits:
    """The split of the largest gain at each node, among those that stand out from noise."""
    tables, reports = frontier.tables, frontier.tables.reports
    with_noise = rule.caution > 0 and not all(group.exact for group in reports.group_weights)
    best = _none_chosen(tables, with_noise)
    if frontier.depth == rule.max_depth:
        return best
    free = tables.events.choices() > 1
    for a, split in tables.splits([a for a in reports.features if free[:, a].any()], with_noise):
        nodes = np.flatnonzero(free[:, a])
        value = split.value[nodes]
        gains = rule.criterion.gains(value if rule.caution == 0 else np.maximum(value, 0))
        if split.moments is not None:
            unseen = tables.unseen(np.full(tables.n, a))[:, None, None] / reports.n_records
            least = rule.beyond(*split.value.shape[1:]) * np.sqrt(split.moments.noise**2 + unseen)
            out = np.abs(split.moments.beyond) >= least
            outstanding = rule.criterion.options(np.asarray(out.any(axis=2)))
            gains = np.where(outstanding[nodes], gains, -np.inf)
        option = gains.argmax(axis=1)
        gain = np.take_along_axis(gains, option[:, None], axis=1)[:, 0]
        better = gain > best.gain[nodes] + _TIE
        _keep(best, nodes[better], a, gain[better], option[better], split)
    return best


def _none_chosen(tables: NodeTables, with_noise: bool) -> BestSplits:
    n, c = tables.n, tables.reports.sizes[tables.reports.target]
    value = np.zeros((n, max(tables.reports.sizes), c))
    chosen = BestSplits(np.full(n, -np.inf), np.full(n, NONE), np.zeros(n, np.intp), value)
    if with_noise:
        chosen.own, chosen.cross = np.zeros((*value.shape, c)), np.zeros((*value.shape, c))
        chosen.whole = tables.by_class()[1]
    return chosen


def _keep(best: BestSplits, nodes: Index, a: int, gain: Array, option: Index, split: Split) -> None:
    """Take over the split by an attribute at the nodes where it is better."""
    k = split.value.shape[1]
    best.gain[nodes], best.attribute[nodes], best.option[nodes] = gain, a, option
    best.value[nodes] = 0
    best.value[nodes, :k] = split.value[nodes]
    if split.moments is not None and best.own is not None and best.cross is not None:
        best.own[nodes, :k] = split.moments.own[nodes]
        best.cross[nodes, :k] = split.moments.cross[nodes]
