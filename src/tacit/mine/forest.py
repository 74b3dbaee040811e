"""Forest: the mean of many random trees learnt from reported records, for any design.

Reports are counted once; each bag of trees resamples the counts of patterns, and each node tries
some attributes at random (see `tree.forest`). Without a design it learns from undisguised records,
as a random forest does (Breiman, 2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array
from tacit.core.channel.numbers import quotient
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.mine.decision_tree import TreeMiner
from tacit.mine.tree.forest import BAG, ReportedForest, mean_chances, random_growth
from tacit.mine.tree.growth import CRITERIA, GrowthSettings, Tree
from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table, TabularResult
from tacit.reconstruction import Estimate, Reconstruction
from tacit.records import PatternTable, Progress


@dataclass(frozen=True, eq=False)
class ForestImportances(TabularResult):
    """Importances of attributes, the largest first, and their standard errors.

    The importance of an attribute is the share of the reduction of impurity that splits by it have
    (Breiman, 2001, section 10; the mean over trees). Trees come in bags of k that share one
    resample of the reports, so that the means of the bags m_b vary with the reports, and trees
    within a bag only with the attributes drawn (bootstrap of little bags: Sexton & Laake, 2009):

        Var(importance) = Var_b(m_b) - mean_b Var(trees of b) / k + mean_b Var(trees of b) / (B k)

    The last term is what more trees would remove; the sum is at least this term. There are no
    intervals: those of the normal distribution covered 80 to 92 instead of 95 %, because few bags
    tell a variance only roughly.
    """

    target: str
    names: tuple[str, ...]
    value: Array
    stderr: Array

    def columns(self) -> dict[str, list[Any]]:
        """Attribute, importance and standard error, as lists."""
        return {
            "attribute": list(self.names),
            "importance": self.value.tolist(),
            "stderr": self.stderr.tolist(),
        }

    def to_table(self) -> Table:
        """The importances as a person reads them."""
        numbers = (map(decimals, self.value, self.stderr), map(decimals, self.stderr))
        rows = list(zip(self.names, *numbers, strict=True))
        heads = ("attribute", "importance", "std. error")
        return Table(heads, rows, f"importance for {self.target}", "lrr")


def importances_by_bag(gains: Array, size: int) -> tuple[Array, Array]:
    """Mean importances and standard errors from gains, trees x attributes, in bags of this size."""
    total = gains.sum(axis=1, keepdims=True)
    shares = quotient(gains, total)
    value, n_bags = shares.mean(axis=0), len(shares) // size
    if not total.any():  # no tree has a split
        return value, np.zeros(len(value))
    if n_bags < 2:
        return value, np.full(len(value), np.nan)
    bags = shares[: n_bags * size].reshape(n_bags, size, -1)
    between, within = bags.mean(axis=1).var(axis=0, ddof=1), bags.var(axis=1, ddof=1).mean(axis=0)
    return value, np.sqrt(np.maximum(between - within / size, 0) + within / size / n_bags)


class Forest(TreeMiner):
    """A forest of random trees from reported records.

    design: how the records were disguised; None for undisguised records, fitted with X and y.
    target: the attribute to predict. n_estimators: the number of trees. criterion: "gini" (one
    category against the others) or "entropy" (one branch per category). max_features: how many
    attributes each node tries; None chooses. max_depth: the most conditions that lead to a leaf.
    random_state: seed of the resamples and the attributes.
    """

    trees_: list[Tree]
    _tell: Progress

    def __init__(
        self,
        design: Design | None = None,
        target: str | None = None,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_features: int | None = None,
        max_depth: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(design, target)
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, progress: Progress | None = None) -> Self:
        """Learn from reported records; `X` and `y` as for every miner.

        `progress` is called with the share of the work that is done.
        """
        self._tell = progress or (lambda _: None)
        try:
            return super().fit(X, y)
        finally:
            del self._tell

    def check_arguments(self) -> None:
        super().check_arguments()
        check_whole("n_estimators", self.n_estimators, 1)
        check_whole("random_state", self.random_state, 0)
        if self.max_features is not None:
            check_whole("max_features", self.max_features, 1)

    def _growth(self, n_features: int) -> GrowthSettings:
        tries = self.max_features or math.ceil(math.sqrt(n_features))
        return random_growth(CRITERIA[self.criterion], min(int(tries), n_features), self.max_depth)

    def _fit_reported(self, patterns: PatternTable, design: Design, target: Attribute) -> None:
        reconstruction = Reconstruction(patterns, design)
        prior = reconstruction.table([target.name])
        rng = np.random.default_rng(self.random_state)
        growth, n_trees = self._growth(len(design.schema) - 1), int(self.n_estimators)
        forest = ReportedForest(reconstruction, target.name, n_trees, growth, rng, self._tell)
        grown = forest.grow()
        self.restore(grown.trees, grown.weights, prior, importances_by_bag(grown.gains, BAG))
        self.schema_ = design.schema

    def restore(
        self,
        trees: list[Tree],
        weights: Array,
        prior: Estimate,
        importances: tuple[Array, Array],
    ) -> None:
        """Set the trees and their weights, P(class), and importances with their errors."""
        self.trees_, self.weights_, self.prior_ = trees, weights, prior
        self.feature_importances_, self.importances_stderr_ = importances

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes: the mean over the trees."""
        chances = self.of_records(X, lambda codes: mean_chances(self.trees_, codes, self.weights_))
        return chances[:, : len(self.classes_)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def prior(self) -> Estimate:
        """P(class) with its standard error."""
        check_is_fitted(self)
        return self.prior_

    def importances(self) -> ForestImportances:
        """The importance of every attribute with its standard error, the largest first."""
        check_is_fitted(self)
        names = self.schema_.names[:-1] if self.features_ is None else self.features_.names
        value, stderr = self.feature_importances_, self.importances_stderr_
        order = np.argsort(-value, kind="stable")  # equal ones stay in the order of the schema
        ordered = tuple(names[a] for a in order)
        return ForestImportances(self.target or "class", ordered, value[order], stderr[order])

    def get_n_leaves(self) -> int:
        """The number of leaves of all trees."""
        check_is_fitted(self)
        return sum(len(tree.leaves) for tree in self.trees_)

    def notes(self) -> list[str]:
        """What the reports leave open."""
        notes = self.undecided_note()
        if self.get_n_leaves() == len(self.trees_):
            notes.append("no tree has a split: every record gets the same class")
        share = float(self.weights_[-1])
        if not np.isclose(share, self.weights_[0]):
            notes.append(f"the default tree, pruned, has {100 * share:.0f} % of the weight")
        return notes

    def summary(self) -> str:
        """The size of the forest, what it was learnt from, P(class) and notes, as text."""
        check_is_fitted(self)
        leaves = number_of(self.get_n_leaves(), "leaf", "leaves")
        trees = number_of(len(self.trees_), "tree")
        head = f"forest for {self.target or 'class'}: {trees} with {leaves}"
        return "\n".join([head, str(self.prior()), *self.notes()])

    def shown(self) -> Table:
        """The importances."""
        return self.importances().to_table()
