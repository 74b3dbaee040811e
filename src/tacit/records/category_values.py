"""Which values of a column stand for the categories of an attribute, by the type of the column.

Labels are compared by their text (see `tacit.core.schema`): 1, 1.0 and "1" are the same label.
An engine compares values of one type: here are the values of that type whose text is a category.
"""

from __future__ import annotations

import math
from enum import Enum
from itertools import pairwise

from tacit.core.label_codes import missing_advice
from tacit.core.schema import Attribute, Label, text
from tacit.errors import DataError, MissingAnswersError, unknown

_INT64 = 1 << 63


class ColumnKind(Enum):
    """What the cells of a column are."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    NULL = "null"

    @property
    def numeric(self) -> bool:
        """Whether the cells are numbers; booleans are not."""
        return self in (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.DECIMAL)


def category_values(attribute: Attribute, kind: ColumnKind) -> dict[Label, int]:
    """The values of a column of this kind that are categories, each with its code."""
    found: dict[Label, int] = {}
    for label, code in attribute.codes.items():
        value = _value(label, kind)
        if value is not None:
            found[value] = code
    return found


def consecutive(values: dict[Label, int]) -> int | None:
    """The integer of code 0, if the values are consecutive integers in the order of their codes."""
    ordered = sorted(values, key=lambda value: values[value])
    if not ordered or list(values.values()) != list(range(len(values))):
        return None
    if any(type(value) is not int for value in ordered):
        return None
    whole = [int(value) for value in ordered]
    return whole[0] if all(b == a + 1 for a, b in pairwise(whole)) else None


def unknown_value(value: object, attribute: Attribute) -> DataError:
    """The error for a cell that is no category; the engine does not know its place."""
    where = f" of attribute {attribute.name!r}"
    hint = "" if isinstance(value, str | bool | int) else "; bin numbers with tacit.core.binning"
    return DataError(unknown("category", value, attribute.categories, where) + hint)


def missing_values(n: int, attribute: Attribute) -> DataError:
    """The error for missing cells of an attribute that has no category for them."""
    name = attribute.name
    return MissingAnswersError(f"attribute {name!r}: {n} missing cells; {missing_advice(name)}")


def wrong_type(name: str, found: object) -> DataError:
    """The error for a column whose cells cannot be labels."""
    allowed = "text, categorical, boolean, integer or float"
    return DataError(f"attribute {name!r}: its column is of type {found}; allowed: {allowed}")


def _value(label: str, kind: ColumnKind) -> Label | None:
    """The value of this kind whose text is the label; None if there is none."""
    if kind == ColumnKind.TEXT:
        return label
    if kind == ColumnKind.BOOLEAN:
        return {"True": True, "False": False}.get(label)
    try:
        number = float(label) if kind == ColumnKind.FLOAT else int(label)
    except ValueError:
        return None
    if not math.isfinite(number) or (isinstance(number, int) and abs(number) >= _INT64):
        return None
    return number if text(number) == label else None
