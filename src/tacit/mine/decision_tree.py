"""DecisionTree: a classifier grown from reported records, for any design.

Reported records are counted once. The tree is grown on the joint table of largest likelihood (see
`tree.likelihood`), or from unbiased tables of the class and each attribute at every node (see
`tree.growth`). `criterion` "entropy" is ID3 with one branch per category, "gini" is CART with one
category against the others. No design means the truthful design.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import non_negative
from tacit.core.arrays import Array, Index, Mask
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, unknown
from tacit.mine.miner import Miner, reported_patterns
from tacit.mine.tree import growth
from tacit.mine.tree.growth import CRITERIA, GrowthSettings, Tree
from tacit.mine.tree.likelihood import CAUTION, likelihood_tree
from tacit.mine.tree.tables import TreeReports
from tacit.mine.tree.view import TreeRules, TreeView, rules, tree_html
from tacit.output.table import Figure
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.estimate import OnDemand
from tacit.reconstruction.hypotheses import design_fit
from tacit.records import PatternTable
from tacit.records.keys import column_blocks


class TreeMiner(Miner):
    """A miner that splits by a criterion, to a largest depth."""

    criterion: str
    max_depth: int | None

    def check_arguments(self) -> None:
        if not isinstance(self.criterion, str) or self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, tuple(CRITERIA)))
        growth.check_max_depth(self.max_depth)

    def of_records(
        self, X: Any, find: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """What `find` finds for each true record, from the codes of its features."""
        codes, sizes = self.feature_codes(X), self.sizes_
        if math.prod(sizes) > len(codes) or min(sizes) < 2:
            return find(codes)
        # Fewer possible records than records: find it for each possible one.
        values = find(np.indices(sizes, codes.dtype).reshape(len(sizes), -1).T)
        return np.concatenate([values[block] for block in column_blocks(list(codes.T), sizes)])


#: With `caution` 0, joint tables of up to this many cells are reconstructed as a whole.
MOST_CELLS = 1 << 20


#: Channels of this condition number or more are certainly not truthful.
_TRUTHFUL = 1.001


class DecisionTree(TreeMiner):
    """A decision tree from reported records.

    design: how the records were disguised; None for undisguised records, fitted with X and y.
    target: the attribute to predict. criterion: "entropy" (ID3) or "gini" (CART).
    caution: None grows the tree on the joint table of largest likelihood (`tree.likelihood`),
    prunes it, and splits only if the reports show that the class depends on some attribute. A
    number grows it from unbiased tables: a split must exceed the noise of the disguise by this many
    standard errors. 0 is the papers' procedure, which cuts negative shares at zero and grows until
    leaves are pure. Records that are reported as they are give a plain tree in any case.
    max_depth: the most conditions that lead to a leaf.
    """

    _distinct = False

    estimated_tree_: Tree

    def __init__(
        self,
        design: Design | None = None,
        target: str | None = None,
        criterion: str = "entropy",
        caution: float | None = None,
        max_depth: int | None = None,
    ) -> None:
        super().__init__(design, target)
        self.criterion = criterion
        self.caution = caution
        self.max_depth = max_depth

    def check_arguments(self) -> None:
        super().check_arguments()
        self._growth_settings()

    def _growth_settings(self) -> GrowthSettings:
        caution = CAUTION if self.caution is None else non_negative("caution", self.caution)
        return GrowthSettings(CRITERIA[self.criterion], caution, self.max_depth)

    def _fit_reported(self, patterns: PatternTable, design: Design, target: Attribute) -> None:
        settings, reconstruction = self._growth_settings(), Reconstruction(patterns, design)
        channel = design.channel(design.schema.names)
        channel.require_reconstructable()
        reports = OnDemand(partial(TreeReports.of, patterns, design, target.name))
        # The channel of true answers has the condition 1; for others the reports may not be needed.
        disguised = channel.condition > _TRUTHFUL or not reports().exact
        by_likelihood = self.caution is None and disguised
        if by_likelihood:
            tree = likelihood_tree(reconstruction, target.name, settings)
        elif self.caution == 0 and math.prod(design.schema.sizes) <= MOST_CELLS:
            # The reconstructed joint table, with its negative shares, gives the same tables at
            # every node, for any design, but not their noise.
            joint, sizes = reconstruction.joint(), design.schema.sizes
            index = design.schema.index(target.name)
            tree = growth.grow(
                TreeReports.of_cells(joint, sizes, patterns.n_records, index), settings
            )
        else:
            tree = growth.grow(reports(), settings)
        if patterns.engine is None and len(patterns) == patterns.n_records:
            reports()  # what was not counted may be the caller's array, which may change
        self.restore(tree, design.schema, target.name)
        self.reports_, self.biased_ = reports, self.caution == 0 or by_likelihood
        self.prior_fit_ = OnDemand(partial(design_fit, patterns, design, (target.name,)))

    def restore(self, tree: Tree, schema: Schema, target: str) -> None:
        """Set the tree, its schema and target."""
        for name in ("reports_", "biased_", "estimated_tree_", "prior_fit_"):
            self.__dict__.pop(name, None)
        self.tree_, self.schema_, self.target_index_ = tree, schema, schema.index(target)

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        leaves = self.apply(X)
        return np.asarray(self.tree_.chances[leaves, : len(self.classes_)])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        leaves = self.apply(X)
        return np.asarray(self.classes_[self.tree_.label[leaves]])

    def apply(self, X: Any) -> Index:
        """The number of the leaf that each true record reaches."""
        return self.of_records(X, lambda codes: self.tree_.find(codes, self.target_index_))

    def get_depth(self) -> int:
        """The most conditions that lead to a leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def prior(self) -> Estimate:
        """P(class) with its standard error."""
        view = self.view()
        tree, target = view.tree, view.schema[view.target]
        value, covariance, name = tree.value[0], tree.covariance[0], f"P({target.name})"
        n = tree.n_records
        estimate = Estimate.of_covariance((target,), value, covariance, n, "inversion", name)
        return replace(estimate.as_probability(), fit_of=getattr(self, "prior_fit_", None))

    def estimated_tree(self, reported: Any = None) -> Tree:
        """The tree with the shares of its nodes and their covariance estimated from reports.

        None uses the reports that it was learnt from; a saved model keeps what was saved.
        """
        check_is_fitted(self)
        if reported is None and hasattr(self, "estimated_tree_"):
            return self.estimated_tree_
        if self.design is None and reported is None:
            return self.tree_
        design, target = self.design_and_target()
        if reported is not None:
            patterns = reported_patterns(reported, None, design, target)
            return growth.follow(self.tree_, TreeReports.of(patterns, design, target))
        if not getattr(self, "biased_", False):
            return self.tree_
        self.estimated_tree_ = growth.follow(self.tree_, self.reports_())
        return self.estimated_tree_

    def outcomes(self, patterns: PatternTable, design: Design) -> Array:
        """The weight of each reported pattern for each pair of true and predicted class.

        Patterns x true classes x predicted classes; the mean over reports is the confusion table.
        """
        check_is_fitted(self)
        reports = TreeReports.of(patterns, design, str(self.target))
        return growth.confusion_weights(self.tree_, reports)

    def cut(self, nodes: Mask) -> DecisionTree:
        """A new model with these nodes of the tree made leaves."""
        model = copy(self)
        model.restore(self.tree_.cut(nodes), self.schema_, self.schema_.names[self.target_index_])
        if hasattr(self, "reports_"):
            model.reports_, model.biased_ = self.reports_, self.biased_
        return model

    def notes(self) -> list[str]:
        """What the reports leave open, and what was within noise."""
        notes = self.undecided_note()
        if len(self.tree_) == 1:
            notes.append("the tree has no split: every record gets the same class")
        inherited = int((self.tree_.label_source[self.tree_.leaves] != self.tree_.leaves).sum())
        if inherited:
            notes.append(
                "leaves within noise that take their parent's class: "
                f"{inherited} of {self.get_n_leaves()}"
            )
        return notes

    def rules(self, reported: Any = None) -> TreeRules:
        """The leaves as rules, with support and confidence estimated from reports.

        None uses the records that the tree was learnt from. They also chose the tree; the intervals
        allow for this and hold for all rules together. Other reported records, that the tree was
        neither grown nor pruned with, give shorter intervals that hold for each rule.
        """
        return rules(self.view(reported), chosen_by_its_records=reported is None)

    def text(self, max_depth: int | None = None, reported: Any = None) -> str:
        """The tree as indented lines, cut below `max_depth`; `reported` as for `rules`."""
        return self.view(reported, max_depth).text()

    def plot(self, max_depth: int | None = None, reported: Any = None) -> Figure:
        """The tree as a figure, cut below `max_depth`; `reported` as for `rules`."""
        with optional_imports():
            from tacit.mine.tree.figure import figure

        return figure(self.view(reported, max_depth))

    def summary(self) -> str:
        """The size of the tree, what it was learnt from, P(class) and notes, as lines of text."""
        return self.view().summary(self.notes())

    def html(self) -> str:
        """The tree and its summary, as a notebook shows them."""
        return tree_html(self.view(), self.summary())

    def view(self, reported: Any = None, max_depth: int | None = None) -> TreeView:
        """The tree with its estimated shares, schema and target; `reported` as for `rules`."""
        check_is_fitted(self)
        tree, target = self.estimated_tree(reported), self.schema_.names[self.target_index_]
        return TreeView(tree, self.schema_, target, self.tree_.label, max_depth)
