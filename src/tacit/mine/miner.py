"""Miner: what every classifier learnt from reported records shares; a scikit-learn estimator."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tacit.arrays import Array
from tacit.counting import PatternTable
from tacit.design import Design, check_design
from tacit.errors import DataError
from tacit.evaluate import accuracy
from tacit.label_codes import encode
from tacit.mine.reported_records import reported_patterns
from tacit.reconstruction import Estimate
from tacit.schema import Attribute, Schema

Codes = npt.NDArray[Any]


def non_negative(name: str, value: Any) -> float:
    """An argument that must be a number from 0 up."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 0 <= value < math.inf:
        raise DataError(f"{name} must be a number from 0 up, got {value!r}")
    return float(value)


class Miner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with a design and a target; without a design it learns from true records."""

    design: Design | None
    target: str | None

    #: Attributes it predicts from, their order in records to predict; None without a design.
    features_: Schema | None
    #: The design it was learnt under; empty without one.
    fingerprint_: str

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""

    @abstractmethod
    def prior(self) -> Estimate:
        """P(class) with its standard error."""

    @abstractmethod
    def feature_sizes(self) -> list[int]:
        """How many categories of each feature are known."""

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. With a design it is estimated from reported records, given as to `fit`."""
        check_is_fitted(self)
        if self.design is None and self.features_ is not None:
            raise DataError("a saved model is tested by tacit.evaluate.accuracy, with its design")
        if self.design is None or self.target is None:
            return float(super().score(X, y, sample_weight))
        if sample_weight is not None:
            raise DataError("reported records are tested without sample_weight")
        return float(accuracy(self, reported_patterns(X, y, self.design, self.target), self.design))

    def design_and_target(self) -> tuple[Design, str]:
        """Design and target of a model that still knows the reports it was learnt from."""
        check_is_fitted(self)
        if self.features_ is not None and self.design is None:
            raise DataError("a saved model does not know its design and reports; learn it again")
        if self.design is None or self.target is None:
            raise DataError("standard errors are known for models learnt from reported records")
        return self.design, self.target

    def undecided_note(self) -> list[str]:
        """A note if the reports do not tell which class is the commonest."""
        prior = self.prior()
        first, second = np.argsort(prior.value)[::-1][:2]
        ahead, spread = prior.value[first] - prior.value[second], prior.covariance
        doubt = spread[first, first] + spread[second, second] - 2 * spread[first, second]
        known = ahead >= 2 * np.sqrt(np.maximum(doubt, 0))
        return [] if known else ["the reports do not tell which class is the commonest"]

    def set_fitted(self, features: Schema | None, classes: npt.NDArray[Any], design: str) -> None:
        """Take over what a fitted model is known by; `design` is a fingerprint."""
        self.features_, self.classes_, self.fingerprint_ = features, classes, design
        if features is not None:
            self.n_features_in_ = len(features)

    def count_reported(self, X: Any, y: Any) -> tuple[PatternTable, Attribute, Schema]:
        """Reported records counted, the target and the features; checks design and target."""
        check_design(self.design)
        assert self.design is not None
        if self.target is None:
            raise DataError("target must name the attribute to predict, got None")
        schema = self.design.schema
        target = schema[self.target]
        if len(schema) == 1:
            raise DataError(f"the design has no other attribute to predict {target.name!r} from")
        features = schema.subset([name for name in schema.names if name != self.target])
        return reported_patterns(X, y, self.design, self.target), target, features

    def encode_undisguised(self, X: Any, y: Any) -> tuple[Codes, Codes, npt.NDArray[Any]]:
        """True records as codes, their classes as codes, and the classes."""
        X, y = validate_data(self, X, y, dtype="int")
        check_non_negative(X, f"{type(self).__name__} (input X)")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return X, codes, classes

    def feature_codes(self, X: Any) -> Codes:
        """True records to predict, as codes of the features."""
        check_is_fitted(self)
        if self.features_ is not None:
            return encode(X, self.features_)
        X = validate_data(self, X, dtype="int", reset=False)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        for place, (column, size) in enumerate(zip(X.T, self.feature_sizes(), strict=True)):
            if column.max(initial=0) >= size:
                raise DataError(
                    f"feature {place}: category {column.max()} was not seen when learning; "
                    f"allowed: 0 to {size - 1}"
                )
        return np.asarray(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = self.design is None
        return tags
