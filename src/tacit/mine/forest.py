"""Forest: the mean of many random trees learnt from reported records, for any design.

Reports are counted once; each bag of trees resamples the counts of patterns, and each node tries
some attributes at random (see `tree.forest_bags` and `tree.random_tree`). Without a design it
learns from undisguised records, as a random forest does (Breiman, 2001).
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import Array
from tacit.counting import PatternTable
from tacit.counting.distinct import distinct
from tacit.counting.keys import column_blocks
from tacit.design import Design
from tacit.errors import DataError, unknown
from tacit.mine.forest_importances import ForestImportances, importances_by_bag
from tacit.mine.miner import Miner, check_category_numbers
from tacit.mine.tree.criteria import CRITERIA
from tacit.mine.tree.forest_bags import TrueBags
from tacit.mine.tree.forest_growth import (
    BAG,
    ForestSettings,
    GrownForest,
    Tell,
    grow_forest,
    reported_forest,
)
from tacit.mine.tree.random_tree import RandomTree, mean_chances
from tacit.mine.tree.tree import check_max_depth
from tacit.number_text import number_of
from tacit.reconstruction import Estimate, Reconstruction
from tacit.schema import Attribute, Schema


class Forest(Miner):
    """A forest of random trees from reported records.

    design: how the records were disguised; None for undisguised records, fitted with X and y.
    target: the attribute to predict. n_estimators: the number of trees. criterion: "gini" (one
    category against the others) or "entropy" (one branch per category). max_features: how many
    attributes each node tries; None chooses. max_depth: the most conditions that lead to a leaf.
    random_state: seed of the resamples and the attributes.
    """

    trees_: list[RandomTree]
    _tell: Tell

    def __init__(  # noqa: PLR0913 - scikit-learn's names, one argument per setting
        self,
        design: Design | None = None,
        target: str | None = None,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_features: int | None = None,
        max_depth: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.design = design
        self.target = target
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, progress: Tell | None = None) -> Self:
        """Learn from reported records; `X` and `y` as for every miner.

        `progress` is called with the share of the work that is done.
        """
        self._tell = progress or (lambda _: None)
        try:
            return super().fit(X, y)
        finally:
            del self._tell

    def check_arguments(self) -> None:
        if not isinstance(self.criterion, str) or self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, tuple(CRITERIA)))
        _check_whole("n_estimators", self.n_estimators, 1)
        _check_whole("random_state", self.random_state, 0)
        if self.max_features is not None:
            _check_whole("max_features", self.max_features, 1)
        check_max_depth(self.max_depth)

    def _settings(self, n_features: int) -> ForestSettings:
        tries = self.max_features or math.ceil(math.sqrt(n_features))
        return ForestSettings(
            int(self.n_estimators),
            CRITERIA[self.criterion],
            min(int(tries), n_features),
            self.max_depth,
        )

    def _fit_reported(
        self, patterns: PatternTable, design: Design, target: Attribute, features: Schema
    ) -> None:
        found = Reconstruction(patterns, design)
        prior = found.table([target.name])
        rng = np.random.default_rng(self.random_state)
        settings = self._settings(len(features))
        grown = reported_forest(found, target.name, settings, rng, self._tell)
        self._set_grown(features, np.array(target.categories), grown, prior, design.fingerprint)

    def _fit_undisguised(
        self, X: npt.NDArray[Any], codes: npt.NDArray[Any], classes: npt.NDArray[Any]
    ) -> None:
        check_category_numbers(X)
        sizes = tuple(max(2, int(column.max()) + 1) for column in X.T)
        records, counts = distinct(np.column_stack([X, codes]), (*sizes, max(2, len(classes))))
        bags = TrueBags(records[:, :-1], records[:, -1], counts, sizes, max(2, len(classes)))
        rng = np.random.default_rng(self.random_state)
        grown = grow_forest(bags, self._settings(len(sizes)), rng, self._tell)
        self._set_grown(None, classes, grown, _counted_prior(codes, classes))
        self.sizes_ = [int(column.max()) + 1 for column in X.T]

    def _set_grown(
        self,
        features: Schema | None,
        classes: npt.NDArray[Any],
        grown: GrownForest,
        prior: Estimate,
        fingerprint: str = "",
    ) -> None:
        importances = importances_by_bag(grown.gains, BAG)
        members = grown.trees, grown.weights
        self.restore(features, classes, members, prior, importances, fingerprint)

    def restore(
        self,
        features: Schema | None,
        classes: npt.NDArray[Any],
        members: tuple[list[RandomTree], Array],
        prior: Estimate,
        importances: tuple[Array, Array],
        fingerprint: str = "",
    ) -> None:
        """Become the fitted model with these trees and their weights, P(class), importances."""
        self.set_fitted(features, classes, fingerprint)
        (self.trees_, self.weights_), self.prior_ = members, prior
        self.feature_importances_, self.importances_stderr_ = importances

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes: the mean over the trees."""
        codes, sizes = self.feature_codes(X), self.feature_sizes()
        width = len(self.classes_)
        if math.prod(sizes) > len(codes) or min(sizes) < 2:
            return mean_chances(self.trees_, codes, self.weights_)[:, :width]
        # Fewer possible records than records: predict each possible one.
        possible = np.indices(sizes, codes.dtype).reshape(len(sizes), -1).T
        chances = mean_chances(self.trees_, possible, self.weights_)[:, :width]
        return np.concatenate([chances[block] for block in column_blocks(list(codes.T), sizes)])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def feature_sizes(self) -> list[int]:
        return list(self.sizes_ if self.features_ is None else self.features_.sizes)

    def prior(self) -> Estimate:
        """P(class) with its standard error."""
        check_is_fitted(self)
        return self.prior_

    def importances(self) -> ForestImportances:
        """The importance of every attribute with its standard error, the largest first."""
        check_is_fitted(self)
        if self.features_ is not None:
            names = self.features_.names
        else:
            own = [f"x{a}" for a in range(self.n_features_in_)]
            names = tuple(map(str, getattr(self, "feature_names_in_", own)))
        value, stderr = self.feature_importances_, self.importances_stderr_
        return ForestImportances.of(str(self.target or "class"), names, value, stderr)

    def get_n_leaves(self) -> int:
        """The number of leaves of all trees."""
        check_is_fitted(self)
        return sum(tree.n_leaves for tree in self.trees_)

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
        trees, leaves = (
            number_of(len(self.trees_), "tree"),
            number_of(self.get_n_leaves(), "leaf", "leaves"),
        )
        head = f"forest for {self.target or 'class'}: {trees} with {leaves}"
        return "\n".join([head, str(self.prior()), *self.notes()])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The importances in a notebook, once fitted; scikit-learn's diagram before."""
        if not hasattr(self, "trees_"):
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": self.importances().to_table().html()}

    @property
    def _repr_html_(self) -> Any:
        return lambda: self._repr_mimebundle_()["text/html"]


def _counted_prior(codes: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Estimate:
    """P(class) of true records."""
    n, labels = len(codes), classes.tolist()
    labels = labels if len(labels) > 1 else [*labels, "other"]
    share = np.bincount(codes, minlength=len(labels)) / n
    covariance = (np.diag(share) - np.outer(share, share)) / n
    return Estimate.of_covariance(
        (Attribute("class", labels),), share, covariance, n, "counts", "P(class)"
    )


def _check_whole(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise DataError(f"{name} must be a whole number from {least} up, got {value!r}")
