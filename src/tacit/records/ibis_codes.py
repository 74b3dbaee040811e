"""Codes and keys of records as Ibis expressions, for any of its backends.

A label is looked up in a constant array. The code of a cell without a category is null, and so is
the key of its record: nothing is counted as something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Label, Schema
from tacit.records.category_values import (
    ColumnKind,
    category_values,
    consecutive,
    wrong_type,
)
from tacit.records.record_keys import key_runs

with optional_imports():
    import ibis


def key_expressions(table: Any, schema: Schema, kinds: Sequence[ColumnKind]) -> dict[str, Any]:
    """The key of each run of attributes, by the name of its column."""
    codes = [code_expression(table[a.name], a, k) for a, k in zip(schema, kinds, strict=True)]
    keys = {}
    for number, run in enumerate(key_runs(schema.sizes)):
        key = codes[run.start]
        for place in run[1:]:
            key = key * ibis.literal(schema.sizes[place], "int64") + codes[place]
        keys[f"key_{number}"] = key
    return keys


def code_expression(cell: Any, attribute: Attribute, kind: ColumnKind) -> Any:
    """The code of an attribute in a column of this kind, as a 64-bit integer."""
    nothing = ibis.null("int64")
    absent = absent_cell(cell, kind)
    if attribute.edges and kind.numeric:
        number = cell.cast("float64")
        one, none = ibis.literal(1, "int64"), ibis.literal(0, "int64")
        code = sum(ibis.ifelse(number > edge, one, none) for edge in attribute.edges)
    else:
        code = _looked_up(cell, kind, category_values(attribute, kind))
    missing = nothing
    if attribute.missing is not None:
        missing = ibis.literal(attribute.code(attribute.missing), "int64")
    return ibis.ifelse(absent, missing, code)


def absent_cell(cell: Any, kind: ColumnKind) -> Any:
    """Whether a cell is missing."""
    return cell.isnull() | cell.isnan() if kind == ColumnKind.FLOAT else cell.isnull()


def _looked_up(cell: Any, kind: ColumnKind, values: dict[Label, int]) -> Any:
    """The code of a value; null if it is none of these."""
    nothing = ibis.null("int64")
    if not values or kind == ColumnKind.NULL:
        return nothing
    if kind in (ColumnKind.INTEGER, ColumnKind.DECIMAL):
        whole = cell.cast("int64")
        if kind == ColumnKind.DECIMAL:
            whole = ibis.ifelse(cell == cell.floor(), whole, nothing)
        cell = whole
    elif kind == ColumnKind.FLOAT:
        cell = cell.cast("float64")
    first = consecutive(values)
    if first is not None and kind != ColumnKind.FLOAT:
        inside = cell.between(first, first + len(values) - 1)
        return ibis.ifelse(inside, cell - ibis.literal(first, "int64"), nothing)
    return _searched(cell, kind, values)


def _searched(cell: Any, kind: ColumnKind, values: dict[Label, int]) -> Any:
    """The code of a value in an array of values.

    Some backends take 0.5 for a decimal, which is not found in an array of floats; floats are
    compared one by one.
    """
    nothing = ibis.null("int64")
    if kind == ColumnKind.FLOAT:
        codes = ((cell == value, ibis.literal(code, "int64")) for value, code in values.items())
        return ibis.cases(*codes, else_=nothing)
    types = {ColumnKind.TEXT: "string", ColumnKind.BOOLEAN: "boolean"}
    known = ibis.literal(list(values), f"array<{types.get(kind, 'int64')}>")
    place = known.index(cell).cast("int64")
    found = ibis.ifelse(place >= 0, place, nothing)
    own = list(values.values())
    if own == list(range(len(own))):
        return found
    listed = ibis.literal(own, "array<int64>")
    return ibis.ifelse(found.isnull(), nothing, listed[found])


def kind_of_ibis(found: Any, name: str) -> ColumnKind:
    """What the cells of a column are; an error if they cannot be labels."""
    kinds = {
        "string": ColumnKind.TEXT,
        "boolean": ColumnKind.BOOLEAN,
        "integer": ColumnKind.INTEGER,
        "floating": ColumnKind.FLOAT,
        "decimal": ColumnKind.DECIMAL,
        "null": ColumnKind.NULL,
    }
    for kind, own in kinds.items():
        if getattr(found, f"is_{kind}")():
            return own
    raise wrong_type(name, found)
