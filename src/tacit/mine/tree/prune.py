"""Pruning: reduced error on disguised validation records, and cost-complexity.

Reduced error (Du & Zhan 2003, section 4.3, by accuracy estimated from disguised records): from the
leaves up, a subtree stays only if it classifies more records rightly than its root alone would. By
how many is the mean over reports of

    g(y) = sum over leaves l of g(y; l, class_l)  -  g(y; node, class_node)

so its standard error has all covariances between the leaves, for any design. Disguised validation
records alone are too few to judge small subtrees: they would cost good ones. So both gains count,
each by its precision, that on the learning records less `caution` standard errors because the tree
was chosen by them: it stays if

    gain_v / se_v^2  +  (gain_l - caution * se_l) / se_l^2  >  0.

Cost-complexity (Breiman et al. 1984, chapter 3): a node t is worth cutting from the price of a leaf

    alpha(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1),    R = share of records classified wrongly

on, the weakest first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import numpy as np

from tacit.arrays import Array, Index, Mask
from tacit.mine.tree.grown_nodes import Visit
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.tree_reports import TreeReports

#: Shares and second moments below this are rounding.
_ROUNDING = 1e-12


def reduced_error(tree: Tree, learnt: TreeReports, validation: TreeReports, caution: float) -> Mask:
    """The nodes to cut at, from the reports that the tree was grown from and from others."""
    cut = np.zeros(len(tree), bool)
    _right_below((Visit.root(tree, learnt), Visit.root(tree, validation)), caution, cut)
    return cut


#: The same node by the reports that the tree was grown from, and by others.
Both = tuple[Visit, Visit]


def _right_below(node: Both, caution: float, cut: Mask) -> tuple[Array, Array]:
    """What each pattern counts towards right answers of the subtree, once it is pruned."""
    learnt, validation = (visit.right() for visit in node)
    if node[0].is_leaf:
        return learnt, validation
    below_learnt, below_validation = np.zeros_like(learnt), np.zeros_like(validation)
    for child in zip(*(visit.children() for visit in node), strict=True):
        more_learnt, more_validation = _right_below(child, caution, cut)
        below_learnt += more_learnt
        below_validation += more_validation
    gain_l, variance_l = _mean(node[0], below_learnt - learnt)
    gain_v, variance_v = _mean(node[1], below_validation - validation)
    chosen = gain_l - caution * math.sqrt(variance_l)
    if gain_v / variance_v + chosen / variance_l > 0:
        return below_learnt, below_validation
    cut[node[0].node] = True
    return learnt, validation


def _mean(visit: Visit, counted: Array) -> tuple[float, float]:
    """The mean over reports of what patterns count, and its variance, which is never nothing."""
    reports = visit.tables.reports
    weighted = reports.shares * counted
    mean, square = float(weighted.sum()), float((weighted * counted).sum())
    return mean, max(square - mean**2, _ROUNDING) / reports.n_records


def right_by_depth(tree: Tree, reports: TreeReports, deepest: int) -> Array:
    """What each pattern counts towards right answers of the tree cut at each depth from 0 on."""
    found = np.zeros((deepest + 1, len(reports.shares)))
    waiting = [(Visit.root(tree, reports), 0)]
    while waiting:
        visit, depth = waiting.pop()
        last = visit.is_leaf or depth == deepest
        found[depth : deepest + 1 if last else depth + 1] += visit.right()
        if not last:
            waiting += [(child, depth + 1) for child in visit.children()]
    return found


def prices(tree: Tree) -> Array:
    """The price of a leaf from which on each node is cut, in shares of records; none at leaves."""
    links = _Links(tree)
    price, alpha = np.full(len(tree), np.inf), 0.0
    inner = np.flatnonzero(tree.attribute != NONE).tolist()
    weakest = [(links.strength(node), node) for node in inner]
    heapq.heapify(weakest)
    while weakest:
        strength, node = heapq.heappop(weakest)
        if not links.standing[node] or strength != links.strength(node):
            continue
        alpha = max(alpha, strength)
        price[links.cut(node)] = alpha
        for above in links.above(node):
            heapq.heappush(weakest, (links.strength(above), above))
    return price


class _Links:
    """A tree while its weakest links are cut: wrong answers and leaves below each node."""

    def __init__(self, tree: Tree) -> None:
        self.parent = tree.parent
        self.standing = tree.attribute != NONE
        own = np.take_along_axis(tree.value, tree.label[:, None], axis=1)[:, 0]
        self.wrong = tree.value.sum(axis=1) - own
        self.below = np.where(self.standing, 0.0, self.wrong)
        self.leaves = np.where(self.standing, 0, 1)
        self.size = np.ones(len(tree), np.intp)
        for node in range(len(tree) - 1, 0, -1):
            for counted in (self.below, self.leaves, self.size):
                counted[self.parent[node]] += counted[node]

    def strength(self, node: int) -> float:
        """How much worse a leaf in place of the subtree is, for each leaf that it saves."""
        worse = float(self.wrong[node] - self.below[node])
        return worse / float(self.leaves[node] - 1) if worse > _ROUNDING else 0.0

    def above(self, node: int) -> Iterator[int]:
        """The nodes that lead to a node, the nearest first."""
        while node:
            node = int(self.parent[node])
            yield node

    def cut(self, node: int) -> Index:
        """Make a node a leaf; gives the splits that are gone, its own among them."""
        inside = np.arange(node, node + self.size[node])
        gone = inside[self.standing[inside]]
        self.standing[gone] = False
        worse, saved = self.wrong[node] - self.below[node], self.leaves[node] - 1
        for each in (node, *self.above(node)):
            self.below[each] += worse
            self.leaves[each] -= saved
        return np.asarray(gone)
