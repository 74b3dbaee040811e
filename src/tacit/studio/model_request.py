"""ModelRequest: which model an analyst wants to learn, from a form or a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tacit.core.schema import Schema
from tacit.errors import DataError, unknown

KINDS = {
    "tree": "decision tree",
    "naive_bayes": "naive Bayes",
    "rules": "association rules",
    "clusters": "clusters (latent classes)",
}
#: Kinds that predict one attribute from the others.
CLASSIFIERS = ("tree", "naive_bayes")
CRITERIA = {
    "entropy": "a branch for each answer (ID3)",
    "gini": "one answer against the others (CART)",
}
DEEPEST, MOST_CLASSES = 12, 10


@dataclass(frozen=True)
class ModelRequest:
    """A kind of model with its options; those of other kinds are not used.

    `test_share` of the records are kept for estimates: of accuracy, of rules.
    """

    kind: str
    target: str = ""
    criterion: str = "entropy"
    max_depth: int | None = None
    min_support: float = 0.1
    min_confidence: float = 0.5
    classes: int | None = None
    test_share: float = 1 / 3

    @classmethod
    def of_form(cls, form: Mapping[str, str], schema: Schema) -> ModelRequest:
        """The request of a form, checked; an error names the field."""
        kind = form.get("kind", "")
        if kind not in KINDS:
            raise DataError(unknown("kind of model", kind, tuple(KINDS)))
        if len(schema) < 2:
            raise DataError("a model needs at least two questions")
        target = form.get("target", "")
        if kind in CLASSIFIERS and target not in schema.names:
            raise DataError(unknown("question to predict", target, schema.names))
        criterion = form.get("criterion", "") or "entropy"
        if criterion not in CRITERIA:
            raise DataError(unknown("criterion", criterion, tuple(CRITERIA)))
        return cls(
            kind,
            target if kind in CLASSIFIERS else "",
            criterion,
            _whole(form, "max_depth", "the most conditions", 1, DEEPEST),
            _percent(form, "min_support", "the smallest share of people", 10) / 100,
            _percent(form, "min_confidence", "the smallest confidence", 50) / 100,
            _whole(form, "classes", "the number of clusters", 1, MOST_CLASSES),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def title(self) -> str:
        """The model in a few words."""
        name = KINDS[self.kind]
        named = name[0].upper() + name[1:]
        return f"{named} for {self.target}" if self.target else named


def _whole(form: Mapping[str, str], key: str, what: str, least: int, most: int) -> int | None:
    text = form.get(key, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most:
        raise DataError(
            f"{what} is a whole number from {least} to {most}, or empty, got {text!r:.40}"
        )
    return int(text)


def _percent(form: Mapping[str, str], key: str, what: str, default: float) -> float:
    text = form.get(key, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not 0 < value < 100:
        raise DataError(f"{what} is a number above 0 and below 100, got {text!r:.40}")
    return value
