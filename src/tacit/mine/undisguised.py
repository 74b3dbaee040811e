"""Codes of true records without a design: learnt from as if reported truthfully."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_non_negative, validate_data

from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError

#: The most categories of a feature without a design.
MOST_CATEGORIES = 1000


def valid_codes(model: Any, X: Any, reset: bool) -> npt.NDArray[Any]:
    """Codes that scikit-learn's validation accepts for a model; `reset` if it is being fitted."""
    found = validate_data(model, X, dtype="int", reset=reset)
    check_non_negative(found, f"{type(model).__name__} (input X)")
    return np.asarray(found)


def design_of_codes(codes: npt.NDArray[Any]) -> Design:
    """A truthful design for these codes, with attributes x0, x1, ..."""
    if codes.max(initial=0) >= MOST_CATEGORIES:
        raise DataError(
            f"category {codes.max()} is too large: number the categories of a feature from 0 "
            f"on, at most {MOST_CATEGORIES:,}"
        )
    sizes = [max(2, int(column.max(initial=0)) + 1) for column in codes.T]
    return truthful_design(Schema([Attribute(f"x{i}", range(k)) for i, k in enumerate(sizes)]))


def truthful_design(schema: Schema) -> Design:
    """All attributes as they are."""
    return Design(schema, [Group(schema.names, truthful())])
