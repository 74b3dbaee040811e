"""Pruned trees, and the best depth of a tree: chosen on disguised records alone.

Reduced error (Du & Zhan 2003, section 4.3, by accuracy estimated from disguised records): from the
leaves up, a subtree is kept only if it classifies more records correctly than its root alone. The
gain is the mean over reports of

    g(y) = sum over leaves l of g(y; l, class_l)  -  g(y; node, class_node)

so its standard error includes all covariances between the leaves, for any design. Disguised
validation records alone are too few to judge small subtrees: good ones would be cut. So both gains
count, weighted by their precision. The gain on the learning records is reduced by `caution`
standard errors, because the tree was chosen by them. A subtree is kept if

    gain_v / se_v^2  +  (gain_l - caution * se_l) / se_l^2  >  0.

Cost-complexity (Breiman et al. 1984, chapter 3): node t is cut if a leaf costs at least

    alpha(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1),    R = share of records classified wrongly

and the node with the smallest alpha is cut first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import check_whole, non_negative
from tacit.core.arrays import Array, Index, Mask
from tacit.errors import DataError
from tacit.evaluate.accuracy import generator
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.miner import reported_patterns
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.growth import NodeWalk, Tree
from tacit.mine.tree.tables import TreeReports
from tacit.output.number_text import number_of
from tacit.reconstruction.estimate import covariance_of_means, stderr_of_means

#: Shares and second moments below this are rounding errors.
_ROUNDING = 1e-12


def reduced_error(model: DecisionTree, reported: Any, caution: float = 1.5) -> DecisionTree:
    """The tree without subtrees that do not help, by validation and learning records together.

    `reported` are records that the tree was not grown from, reported under the same design;
    `caution` is the number of standard errors subtracted from the gain on the learning records.
    """
    _check_tree(model)
    design, target = model.design_and_target()
    if not hasattr(model, "reports_"):
        raise DataError("a saved model does not contain its reports; learn it again")
    doubt, tree = non_negative("caution", caution), model.tree_
    reports = TreeReports.of(reported_patterns(reported, None, design, target), design, target)
    cut = np.zeros(len(tree), bool)
    _prune((NodeWalk.root(tree, model.reports_()), NodeWalk.root(tree, reports)), doubt, cut)
    return model.cut(cut)


def cost_complexity(model: DecisionTree, alpha: float) -> DecisionTree:
    """The tree without subtrees that save less than `alpha` of the records per leaf."""
    _check_tree(model)
    return model.cut(leaf_prices(model.tree_) <= non_negative("alpha", alpha))


def cost_complexity_path(model: DecisionTree) -> tuple[Array, Index]:
    """The prices per leaf at which the tree gets smaller, and the number of leaves left then."""
    _check_tree(model)
    tree, prices = model.tree_, leaf_prices(model.tree_)
    steps = np.unique(prices[np.isfinite(prices)])
    steps = steps[np.diff(steps, append=np.inf) > _ROUNDING]
    saved = np.bincount(tree.parent[1:], minlength=len(tree)) - 1
    inner = tree.attribute != NONE
    gone = [int(saved[inner & (prices <= alpha)].sum()) for alpha in steps]
    return steps, len(tree.leaves) - np.array(gone, np.intp)


def _check_tree(model: Any) -> None:
    if not isinstance(model, DecisionTree):
        raise DataError(f"model must be a DecisionTree, got {type(model).__name__}")
    check_is_fitted(model)


def _prune(node: tuple[NodeWalk, ...], caution: float, cut: Mask) -> list[Array]:
    """Mark the nodes to cut in a subtree; gives the weight of each pattern for a correct answer.

    A node is given as it is in the learning reports and in the validation reports.
    """
    right = [visit.right() for visit in node]
    if node[0].is_leaf:
        return right
    below = [np.zeros_like(weights) for weights in right]
    for child in zip(*(visit.children() for visit in node), strict=True):
        for total, more in zip(below, _prune(child, caution, cut), strict=True):
            total += more
    (gain_l, variance_l), (gain_v, variance_v) = (
        _mean(visit, b - r) for visit, b, r in zip(node, below, right, strict=True)
    )
    reduced = gain_l - caution * math.sqrt(variance_l)
    if gain_v / variance_v + reduced / variance_l > 0:
        return below
    cut[node[0].node] = True
    return right


def _mean(visit: NodeWalk, weights: Array) -> tuple[float, float]:
    """The mean over reports of the weights of patterns, and its variance, which is positive."""
    reports = visit.tables.reports
    weighted = reports.shares * weights
    mean, square = float(weighted.sum()), float((weighted * weights).sum())
    n = reports.n_records
    return mean, max(float(covariance_of_means(square, mean, mean, n)), _ROUNDING / n)


def leaf_prices(tree: Tree) -> Array:
    """The price per leaf from which on each node is cut, in shares of records; inf at leaves."""
    right = np.take_along_axis(tree.value, tree.label[:, None], axis=1)[:, 0]
    prices = tree.prices(tree.value.sum(axis=1) - right)
    for node in np.flatnonzero(tree.attribute != NONE)[1:]:
        prices[node] = min(prices[node], prices[tree.parent[node]])  # cut with its parent
    return prices


@dataclass(frozen=True, eq=False)
class DepthScores:
    """Accuracy of trees of each depth, from 0 on, cross-validated on disguised records.

    `best` has the largest estimate; `chosen` is the smallest depth within a standard error of it.
    """

    accuracy: Array
    stderr: Array
    n_records: int

    @property
    def best(self) -> int:
        """The depth of the largest estimate."""
        return int(self.accuracy.argmax())

    @property
    def chosen(self) -> int:
        """The smallest depth whose estimate is within one standard error of the best."""
        enough = self.accuracy >= self.accuracy[self.best] - self.stderr[self.best]
        return int(enough.argmax())

    def __str__(self) -> str:
        lines = [
            f"{depth:5d}  {value:8.4f}  {error:10.4f}{'  chosen' if depth == self.chosen else ''}"
            for depth, (value, error) in enumerate(zip(self.accuracy, self.stderr, strict=True))
        ]
        records = number_of(self.n_records, "reported record")
        title = f"accuracy by depth, cross-validated on {records}"
        return "\n".join([title, "depth  accuracy  std. error", *lines])


def choose_depth(
    model: DecisionTree,
    reported: Any,
    folds: int = 5,
    deepest: int = 12,
    rng: np.random.Generator | None = None,
) -> DepthScores:
    """Accuracy of the model at each depth; each record is tested by a tree not grown from it.

    Records are split into `folds` at random; with None always in the same way.
    """
    if not isinstance(model, DecisionTree) or model.design is None or model.target is None:
        raise DataError("model must be a DecisionTree with a design and a target")
    patterns = reported_patterns(reported, None, model.design, model.target)
    check_whole("folds", folds, 2)
    check_whole("deepest", deepest, 0)
    if patterns.n_records < folds:
        raise DataError(f"{folds} folds need at least {folds} records, got {patterns.n_records}")
    total, squares = np.zeros(deepest + 1), np.zeros(deepest + 1)
    for learning, testing in patterns.folds(folds, generator(rng)):
        tree = clone(model).set_params(max_depth=deepest).fit(learning).tree_
        reports = TreeReports.of(testing, model.design, model.target)
        right = right_by_depth(tree, reports, deepest)
        total, squares = total + right @ testing.counts, squares + right**2 @ testing.counts
    n = patterns.n_records
    return DepthScores(total / n, stderr_of_means(squares / n, total / n, n), n)


def right_by_depth(tree: Tree, reports: TreeReports, deepest: int) -> Array:
    """The weight of each pattern for a correct answer of the tree cut at each depth from 0 on."""
    weights = np.zeros((deepest + 1, len(reports.shares)))
    for node in NodeWalk.root(tree, reports).walk():
        depth = tree.depth[node.node]
        weights[depth : None if node.is_leaf else depth + 1] += node.right()
    return weights
