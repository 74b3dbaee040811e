"""Records from and to files: read batch by batch, written completely or not at all.

A CSV file is UTF-8 with commas and a header. Its cells are text and only the empty cell is
missing: NA, None and nan are labels like any other. A blank line is skipped, except in a file of
one column, where it is a record with a missing cell. The column of a binned attribute may hold
numbers or labels, in either kind of file.

Output goes to a temporary file in the same folder and is renamed when complete. On an error or
Ctrl-C it is removed, and an existing file stays unchanged. A private file can be read by its owner
only: records always are, and whatever else may show what single people reported. Other files follow
the umask. A file that replaces another one is at most as readable as that one.
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
from typing import IO, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tacit.core.arrays import Codes, Mask
from tacit.core.label_codes import decode, encode, label_columns
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, FileError
from tacit.output.number_text import text
from tacit.records import paths
from tacit.records.designs import KEY, Origin, note_beside
from tacit.records.memory_limit import limited, unfinished
from tacit.records.paths import Progress

BATCH = 1 << 18  # records
LEAST_BATCH = 1 << 15  # the blocks that disguise draws for
BATCH_BYTES = 256 << 20
CELL_BYTES = 32  # as Arrow reads a cell, its codes, as Arrow writes it
READ_RECORDS = 1 << 16
READ_BYTES = 4 << 20
FIGURES = (".svg", ".png", ".pdf")
GZIP_LEVEL = 4  # level 9 makes files a third smaller in forty times the time
_NEEDS_NO_QUOTES = re.compile(r'[^",\r\n]+')

#: Takes the next codes of a file that is being written, and a column for each name beside them.
Write = Callable[..., None]


class Header(NamedTuple):
    """The column names of a CSV file and the number of blank lines above them."""

    names: list[str]
    blank: int


def read_batches(
    source: str | Path, schema: Schema, progress: Progress | None = None
) -> Iterator[Codes]:
    """The records of a file, a glob or a directory as validated codes, batch by batch.

    Batches are equally long, however the files are laid out (see `batch_records`). Columns are
    found by name, others are not read. Errors name the record in the file.
    """
    files, some = paths.record_files(source), False
    parts = (
        codes
        for i, path in enumerate(files)
        for codes, _ in _encoded(path, schema, paths.file_progress(progress, i, len(files)))
    )
    for codes in rebatched(parts, batch_records(schema)):
        some = True
        yield codes
    if not some:
        raise DataError(f"{source}: holds 0 records; need at least one")


def batch_records(schema: Schema) -> int:
    """Records of a batch: BATCH, or fewer if the records are wide or memory is limited.

    Always a multiple of LEAST_BATCH that divides BATCH.
    """
    room = limited(BATCH_BYTES, 1 / 4) // (CELL_BYTES * len(schema))
    batch = BATCH
    while batch > max(room, LEAST_BATCH):
        batch //= 2
    return batch


def rebatched(parts: Iterable[Codes], size: int) -> Iterator[Codes]:
    """The same records in batches of a size; the last one has the rest."""
    waiting: list[Codes] = []
    for codes in parts:
        waiting.append(codes)
        while sum(map(len, waiting)) >= size:
            joined = _joined(waiting)
            yield joined[:size]
            waiting = [joined[size:]] if len(joined) > size else []
    if waiting:
        yield _joined(waiting)


def read_batches_by(
    path: str | Path, schema: Schema, columns: Sequence[str], progress: Progress | None = None
) -> Iterator[tuple[Codes, Any]]:
    """Batches of codes, each with an Arrow table of other columns of the same records.

    The cells of a CSV file are text.
    """
    return _encoded(Path(path), schema, progress or (lambda _: None), columns)


def file_columns(path: Path) -> list[str]:
    """The names of the columns of a file."""
    paths.check_readable(path)
    if paths.kind_of(path) == paths.PARQUET:
        return list(parquet_footer(path).schema.to_arrow_schema().names)
    with _reading(path):
        return _header(path).names


def read_frame(path: str | Path) -> Any:
    """All records and columns as a PyArrow table, with the types that the cells suggest."""
    path = Path(path)
    paths.check_readable(path)
    kind = paths.kind_of(path)
    with _reading(path):
        if kind == paths.PARQUET:
            paths.check_parquet(path)
            return pyarrow.parquet.read_table(path)
        header = _header(path)
        return pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(skip_rows=header.blank),
            parse_options=_lines(header),
            convert_options=pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True),
        )


def _encoded(
    path: Path, schema: Schema, progress: Progress, columns: Sequence[str] = ()
) -> Iterator[tuple[Codes, Any]]:
    """Codes of the batches as the file gives them, each with other columns."""
    paths.check_readable(path)
    read = _parquet_batches if paths.kind_of(path) == paths.PARQUET else _csv_batches
    others = [name for name in columns if name not in schema]  # attributes are read anyway
    done = 0
    for batch in read(path, schema, progress, others):
        if batch.num_rows:
            table = pa.Table.from_batches([batch])
            try:  # errors count records from the start of the file
                codes = encode(table, schema, first=done)
            except DataError as error:
                raise type(error)(f"{path}: {error}") from None
            yield codes, table.select(list(columns))
            done += batch.num_rows


def _joined(parts: list[Codes]) -> Codes:
    """Batches as one, in Fortran order."""
    return parts[0] if len(parts) == 1 else np.concatenate([part.T for part in parts], axis=1).T


@contextmanager
def _reading(path: Path, ragged: Sequence[Any] = ()) -> Iterator[None]:
    """Turn what readers raise into one line that names the file; `ragged` holds bad CSV lines."""
    try:
        yield
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None
    except (pa.ArrowException, *paths.UNREADABLE) as error:
        raise FileError(f"{path}: {paths.reason(error, ragged)}") from None


# Parquet ------------------------------------------------------------------------------------


def parquet_footer(path: Path) -> Any:
    """What a Parquet file says of itself: the number of its records, its columns, its notes."""
    with _reading(path):
        paths.check_parquet(path)
        return pyarrow.parquet.read_metadata(path)


def records_in_parquet(files: Iterable[Path]) -> int:
    """How many records Parquet files have, by what they say of themselves."""
    return sum(parquet_footer(path).num_rows for path in files)


def _parquet_batches(
    path: Path, schema: Schema, progress: Progress, columns: Sequence[str]
) -> Iterator[Any]:
    arrow = parquet_footer(path).schema.to_arrow_schema()
    paths.check_columns(path, arrow.names, schema, columns)
    # Text comes as distinct labels and positions, which is how encode wants it.
    kinds = {name: arrow.field(name).type for name in schema.names}
    texts = [n for n, k in kinds.items() if pa.types.is_string(k) or pa.types.is_large_string(k)]
    done, size = 0, min(READ_RECORDS, batch_records(schema))
    with _reading(path), pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(size, columns=[*schema.names, *columns]):
            done += batch.num_rows
            progress(done / file.metadata.num_rows)
            yield batch


# CSV ----------------------------------------------------------------------------------------


def _csv_batches(
    path: Path, schema: Schema, progress: Progress, columns: Sequence[str]
) -> Iterator[Any]:
    with _reading(path):
        header = _header(path)
    paths.check_columns(path, header.names, schema, columns)
    _check_labels_are_distinct(path, schema)
    size = path.stat().st_size
    ragged: list[Any] = []
    with _reading(path, ragged), pa.OSFile(str(path)) as raw:
        plain = (
            pa.CompressedInputStream(raw, "gzip") if paths.kind_of(path) == paths.CSV_GZ else raw
        )
        for batch in pyarrow.csv.open_csv(plain, **_options(schema, header, ragged, columns)):
            progress(raw.tell() / size)
            cells = [_cells(batch.column(a.name), a) for a in schema]
            cells += [batch.column(name) for name in columns]
            yield pa.record_batch(cells, names=[*schema.names, *columns])


def _header(path: Path) -> Header:
    """The first line that is not blank."""
    opened = gzip.open if paths.kind_of(path) == paths.CSV_GZ else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        for blank, names in enumerate(csv.reader(lines)):
            if names:
                return Header(names, blank)
    raise FileError(f"{path}: the file is empty; need a header and at least one record")


def _lines(header: Header, **options: Any) -> Any:
    """How lines are split; in a file of one column, a blank line is a record."""
    return pyarrow.csv.ParseOptions(
        newlines_in_values=True, ignore_empty_lines=len(header.names) > 1, **options
    )


def _options(
    schema: Schema, header: Header, ragged: list[Any], columns: Sequence[str]
) -> dict[str, Any]:
    """Text cells of these columns; a ragged line is noted and ends the reading."""

    def note(line: Any) -> str:
        ragged.append(line)
        return "error"

    labels = pa.dictionary(pa.int32(), pa.string())
    kinds = dict.fromkeys([*schema.names, *columns], labels)
    for attribute in schema:  # numbers and single characters are not hashed while they are read
        if attribute.edges or all(len(text(c)) == 1 for c in attribute.categories):
            kinds[attribute.name] = pa.string()
    return {
        # Lines are numbered only without threads, which were no faster.
        "read_options": pyarrow.csv.ReadOptions(
            block_size=READ_BYTES, use_threads=False, skip_rows=header.blank
        ),
        "parse_options": _lines(header, invalid_row_handler=note),
        "convert_options": pyarrow.csv.ConvertOptions(
            include_columns=[*schema.names, *columns],
            column_types=kinds,
            null_values=[""],
            strings_can_be_null=True,
        ),
    }


def _cells(column: Any, attribute: Attribute) -> Any:
    """Text cells as encode takes them; a binned attribute may have numbers or labels."""
    if attribute.edges:
        values = column
        if attribute.missing is not None:
            absent = pc.equal(column, str(attribute.missing))
            values = pc.if_else(absent, pa.scalar(None, pa.string()), column)
        try:
            return pc.utf8_trim_whitespace(values).cast(pa.float64())
        except pa.ArrowInvalid:
            return column
    if attribute.find("") is not None:
        return column.cast(pa.string()).fill_null("")
    if all(isinstance(label, bool) for label in attribute.categories if label != attribute.missing):
        return pc.utf8_capitalize(column.cast(pa.string()))  # other programs write true or TRUE
    return column


def _check_labels_are_distinct(path: Path, schema: Schema) -> None:
    """In a CSV file a label must not look like a number to be binned, or like a missing cell."""
    for attribute in schema:
        numeric = [c for c in attribute.categories if attribute.edges and _is_number(str(c))]
        blank = attribute.find("") is not None and attribute.missing not in (None, "")
        if numeric or blank:
            what = f"{str(numeric[0])!r} from a number" if numeric else "'' from a missing cell"
            raise DataError(
                f"{path}: attribute {attribute.name!r}: a CSV file cannot tell its category "
                f"{what}; rename the category or use Parquet"
            )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Writing ------------------------------------------------------------------------------------


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
    typed = paths.kind_of(path) == paths.PARQUET
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
    labels = (label for column in texts for label in column.drop_null().unique().to_pylist())
    with _tables(Path(path), labels, origin, private) as write:
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
        paths.kind_of(Path(path))
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
    return pa.table(label_columns(codes, schema, labels, absent))


@contextmanager
def _tables(
    path: Path, labels: Iterable[str], origin: Origin | None = None, private: bool = True
) -> Iterator[Callable[[Any], None]]:
    """Write tables of one schema, one after the other; `labels` are all texts that may occur."""
    kind = paths.kind_of(path)
    # Arrow quotes all text or none.
    quotes = "none" if all(map(_NEEDS_NO_QUOTES.fullmatch, labels)) else "needed"
    with _noted(path, origin), _atomic(path, private) as stream, ExitStack() as sinks:
        if kind == paths.CSV_GZ:
            # Without name and time, so that equal records make equal files.
            zipped = gzip.GzipFile("", "wb", GZIP_LEVEL, stream, mtime=0)
            stream = cast("IO[bytes]", sinks.enter_context(zipped))
        opened: list[Any] = []

        def write(table: Any) -> None:
            if not opened:
                parquet = kind == paths.PARQUET
                sink = _parquet(stream, table, origin) if parquet else _csv(stream, table, quotes)
                opened.append(sinks.enter_context(sink))
            opened[0].write_table(table)

        yield write
        if kind != paths.PARQUET:  # the note of older records must not remain
            note_beside(path).unlink(missing_ok=True)


@contextmanager
def _noted(path: Path, origin: Origin | None) -> Iterator[None]:
    """Write the note on the origin of a CSV file, once the file is complete."""
    if origin is None or paths.kind_of(path) == paths.PARQUET:
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
