"""DuckDBFiles: Parquet and Arrow files of any size, counted by DuckDB.

Files whose columns have the same types are counted together. DuckDB would cast the others to the
types of the first file, which could change a label. If DuckDB refuses a file, or a cell has no
category, the files are read again by our own reader, whose error names the file and the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.parquet

from tacit.core.arrays import Codes
from tacit.core.frames import integers
from tacit.core.imports import optional_imports
from tacit.core.schema import Schema
from tacit.errors import DataError, EngineError, FileError, MemoryLimitError
from tacit.records import Progress
from tacit.records.cancellation import cancellable
from tacit.records.category_values import (
    ColumnKind,
    missing_values,
    unknown_value,
    wrong_type,
)
from tacit.records.count_engine import PatternsBy, check_by, patterns_of_keys
from tacit.records.distinct import combined, merged
from tacit.records.duckdb_codes import code_sql, grouped_keys, key_columns, literal_sql, quoted
from tacit.records.duckdb_connection import duckdb_connection
from tacit.records.file_engine import FileEngine
from tacit.records.memory_limit import needs_more
from tacit.records.paths import PARQUET, check_columns, check_parquet
from tacit.records.patterns import PatternTable
from tacit.records.record_files import partition_keys
from tacit.records.record_keys import codes_of_keys
from tacit.records.record_reader import records_in_parquet

with optional_imports():
    import duckdb

BLOCK = 1 << 17  # records


class PartColumns(NamedTuple):
    """What the columns of a file are, and whether some are in the names of its directories."""

    kinds: tuple[ColumnKind, ...]
    partitioned: bool


@dataclass(frozen=True)
class FilePart:
    """Files whose columns have the same types."""

    files: tuple[Path, ...]
    columns: PartColumns

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What the columns of the attributes are."""
        return self.columns.kinds


class DuckDBFiles(FileEngine):
    """Files of one kind, all Parquet or all Arrow."""

    def __init__(
        self, files: Sequence[Path], schema: Schema, progress: Progress | None = None
    ) -> None:
        super().__init__(files, schema, progress)
        self._parquet = self.files[0].name.lower().endswith(PARQUET)
        self._parts = self._parts_of(self.files)

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        tables = (self._part_patterns(part, schema) for part in self._parts)
        counted = ((table.patterns, table.counts) for table in tables)
        return PatternTable(schema, *combined(counted, partial(merged, sizes=schema.sizes)))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        check_by(columns, self.column_names())
        found = [self._grouped(part, self.schema, columns) for part in self._parts]
        table = pa.concat_tables(found, promote_options="default")
        codes = codes_of_keys(self._keys(table), self.schema)
        patterns = PatternTable(self.schema, codes, integers(table.column("n")))
        own = table.select([f"by {name}" for name in columns])
        return PatternsBy(patterns, own.rename_columns(list(columns)))

    def columns_of(self, path: Path) -> Sequence[str]:
        return [*self._schema_of(path).names, *partition_keys(path)]

    def blocks(self) -> Iterator[Codes]:
        for part in self._parts:
            keys = key_columns(self.schema, part.kinds)
            with self._querying(part) as (connection, source):
                asked = connection.execute(f"SELECT {keys} FROM {source}")  # runs batch by batch
                for batch in asked.to_arrow_reader(BLOCK):
                    if batch.num_rows:
                        table = pa.Table.from_batches([batch])
                        yield codes_of_keys(self._keys(table), self.schema)

    def n_records(self) -> int | None:
        return sum(map(records_in_parquet, self.files)) if self._parquet else None

    def _part_patterns(self, part: FilePart, schema: Schema) -> PatternTable:
        table = self._grouped(part, schema, ())
        return patterns_of_keys(schema, self._keys(table), integers(table.column("n")))

    def _grouped(self, part: FilePart, schema: Schema, by: Sequence[str]) -> Any:
        """How often the keys occur, as an Arrow table."""
        kinds = [part.kinds[self.schema.index(name)] for name in schema.names]
        with self._querying(part) as (connection, source):
            sql = grouped_keys(schema, kinds, by, source)
            look = partial(self._tell, part, connection)
            return _fetched(connection, sql, "to_arrow_table", look)

    def _tell(self, part: FilePart, connection: Any) -> None:
        """Tell how much of all files is done; DuckDB gives -1 if it does not know."""
        if self._progress is None:
            return
        percent = connection.query_progress()
        before = sum(len(own.files) for own in self._parts[: self._parts.index(part)])
        own = len(part.files) * percent / 100
        self._progress(math.nan if percent < 0 else (before + own) / len(self.files))

    def _keys(self, table: Any) -> list[Any]:
        """The key columns of a result; an error if a record has a cell without a category."""
        names = [name for name in table.column_names if name.startswith("key ")]
        columns = [table.column(name) for name in names]
        if any(column.null_count for column in columns):
            self._refuse()
        return [integers(column) for column in columns]

    # Files ------------------------------------------------------------------------------------

    def _parts_of(self, files: Sequence[Path]) -> list[FilePart]:
        """Files by the types of their columns; reads only what describes the files."""
        found: dict[PartColumns, list[Path]] = {}
        for path in files:
            found.setdefault(self._columns(path), []).append(path)
        return [FilePart(tuple(own), columns) for columns, own in found.items()]

    def _columns(self, path: Path) -> PartColumns:
        if self._parquet:
            check_parquet(path)
        try:
            own = self._schema_of(path)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{path}: {str(error).splitlines()[0]}") from None
        keys = partition_keys(path) if self._parquet else {}
        in_path = [name for name in keys if name not in own.names]
        columns = [*own.names, *in_path]
        check_columns(path, columns, self.schema)
        _check_case(path, columns)
        partitioned = any(name in self.schema for name in in_path)
        both = [name for name in self.schema.names if name in keys and name in own.names]
        if partitioned and both:
            raise DataError(f"{path}: {both[0]!r} is a column and in the path; need one of them")
        kinds = (
            kind_of_arrow(own.field(name).type, name) if name in own.names else ColumnKind.TEXT
            for name in self.schema.names
        )
        return PartColumns(tuple(kinds), partitioned)

    def _schema_of(self, path: Path) -> Any:
        return pa.parquet.read_schema(path) if self._parquet else _arrow_files([path]).schema

    @contextmanager
    def _querying(self, part: FilePart) -> Iterator[tuple[Any, str]]:
        """A connection, and what to select from."""
        with duckdb_connection() as connection:
            if self._parquet:
                paths = ", ".join(literal_sql(str(path)) for path in part.files)
                source = (
                    f"read_parquet([{paths}], union_by_name = false, "
                    f"hive_partitioning = {str(part.columns.partitioned).lower()}, "
                    "hive_types_autocast = false)"
                )
            else:
                connection.register("records", _arrow_files(part.files))
                source = "records"
            try:
                yield connection, source
            except (duckdb.OutOfMemoryException, MemoryError) as error:
                raise needs_more() or MemoryLimitError(
                    f"{self._shown}: DuckDB needs more memory than there is: "
                    f"{str(error).splitlines()[0]}"
                ) from None
            except (duckdb.Error, pa.ArrowException) as error:
                self._reread()
                said = str(error).splitlines()[0]
                raise FileError(f"{self._shown}: DuckDB cannot read it: {said}") from None

    @property
    def _shown(self) -> str:
        """The files in an error."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}"

    # Errors -----------------------------------------------------------------------------------

    def _reread(self) -> None:
        """Read the files by our own reader, whose errors name the record."""
        from tacit.records import read_batches

        if not self._parquet or any(part.columns.partitioned for part in self._parts):
            return
        for path in self.files:
            for _ in read_batches(path, self.schema):
                pass

    def _refuse(self) -> NoReturn:
        """Raise the error for a cell that has no category."""
        self._reread()
        for part in self._parts:
            with self._querying(part) as (connection, source):
                for attribute, kind in zip(self.schema, part.kinds, strict=True):
                    cell = quoted(attribute.name)
                    bad = f"FROM {source} WHERE {code_sql(attribute, kind, cell)} IS NULL"
                    known = f"SELECT any_value({cell}), count(*) {bad} AND {cell} IS NOT NULL"
                    found = _fetched(connection, known, "fetchone")
                    if found[1] and found[0] == found[0]:  # not NaN
                        raise unknown_value(found[0], attribute)
                    (n,) = _fetched(connection, f"SELECT count(*) {bad}", "fetchone")
                    if n:
                        raise missing_values(n, attribute)
        raise EngineError(f"{self._shown}: DuckDB found cells without a category, then none")


def _fetched(
    connection: Any, sql: str, fetch: str, look: Callable[[], object] = lambda: None
) -> Any:
    """The result of a query as this method fetches it; Ctrl-C interrupts the query."""

    def work() -> Any:
        return getattr(connection.execute(sql), fetch)()

    return cancellable(work, connection.interrupt, look)


def _check_case(path: Path, columns: Sequence[str]) -> None:
    """Raise if two columns differ in case only: DuckDB would take one for the other."""
    known: dict[str, str] = {}
    for name in columns:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise DataError(f"{path}: DuckDB cannot tell {other!r} from {name!r}; rename a column")


def _arrow_files(files: Sequence[Path]) -> Any:
    import pyarrow.dataset  # slow to start

    return pyarrow.dataset.dataset([str(path) for path in files], format="ipc")


def kind_of_arrow(found: Any, name: str) -> ColumnKind:
    """What the cells of an Arrow column are; an error if they cannot be labels."""
    types = pa.types
    if types.is_dictionary(found):
        return kind_of_arrow(found.value_type, name)
    tests = {
        ColumnKind.TEXT: (types.is_string, types.is_large_string, types.is_string_view),
        ColumnKind.BOOLEAN: (types.is_boolean,),
        ColumnKind.INTEGER: (types.is_integer,),
        ColumnKind.FLOAT: (types.is_floating,),
        ColumnKind.DECIMAL: (types.is_decimal,),
        ColumnKind.NULL: (types.is_null,),
    }
    for kind, own in tests.items():
        if any(test(found) for test in own):
            return kind
    raise wrong_type(name, found)
