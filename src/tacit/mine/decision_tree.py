"""DecisionTree: a classifier grown from reported records, for any design.

Count, reconstruct, learn. Reported records are counted once; at every node the tables of the class
and each attribute are reconstructed with their noise (see `tree.growth`). `criterion` "entropy" is
ID3 with one branch a category, "gini" is CART with one category against the others.
Without a design it learns from undisguised records.
"""

from __future__ import annotations

import math
import numbers
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import Array, Mask
from tacit.counting import PatternTable
from tacit.counting.distinct import distinct
from tacit.counting.keys import column_blocks
from tacit.design import Design
from tacit.errors import DataError, unknown
from tacit.extras import optional_imports
from tacit.mine.miner import Codes, Miner, non_negative
from tacit.mine.reported_records import reported_patterns
from tacit.mine.tree.criteria import CRITERIA
from tacit.mine.tree.grown_nodes import follow, right_and_wrong
from tacit.mine.tree.growth import GrowthSettings, grow
from tacit.mine.tree.tree import Tree
from tacit.mine.tree.tree_reports import TreeReports
from tacit.mine.tree.tree_rules import TreeRules, rules
from tacit.mine.tree.tree_text import plain_schema, summary, text, whole_schema
from tacit.reconstruction import Estimate, Reconstruction
from tacit.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Joint tables of at most this many cells are written out where no noise is looked at.
MOST_CELLS = 1 << 20
#: Undisguised features may have so many categories; more would not fit in memory.
MOST_CATEGORIES = 2048


class DecisionTree(Miner):
    """A decision tree from reported records.

    design: how the records were disguised; None for undisguised records, fitted with X and y.
    target: the attribute to predict. criterion: "entropy" (ID3) or "gini" (CART).
    caution: how many standard errors a split must stand out from the noise of the disguise; 0 is
    the papers' procedure, which cuts negative shares at zero and grows until leaves are pure.
    max_depth: the most conditions that may lead to a leaf.
    """

    def __init__(
        self,
        design: Design | None = None,
        target: str | None = None,
        criterion: str = "entropy",
        caution: float = 2.0,
        max_depth: int | None = None,
    ) -> None:
        self.design = design
        self.target = target
        self.criterion = criterion
        self.caution = caution
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any = None) -> DecisionTree:
        """Learn from reported records: a frame, codes, a file's path or a pattern table.

        With `y`, X holds the other attributes only and y the reported class: labels beside a
        frame, codes beside codes.
        """
        growth = self._growth()
        if self.design is None:
            return self._fit_undisguised(X, y, growth)
        patterns, target, features = self.count_reported(X, y)
        reports = TreeReports.of(patterns, self.design, target.name)
        seen = reports
        if self.caution == 0 and math.prod(self.design.schema.sizes) <= MOST_CELLS:
            seen = TreeReports.restored(Reconstruction(patterns, self.design), target.name)
        tree = grow(seen, growth)
        classes = np.array(target.categories)
        self.restore(features, classes, tree, reports.target, self.design.fingerprint)
        self.reports_, self.literal_ = reports, self.caution == 0
        return self

    def restore(
        self,
        features: Schema | None,
        classes: npt.NDArray[Any],
        tree: Tree,
        place: int,
        fingerprint: str = "",
    ) -> None:
        """Take over a tree, grown here or before; `place` is that of the target in its schema."""
        for name in ("reports_", "literal_", "estimated_tree_"):
            self.__dict__.pop(name, None)
        self.set_fitted(features, classes, fingerprint)
        self.tree_, self.target_index_ = tree, place

    def _fit_undisguised(self, X: Any, y: Any, growth: GrowthSettings) -> DecisionTree:
        X, codes, classes = self.encode_undisguised(X, y)
        if X.max(initial=0) >= MOST_CATEGORIES:
            raise DataError(
                f"category {X.max()} is too large: number the categories of a feature from 0 on, "
                f"at most {MOST_CATEGORIES:,}"
            )
        records = np.column_stack([X, codes])
        sizes = tuple(max(2, int(column.max()) + 1) for column in records.T)
        patterns, counts = distinct(records, sizes)
        target, n_records = len(sizes) - 1, len(records)
        reports = TreeReports.true(patterns, counts / n_records, sizes, target, n_records)
        self.restore(None, classes, grow(reports, growth), target)
        self.sizes_ = [int(column.max()) + 1 for column in X.T]
        return self

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        codes = self.feature_codes(X)
        chances = self.tree_.chances[:, : len(self.classes_)]
        return np.asarray(chances[self._leaves(codes)])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        codes = self.feature_codes(X)
        return np.asarray(self.classes_[self.tree_.label[self._leaves(codes)]])

    def apply(self, X: Any) -> npt.NDArray[np.intp]:
        """The leaf that each true record comes to, as its number in the tree."""
        return self._leaves(self.feature_codes(X))

    def get_depth(self) -> int:
        """The most conditions that lead to a leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def feature_sizes(self) -> list[int]:
        return list(self.sizes_ if self.features_ is None else self.features_.sizes)

    def prior(self) -> Estimate:
        """P(class) with its standard error."""
        tree, schema, target = self._seen()
        covariance = tree.covariance[0]
        return Estimate(
            attributes=(schema[target],),
            value=tree.value[0],
            stderr=np.sqrt(np.maximum(np.diagonal(covariance), 0)),
            n_records=tree.n_records,
            method="inversion",
            name=f"P({target})",
            covariance_of=lambda: covariance,
        )

    def estimated_tree(self, reported: Any = None) -> Tree:
        """The tree with the shares of its nodes, and their covariance, as these reports tell them.

        None takes the reports that it was learnt from; a saved model kept what they told.
        """
        check_is_fitted(self)
        if self.design is None and reported is None:
            return self.tree_
        design, target = self.design_and_target()
        if reported is not None:
            patterns = reported_patterns(reported, None, design, target)
            return follow(self.tree_, TreeReports.of(patterns, design, target))
        if not getattr(self, "literal_", False):
            return self.tree_
        if not hasattr(self, "estimated_tree_"):
            self.estimated_tree_ = follow(self.tree_, self.reports_)
        return self.estimated_tree_

    def outcomes(self, patterns: PatternTable, design: Design) -> Array:
        """What each reported pattern counts towards each true and predicted class.

        Patterns x true classes x predicted classes; the mean over reports is the confusion table.
        """
        check_is_fitted(self)
        reports = TreeReports.of(patterns, design, str(self.target))
        return right_and_wrong(self.tree_, reports)

    def cut(self, nodes: Mask) -> DecisionTree:
        """A model of its own with these nodes of the tree made leaves."""
        model = copy(self)
        model.restore(
            self.features_,
            self.classes_,
            self.tree_.cut(nodes),
            self.target_index_,
            self.fingerprint_,
        )
        if hasattr(self, "reports_"):
            model.reports_, model.literal_ = self.reports_, self.literal_
        return model

    def notes(self) -> list[str]:
        """What a user should know: what cannot be told, what was within noise."""
        said = self.undecided_note()
        if len(self.tree_) == 1:
            said.append("the tree has no split: every record gets the same class")
        followed = int((self.tree_.label_source[self.tree_.leaves] != self.tree_.leaves).sum())
        if followed:
            said.append(
                f"{followed} of {self.get_n_leaves()} leaves within noise take their parent's class"
            )
        return said

    def rules(self, reported: Any = None) -> TreeRules:
        """The leaves as rules, with support and confidence as these reports tell them.

        None takes the records that the tree was learnt from. Intervals do not know that the tree
        was chosen by the same records, so they cover less often than they say; other reported
        records give honest ones.
        """
        return rules(*self._seen(reported), self.tree_.label)

    def text(self, max_depth: int | None = None, reported: Any = None) -> str:
        """The tree as indented lines, cut below `max_depth`; `reported` as for `rules`."""
        return text(*self._seen(reported), self.tree_.label, max_depth)

    def figure(self, max_depth: int | None = None, reported: Any = None) -> Figure:
        """The tree drawn, cut below `max_depth`; `reported` as for `rules`."""
        with optional_imports():
            from tacit.mine.tree.tree_plot import figure

        return figure(*self._seen(reported), self.tree_.label, max_depth)

    def summary(self) -> str:
        """The size of the tree, what it was learnt from, P(class) and notes, as lines of text."""
        return summary(*self._seen(), self.notes())

    def _seen(self, reported: Any = None) -> tuple[Tree, Schema, str]:
        """What there is to look at: the tree with its shares, its schema and its target."""
        check_is_fitted(self)
        tree = self.estimated_tree(reported)
        if self.design is not None:
            return tree, self.design.schema, str(self.target)
        if self.features_ is None:
            names = getattr(self, "feature_names_in_", None)
            return tree, *plain_schema(self.sizes_, names, self.target, self.classes_)
        target = str(self.target)
        return tree, whole_schema(self.features_, target, self.classes_, self.target_index_), target

    def _growth(self) -> GrowthSettings:
        """How to grow, checked."""
        if self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, tuple(CRITERIA)))
        caution, depth = non_negative("caution", self.caution), self.max_depth
        whole = isinstance(depth, numbers.Integral) and not isinstance(depth, bool)
        if depth is not None and (not whole or depth < 0):
            raise DataError(f"max_depth must be a whole number from 0 up, or None, got {depth!r}")
        return GrowthSettings(CRITERIA[self.criterion], caution, depth)

    def _leaves(self, codes: Codes) -> npt.NDArray[np.intp]:
        """The leaf of each record; by the cell of its record where there are fewer cells."""
        sizes = self.feature_sizes()
        cells = math.prod(sizes)
        if cells > len(codes) or min(sizes) < 2:
            return self.tree_.find(codes, self.target_index_)
        every = np.indices(sizes, codes.dtype).reshape(len(sizes), -1).T
        leaves = self.tree_.find(every, self.target_index_)
        return np.concatenate([leaves[block] for block in column_blocks(list(codes.T), sizes)])
