"""Codes and keys of records as DuckDB SQL.

The code of a cell without a category is NULL, and so is the key of its record: nothing is counted
as something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.attribute import Attribute, Label
from tacit.counting.category_values import ColumnKind, category_values, consecutive
from tacit.counting.record_keys import key_runs
from tacit.schema import Schema

#: The text of an absent cell; the order in which the cells of an expression are tried.
_NULL = "CAST(NULL AS BIGINT)"


def key_columns(schema: Schema, kinds: Sequence[ColumnKind]) -> list[str]:
    """The key of each run of attributes, as expressions."""
    codes = [code_sql(a, kind) for a, kind in zip(schema, kinds, strict=True)]
    keys = []
    for run in key_runs(schema.sizes):
        key = codes[run.start]
        for place in run[1:]:
            key = f"({key} * {schema.sizes[place]} + {codes[place]})"
        keys.append(key)
    return keys


def code_sql(attribute: Attribute, kind: ColumnKind) -> str:
    """The code of an attribute in a column of this kind, as a BIGINT."""
    cell = quoted(attribute.name)
    absent = f"{cell} IS NULL"
    if kind == ColumnKind.FLOAT:
        absent = f"({absent} OR isnan({cell}))"
    if attribute.edges and kind.numeric:
        code = _binned(cell, attribute.edges)
    else:
        code = _looked_up(cell, kind, category_values(attribute, kind))
    missing = _NULL if attribute.missing is None else str(attribute.code(attribute.missing))
    if missing == _NULL and kind != ColumnKind.FLOAT:
        return code
    return f"CASE WHEN {absent} THEN {missing} ELSE {code} END"


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal_sql(value: Label) -> str:
    """A label in SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def _binned(cell: str, edges: Sequence[float]) -> str:
    """How many edges the number is above."""
    number = f"CAST({cell} AS DOUBLE)"
    above = (f"CAST({number} > {literal_sql(edge)} AS BIGINT)" for edge in edges)
    return f"({' + '.join(above)})"


def _looked_up(cell: str, kind: ColumnKind, values: dict[Label, int]) -> str:
    """The code of a value; NULL if it is none of these."""
    if not values or kind == ColumnKind.NULL:
        return _NULL
    if kind == ColumnKind.DECIMAL:
        cell = f"(CASE WHEN {cell} = trunc({cell}) THEN CAST({cell} AS HUGEINT) END)"
    elif kind == ColumnKind.FLOAT:
        cell = f"CAST({cell} AS DOUBLE)"
    first = consecutive(values)
    if first is not None:
        last = first + len(values) - 1
        return (
            f"CASE WHEN {cell} BETWEEN {first} AND {last} THEN CAST({cell} AS BIGINT) - {first} END"
        )
    whens = " ".join(f"WHEN {literal_sql(value)} THEN {code}" for value, code in values.items())
    return f"CAST(CASE {cell} {whens} END AS BIGINT)"
