"""Counts by undisguised columns of records in memory: the distinct rows, with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.records.count_engine import PatternsBy
from tacit.records.distinct import distinct
from tacit.records.patterns import PatternTable


def grouped(codes: Codes, schema: Schema, table: Any) -> PatternsBy:
    """The distinct rows of codes and of an Arrow table of other columns."""
    import pyarrow as pa

    from tacit.core import frames

    seen = [frames.distinct(column) for column in table.columns]
    rows = np.column_stack([codes, *(own.positions for own in seen)])
    sizes = (*schema.sizes, *(max(2, len(own.values)) for own in seen))
    found, counts = distinct(rows.astype(np.int64), sizes)
    width = len(schema)
    values = [
        pa.array(own.values, field.type).take(pa.array(places))
        for own, places, field in zip(seen, found.T[width:], table.schema, strict=True)
    ]
    patterns = PatternTable(schema, found[:, :width], counts)
    return PatternsBy(patterns, pa.table(values, names=table.column_names))


def numbers_if_possible(table: Any) -> Any:
    """Columns of text, as CSV files have them, as numbers where every cell is one."""
    import pyarrow as pa

    columns = [_number_column(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _number_column(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = column.cast(pa.string())
    padded = pc.any(pc.match_substring_regex(plain, r"^[+-]?0[0-9]|^\s|\s$")).as_py()
    for kind in () if padded or plain.null_count == len(plain) else (pa.int64(), pa.float64()):
        try:
            return plain.cast(kind)
        except pa.ArrowInvalid:
            continue
    return plain
