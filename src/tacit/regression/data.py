"""Records and columns as a regression takes them.

A column has numbers, or categories with their order. A truthful attribute of the design keeps the
order of its categories; one whose labels are numbers is a number. Text is sorted; a categorical
column keeps its own order. Categories that no record uses are dropped, because their coefficients
could not be estimated.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Mask
from tacit.core.design import Design
from tacit.core.label_codes import absent_cells, decode, encode, with_no_answer
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, MissingAnswersError
from tacit.reconstruction.sampling.sampled_records import Sampling
from tacit.records import (
    Origin,
    PatternTable,
    check_origin,
    check_origins,
    count_answers,
    count_reported,
    engine_of,
    read_frame,
)
from tacit.records.memory import grouped
from tacit.records.paths import ARROW, is_counts, is_pattern, is_remote, is_url

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; NaN where a cell is missing."""

    values: npt.NDArray[Any]

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return np.asarray(np.isnan(self.values))

    def take(self, used: Mask) -> NumberColumn:
        """The column of these records."""
        return NumberColumn(self.values[used])


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Categories, and the code of each record; -1 where a cell is missing.

    `ordered` says whether the order of the categories means something.
    """

    categories: tuple[Label, ...]
    codes: npt.NDArray[np.signedinteger[Any]]
    ordered: bool = True

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return self.codes < 0

    def take(self, used: Mask) -> CategoryColumn:
        """The column of these records, without the categories that none of them uses."""
        codes = self.codes[used]
        present = np.unique(codes[codes >= 0])
        lookup = np.full(len(self.categories) + 1, -1, np.int32)
        lookup[present] = np.arange(len(present))
        names = tuple(self.categories[code] for code in present)
        return CategoryColumn(names, lookup[codes], self.ordered)


Column = NumberColumn | CategoryColumn


def plain_column(frame: nw.DataFrame[Any], name: str) -> Column:
    """A column that is no attribute of the design."""
    import pyarrow as pa

    from tacit.core import frames

    array = frames.column(frame, name)
    if frames.is_numeric(array):
        values = frames.numbers(array)
        if np.isinf(values).any():
            record = int(np.isinf(values).argmax())
            raise DataError(f"column {name!r}: infinite at record {record} (counting from 0)")
        whole = pa.types.is_integer(array.type) and not np.isnan(values).any()
        return NumberColumn(values.astype(np.int64) if whole else values)
    seen = frames.distinct(array)
    labels = sorted({value for value in seen.values if value is not None})
    if pa.types.is_dictionary(array.type):
        labels = list(dict.fromkeys(value for value in seen.values if value is not None))
    codes = {label: code for code, label in enumerate(labels)}
    lookup = np.array([codes.get(value, -1) for value in seen.values], np.int32)
    ordered = frames.is_ordered(array) or len(labels) < 3
    return CategoryColumn(tuple(labels), lookup[seen.positions], ordered)


def exact_column(records: Any, attribute: Attribute, schema: Schema) -> Column:
    """An attribute that is not disguised."""
    cells, missing_cells = attribute_codes(records, schema, [attribute.name])
    codes, absent = cells[:, 0].astype(np.intp), missing_cells[:, 0]
    numeric = all(type(label) in (int, float) for label in attribute.categories)
    if numeric and attribute.missing is None:
        values = np.array(attribute.categories)[codes]
        return NumberColumn(np.where(absent, np.nan, values) if absent.any() else values)
    missing = -1 if attribute.missing is None else attribute.code(attribute.missing)
    return CategoryColumn(attribute.categories, np.where(absent | (codes == missing), -1, codes))


def attribute_codes(records: Any, schema: Schema, names: Sequence[str]) -> tuple[Codes, Mask]:
    """The codes of these reported attributes, records x names, and which answers are missing."""
    if isinstance(records, np.ndarray):
        codes = encode(records, schema)[:, [schema.index(name) for name in names]]
        return codes, np.zeros(codes.shape, bool)
    part = schema.subset(names)
    try:
        codes = encode(records, part)
    except MissingAnswersError:
        return absent_cells(encode(records, with_no_answer(part)), part)
    return codes, np.zeros(codes.shape, bool)


def numbers_of(attribute: Attribute) -> Array | None:
    """The labels of an attribute as numbers; None if they are none."""
    kinds = {type(label) for label in attribute.categories}
    numeric = kinds <= {int, float} or kinds == {bool}
    return np.array(attribute.categories, np.float64) if numeric else None


def as_categories(column: Column) -> CategoryColumn:
    """A column of numbers as categories, in increasing order."""
    if isinstance(column, CategoryColumn):
        return column
    labels, codes = np.unique(column.values, return_inverse=True)
    return CategoryColumn(tuple(labels.tolist()), codes)


# Where a regression gets its records: every row of a frame, or distinct rows with their counts.
# Counts come from any engine (see `records.engines`), from a count file or from a pattern table:
# only the attributes and columns that a model uses are counted, where the records are.


@dataclass(frozen=True, eq=False)
class SourceRows:
    """A narwhals frame or an array of codes, and how many records each row stands for.

    No counts: every row is a record.
    """

    rows: Any
    counts: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return () if isinstance(self.rows, np.ndarray) else tuple(self.rows.columns)

    @property
    def native(self) -> Any:
        """The frame as its own library has it."""
        return self.rows if isinstance(self.rows, np.ndarray) else self.rows.to_native()


@dataclass(frozen=True, eq=False)
class EngineSource:
    """Records that an engine counts."""

    records: Any
    design: Design

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return engine_of(self.records, self.design.reported, design=self.design).column_names()

    def distinct(self, names: Sequence[str]) -> SourceRows:
        """The distinct rows of these attributes and columns."""
        schema, design = self.design.reported, self.design
        attributes = [name for name in names if name in design.schema] or [design.schema.names[0]]
        reports = design.channel(design.jointly_reported(attributes)).reported.names
        others = [name for name in names if name not in design.schema]
        used = schema.subset([name for name in schema.names if name in reports])
        try:
            return self._counted(used, others)
        except MissingAnswersError:
            return self._counted(with_no_answer(used), others)

    def _counted(self, schema: Schema, others: Sequence[str]) -> SourceRows:
        from tacit.core import frames

        if others:
            by = engine_of(self.records, schema).patterns_by(others)
            if by.in_order:  # every record by itself
                by = grouped(by.patterns.patterns, schema, by.columns)
            return _rows(by.patterns, frames.open_frame(by.columns), self.design.reported)
        return _rows(engine_of(self.records, schema).patterns(), None, self.design.reported)


RecordSource = SourceRows | EngineSource


def rows_of(source: RecordSource, names: Sequence[str], sampling: Sampling) -> SourceRows:
    """Rows with these attributes and columns, perhaps with others; a row per record in a sample."""
    if isinstance(source, EngineSource):
        rows = source.distinct(list(dict.fromkeys([*names, *sampling.columns])))
    else:
        rows = source
    if not sampling or rows.counts is None:
        return rows
    if not sampling.by_name:
        raise DataError("weights, strata and clusters of counted records must be names of columns")
    return SourceRows(rows.rows[np.repeat(np.arange(len(rows)), rows.counts.astype(np.intp))])


def _rows(counted: PatternTable, columns: Any, schema: Schema) -> SourceRows:
    """Patterns as a frame of labels with other columns beside; missing answers are null."""
    import pyarrow as pa

    from tacit.core import frames

    table = decode(counted.patterns, counted.schema, "pyarrow")
    for axis, name in enumerate(counted.schema.names):
        absent = counted.patterns[:, axis] >= schema[name].size
        if absent.any():
            cells = pa.array(table.column(name).to_pylist(), mask=absent)
            table = table.set_column(axis, name, cells)
    for name in () if columns is None else columns.columns:
        table = table.append_column(name, frames.column(columns, name))
    return SourceRows(frames.open_frame(table), counted.counts.astype(np.float64))


def source_of(data: Any, design: Design) -> RecordSource:
    """The records that were given: a frame, an array of codes, or what `reconstruct` takes."""
    from tacit.core import frames

    if isinstance(data, PatternTable):
        if data.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return _counted_rows(data.refuse(weights=True))
    if is_counts(data) or (is_url(data) and "#" not in data):  # attributes of the design alone
        counted = partial(count_reported, data, design, True)
        return _counted_rows(count_answers(counted, design.reported))
    if is_remote(data) or is_url(data):
        return EngineSource(data, design)
    if isinstance(data, np.ndarray):
        return SourceRows(data)
    if not isinstance(data, str | os.PathLike):
        return SourceRows(frames.open_frame(data))
    path = Path(data)
    if path.is_dir() or is_pattern(path) or path.suffix in ARROW:  # several files are counted
        check_origins(path, design)
        return EngineSource(path, design)
    check_origin(path, Origin(design.fingerprint))
    return SourceRows(frames.open_frame(read_frame(path)))


def _counted_rows(table: PatternTable) -> SourceRows:
    if table.absent is not None:
        return _rows(table.with_no_answer(), None, table.schema)
    return SourceRows(table.patterns, table.counts.astype(np.float64))
