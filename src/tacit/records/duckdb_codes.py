"""Codes and keys of records as DuckDB SQL.

The code of a cell without a category is NULL, and so is the key of its record: nothing is counted
as something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.core.schema import Attribute, Label, Schema
from tacit.records.category_values import ColumnKind, category_values, consecutive
from tacit.records.record_keys import key_runs

_NULL = "CAST(NULL AS BIGINT)"
#: Columns that are grouped as they are: it costs less to code their groups than their cells.
_GROUPED_RAW = (ColumnKind.INTEGER, ColumnKind.BOOLEAN)


def key_columns(schema: Schema, kinds: Sequence[ColumnKind]) -> str:
    """The key of each run of attributes, "key 0" and so on."""
    cells = [quoted(name) for name in schema.names]
    coded = zip(schema, kinds, cells, strict=True)
    return _keys(schema, [code_sql(a, kind, cell) for a, kind, cell in coded])


def grouped_keys(
    schema: Schema, kinds: Sequence[ColumnKind], by: Sequence[str], source: str
) -> str:
    """The query of the keys and columns `by`, with the count "n"; keys may repeat."""
    columns = [f'{quoted(name)} AS "by {name}"' for name in by]
    if any(a.edges or kind not in _GROUPED_RAW for a, kind in zip(schema, kinds, strict=True)):
        chosen = ", ".join([key_columns(schema, kinds), *columns])
        return f"SELECT {chosen}, count(*) AS n FROM {source} GROUP BY ALL"
    cells = ", ".join([*map(quoted, schema.names), *columns])
    groups = f'SELECT {cells}, count(*) AS "count of records" FROM {source} GROUP BY ALL'
    chosen = ", ".join([key_columns(schema, kinds), *(f'"by {name}"' for name in by)])
    return f'SELECT {chosen}, "count of records" AS n FROM ({groups})'


def _keys(schema: Schema, codes: Sequence[str]) -> str:
    """Mixed-radix keys from codes."""
    keys = []
    for number, run in enumerate(key_runs(schema.sizes)):
        key = codes[run.start]
        for place in run[1:]:
            key = f"({key} * {schema.sizes[place]} + {codes[place]})"
        keys.append(f'{key} AS "key {number}"')
    return ", ".join(keys)


def code_sql(attribute: Attribute, kind: ColumnKind, cell: str) -> str:
    """The code of an attribute in a cell of this kind, as a BIGINT."""
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
    known = ", ".join(map(literal_sql, values))
    place = f"list_position([{known}], {cell})"
    codes = list(values.values())
    if codes == list(range(len(codes))):
        return f"(CAST(nullif({place}, 0) AS BIGINT) - 1)"
    return f"CAST(list_extract({codes}, nullif({place}, 0)) AS BIGINT)"
