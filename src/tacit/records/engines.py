"""Count records wherever they are. Which engine counts follows from what is passed.

array of codes, pandas, Polars, PyArrow frame       NumPy
CSV file, glob or directory                         our reader, NumPy
Parquet file, glob or directory                     our reader; large ones DuckDB
Arrow files, partitioned directories                DuckDB
Ibis table of any backend, Spark frame              the backend, through Ibis
postgresql://...                                    PostgreSQL
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.imports import optional_imports
from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, SchemaError
from tacit.records import Progress, paths
from tacit.records.designs import Origin, check_origin
from tacit.records.keys import counted
from tacit.records.memory import FrameRecords, numbers_if_possible
from tacit.records.patterns import CountEngine, PatternsBy, PatternTable, common_columns, listed

#: Parquet files with fewer cells take our reader less processor time than DuckDB, and seconds.
FEWEST_CELLS = 1 << 28
_DATABASES = ("postgresql://", "postgres://")
#: The category of cells that are missing, and the most categories of a column.
MISSING, MOST = "missing", 1000


def count_records(
    records: Any, schema: Schema, progress: Progress | None = None, distinct: bool = True
) -> PatternTable:
    """The pattern table of records: a frame, codes, files, or what an engine holds.

    `records` is a data frame, an integer array of codes, the path of a CSV, Parquet or Arrow file,
    a glob, a directory, an Ibis table, a Spark frame or postgresql://USER@HOST/NAME#TABLE. Files
    take the memory of one batch and of the distinct patterns, however many records there are.
    `progress` is called with the share that is done. Unless patterns must be `distinct`, records
    that hardly repeat are not sorted.
    """
    return engine_of(records, schema).telling(progress).fitting_patterns(distinct)


def count_reported(
    records: Any, design: Design, distinct: bool = True, schema: Schema | None = None
) -> PatternTable:
    """The pattern table of reported records; refuses files that another design made.

    `records` may also be the path of a count file. `schema` is given if it is not the design's.
    """
    if paths.is_counts(records):
        from tacit.records.count_file import counts_of_design  # Arrow is slow to start

        return counts_of_design(Path(records), design.fingerprint)
    check_origins(records, design)
    return engine_of(records, schema or design.reported, design).fitting_patterns(distinct)


def with_columns(records: Any, design: Design, columns: Sequence[str]) -> Design:
    """The design with these columns of its records as further attributes, in truthful groups.

    These undisguised columns are then counted with the reports. The categories are the values that
    occur; they are counted first, without the reports.
    """
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise SchemaError(f"columns must be a list of names, got {columns!r}")
    names = list(columns)
    for i, name in enumerate(names):
        if name in design.schema or name in design.reported:
            raise SchemaError(f"{name!r} is part of the design already; leave it out of columns")
        if name in names[:i]:
            raise SchemaError(f"column {name!r} is given twice; give it once")
    if paths.is_counts(records) or isinstance(records, PatternTable):
        raise DataError(
            f"counts have no column {names[0]!r}, only attributes of the design; give the records"
        )
    if isinstance(records, np.ndarray):
        raise DataError("an array of codes has no undisguised columns; give a frame")
    check_origins(records, design)
    from tacit.core.schema import listed_attributes  # Arrow is slow to start

    schema = with_no_answer(design.reported.subset(design.reported.names[:1]))
    values = engine_of(records, schema).patterns_by(names).columns
    attributes = listed_attributes(values, MISSING, MOST)
    groups = [Group([attribute.name], truthful()) for attribute in attributes]
    return Design(Schema([*design.schema, *attributes]), [*design.groups, *groups], design.asked_if)


def check_origins(records: Any, design: Design) -> None:
    """Raise if a file holds reports of another design."""
    if isinstance(records, str | os.PathLike) and not paths.is_url(records):
        for path in paths.record_files(records):
            if path.suffix not in paths.ARROW:
                check_origin(path, Origin(design.fingerprint))


def engine_of(records: Any, schema: Schema, design: Design | None = None) -> CountEngine:
    """The engine for records of this schema; `design` is the design that they belong to."""
    if paths.is_remote(records):
        with optional_imports():
            from tacit.records.ibis_engine import IbisRecords, SparkRecords, table_of_spark
        if type(records).__module__.startswith("pyspark"):
            records = table_of_spark(records)
        if not hasattr(records, "schema") or not hasattr(records, "group_by"):
            raise DataError(f"records are of type {type(records).__name__}; need a table")
        spark = records.get_backend().name == "pyspark"
        return (SparkRecords if spark else IbisRecords)(records, schema)
    if paths.is_url(records):
        if not records.startswith(_DATABASES):
            scheme = records.partition("://")[0]
            raise DataError(f"{scheme}://...: not a database that tacit knows; give postgresql://")
        with optional_imports():
            from tacit.records.database_engine import database_records
        return database_records(records, schema, design)
    if isinstance(records, str | os.PathLike):
        return file_engine(paths.record_files(records), schema)
    return FrameRecords(records, schema)


def file_engine(files: Sequence[Path], schema: Schema) -> CountEngine:
    """The engine for files of one kind."""
    by_path = any(name in schema for path in files for name in paths.partition_keys(path))
    arrow = files[0].suffix in paths.ARROW
    if not arrow and paths.kind_of(files[0]) in (paths.CSV, paths.CSV_GZ):
        return ReadFiles(files, schema)
    for path in files:
        paths.check_readable(path)
    if arrow:
        return _duckdb_engine(files, schema)
    records, plain = zip(*map(_outline, files), strict=True)
    large = len(schema) * sum(records) >= FEWEST_CELLS and all(plain)
    # Programs that write directories also write files without records.
    full = [path for path, n_records in zip(files, records, strict=True) if n_records]
    if by_path or (large and find_spec("duckdb")):
        return _duckdb_engine(full or files[:1], schema)
    return ReadFiles(full or files[:1], schema)


def _outline(path: Path) -> tuple[int, bool]:
    """The number of records of a Parquet file, and whether DuckDB can read the file.

    DuckDB takes signs in a path for a glob, and columns that differ in case for the same.
    """
    import pyarrow as pa
    import pyarrow.parquet

    try:
        metadata = pa.parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return 1, False  # our reader says what is wrong
    names = [name.lower() for name in metadata.schema.names]
    plain = len(set(names)) == len(names) and not any(sign in str(path) for sign in "*?[")
    return int(metadata.num_rows), plain


def _duckdb_engine(files: Sequence[Path], schema: Schema) -> CountEngine:
    with optional_imports():
        from tacit.records.duckdb_engine import DuckDBFiles
    return DuckDBFiles(files, schema)


class ReadFiles(CountEngine):
    """Files that are read one after the other; it takes the memory of one batch."""

    def __init__(self, files: Sequence[Path], schema: Schema) -> None:
        super().__init__(schema)
        self.files = list(files)

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        return PatternTable(schema, *counted(self._batches(schema), schema.sizes))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        """Those of DuckDB for Parquet; else every record is a pattern, in the memory of all."""
        if paths.kind_of(self.files[0]) == paths.PARQUET and find_spec("duckdb"):
            from tacit.records.duckdb_engine import DuckDBFiles

            return DuckDBFiles(self.files, self.schema).patterns_by(columns)
        import pyarrow as pa

        from tacit.records import read_batches_by

        batches = [
            batch
            for path, progress in self._with_progress()
            for batch in read_batches_by(path, self.schema, columns, progress)
        ]
        codes = np.concatenate([batch.T for batch, _ in batches], axis=1).T
        tables = [_without_dictionaries(table) for _, table in batches]
        values = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
        if paths.kind_of(self.files[0]) in (paths.CSV, paths.CSV_GZ):
            values = numbers_if_possible(values)
        return PatternsBy(listed(codes, self.schema), values, in_order=True)

    def column_names(self) -> Sequence[str]:
        from tacit.records.files import file_columns

        return common_columns(map(file_columns, self.files))

    def blocks(self) -> Iterator[Codes]:
        return self._batches(self.schema)

    def n_records(self) -> int | None:
        if paths.kind_of(self.files[0]) != paths.PARQUET:
            return None
        from tacit.records.files import records_in_parquet

        return records_in_parquet(self.files)

    def _batches(self, schema: Schema) -> Iterator[Codes]:
        from tacit.records import read_batches

        for path, progress in self._with_progress():
            yield from read_batches(path, schema, progress)

    def _with_progress(self) -> Iterator[tuple[Path, Progress]]:
        """The files, each with its part of the progress."""
        for i, path in enumerate(self.files):
            yield path, paths.file_progress(self._progress, i, len(self.files))


def _without_dictionaries(table: Any) -> Any:
    """Plain columns, as DuckDB gives them: the order of a dictionary means nothing unless it says.

    Otherwise the reference category of a regression would depend on which engine counts.
    """
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered:
            plain = table.column(i).cast(field.type.value_type)
            table = table.set_column(i, field.name, plain)
    return table
