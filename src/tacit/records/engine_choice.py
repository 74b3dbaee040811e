"""Which engine counts: it follows from what is passed.

array of codes, pandas, Polars, PyArrow frame       NumPy
CSV file, glob or directory                         our reader, NumPy
Parquet file, glob or directory                     our reader; large ones DuckDB
Arrow files, partitioned directories                DuckDB
Ibis table of any backend, Spark frame              the backend, through Ibis
postgresql://...                                    PostgreSQL
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tacit.core.imports import optional_imports
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.records import Progress
from tacit.records.count_engine import CountEngine
from tacit.records.frame_records import FrameRecords
from tacit.records.paths import CSV, CSV_GZ, check_readable, kind_of
from tacit.records.read_files import ReadFiles
from tacit.records.record_files import ARROW, partition_keys, record_files

#: The suffix of count files (see `count_file`).
COUNTS = ".counts"
#: Parquet files with fewer cells take our reader less processor time than DuckDB, and seconds.
FEWEST_CELLS = 1 << 28
_DATABASES = ("postgresql://", "postgres://")


def is_url(records: object) -> bool:
    """Whether this is the address of a database."""
    return isinstance(records, str) and "://" in records


def is_counts(records: object) -> bool:
    """Whether this is the path of a count file."""
    return isinstance(records, str | os.PathLike) and str(records).lower().endswith(COUNTS)


def is_remote(records: object) -> bool:
    """Whether these are records that an engine holds: an Ibis table or a frame of Spark."""
    return type(records).__module__.partition(".")[0] in ("ibis", "pyspark")


def engine_of(
    records: Any, schema: Schema, progress: Progress | None = None, design: str | None = None
) -> CountEngine:
    """The engine for records of this schema; `design` is the fingerprint that they belong to."""
    if is_remote(records):
        return _remote_engine(records, schema, progress)
    if is_url(records):
        if not records.startswith(_DATABASES):
            scheme = records.partition("://")[0]
            raise DataError(f"{scheme}://...: not a database that tacit knows; give postgresql://")
        with optional_imports():
            from tacit.records.database_records import database_records
        return database_records(records, schema, design, progress)
    if isinstance(records, str | os.PathLike):
        return file_engine(record_files(records), schema, progress)
    return FrameRecords(records, schema)


def file_engine(
    files: Sequence[Path], schema: Schema, progress: Progress | None = None
) -> CountEngine:
    """The engine for files of one kind."""
    by_path = any(name in schema for path in files for name in partition_keys(path))
    arrow = files[0].suffix in ARROW
    if not arrow and kind_of(files[0]) in (CSV, CSV_GZ):
        return ReadFiles(files, schema, progress)
    for path in files:
        check_readable(path)
    if arrow:
        return _duckdb_engine(files, schema, progress)
    known = [_outline(path) for path in files]
    # Programs that write directories also write files without records.
    kept = [path for path, own in zip(files, known, strict=True) if own.records] or files[:1]
    if by_path:
        return _duckdb_engine(kept, schema, progress)
    cells = len(schema) * sum(own.records for own in known)
    if cells >= FEWEST_CELLS and find_spec("duckdb") and all(own.plain for own in known):
        return _duckdb_engine(kept, schema, progress)
    return ReadFiles(kept, schema, progress)


class _Outline(NamedTuple):
    """The number of records of a Parquet file, and whether DuckDB can read the file."""

    records: int
    plain: bool


def _outline(path: Path) -> _Outline:
    """DuckDB takes signs in a path for a glob, and columns that differ in case for the same."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        found = pa.parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return _Outline(1, False)  # our reader says what is wrong
    names = [name.lower() for name in found.schema.names]
    plain = len(set(names)) == len(names) and not any(sign in str(path) for sign in "*?[")
    return _Outline(int(found.num_rows), plain)


def _duckdb_engine(files: Sequence[Path], schema: Schema, progress: Progress | None) -> CountEngine:
    with optional_imports():
        from tacit.records.duckdb_files import DuckDBFiles
    return DuckDBFiles(files, schema, progress)


def _remote_engine(records: Any, schema: Schema, progress: Progress | None) -> CountEngine:
    with optional_imports():
        from tacit.records.ibis_records import IbisRecords, SparkRecords, table_of_spark
    if type(records).__module__.startswith("pyspark"):
        records = table_of_spark(records)
    if not hasattr(records, "schema") or not hasattr(records, "group_by"):
        raise DataError(f"records are of type {type(records).__name__}; need a table")
    spark = records.get_backend().name == "pyspark"
    return (SparkRecords if spark else IbisRecords)(records, schema, progress)
