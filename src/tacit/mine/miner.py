"""LearntModel and Miner: the bases of all models and of all classifiers learnt from reports."""

from __future__ import annotations

import math
import numbers
import os
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tacit.core.argument_checks import check_rate
from tacit.core.arrays import Array
from tacit.core.channel import truthful
from tacit.core.design import Design, Group, check_design
from tacit.core.frames import NEEDS_TRUTH, warn_about_reports
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError
from tacit.evaluate import accuracy
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.estimate import free_names
from tacit.reconstruction.hypothesis_test import misfit
from tacit.reconstruction.reconstruct import unweighted_patterns
from tacit.records import PatternTable, count, count_or_list, count_reported


class LearntModel(BaseEstimator):  # type: ignore[misc]
    """A model with a design; without one it learns from true records, given as codes."""

    design: Design | None

    #: The attributes it knows true records by, in their order; None if they have no names.
    features_: Schema | None
    #: Fingerprint of the design it was learnt under; empty without one.
    fingerprint_: str

    def notes(self) -> list[str]:
        """What the model leaves open."""
        return []

    def shown(self) -> Table | None:
        """What a notebook shows of the fitted model; None for scikit-learn's diagram."""
        return None

    def html(self) -> str | None:
        """The same as HTML."""
        table = self.shown()
        return None if table is None else table.html()

    def summary(self) -> str:
        """What is shown and the notes, as lines of text."""
        check_is_fitted(self)
        table = self.shown()
        return "\n".join([*([] if table is None else [table.text()]), *self.notes()])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = self.html() if hasattr(self, "fingerprint_") else None
        if shown is None:
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": shown}

    @property
    def _repr_html_(self) -> Any:
        return lambda: self._repr_mimebundle_()["text/html"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


#: Reports rarely estimate an accuracy so many standard errors above 1, even if all predictions are
#: right; and what is no more than a rounding error above 1.
_FAR, _ROUNDING = 2.0, 1e-9


class Miner(ClassifierMixin, LearntModel):  # type: ignore[misc]
    """A classifier with a design and a target; without a design it learns from true records."""

    target: str | None

    #: Whether it learns from distinct patterns; otherwise, patterns may repeat.
    _distinct: ClassVar[bool] = True

    #: The number of categories of each feature.
    sizes_: Sequence[int]

    def __init__(self, design: Design | None = None, target: str | None = None) -> None:
        self.design = design
        self.target = target

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from reported records, in any form that `reconstruct` takes.

        With `y`, X has only the other attributes and y the reported class: labels with a frame,
        codes with codes. Without a design, X has codes of true records and y their classes.
        """
        self.check_arguments()
        if self.design is None:
            X, y = validate_data(self, X, y, dtype="int")
            check_non_negative(X, f"{type(self).__name__} (input X)")
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            self.sizes_ = [int(column.max()) + 1 for column in X.T]
            self._fit_undisguised(X, codes, classes)
            self.set_fitted(None, classes, "")
            return self
        check_design(self.design)
        if self.target is None:
            raise DataError("target must name the attribute to predict, got None")
        schema = self.design.schema
        target = schema[self.target]
        if len(schema) == 1:
            raise DataError(f"the design has no other attribute to predict {target.name!r} from")
        patterns = reported_patterns(X, y, self.design, self.target, self._distinct)
        self._fit_reported(patterns, self.design, target)
        features = schema.without(self.target)
        self.set_fitted(features, np.array(target.categories), self.design.fingerprint)
        return self

    @abstractmethod
    def check_arguments(self) -> None:
        """Raise DataError if an argument of the constructor is not allowed."""

    @abstractmethod
    def _fit_reported(self, patterns: PatternTable, design: Design, target: Attribute) -> None:
        """Learn from reported records."""

    def _fit_undisguised(
        self, X: npt.NDArray[Any], codes: npt.NDArray[Any], classes: npt.NDArray[Any]
    ) -> None:
        """Learn from the codes of true records, as if reported truthfully.

        `codes` are those of their classes.
        """
        schema = Schema(attributes_of_codes(X, getattr(self, "feature_names_in_", None)))
        schema = with_target(schema, self.target, classes.tolist())
        patterns = count(np.column_stack([X, codes]), schema)
        self._fit_reported(patterns, truthful_design(schema), schema.attributes[-1])

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""

    @abstractmethod
    def prior(self) -> Estimate:
        """P(class) with its standard error."""

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        likeliest = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. With a design it is estimated from reported records, given as to `fit`.

        Records that contradict the design, as true ones may, are a warning; so is an accuracy that
        chance rarely estimates so far above 1.
        """
        check_is_fitted(self)
        if self.design is None and self.features_ is not None:
            raise DataError("test a saved model with tacit.evaluate.accuracy and its design")
        if self.design is None or self.target is None:
            return float(super().score(X, y, sample_weight))
        if sample_weight is not None:
            raise DataError("sample_weight is not supported for reported records")
        estimate = accuracy(self, reported_patterns(X, y, self.design, self.target), self.design)
        contradiction = misfit(estimate.fit) or _too_accurate(estimate)
        if contradiction:
            warnings.warn(
                "score() needs reported records, and compares predictions with true ones by "
                f"accuracy_score(y, model.predict(X)) of scikit-learn; {contradiction}",
                UserWarning,
                stacklevel=2,
            )
        return float(estimate)

    def design_and_target(self) -> tuple[Design, str]:
        """Design and target of a model that still has the reports it was learnt from."""
        check_is_fitted(self)
        if self.features_ is not None and self.design is None:
            raise DataError("a saved model does not contain its design and reports; learn it again")
        if self.design is None or self.target is None:
            raise DataError("only a model learnt from reported records has standard errors")
        return self.design, self.target

    def undecided_note(self) -> list[str]:
        """A note if it is uncertain which class is the most common."""
        prior = self.prior()
        first, second = np.argsort(prior.value)[::-1][:2]
        ahead, spread = prior.value[first] - prior.value[second], prior.covariance
        variance = spread[first, first] + spread[second, second] - 2 * spread[first, second]
        if ahead >= 2 * np.sqrt(np.maximum(variance, 0)):
            return []
        return ["it is uncertain which class is the most common"]

    def set_fitted(self, features: Schema | None, classes: npt.NDArray[Any], design: str) -> None:
        """Set the attributes of every fitted model; `design` is a fingerprint."""
        self.features_, self.classes_, self.fingerprint_ = features, classes, design
        if features is not None:
            self.n_features_in_, self.sizes_ = len(features), features.sizes

    def feature_codes(self, X: Any) -> npt.NDArray[Any]:
        """True records to predict, as codes of the features."""
        check_is_fitted(self)
        if self.features_ is not None:
            warn_about_reports(X, self.features_.names, NEEDS_TRUTH)
            return encode(X, self.features_)
        codes = valid_codes(self, X, reset=False)
        for feature, (column, size) in enumerate(zip(codes.T, self.sizes_, strict=True)):
            if column.max(initial=0) >= size:
                raise DataError(
                    f"feature {feature}: category {column.max()} was not seen in learning; "
                    f"allowed: 0 to {size - 1}"
                )
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.design is None
        return tags


def _too_accurate(estimate: Estimate) -> str:
    """What is wrong with an accuracy that chance rarely estimates so far above 1; else nothing."""
    assert estimate.score is not None
    error = float(estimate.score.stderr(np.ones(())))
    if float(estimate) - 1 <= max(_FAR * error, _ROUNDING):
        return ""
    return f"an accuracy of {float(estimate):.4f} contradicts the design"


def reported_patterns(
    records: Any, y: Any, design: Design, target: str, distinct: bool = True
) -> PatternTable:
    """Count reported records; with `y`, the records have only the other attributes.

    Unless patterns must be `distinct`, records that hardly repeat are not sorted.
    """
    if y is None and (distinct or isinstance(records, PatternTable)):
        return unweighted_patterns(records, design)
    if y is None:
        return count_reported(records, design, distinct)
    if isinstance(records, PatternTable | str | os.PathLike):
        raise DataError("a pattern table or a file already has the class; leave y out")
    if target not in design.reported:
        raise DataError(f"{target!r} is reported jointly with other attributes; leave y out")
    others = design.reported.without(target)
    codes = encode(records, others)
    given = np.asarray(y)
    if given.shape != (len(codes),):
        raise DataError(f"y must have a class for each of {len(codes)} records, got {given.shape}")
    column: Any = given[:, None]
    if not isinstance(records, np.ndarray) or given.dtype.kind not in "iub":
        try:
            column = pa.table({target: given})
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"y must have labels of {target!r} of one type: {error}") from None
    classes = encode(column, design.reported.subset([target]))
    column_of_target = design.reported.index(target)
    together = np.insert(codes, column_of_target, classes[:, 0], axis=1)
    return (count if distinct else count_or_list)(together, design.reported)


def split_records(
    records: Any, design: Design, rng: np.random.Generator, share: float = 0.5
) -> tuple[PatternTable, PatternTable]:
    """Count reported records in two parts.

    Each record goes to the first part with probability `share`, else to the second. What is chosen
    on one part does not depend on the other, so that estimates from the other have the stated
    errors.
    """
    check_rate("share", share)
    whole = unweighted_patterns(records, design)
    first = rng.binomial(whole.counts, share).astype(np.int64)
    parts = (first, whole.counts - first)
    if not all(part.any() for part in parts):
        raise DataError(f"{whole.n_records} reported records are too few to split in two parts")
    return whole.with_counts(parts[0]), whole.with_counts(parts[1])


def check_positive(name: str, value: Any) -> None:
    """Raise DataError unless this is a finite number above 0; True and False are none."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 0 < value < math.inf:
        raise DataError(f"{name} must be a number above 0, got {value!r}")


# Codes of true records without a design: learnt from as if reported truthfully.


#: The most categories of a feature without a design; more would not fit in memory.
MOST_CATEGORIES = 2048


def valid_codes(model: Any, X: Any, reset: bool) -> npt.NDArray[Any]:
    """Codes that scikit-learn's validation accepts for a model; `reset` if it is being fitted."""
    codes = validate_data(model, X, dtype="int", reset=reset)
    check_non_negative(codes, f"{type(model).__name__} (input X)")
    return np.asarray(codes)


def attributes_of_codes(
    codes: npt.NDArray[Any], names: Sequence[str] | None = None
) -> list[Attribute]:
    """Attributes for true records without a design: x0, x1, ... unless they have names."""
    if codes.max(initial=0) >= MOST_CATEGORIES:
        raise DataError(
            f"category {codes.max()} is too large: number the categories of a feature from 0 "
            f"on, at most {MOST_CATEGORIES:,}"
        )
    sizes = [max(2, int(column.max(initial=0)) + 1) for column in codes.T]
    labels = [f"x{i}" for i in range(len(sizes))] if names is None else map(str, names)
    return [Attribute(name, range(k)) for name, k in zip(labels, sizes, strict=True)]


def with_target(features: Schema, target: str | None, classes: Sequence[Any]) -> Schema:
    """The schema of these features and the target, which comes last.

    If there is only one class, it has "other" as a second one, which no record has.
    """
    name = free_names([target or "class"], features.names)[target or "class"]
    labels = list(classes) if len(classes) > 1 else [*classes, "other"]
    return Schema([*features, Attribute(name, labels)])


def counted_records(model: LearntModel, X: Any, distinct: bool) -> tuple[PatternTable, Design]:
    """The patterns to learn from and their design; a truthful one if the model has none."""
    if model.design is not None:
        check_design(model.design)
        return reported_patterns(X, None, model.design, "", distinct), model.design
    codes = valid_codes(model, X, reset=True)
    design = truthful_design(Schema(attributes_of_codes(codes)))
    counter = count if distinct else count_or_list
    return counter(encode(codes, design.schema), design.schema), design


def truthful_design(schema: Schema) -> Design:
    """All attributes as they are."""
    return Design(schema, [Group(schema.names, truthful())])
