"""Classifier: any fitted model, with codes as input and output.

Input of a model: an array of codes of all attributes but the target, in the order of the
schema; a frame of labels, if the model was fitted on a frame with named columns (it then has
`feature_names_in_`), with these columns. A model of tacit always gets codes.

Output: a model that is given labels, or is tacit's, predicts labels; one that is given codes
predicts codes. If its classes (`classes_`, else its predictions) do not fit that, the other
interpretation is used, so a model fitted on codes with labels as classes works too.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes, Mask
from tacit.core.label_codes import decode
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, SchemaError, unknown

Predicted = npt.NDArray[np.intp]


class Classifier:
    """A model and the attribute it predicts."""

    def __init__(self, model: Any, schema: Schema, target: str | None = None) -> None:
        if not callable(getattr(model, "predict", None)):
            raise DataError(f"model must have a predict method, got {type(model).__name__}")
        self._model = model
        model = _innermost(model)
        self.target = schema[_target(model, target)]
        self._target_column = schema.index(self.target.name)
        features = getattr(model, "features_", None)
        tacit = isinstance(features, Schema)
        named = None if tacit else getattr(model, "feature_names_in_", None)
        if not isinstance(features, Schema):
            features = _features(named, schema, self.target)
        self._features = features
        for feature in self._features:
            if schema[feature.name] != feature:
                raise SchemaError(
                    f"the model was learnt with other categories of {feature.name!r} than the "
                    "design has"
                )
        self._columns = [schema.index(name) for name in self._features.names]
        self._given_labels = named is not None
        self._labels_first = tacit or self._given_labels

    def predict(self, records: Codes) -> Predicted:
        """The codes of the categories that the model predicts for true records."""
        given: Any = np.ascontiguousarray(records[:, self._columns])
        if self._given_labels:
            # The data frame library to build frames with; scikit-learn supports both.
            backend = "pandas" if find_spec("pandas") else "polars"
            given = decode(given, self._features, backend)
        answers = np.asarray(self._model.predict(given))
        if answers.shape != (len(records),):
            raise DataError(
                f"predict must give one class for each of {len(records)} records, got an array of "
                f"shape {answers.shape}"
            )
        return self._codes(answers)

    def correct(self, records: Codes) -> Mask:
        """Whether the model predicts the target's category, record by record."""
        right: Mask = self.predict(records) == self.truth(records)
        return right

    def truth(self, records: Codes) -> Predicted:
        """The target's codes."""
        return records[:, self._target_column].astype(np.intp)

    def _codes(self, answers: npt.NDArray[Any]) -> Predicted:
        """Predictions as codes, by the interpretation that fits the model's classes."""
        classes = np.unique(getattr(self._model, "classes_", answers))
        positions = np.searchsorted(classes, answers).clip(max=len(classes) - 1)
        strange = answers[classes[positions] != answers]
        labelled = [self.target.find(label) for label in classes]
        fitting: list[Any] = [] if None in labelled else [labelled]
        if classes.dtype.kind in "iuf" and np.isin(classes, np.arange(self.target.size)).all():
            fitting.append(classes)
        if len(strange) or not fitting:
            odd = strange if len(strange) else [c for c in classes if self.target.find(c) is None]
            where = f" predicted for attribute {self.target.name!r}"
            plain = odd[0].item() if isinstance(odd[0], np.generic) else odd[0]
            raise DataError(unknown("category", plain, self.target.categories, where))
        codes = np.array(fitting[0] if self._labels_first else fitting[-1], np.intp)
        return np.asarray(codes[positions])


def _innermost(model: Any) -> Any:
    """The model that a search selected, or the last step of a pipeline."""
    if hasattr(model, "best_estimator_"):
        return _innermost(model.best_estimator_)
    steps = getattr(model, "steps", None)
    return _innermost(steps[-1][1]) if isinstance(steps, list) and len(steps) == 1 else model


def _target(model: Any, target: str | None) -> str:
    """The name of the target: as given, else that of the model."""
    stated = getattr(model, "target", None) or getattr(model, "target_", None)
    if target is None and stated is None:
        raise SchemaError("the model does not say what it predicts; give target='attribute name'")
    if target is not None and isinstance(stated, str) and stated != target:
        raise SchemaError(f"the model predicts {stated!r}, not target {target!r}")
    return str(stated if target is None else target)


def _features(named: Any, schema: Schema, target: Attribute) -> Schema:
    """The attributes that the model is given, in its order."""
    if named is None:
        named = [name for name in schema.names if name != target.name]
    if len(named) == 0:
        raise SchemaError(f"the design has no attribute to predict {target.name!r} from")
    if target.name in named:
        raise SchemaError(
            f"the model was fitted with its target {target.name!r} among the features"
        )
    return schema.subset([str(name) for name in named])
