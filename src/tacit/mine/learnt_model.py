"""LearntModel: the base of all models learnt from reported records; a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.output.table import Table


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
        own = self.html() if hasattr(self, "fingerprint_") else None
        if own is None:
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": own}

    @property
    def _repr_html_(self) -> Any:
        return lambda: self._repr_mimebundle_()["text/html"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
