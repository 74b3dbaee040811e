"""Write records and text to files, completely or not at all.

Output goes to a temporary file in the same folder and is renamed when complete. On an error or
Ctrl-C it is removed, and an existing file stays unchanged.

A private file can be read by its owner only: records always are, and whatever else may show what
single people reported. Other files follow the umask. A file that replaces another one is at most
as readable as that one.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit.core.arrays import Codes, Mask
from tacit.core.label_codes import decode
from tacit.core.schema import Schema, text
from tacit.errors import FileError
from tacit.records.memory_limit import unfinished
from tacit.records.origin import KEY, Origin, note_beside
from tacit.records.paths import CSV_GZ, PARQUET, kind_of

#: Takes the next codes of a file that is being written, and a column for each name beside them.
Write = Callable[..., None]

FIGURES = (".svg", ".png", ".pdf")
GZIP_LEVEL = 4  # level 9 makes files a third smaller in forty times the time
_NEEDS_NO_QUOTES = re.compile(r'[^",\r\n]+')


@contextmanager
def writing_records(
    path: str | Path,
    schema: Schema,
    beside: Sequence[str] = (),
    origin: Origin | None = None,
) -> Iterator[Write]:
    """Write codes as labels; the file is there when the block is left without an error.

    with writing_records("reported.csv", design.reported) as write:
        write(codes)

    `beside` names columns of numbers that `write` then takes after the codes. `origin` is the
    design that made the records, if they are reported ones.
    """
    path = Path(path)
    typed = kind_of(path) == PARQUET
    labels = (text(label) for a in schema for label in a.categories)
    with _tables(path, labels, origin) as write:

        def write_records(codes: Codes, *numbers: Any, absent: Mask | None = None) -> None:
            if typed:
                table = decode(codes, schema, "pyarrow", absent)
            else:
                table = _texts(codes, schema, absent)
            for name, column in zip(beside, numbers, strict=True):
                table = table.append_column(name, pa.array(column))
            write(table)

        yield write_records


def write_frame(
    path: str | Path, table: Any, origin: Origin | None = None, private: bool = False
) -> None:
    """Write a PyArrow table of text and numbers as CSV or Parquet; `origin` as for records."""
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    labels = (label for column in texts for label in column.unique().to_pylist())
    known = (label for label in labels if label is not None)
    with _tables(Path(path), known, origin, private) as write:
        write(table)


def write_text(path: str | Path, content: str, private: bool = False) -> None:
    """Write a text file."""
    write_bytes(path, content.encode(), private)


def write_bytes(path: str | Path, content: bytes, private: bool = False) -> None:
    """Write a file of any kind, such as a figure."""
    with _atomic(Path(path), private) as stream:
        stream.write(content)


def check_out(path: str | Path | None, *sources: str | Path | None) -> None:
    """Raise, before any work is done, the errors of writing records to a path.

    `sources` are files that are read and must not be overwritten; None is no file.
    """
    if path is not None:
        kind_of(Path(path))
        check_apart(path, *sources)


def check_figure(path: Path | None, *sources: Path | None) -> None:
    """Raise, before any work is done, the errors of writing a figure to a path."""
    if path is not None and path.suffix.lower() not in FIGURES:
        raise FileError(
            f"{path}: unknown suffix {path.suffix!r} of a figure; allowed: {', '.join(FIGURES)}"
        )
    check_apart(path, *sources)


def check_apart(path: str | Path | None, *sources: str | Path | None) -> None:
    """Raise if a path cannot be written, or is one of the files that are read."""
    if path is None:
        return
    target = _target(Path(path))
    for source in sources:
        if source is None or not target.exists() or not Path(source).exists():
            continue
        if target.samefile(source):
            raise FileError(f"{path}: is the file that is read; write to another one")


def _texts(codes: Codes, schema: Schema, absent: Mask | None) -> Any:
    """Labels as the text by which they are compared, so that a CSV file reads back the same."""
    labels = [pa.array([text(label) for label in a.categories]) for a in schema]
    hidden = [None] * len(labels) if absent is None else list(absent.T)
    columns = [
        each.take(pa.array(codes[:, place], mask=hidden[place]))
        for place, each in enumerate(labels)
    ]
    return pa.table(columns, names=list(schema.names))


@contextmanager
def _tables(
    path: Path, labels: Iterable[str], origin: Origin | None = None, private: bool = True
) -> Iterator[Callable[[Any], None]]:
    """Write tables of one schema, one after the other; `labels` are all texts that may occur."""
    kind = kind_of(path)
    # Arrow quotes all text or none.
    quotes = "none" if all(map(_NEEDS_NO_QUOTES.fullmatch, labels)) else "needed"
    with _noted(path, origin), _atomic(path, private) as stream, ExitStack() as sinks:
        if kind == CSV_GZ:
            # Without name and time, so that equal records make equal files.
            zipped = gzip.GzipFile("", "wb", GZIP_LEVEL, stream, mtime=0)
            stream = cast("IO[bytes]", sinks.enter_context(zipped))
        opened: list[Any] = []

        def write(table: Any) -> None:
            if not opened:
                parquet = kind == PARQUET
                sink = _parquet(stream, table, origin) if parquet else _csv(stream, table, quotes)
                opened.append(sinks.enter_context(sink))
            opened[0].write_table(table)

        yield write
        if kind != PARQUET:  # the note of older records must not remain
            note_beside(path).unlink(missing_ok=True)


@contextmanager
def _noted(path: Path, origin: Origin | None) -> Iterator[None]:
    """Write the note on the origin of a CSV file, once the file is complete."""
    if origin is None or kind_of(path) == PARQUET:
        yield
        return
    with _atomic(note_beside(path)) as stream:
        stream.write(origin.to_json().encode())
        yield


def _parquet(stream: Any, table: Any, origin: Origin | None) -> Any:
    schema = table.schema
    if origin is not None:
        schema = schema.with_metadata({**(schema.metadata or {}), KEY: origin.to_json()})
    return pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd")


def _csv(stream: Any, table: Any, quotes: str) -> Any:
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(table.column_names)
    stream.write(header.getvalue().encode())
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quotes)
    return pyarrow.csv.CSVWriter(stream, table.schema, write_options=options)


@contextmanager
def _atomic(path: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """A stream to a temporary file that is renamed at the end, or removed on an error."""
    target = _target(path)
    part = target.with_name(f".tacit-{secrets.token_hex(8)}.part")
    mode = 0o600 if private else 0o666
    try:
        if target.exists():
            mode &= target.stat().st_mode
        with (
            unfinished(part),
            open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream,
        ):
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The path to write to; follows links, rejects devices and folders."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            raise FileError(f"{path}: is not a regular file")
        if not target.parent.is_dir():
            raise FileError(f"{path}: the folder {path.parent} does not exist")
    except OSError as error:
        raise _unwritable(path, error) from None
    return target


def _unwritable(path: Path, error: OSError) -> FileError:
    return FileError(f"{path}: cannot be written: {error.strerror or error}")
