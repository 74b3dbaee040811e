"""Records in memory, counted with NumPy.

A schema of few cells is counted cell by cell; otherwise blocks of records are sorted and their
tables merged. Beside the records and the result this takes some tens of megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.label_codes import encode, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.records.keys import (
    COLUMN_BLOCK,
    KEY_CELLS,
    Counted,
    all_keys,
    combined,
    distinct,
    distinct_keys,
    key_blocks,
    merged,
    merged_keys,
    smallest,
    split,
)
from tacit.records.patterns import (
    CountEngine,
    PatternsBy,
    PatternTable,
    answers_of,
    check_by,
    listed,
    mostly_distinct,
)

DENSE_CELLS = 1 << 22  # 16 MB of counts
ALWAYS_DENSE = 1 << 16
SORT_BLOCK = 1 << 20  # records
BUFFERED = 1 << 22  # keys that are sorted at once if records come in batches


def count(codes: Codes, schema: Schema) -> PatternTable:
    """The table of distinct records with multiplicities, exact for any schema.

    `codes` are records x attributes, each code below the size of its attribute, as encode makes
    them. No records: an error, there is nothing to estimate from.
    """
    _check(codes, schema)
    return PatternTable(schema, *_counter(len(codes), schema.sizes)(codes, schema.sizes))


def count_batches(batches: Iterable[Codes], schema: Schema) -> PatternTable:
    """The same from batches of codes, at least one; takes the memory of a batch and of the table.

    Each record becomes a key at once, and keys become patterns only at the end.
    """
    sizes = schema.sizes
    cells = math.prod(sizes)
    if cells <= DENSE_CELLS:
        return PatternTable(schema, *_cells_of(batches, sizes, np.uint64))
    if cells <= KEY_CELLS:
        keys, counts = combined(_key_tables(batches, sizes), merged_keys)
        return PatternTable(schema, split(keys, sizes), counts)
    tables = (distinct(codes, sizes) for codes in batches)
    return PatternTable(schema, *combined(tables, partial(merged, sizes=sizes)))


def count_codes(codes: Codes, schema: Schema) -> PatternTable:
    """Count the codes of a store; the code after the last category is a missing answer."""
    if (codes < np.array(schema.sizes)).all():
        return count(codes, schema)
    return answers_of(count(codes, with_no_answer(schema)), schema)


def count_or_list(codes: Codes, schema: Schema) -> PatternTable:
    """The same if records repeat; else every record as a pattern of its own, not sorted.

    Sorting many records that are nearly all distinct takes long and saves nothing.
    """
    _check(codes, schema)
    if not mostly_distinct(codes, schema.sizes):
        return count(codes, schema)
    return listed(codes, schema)


def _counter(n: int, sizes: tuple[int, ...]) -> Callable[[Codes, tuple[int, ...]], Counted]:
    """The way to count n records of this schema."""
    cells = math.prod(sizes)
    if cells <= min(DENSE_CELLS, max(ALWAYS_DENSE, 4 * n)):
        return _by_cell
    return _by_key if cells <= KEY_CELLS else _by_rank


def _check(codes: Codes, schema: Schema) -> None:
    if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
        came = getattr(codes, "dtype", type(codes).__name__)
        raise DataError(f"codes must be an array of integers, got {came}")
    if codes.ndim != 2 or codes.shape[1] != len(schema.names):
        came = " x ".join(map(str, codes.shape))
        raise DataError(f"codes must be records x {len(schema.names)} attributes, got {came}")
    if not len(codes):
        raise DataError("there are no records to count; at least one is needed")


def _by_cell(codes: Codes, sizes: tuple[int, ...]) -> Counted:
    """Few cells: add 1 to the cell of each record. Narrow counts keep the table in the cache."""
    return _cells_of([codes], sizes, np.uint32 if len(codes) < 1 << 32 else np.uint64)


def _cells_of(
    batches: Iterable[Codes], sizes: tuple[int, ...], kind: type[np.unsignedinteger[Any]]
) -> Counted:
    table = np.zeros(math.prod(sizes), kind)
    index = np.empty(COLUMN_BLOCK, np.intp)
    for codes in batches:
        for keys in key_blocks(codes, sizes, in_order=False):
            index[: len(keys)] = keys
            np.add.at(table, index[: len(keys)], kind(1))
    cells = np.flatnonzero(table)
    keys = cells.astype(smallest(len(table)))
    return split(keys, sizes), table[cells].astype(np.int64)


def _key_tables(batches: Iterable[Codes], sizes: tuple[int, ...]) -> Iterator[Counted]:
    """Tables of distinct keys, each of so many records that a sort is worth it."""
    room = np.empty(BUFFERED, smallest(math.prod(sizes)))
    used = 0
    for codes in batches:
        for keys in key_blocks(codes, sizes, in_order=False):
            if used + len(keys) > BUFFERED:
                yield distinct_keys(room[:used])
                used = 0
            room[used : used + len(keys)] = keys
            used += len(keys)
    yield distinct_keys(room[:used])


def _by_key(codes: Codes, sizes: tuple[int, ...]) -> Counted:
    """At most 2^64 cells: sort the keys."""
    keys, counts = _in_blocks(
        codes, lambda block: distinct_keys(all_keys(block, sizes)), merged_keys
    )
    return split(keys, sizes), counts


def _by_rank(codes: Codes, sizes: tuple[int, ...]) -> Counted:
    """Any number of cells: sort the records."""
    return _in_blocks(codes, partial(distinct, sizes=sizes), partial(merged, sizes=sizes))


def _in_blocks(
    codes: Codes,
    table: Callable[[Codes], Counted],
    merge: Callable[[Sequence[Counted]], Counted],
) -> Counted:
    """One table from those of blocks.

    Where most records of the first block are distinct the table will be about as long as the
    records: blocks would save no memory and all are sorted at once.
    """
    first = table(codes[:SORT_BLOCK])
    if len(codes) > SORT_BLOCK and 2 * len(first[1]) > SORT_BLOCK:
        return table(codes)
    others = range(SORT_BLOCK, len(codes), SORT_BLOCK)
    rest = (table(codes[start : start + SORT_BLOCK]) for start in others)
    return combined(chain([first], rest), merge)


def grouped(codes: Codes, schema: Schema, table: Any) -> PatternsBy:
    """The distinct rows of codes and of an Arrow table of undisguised columns."""
    import pyarrow as pa

    from tacit.core import frames

    columns = [frames.distinct(column) for column in table.columns]
    rows = np.column_stack([codes, *(column.positions for column in columns)])
    sizes = (*schema.sizes, *(max(2, len(column.values)) for column in columns))
    patterns, counts = distinct(rows.astype(np.uint64), sizes)
    width = len(schema)
    values = [
        pa.array(column.values, field.type).take(pa.array(positions))
        for column, positions, field in zip(columns, patterns.T[width:], table.schema, strict=True)
    ]
    return PatternsBy(
        PatternTable(schema, patterns[:, :width], counts),
        pa.table(values, names=table.column_names),
    )


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


BLOCK = 1 << 17  # records


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

        check_by(columns, self.column_names())
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

    def patterns_or_records(self) -> PatternTable:
        return count_or_list(self._codes, self.schema)
