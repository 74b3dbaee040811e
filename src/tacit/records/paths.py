"""Where records are: files by suffix, databases by address; one-line errors if unreadable."""

from __future__ import annotations

import csv
import glob
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.core.schema import Schema
from tacit.errors import DataError, FileError, unknown

#: Called with the share of the work that is done, from 0 to 1; NaN if that is not known.
Progress = Callable[[float], None]

CSV, CSV_GZ, PARQUET = ".csv", ".csv.gz", ".parquet"
SUFFIXES = (CSV, CSV_GZ, PARQUET)
UNREADABLE = (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error)
PARQUET_MARK = b"PAR1"
#: Files of Arrow memory, which only an engine reads.
ARROW = (".arrow", ".feather")
#: The suffix of count files (see `count_file`).
COUNTS = ".counts"
_GLOB = "*?["


def kind_of(path: Path) -> str:
    """The kind of a file of records, by its suffix."""
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise FileError(f"{path}: unknown suffix {path.suffix!r}; allowed: {', '.join(SUFFIXES)}")


def is_url(records: object) -> bool:
    """Whether this is the address of a database."""
    return isinstance(records, str) and "://" in records


def is_counts(records: object) -> bool:
    """Whether this is the path of a count file."""
    return isinstance(records, str | os.PathLike) and str(records).lower().endswith(COUNTS)


def is_remote(records: object) -> bool:
    """Whether these are records that an engine holds: an Ibis table or a frame of Spark."""
    return type(records).__module__.partition(".")[0] in ("ibis", "pyspark")


def check_readable(path: Path) -> None:
    """Raise if there is no such file, or if it is empty."""
    with reading(path):
        if path.is_dir():
            raise FileError(f"{path}: is a directory; need a file")
        if not path.exists():
            raise FileError(f"{path}: no such file")
        if not path.is_file():
            raise FileError(f"{path}: is not a regular file")
        if path.stat().st_size == 0:
            raise FileError(f"{path}: the file is empty")


def check_parquet(path: Path) -> None:
    """Raise if a Parquet file is empty or truncated."""
    check_readable(path)
    with path.open("rb") as stream:
        head = stream.read(len(PARQUET_MARK))
        stream.seek(max(len(head), path.stat().st_size - len(PARQUET_MARK)))
        tail = stream.read()
    if head != PARQUET_MARK:
        raise FileError(f"{path}: not a Parquet file")
    if tail != PARQUET_MARK:
        raise FileError(f"{path}: the Parquet file is truncated; copy or make it again")


def check_columns(path: Path, names: list[str], schema: Schema, others: Sequence[str] = ()) -> None:
    """Raise if an attribute, or another column that is needed, has no column, or several."""
    for name in (*others, *schema.names):
        if name not in names:
            hint = unknown("column", name, names)
            if len(names) == 1 and ";" in names[0]:
                hint += "; columns must be separated by commas"
            needed = f"there is no column for attribute {name!r}: " if name in schema else ""
            raise DataError(f"{path}: {needed}{hint}")
        if names.count(name) > 1:
            raise DataError(f"{path}: {names.count(name)} columns are named {name!r}; need one")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what reading raises into one line that names the file."""
    try:
        yield
    except UNREADABLE as error:
        raise FileError(f"{path}: {reason(error)}") from None


def reason(error: BaseException, ragged: Sequence[Any] = ()) -> str:
    """What is wrong with a file; `ragged` holds lines of CSV with too many or too few cells."""
    if ragged:
        line = ragged[0]
        return (
            f"line {line.number} has {line.actual_columns} cells, the header has "
            f"{line.expected_columns}"
        )
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error):
        return "not UTF-8 text; save it with the encoding UTF-8"
    message = error.strerror if isinstance(error, OSError) else None
    return (message or str(error) or "unreadable").splitlines()[0]


def is_pattern(path: str | os.PathLike[str]) -> bool:
    """Whether this is a glob rather than the path of a file."""
    return any(sign in str(path) for sign in _GLOB) and not Path(path).exists()


def record_files(source: str | os.PathLike[str]) -> list[Path]:
    """The files that a path, a glob or a directory names, in the order of their names.

    Files and directories that start with "_" or "." are skipped, as programs that write such
    directories expect.
    """
    path = Path(source)
    if path.is_dir():
        kinds = (*SUFFIXES, *ARROW)
        files = [
            file
            for file in path.rglob("*")
            if file.name.lower().endswith(kinds)
            and file.is_file()
            and not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        ]
        if not files:
            raise FileError(
                f"{path}: the directory has no file of records; need {', '.join(kinds)}"
            )
    elif is_pattern(source):
        files = [Path(file) for file in glob.glob(str(source), recursive=True)]
        if not files:
            raise FileError(f"{source}: no file matches")
    else:
        return [path]
    suffixes = sorted({file.suffix for file in files})
    if len(suffixes) > 1:
        raise FileError(f"{source}: has files of several kinds ({', '.join(suffixes)}); need one")
    return sorted(files)


def partition_keys(path: Path) -> dict[str, str]:
    """Names and values in the directories of a partitioned file.

    In `region=north/part-0.parquet` every record has the category "north" of "region".
    """
    pairs = (part.partition("=") for part in path.parent.parts)
    return {name: value for name, sign, value in pairs if sign and name}


def silent(done: float) -> None:
    """The progress of work that nobody watches."""


def file_progress(progress: Progress | None, i: int, n_files: int) -> Progress:
    """The progress of file i as that of all files."""
    return silent if progress is None else lambda done: progress((i + done) / n_files)
