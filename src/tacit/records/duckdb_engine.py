"""DuckDBFiles: Parquet and Arrow files of any size, counted by DuckDB.

Files whose columns have the same types are counted together. DuckDB would cast the others to the
types of the first file, which could change a label. If DuckDB refuses a file, or a cell has no
category, the files are read again by our own reader, whose error names the file and the record.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tacit.core.arrays import Codes
from tacit.core.frames import ColumnKind, kind_of
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, FileError, MemoryLimitError
from tacit.records import queries
from tacit.records.files import records_in_parquet
from tacit.records.keys import key_runs
from tacit.records.memory_limit import is_limited, limited, needs_more, unfinished
from tacit.records.paths import PARQUET, check_columns, check_parquet, partition_keys
from tacit.records.patterns import common_columns

_NULL = "CAST(NULL AS BIGINT)"
#: Columns that are grouped as they are: it costs less to code their groups than their cells.
_GROUPED_RAW = (ColumnKind.INTEGER, ColumnKind.BOOLEAN)


with optional_imports():
    import duckdb

#: DuckDB's threads each need about this much to group records.
THREAD_BYTES = 96 << 20
BLOCK = 1 << 17  # records


@dataclass(frozen=True)
class FilePart:
    """Files whose columns are of the same kinds, and whether some are in names of directories."""

    files: tuple[Path, ...]
    kinds: tuple[ColumnKind, ...]
    partitioned: bool


class DuckDBFiles(queries.QueryEngine):
    """Files of one kind, all Parquet or all Arrow."""

    def __init__(self, files: Sequence[Path], schema: Schema) -> None:
        super().__init__(schema)
        self.files = list(files)
        self._parquet = self.files[0].name.lower().endswith(PARQUET)
        parts: dict[tuple[tuple[ColumnKind, ...], bool], list[Path]] = {}
        for path in self.files:
            parts.setdefault(self._columns(path), []).append(path)
        self._parts = [FilePart(tuple(same), *columns) for columns, same in parts.items()]

    def column_names(self) -> Sequence[str]:
        names = ([*self._schema_of(path).names, *partition_keys(path)] for path in self.files)
        return common_columns(names)

    def blocks(self) -> Iterator[Codes]:
        for part in self._parts:
            keys = key_columns(self.schema, part.kinds)
            with self._querying(part) as (connection, source):
                query = connection.execute(f"SELECT {keys} FROM {source}")  # runs batch by batch
                for batch in query.to_arrow_reader(BLOCK):
                    if batch.num_rows:
                        yield self._codes(batch)

    def n_records(self) -> int | None:
        return records_in_parquet(self.files) if self._parquet else None

    def _grouped(self, schema: Schema, by: Sequence[str]) -> Any:
        tables = []
        for part in self._parts:
            kinds = [part.kinds[self.schema.index(name)] for name in schema.names]
            with self._querying(part) as (connection, source):
                sql = grouped_keys(schema, kinds, by, source)
                look = partial(self._tell, part, connection)
                tables.append(_fetched(connection, sql, "to_arrow_table", look))
        return pa.concat_tables(tables, promote_options="default")

    def _tell(self, part: FilePart, connection: Any) -> None:
        """Tell how much of all files is done; DuckDB gives -1 if it does not know."""
        percent = connection.query_progress()
        before = sum(len(earlier.files) for earlier in self._parts[: self._parts.index(part)])
        done = before + len(part.files) * percent / 100
        self._progress(math.nan if percent < 0 else done / len(self.files))

    # Files ------------------------------------------------------------------------------------

    def _columns(self, path: Path) -> tuple[tuple[ColumnKind, ...], bool]:
        """The kinds of the columns, and whether some are in the names of directories."""
        if self._parquet:
            check_parquet(path)
        try:
            arrow = self._schema_of(path)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{path}: {str(error).splitlines()[0]}") from None
        keys = partition_keys(path) if self._parquet else {}
        in_path = [name for name in keys if name not in arrow.names]
        columns = [*arrow.names, *in_path]
        check_columns(path, columns, self.schema)
        lower: dict[str, str] = {}
        for name in columns:  # DuckDB would take one for the other
            other = lower.setdefault(name.lower(), name)
            if other != name:
                message = f"DuckDB cannot tell {other!r} from {name!r}; rename a column"
                raise DataError(f"{path}: {message}")
        partitioned = any(name in self.schema for name in in_path)
        both = [name for name in self.schema.names if name in keys and name in arrow.names]
        if partitioned and both:
            raise DataError(f"{path}: {both[0]!r} is a column and in the path; need one of them")
        kinds = (
            kind_of(arrow.field(name).type, name) if name in arrow.names else ColumnKind.TEXT
            for name in self.schema.names
        )
        return tuple(kinds), partitioned

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
                    f"hive_partitioning = {str(part.partitioned).lower()}, "
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
                reason = str(error).splitlines()[0]
                raise FileError(f"{self._shown}: DuckDB cannot read it: {reason}") from None

    @property
    def _shown(self) -> str:
        """The files in an error."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}"

    # Errors -----------------------------------------------------------------------------------

    def _reread(self) -> None:
        """Read the files by our own reader, whose errors name the record."""
        from tacit.records import read_batches

        if not self._parquet or any(part.partitioned for part in self._parts):
            return
        for path in self.files:
            for _ in read_batches(path, self.schema):
                pass

    def _uncoded(self) -> Iterator[tuple[Attribute, int, Any]]:
        self._reread()
        for part in self._parts:
            with self._querying(part) as (connection, source):
                for attribute, kind in zip(self.schema, part.kinds, strict=True):
                    cell = quoted(attribute.name)
                    bad = f"FROM {source} WHERE {code_sql(attribute, kind, cell)} IS NULL"
                    sql = f"SELECT count(*), any_value({cell}) {bad}"
                    n, value = _fetched(connection, sql, "fetchone")
                    if n:
                        yield attribute, n, None if value != value else value  # NaN is missing


def _fetched(
    connection: Any, sql: str, fetch: str, look: Callable[[], object] = lambda: None
) -> Any:
    """The result of a query as this method fetches it; Ctrl-C interrupts the query."""

    def work() -> Any:
        return getattr(connection.execute(sql), fetch)()

    return queries.cancellable(work, connection.interrupt, look)


def _arrow_files(files: Sequence[Path]) -> Any:
    import pyarrow.dataset  # slow to start

    return pyarrow.dataset.dataset([str(path) for path in files], format="ipc")


@contextmanager
def duckdb_connection() -> Iterator[Any]:
    """A new connection with a share of the memory and a temporary folder, closed at the end.

    DuckDB's limit counts most of its memory, but neither results nor what the process has already:
    it gets half of what is left. Beyond it, DuckDB writes to the temporary folder, which is
    removed.
    """
    with (
        TemporaryDirectory(prefix="tacit-duckdb-", ignore_cleanup_errors=True) as folder,
        unfinished(Path(folder)),
        duckdb.connect() as connection,
    ):
        settings: dict[str, str | int | bool] = {
            "preserve_insertion_order": False,
            "enable_progress_bar": True,  # so that it can be asked for
            "enable_progress_bar_print": False,
            "temp_directory": folder,
        }
        if is_limited():
            room = limited(1 << 62, 1 / 2)
            settings["memory_limit"] = f"{room // 1024} KiB"
            settings["threads"] = max(1, min(os.cpu_count() or 1, room // THREAD_BYTES))
        for name, value in settings.items():
            connection.execute(f"SET {name} = {literal_sql(value)}")
        yield connection


# Codes and keys as SQL ----------------------------------------------------------------------


def key_columns(schema: Schema, kinds: Sequence[ColumnKind]) -> str:
    """The key of each run of attributes, "key 0" and so on."""
    codes = [code_sql(a, kind, quoted(a.name)) for a, kind in zip(schema, kinds, strict=True)]
    keys = []
    for number, run in enumerate(key_runs(schema.sizes)):
        key = codes[run.start]
        for i in run[1:]:
            key = f"({key} * {schema.sizes[i]} + {codes[i]})"
        keys.append(f'{key} AS "key {number}"')
    return ", ".join(keys)


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


def code_sql(attribute: Attribute, kind: ColumnKind, cell: str) -> str:
    """The code of an attribute in a cell of this kind, as a BIGINT; NULL without a category."""
    absent = f"{cell} IS NULL"
    if kind == ColumnKind.FLOAT:
        absent = f"({absent} OR isnan({cell}))"
    if attribute.edges and kind.numeric:
        number = f"CAST({cell} AS DOUBLE)"
        above = (f"CAST({number} > {literal_sql(edge)} AS BIGINT)" for edge in attribute.edges)
        code = f"({' + '.join(above)})"
    else:
        code = _looked_up(cell, kind, queries.category_values(attribute, kind))
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


def _looked_up(cell: str, kind: ColumnKind, values: dict[Label, int]) -> str:
    """The code of a value; NULL if it is none of these."""
    if not values or kind == ColumnKind.NULL:
        return _NULL
    if kind == ColumnKind.DECIMAL:
        cell = f"(CASE WHEN {cell} = trunc({cell}) THEN CAST({cell} AS HUGEINT) END)"
    elif kind == ColumnKind.FLOAT:
        cell = f"CAST({cell} AS DOUBLE)"
    first = queries.consecutive(values)
    if first is not None:
        last = first + len(values) - 1
        return (
            f"CASE WHEN {cell} BETWEEN {first} AND {last} THEN CAST({cell} AS BIGINT) - {first} END"
        )
    position = f"nullif(list_position([{', '.join(map(literal_sql, values))}], {cell}), 0)"
    codes = list(values.values())
    if codes == list(range(len(codes))):
        return f"(CAST({position} AS BIGINT) - 1)"
    return f"CAST(list_extract({codes}, {position}) AS BIGINT)"
