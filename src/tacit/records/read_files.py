"""ReadFiles: CSV and Parquet files, read batch by batch and counted with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.records import Progress
from tacit.records.count_engine import PatternsBy
from tacit.records.file_engine import FileEngine
from tacit.records.grouped_columns import numbers_if_possible
from tacit.records.memory import count_batches, listed
from tacit.records.paths import CSV, CSV_GZ, PARQUET, kind_of
from tacit.records.patterns import PatternTable


class ReadFiles(FileEngine):
    """Files that are read one after the other; it takes the memory of one batch."""

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        return count_batches(self._batches(schema), schema)

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        """Those of DuckDB for Parquet; else every record is a pattern, in the memory of all."""
        if kind_of(self.files[0]) == PARQUET and find_spec("duckdb"):
            from tacit.records.duckdb_files import DuckDBFiles

            return DuckDBFiles(self.files, self.schema).patterns_by(columns)
        import pyarrow as pa

        from tacit.records import read_batches_by

        parts = [
            part
            for place, path in enumerate(self.files)
            for part in read_batches_by(path, self.schema, columns, self._of(place))
        ]
        codes = np.concatenate([own.T for own, _ in parts], axis=1).T
        tables = [_plain(table) for _, table in parts]
        found = pa.concat_tables(tables, promote_options="permissive")
        if kind_of(self.files[0]) in (CSV, CSV_GZ):
            found = numbers_if_possible(found)
        return PatternsBy(listed(codes, self.schema), found, in_order=True)

    def columns_of(self, path: Path) -> Sequence[str]:
        from tacit.records.record_reader import file_columns

        return file_columns(path)

    def blocks(self) -> Iterator[Codes]:
        return self._batches(self.schema)

    def n_records(self) -> int | None:
        if kind_of(self.files[0]) != PARQUET:
            return None
        from tacit.records.record_reader import records_in_parquet

        return sum(map(records_in_parquet, self.files))

    def _batches(self, schema: Schema) -> Iterator[Codes]:
        from tacit.records import read_batches

        parts = (read_batches(path, schema, self._of(i)) for i, path in enumerate(self.files))
        return chain.from_iterable(parts)

    def _of(self, place: int) -> Progress | None:
        """The progress of one file as that of all."""
        if self._progress is None:
            return None
        tell, n = self._progress, len(self.files)
        return lambda done: tell((place + done) / n)


def _plain(table: Any) -> Any:
    """Columns without dictionaries, which may differ between batches; ordered ones are kept."""
    import pyarrow as pa

    return pa.table(
        {
            field.name: table.column(field.name).cast(field.type.value_type)
            if pa.types.is_dictionary(field.type) and not field.type.ordered
            else table.column(field.name)
            for field in table.schema
        }
    )
