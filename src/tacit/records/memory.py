"""Records in memory, counted with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.label_codes import encode, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.records import patterns
from tacit.records.keys import counted, distinct
from tacit.records.patterns import CountEngine, PatternsBy, PatternTable

BLOCK = 1 << 17  # records
#: Records that are sorted at once if their cells do not fit 64 bits.
SORTED = 1 << 20


def count(codes: Codes, schema: Schema) -> PatternTable:
    """The table of distinct records with multiplicities, exact for any schema.

    `codes` are records x attributes, each code below the size of its attribute, as encode makes
    them. No records: an error, there is nothing to estimate from.
    """
    _check(codes, schema)
    batches = (codes[i : i + SORTED] for i in range(0, len(codes), SORTED))
    return PatternTable(schema, *counted(batches, schema.sizes, len(codes)))


def count_codes(codes: Codes, schema: Schema) -> PatternTable:
    """Count the codes of a store; the code after the last category is a missing answer."""
    if (codes < np.array(schema.sizes)).all():
        return count(codes, schema)
    return patterns.answers_of(count(codes, with_no_answer(schema)), schema)


def count_or_list(codes: Codes, schema: Schema) -> PatternTable:
    """The same if records repeat; else every record as a pattern of its own, not sorted.

    Sorting many records that are nearly all distinct takes long and saves nothing.
    """
    _check(codes, schema)
    if not patterns.mostly_distinct(codes, schema.sizes):
        return count(codes, schema)
    return patterns.listed(codes, schema)


def _check(codes: Codes, schema: Schema) -> None:
    if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
        came = getattr(codes, "dtype", type(codes).__name__)
        raise DataError(f"codes must be an array of integers, got {came}")
    if codes.ndim != 2 or codes.shape[1] != len(schema.names):
        came = " x ".join(map(str, codes.shape))
        raise DataError(f"codes must be records x {len(schema.names)} attributes, got {came}")
    if not len(codes):
        raise DataError("there are no records to count; at least one is needed")


def grouped(codes: Codes, schema: Schema, table: Any) -> PatternsBy:
    """The distinct rows of codes and of an Arrow table of undisguised columns."""
    import pyarrow as pa

    from tacit.core import frames

    columns = [frames.distinct(column) for column in table.columns]
    rows = np.column_stack([codes, *(column.positions for column in columns)])
    sizes = (*schema.sizes, *(max(2, len(column.values)) for column in columns))
    joint, counts = distinct(rows.astype(np.uint64), sizes)
    width = len(schema)
    values = [
        pa.array(column.values, field.type).take(pa.array(positions))
        for column, positions, field in zip(columns, joint.T[width:], table.schema, strict=True)
    ]
    others = pa.table(values, names=table.column_names)
    return PatternsBy(PatternTable(schema, joint[:, :width], counts), others)


def numbers_if_possible(table: Any) -> Any:
    """Columns of text, as CSV files have them, as numbers where every cell is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, name in enumerate(table.column_names):
        plain = table.column(i).cast(pa.string())
        padded = pc.any(pc.match_substring_regex(plain, r"^[+-]?0[0-9]|^\s|\s$")).as_py()
        cells = plain
        if not padded and plain.null_count < len(plain):
            for kind in (pa.float64(), pa.int64()):
                with suppress(pa.ArrowInvalid):
                    cells = plain.cast(kind)
        table = table.set_column(i, name, cells)
    return table


class FrameRecords(CountEngine):
    """Records in memory."""

    def __init__(self, records: Any, schema: Schema) -> None:
        super().__init__(schema)
        self._records = records
        self._codes = encode(records, schema)

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        if names is None:
            return count(self._codes, self.schema)
        places = [self.schema.index(name) for name in names]
        return count(self._codes[:, places], self.schema.subset(names))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        if isinstance(self._records, np.ndarray):
            raise DataError("an array of codes has no undisguised columns; give a frame")
        import pyarrow as pa

        from tacit.core import frames

        patterns.check_by(columns, self.column_names())
        frame = frames.open_frame(self._records)
        table = pa.table({name: frames.column(frame, name) for name in columns})
        return grouped(self._codes, self.schema, table)

    def column_names(self) -> Sequence[str]:
        if isinstance(self._records, np.ndarray):
            return self.schema.names
        from tacit.core import frames

        return list(frames.open_frame(self._records).columns)

    def blocks(self) -> Iterator[Codes]:
        for start in range(0, len(self._codes), BLOCK):
            yield self._codes[start : start + BLOCK]

    def fitting_patterns(self, distinct: bool = True) -> PatternTable:
        return (count if distinct else count_or_list)(self._codes, self.schema)
