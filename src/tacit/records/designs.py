"""Files that describe one value, such as a design or a model, and notes on the origin of records.

If a file is of another kind, the error says which: people give a survey file where a published
survey is needed.

The design that made a file of reported records is noted with the records. Parquet keeps the note in
its metadata. A CSV file has no place for one that every program skips, so the note is a small JSON
file beside it: `reported.csv.origin.json`. A file without a note may come from any design.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tacit.core.design import Design
from tacit.errors import DataError, FileError, TacitError
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records import paths

_FORMAT = DocumentFormat("origin", "note on the origin of records", (("design",),), ("title",))
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

    def to_dict(self) -> dict[str, str]:
        """The design and the title, if there is one, as a note has them."""
        titled = {} if self.title is None else {"title": self.title}
        return {"design": self.design} | titled

    def to_json(self) -> str:
        """The note."""
        return json.dumps(_FORMAT.header | self.to_dict(), ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Origin:
        """The origin in a note."""
        content = read_document(text, _FORMAT)
        design, title = content["design"], content.get("title")
        if not isinstance(design, str) or not isinstance(title, str | None):
            raise FileError(f"not a {_FORMAT.name}: the design and the title must be text")
        return cls(design, title)


def note_beside(path: Path) -> Path:
    """Where the note of a CSV file is."""
    return path.with_name(path.name + SUFFIX)


def read_origin(path: str | Path) -> Origin | None:
    """The origin noted for a file of records; None if there is no note."""
    path = Path(path)
    if paths.kind_of(path) == paths.PARQUET:
        from tacit.records.files import parquet_footer  # Arrow is slow to start

        noted = (parquet_footer(path).metadata or {}).get(KEY)
        return None if noted is None else _parsed(path, noted.decode(errors="replace"))
    note = note_beside(path)
    with paths.reading(note):
        return _parsed(note, note.read_text(encoding="utf-8")) if note.exists() else None


def check_origin(path: str | Path, expected: Origin, given: str = "the design given") -> bool:
    """Raise if a file holds reports of another design; whether the file names its design.

    `given` names the expected design in the error.
    """
    origin = read_origin(path)
    if origin is not None and origin.design != expected.design:
        raise DataError(
            f"{path}: holds reports of another design ({origin}), not of {given} ({expected}); "
            "give the published survey or the design that these records were made with"
            f"{_if_stale(path)}"
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
    if paths.kind_of(path) == paths.PARQUET:
        return ""
    return f"; {note_beside(path)} says so: delete it if it belongs to an older {path.name}"


def _parsed(path: Path, text: str) -> Origin:
    try:
        return Origin.from_json(text)
    except FileError as error:
        raise FileError(f"{path}: {error}; delete it or write it again") from None


Value = TypeVar("Value")

_SQLITE_MARK = b"SQLite format 3\0"
#: What errors say of each kind of file; JSON files have it under the key "tacit".
_NAMES = {
    "design": "is a design file",
    "published-survey": "is a published survey",
    "survey": "is a survey file",
    "naive-bayes": "is a model file",
    "decision-tree": "is a model file",
    "front": "is a front of channels",
    "search": "is an unfinished search",
    "scrambling": "is a scrambling file",
    "origin": "is the note on the origin of records",
    "records": "holds records",
    "database": "is a database of responses",
}
#: The kinds that are accepted where a command asks for one.
_TAKEN = {
    "design": ("design", "published-survey"),
    "published survey": ("published-survey",),
    "survey": ("survey",),
    "model": ("naive-bayes", "decision-tree"),
    "prior": ("design", "published-survey"),
    "rules": (),
    "search": ("search",),
    "scrambling": ("scrambling",),
}
_PUBLISH = "; publish it first: tacit survey publish {path} --out published.json"
_FROM_DATABASE = "; give the published survey, and the database as --database {path}"
#: What to do, by what was given and what is needed.
_ADVICE = {
    ("survey", "design"): _PUBLISH,
    ("survey", "published survey"): _PUBLISH,
    ("design", "published survey"): ", which has no questions; publish a survey file",
    ("database", "design"): _FROM_DATABASE,
    ("database", "published survey"): _FROM_DATABASE,
    ("records", "design"): "; the design comes first, then the records",
    ("records", "prior"): "; the design comes first, then the records",
    ("records", "scrambling"): "; the scrambling comes first, then the records",
    ("scrambling", "design"): "; see tacit numbers",
    ("published-survey", "survey"): "; check and edit the survey file that it was made from",
}
_SURVEY_LINE = re.compile(r"^(tacit: *survey|questions:)", re.MULTILINE)


def read_design(path: str | Path) -> Design:
    """The design that a file describes; errors name the file, and the line where JSON is broken."""
    return read_described(path, Design.from_json, "design")


def read_design_origin(path: str | Path) -> Origin:
    """The origin of the records that a design file makes; a published survey has a title."""
    return read_described(path, _origin, "design")


def _origin(text: str) -> Origin:
    fingerprint = Design.from_json(text).fingerprint
    survey = json.loads(text).get("survey", {})
    title = survey.get("title")
    if isinstance(title, dict):
        title = title[survey["languages"][0]]
    return Origin(fingerprint, title)


def read_described(path: str | Path, parse: Callable[[str], Value], kind: str) -> Value:
    """What a file of this kind describes, as `parse` reads it; errors name the file."""
    what = kind if kind.endswith("survey") else f"{kind} file"
    try:
        return parse(read_text(path))
    except TacitError as error:
        other = described(Path(path), kind)
        if other is not None:
            raise FileError(f"{path}: not a {what}: {other}") from None
        raise type(error)(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except (ValueError, RecursionError) as error:  # numbers with thousands of digits, deep nesting
        raise FileError(f"{path}: not a {what}: {error}") from None


def read_text(path: str | Path) -> str:
    """The UTF-8 text of a file, which must not be empty."""
    path = Path(path)
    paths.check_readable(path)
    with paths.reading(path):
        return path.read_text(encoding="utf-8-sig")


def described(path: Path, needed: str) -> str | None:
    """What a file is if it is not of the kind needed, and what to do; None if unknown."""
    kind = _kind(path)
    if kind is None or kind in _TAKEN[needed]:
        return None
    return f"it {_NAMES[kind]}{_ADVICE.get((kind, needed), '').format(path=path)}"


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE_MARK)) == _SQLITE_MARK
    except OSError:
        return False


def _kind(path: Path) -> str | None:
    """The kind of a file, by its suffix or its content."""
    if is_database(path):
        return "database"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if path.name.lower().endswith(paths.SUFFIXES) or content.startswith(paths.PARQUET_MARK):
        return "records"
    text = content.decode("utf-8-sig", errors="replace")
    if path.suffix.lower() in (".yaml", ".yml") or _SURVEY_LINE.search(text):
        return "survey"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kind = content.get("tacit") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) and kind in _NAMES else None
