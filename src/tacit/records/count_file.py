"""StoredCounts: a count table in a file, tied to its design, to which others can be added.

A file `NAME.counts` is a Parquet table: one column of codes per reported attribute, and the count
of each pattern. Its metadata name the design by its fingerprint and every file or database that was
counted, so that none is counted twice. If answers are missing, every attribute has one more
category, the last.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, FileError, TacitError
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records import Origin, write_bytes
from tacit.records.keys import smallest
from tacit.records.paths import COUNTS, check_readable, reading
from tacit.records.patterns import PatternTable, sorted_patterns

_FORMAT = DocumentFormat(
    "counts", "count file", (("design", "attributes", "n_records", "parts"),), ("title",)
)
_KEY = b"tacit-counts"
_COUNT = "count"
#: Bytes at both ends of a file by which it is recognised.
_END = 1 << 16


@dataclass(frozen=True)
class CountedPart:
    """What was counted: the name of a file and a mark of its content, or a database and its place.

    A database has no mark of its content: records are added to it, and they have no order.
    """

    name: str
    mark: str

    @classmethod
    def of(cls, path: Path) -> CountedPart:
        """The part that a file is; two files with the same mark are the same."""
        with reading(path), path.open("rb") as stream:
            size = path.stat().st_size
            digest = hashlib.sha256(f"{size} ".encode() + stream.read(_END))
            stream.seek(max(0, size - _END))
            digest.update(stream.read())
        return cls(path.name, digest.hexdigest()[:32])

    @classmethod
    def of_database(cls, address: str, design: str) -> CountedPart:
        """The part that the records of a design in a database are, however many they are."""
        location = _location(address)
        marked = f"{platform.node()} {location} {design}"
        return cls(Path(location).name, hashlib.sha256(marked.encode()).hexdigest()[:32])


@dataclass(frozen=True, eq=False)
class StoredCounts:
    """A count table with its design and the files that it was counted from."""

    table: PatternTable
    origin: Origin
    parts: tuple[CountedPart, ...] = ()

    def __add__(self, other: StoredCounts) -> StoredCounts:
        """The counts of both; refuses counts of another design, and files that both have."""
        if self.origin.design != other.origin.design:
            raise DataError(
                f"counts of two designs cannot be merged ({self.origin}; {other.origin}); "
                "estimate from each and compare the estimates"
            )
        twice = [part.name for part in other.parts if self.has(part)]
        if twice:
            raise DataError(f"{', '.join(twice[:3])}: counted in both tables; merge each once")
        first, second = _alike(self.table, other.table)
        return StoredCounts(first + second, self.origin, self.parts + other.parts)

    def has(self, part: CountedPart) -> bool:
        """Whether a part is counted already."""
        return any(part.mark == counted.mark for counted in self.parts)

    def new_files(self, files: Sequence[Path]) -> list[Path]:
        """Those of the files that are not counted yet."""
        return [path for path in files if not self.has(CountedPart.of(path))]

    def write(self, path: str | Path) -> None:
        """Write the file, completely or not at all."""
        check_suffix(Path(path))
        content = _FORMAT.header | self.origin.to_dict()
        content |= self.table.schema.to_dict() | {"n_records": self.table.n_records}
        content["parts"] = [[part.name, part.mark] for part in self.parts]
        names = [f"code {name}" for name in self.table.schema.names]
        columns = [pa.array(column) for column in self.table.patterns.T]
        table = pa.table([*columns, pa.array(self.table.counts)], names=[*names, _COUNT])
        noted = table.replace_schema_metadata({_KEY: json.dumps(content, ensure_ascii=False)})
        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(noted, sink, compression="zstd", write_page_checksum=True)
        del table, noted
        write_bytes(path, sink.getvalue(), private=True)
        pa.default_memory_pool().release_unused()


def _alike(first: PatternTable, second: PatternTable) -> tuple[PatternTable, PatternTable]:
    """Both with a category for missing answers, if one of them has it."""
    schema = second.schema if with_no_answer(first.schema) == second.schema else first.schema
    if schema not in (with_no_answer(first.schema), with_no_answer(second.schema)):
        return first, second
    alike = [PatternTable(schema, table.patterns, table.counts) for table in (first, second)]
    return alike[0], alike[1]


def _location(address: str) -> str:
    """Where a database is: a path, or a URL without user and parameters."""
    scheme, separator, rest = address.partition("://")
    if separator and not scheme.startswith("sqlite"):
        bare, mark, table = rest.rpartition("@")[2].partition("#")
        return bare.partition("?")[0] + mark + table
    return str(Path(rest.removeprefix("/") if separator else address).resolve())


def read_counts(path: str | Path) -> StoredCounts:
    """The counts in a file."""
    path = Path(path)
    check_readable(path)
    try:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: not a count file: {str(error).splitlines()[0]}") from None
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise FileError(f"{path}: not a count file; make one with tacit count")
    try:
        content = read_document(text.decode(errors="replace"), _FORMAT)
        schema = Schema.from_dict({"attributes": content["attributes"]})
        origin = Origin(str(content["design"]), content.get("title"))
        parts = tuple(CountedPart(str(name), str(mark)) for name, mark in content["parts"])
        counted = _patterns(table, schema)
        del table
        pa.default_memory_pool().release_unused()
    except (TacitError, ValueError, TypeError, KeyError) as error:
        raise FileError(f"{path}: not a sound count file: {error}") from None
    if counted.n_records != content["n_records"]:
        raise FileError(f"{path}: the count file is damaged: its counts do not add up")
    return StoredCounts(counted, origin, parts)


def counts_of_design(path: Path, design: str) -> PatternTable:
    """The count table in a file; refuses one of another design."""
    stored = read_counts(path)
    if stored.origin.design != design:
        raise DataError(
            f"{path}: holds counts of another design ({stored.origin}), not of the design given "
            f"({Origin(design)})"
        )
    return stored.table


def check_suffix(path: Path) -> None:
    """Raise if a path does not have the suffix of count files."""
    if path.suffix.lower() != COUNTS:
        raise FileError(f"{path}: unknown suffix {path.suffix!r} of a count file; use {COUNTS}")


def _patterns(table: Any, schema: Schema) -> PatternTable:
    codes = np.empty((table.num_rows, len(schema)), smallest(max(schema.sizes)), order="F")
    for place, attribute in enumerate(schema):
        column = table.column(f"code {attribute.name}").to_numpy()
        if (column >= attribute.size).any():
            raise FileError("a code is out of range")
        codes[:, place] = column
    counts = table.column(_COUNT).to_numpy().astype(np.int64)
    if (counts < 1).any():
        raise FileError("a count is out of range")
    return sorted_patterns(schema, codes, counts)
