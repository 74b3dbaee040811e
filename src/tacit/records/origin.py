"""The design that made a file of reported records, noted with the records.

Parquet keeps the note in its metadata. A CSV file has no place for one that every program skips, so
the note is a small JSON file beside it: `reported.csv.origin.json`. A file without a note may come
from any design.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import DataError, FileError
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records.paths import PARQUET, kind_of, reading

FORMAT = DocumentFormat("origin", "note on the origin of records", (("design",),), ("title",))
SUFFIX = ".origin.json"
#: The key of the note in Parquet's metadata.
KEY = b"tacit"
#: Digits of a fingerprint that are shown.
SHOWN_DIGITS = 12


@dataclass(frozen=True)
class Origin:
    """A design by its fingerprint and, for a published survey, its title."""

    design: str
    title: str | None = None

    def __str__(self) -> str:
        title = "" if self.title is None else f"“{self.title}”, "
        return f"{title}fingerprint {self.design[:SHOWN_DIGITS]}"

    def to_json(self) -> str:
        """The note."""
        content = FORMAT.header | {"design": self.design}
        if self.title is not None:
            content["title"] = self.title
        return json.dumps(content, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Origin:
        """The origin in a note."""
        content = read_document(text, FORMAT)
        design, title = content["design"], content.get("title")
        if not isinstance(design, str) or not isinstance(title, str | None):
            raise FileError(f"not a {FORMAT.name}: the design and the title must be text")
        return cls(design, title)


def note_beside(path: Path) -> Path:
    """Where the note of a CSV file is."""
    return path.with_name(path.name + SUFFIX)


def read_origin(path: str | Path) -> Origin | None:
    """The origin noted for a file of records; None if there is no note."""
    path = Path(path)
    if kind_of(path) == PARQUET:
        from tacit.records.record_reader import parquet_metadata  # Arrow is slow to start

        noted = parquet_metadata(path).get(KEY)
        return None if noted is None else _parsed(path, noted.decode(errors="replace"))
    note = note_beside(path)
    with reading(note):
        return _parsed(note, note.read_text(encoding="utf-8")) if note.exists() else None


def check_origin(path: str | Path, own: Origin, given: str = "the design given") -> bool:
    """Raise if a file holds reports of another design; whether the file names its design.

    `given` names the own design in the error.
    """
    origin = read_origin(path)
    if origin is not None and origin.design != own.design:
        raise DataError(
            f"{path}: holds reports of another design ({origin}), not of {given} ({own}); give "
            f"the published survey or the design that these records were made with{_if_stale(path)}"
        )
    return origin is not None


def check_true(path: str | Path, use: str) -> None:
    """Raise if a file is known to hold reported records; `use` says what needs true ones."""
    origin = read_origin(path)
    if origin is not None:
        raise DataError(f"{path}: holds reported records ({origin}); {use}{_if_stale(path)}")


def _if_stale(path: str | Path) -> str:
    """What to do if another program has replaced a CSV file and left its note."""
    path = Path(path)
    if kind_of(path) == PARQUET:
        return ""
    return f"; {note_beside(path)} says so: delete it if it belongs to an older {path.name}"


def _parsed(path: Path, text: str) -> Origin:
    try:
        return Origin.from_json(text)
    except FileError as error:
        raise FileError(f"{path}: {error}; delete it or write it again") from None
