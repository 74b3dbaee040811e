"""Where a regression gets its records: every row of a frame, or distinct rows with their counts.

Counts come from any engine (see `engine_choice`), from a count file or from a pattern table: only
the attributes and columns that a model uses are counted, where the records are.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.label_codes import decode, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, MissingAnswersError
from tacit.reconstruction.plain_patterns import checked_plain
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns, count_answers
from tacit.reconstruction.sampling.sample_columns import Sampling
from tacit.records import (
    CountEngine,
    Origin,
    PatternTable,
    check_origin,
    count_reported,
    engine_of,
    read_frame,
)
from tacit.records.counts import check_origins
from tacit.records.engine_choice import is_counts, is_remote, is_url
from tacit.records.grouped_columns import grouped
from tacit.records.record_files import ARROW, is_pattern


@dataclass(frozen=True, eq=False)
class SourceRows:
    """A narwhals frame or an array of codes, and how many records each row stands for.

    No counts: every row is a record.
    """

    rows: Any
    counts: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def expanded(self) -> SourceRows:
        """Every record as a row of its own, in any order."""
        if self.counts is None:
            return self
        places = np.repeat(np.arange(len(self)), self.counts.astype(np.intp))
        return SourceRows(self.rows[places])

    @property
    def native(self) -> Any:
        """The frame as its own library has it."""
        return self.rows if isinstance(self.rows, np.ndarray) else self.rows.to_native()


class RecordSource(ABC):
    """Reported records of a design."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of the columns that rows may have."""

    @abstractmethod
    def of(self, names: Sequence[str]) -> SourceRows:
        """Rows with these attributes and columns, perhaps with others."""

    def rows_of(self, names: Sequence[str], sampling: Sampling) -> SourceRows:
        """The same; with a row per record in a sample."""
        asked = list(dict.fromkeys([*names, *sampling.columns]))
        if not sampling or isinstance(self, FrameSource):
            return self.of(asked)
        if not sampling.by_name:
            raise DataError(
                "weights, strata and clusters of counted records must be names of columns"
            )
        return self.of(asked).expanded()


@dataclass(frozen=True, eq=False)
class FrameSource(RecordSource):
    """Records in memory."""

    rows: Any

    @property
    def columns(self) -> Sequence[str]:
        return () if isinstance(self.rows, np.ndarray) else tuple(self.rows.columns)

    def of(self, names: Sequence[str]) -> SourceRows:
        return SourceRows(self.rows)


@dataclass(frozen=True, eq=False)
class CountSource(RecordSource):
    """Counts of the attributes of the design alone."""

    table: PatternTable

    @property
    def columns(self) -> Sequence[str]:
        return ()

    def of(self, names: Sequence[str]) -> SourceRows:
        if isinstance(self.table, IncompletePatterns):
            return _rows(self.table.counted, None, self.table.schema)
        return SourceRows(self.table.patterns, self.table.counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class EngineSource(RecordSource):
    """Records that an engine counts."""

    records: Any
    design: Design

    @cached_property
    def _engine(self) -> CountEngine:
        return engine_of(self.records, self.design.reported, design=self.design.fingerprint)

    @property
    def columns(self) -> Sequence[str]:
        return self._engine.column_names()

    def of(self, names: Sequence[str]) -> SourceRows:
        """The distinct rows of these attributes and columns."""
        schema, design = self.design.reported, self.design
        known = [name for name in names if name in design.schema]
        asked = known or [design.schema.names[0]]
        reports = design.channel(design.closure(asked)).reported.names
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
        if schema == self._engine.schema.subset(schema.names):
            return _rows(self._engine.patterns(schema.names), None, self.design.reported)
        return _rows(engine_of(self.records, schema).patterns(), None, self.design.reported)


def _rows(found: PatternTable, columns: Any, schema: Schema) -> SourceRows:
    """Patterns as a frame of labels with other columns beside; missing answers are null."""
    import pyarrow as pa

    from tacit.core import frames

    table = decode(found.patterns, found.schema, "pyarrow")
    for place, name in enumerate(found.schema.names):
        absent = found.patterns[:, place] >= schema[name].size
        if absent.any():
            cells = pa.array(table.column(name).to_pylist(), mask=absent)
            table = table.set_column(place, name, cells)
    for name in () if columns is None else columns.columns:
        table = table.append_column(name, frames.column(columns, name))
    return SourceRows(frames.open_frame(table), found.counts.astype(np.float64))


def source_of(data: Any, design: Design) -> RecordSource:
    """The records that were given: a frame, an array of codes, or what `reconstruct` takes."""
    if isinstance(data, PatternTable):
        if data.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return CountSource(checked_plain(data))
    if is_counts(data) or (is_url(data) and "#" not in data):  # attributes of the design alone
        counted = partial(count_reported, data, design, True)
        return CountSource(count_answers(counted, design.reported))
    if is_remote(data) or is_url(data):
        return EngineSource(data, design)
    if isinstance(data, str | os.PathLike):
        return _file_source(Path(data), design)
    from tacit.core import frames

    return FrameSource(data if isinstance(data, np.ndarray) else frames.open_frame(data))


def _file_source(path: Path, design: Design) -> RecordSource:
    """Every record of one file; several files are counted."""
    from tacit.core import frames

    if path.is_dir() or is_pattern(path) or path.suffix in ARROW:
        check_origins(path, design)
        return EngineSource(path, design)
    check_origin(path, Origin(design.fingerprint))
    return FrameSource(frames.open_frame(read_frame(path)))
