"""Records from CSV and Parquet files, batch by batch, as validated codes.

A CSV file is UTF-8 with commas and a header. Its cells are text and only the empty cell is
missing: NA, None and nan are labels like any other. A blank line is skipped, except in a file of
one column, where it is a record with a missing cell. The column of a binned attribute may hold
numbers or labels, in either kind of file.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tacit.core.arrays import Codes
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema, text
from tacit.errors import DataError, FileError
from tacit.records.memory_limit import limited
from tacit.records.paths import (
    CSV_GZ,
    PARQUET,
    UNREADABLE,
    Progress,
    check_columns,
    check_parquet,
    check_readable,
    kind_of,
    reason,
)
from tacit.records.record_files import record_files

BATCH = 1 << 18  # records
LEAST_BATCH = 1 << 15  # the blocks that disguise draws for
BATCH_BYTES = 256 << 20
CELL_BYTES = 32  # as Arrow reads a cell, its codes, as Arrow writes it
READ_RECORDS = 1 << 16
READ_BYTES = 4 << 20


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
    files, some = record_files(source), False
    parts = (
        codes
        for place, path in enumerate(files)
        for codes, _ in _encoded(path, schema, _share(progress, place, len(files)))
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


def _share(progress: Progress | None, place: int, n_files: int) -> Progress:
    """The progress of one file as that of all."""
    if progress is None:
        return lambda _: None
    return lambda done: progress((place + done) / n_files)


def read_batches_by(
    path: str | Path, schema: Schema, columns: Sequence[str], progress: Progress | None = None
) -> Iterator[tuple[Codes, Any]]:
    """Batches of codes, each with an Arrow table of other columns of the same records.

    The cells of a CSV file are text.
    """
    return _encoded(Path(path), schema, progress or (lambda _: None), columns)


def file_columns(path: Path) -> list[str]:
    """The names of the columns of a file."""
    check_readable(path)
    with _reading(path):
        if kind_of(path) == PARQUET:
            check_parquet(path)
            return list(pyarrow.parquet.read_schema(path).names)
        return _header(path).names


def read_frame(path: str | Path) -> Any:
    """All records and columns as a PyArrow table, with the types that the cells suggest."""
    path = Path(path)
    check_readable(path)
    kind = kind_of(path)
    with _reading(path):
        if kind == PARQUET:
            check_parquet(path)
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
    check_readable(path)
    read = _parquet_batches if kind_of(path) == PARQUET else _csv_batches
    done = 0
    for batch in read(path, schema, progress, columns):
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
    except (pa.ArrowException, *UNREADABLE) as error:
        raise FileError(f"{path}: {reason(error, ragged)}") from None


# Parquet ------------------------------------------------------------------------------------


def parquet_metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata of a Parquet file."""
    with _reading(path):
        check_parquet(path)
        return pyarrow.parquet.read_schema(path).metadata or {}


def records_in_parquet(path: Path) -> int:
    """How many records a Parquet file has, by its metadata."""
    with _reading(path):
        check_parquet(path)
        return int(pyarrow.parquet.read_metadata(path).num_rows)


def _parquet_batches(
    path: Path, schema: Schema, progress: Progress, columns: Sequence[str]
) -> Iterator[Any]:
    with _reading(path):
        check_parquet(path)
        found = pyarrow.parquet.read_schema(path)
    check_columns(path, found.names, schema, columns)
    # Text comes as distinct labels and positions, which is how encode wants it.
    kinds = {name: found.field(name).type for name in schema.names}
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
    check_columns(path, header.names, schema, columns)
    _check_labels_are_distinct(path, schema)
    size = path.stat().st_size
    ragged: list[Any] = []
    with _reading(path, ragged), pa.OSFile(str(path)) as raw:
        plain = pa.CompressedInputStream(raw, "gzip") if kind_of(path) == CSV_GZ else raw
        for batch in pyarrow.csv.open_csv(plain, **_options(schema, header, ragged, columns)):
            progress(raw.tell() / size)
            cells = [_cells(batch.column(a.name), a) for a in schema]
            cells += [batch.column(name) for name in columns]
            yield pa.record_batch(cells, names=[*schema.names, *columns])


def _header(path: Path) -> Header:
    """The first line that is not blank."""
    opened = gzip.open if kind_of(path) == CSV_GZ else open
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
    return {
        # Lines are numbered only without threads, which were no faster.
        "read_options": pyarrow.csv.ReadOptions(
            block_size=READ_BYTES, use_threads=False, skip_rows=header.blank
        ),
        "parse_options": _lines(header, invalid_row_handler=note),
        "convert_options": pyarrow.csv.ConvertOptions(
            include_columns=[*schema.names, *columns],
            column_types={a.name: pa.string() if _is_plain(a) else labels for a in schema}
            | dict.fromkeys(columns, labels),
            null_values=[""],
            strings_can_be_null=True,
        ),
    }


def _is_plain(attribute: Attribute) -> bool:
    """Whether cells are not hashed while they are read: numbers, and single characters."""
    return bool(attribute.edges) or all(len(text(c)) == 1 for c in attribute.categories)


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
