"""Pruned trees, and how deep a tree should be: chosen on disguised records alone."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import Array, Index
from tacit.counting import PatternTable
from tacit.errors import DataError
from tacit.evaluate.accuracy import generator
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.miner import non_negative
from tacit.mine.reported_records import reported_patterns
from tacit.mine.tree import prune
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import TreeReports
from tacit.number_text import number_of


def reduced_error(model: DecisionTree, reported: Any, caution: float = 1.5) -> DecisionTree:
    """The tree without subtrees that do not help, by validation and learning records together.

    `reported` are other records than the tree was grown from, reported under the same design;
    `caution` is how many standard errors the learning records are believed less.
    """
    _check_tree(model)
    design, target = model.design_and_target()
    if not hasattr(model, "reports_"):
        raise DataError(
            "a saved model does not hold the reports it was learnt from; learn it again"
        )
    doubt = non_negative("caution", caution)
    reports = TreeReports.of(reported_patterns(reported, None, design, target), design, target)
    return model.cut(prune.reduced_error(model.tree_, model.reports_, reports, doubt))


def cost_complexity(model: DecisionTree, alpha: float) -> DecisionTree:
    """The tree without subtrees that save less than `alpha` of the records a leaf."""
    _check_tree(model)
    return model.cut(prune.prices(model.tree_) <= non_negative("alpha", alpha))


def cost_complexity_path(model: DecisionTree) -> tuple[Array, Index]:
    """The prices of a leaf at which the tree gets smaller, and how many leaves are left then."""
    _check_tree(model)
    prices = prune.prices(model.tree_)
    steps = np.unique(prices[np.isfinite(prices)])
    tree = model.tree_
    saved = np.bincount(tree.parent[1:], minlength=len(tree)) - 1
    inner = tree.attribute != NONE
    gone = [int(saved[inner & (prices <= alpha)].sum()) for alpha in steps]
    return steps, len(tree.leaves) - np.array(gone, np.intp)


def _check_tree(model: Any) -> None:
    if not isinstance(model, DecisionTree):
        raise DataError(f"model must be a DecisionTree, got {type(model).__name__}")
    check_is_fitted(model)


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
    """Accuracy of the model at each depth, each record tested by a tree it did not help to grow.

    Records are parted into `folds` at random; None always parts them the same way.
    """
    if not isinstance(model, DecisionTree) or model.design is None or model.target is None:
        raise DataError("the depth is chosen for a model with a design and a target")
    patterns = reported_patterns(reported, None, model.design, model.target)
    for name, number, least in (("folds", folds, 2), ("deepest", deepest, 0)):
        whole = isinstance(number, numbers.Integral) and not isinstance(number, bool)
        if not whole or number < least:
            raise DataError(f"{name} must be a whole number of at least {least}, got {number!r}")
    if patterns.n_records < folds:
        raise DataError(f"{folds} folds need at least {folds} records, got {patterns.n_records}")
    total, squares = np.zeros(deepest + 1), np.zeros(deepest + 1)
    for learnt, tested in _folds(patterns, folds, generator(rng)):
        tree = clone(model).set_params(max_depth=deepest).fit(learnt).tree_
        reports = TreeReports.of(tested, model.design, model.target)
        right = prune.right_by_depth(tree, reports, deepest)
        total, squares = total + right @ tested.counts, squares + right**2 @ tested.counts
    n = patterns.n_records
    variance = np.maximum(squares / n - (total / n) ** 2, 0) / n
    return DepthScores(total / n, np.sqrt(variance), n)


def _folds(
    patterns: PatternTable, folds: int, rng: np.random.Generator
) -> Iterator[tuple[PatternTable, PatternTable]]:
    """The records parted at random, as counts: those to learn from, and those to test on."""
    left = patterns.counts.copy()
    for fold in range(folds):
        size = int(left.sum()) // (folds - fold)
        own = rng.multivariate_hypergeometric(left, size, method="marginals")
        left -= own
        yield _with(patterns, patterns.counts - own), _with(patterns, own)


def _with(patterns: PatternTable, counts: Index) -> PatternTable:
    kept = counts > 0
    return PatternTable(patterns.schema, patterns.patterns[kept], counts[kept])
