"""JSON files that describe one value, such as a design or a model.

If a file is of another kind, the error says which: people give a survey file where a published
survey is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tacit.core.design import Design
from tacit.errors import FileError, TacitError
from tacit.records.origin import Origin
from tacit.records.paths import PARQUET_MARK, SUFFIXES, check_readable, reading

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
    check_readable(path)
    with reading(path):
        return path.read_text(encoding="utf-8-sig")


def described(path: Path, wanted: str) -> str | None:
    """What a file is if it is not of the wanted kind, and what to do; None if that is not known."""
    found = _kind(path)
    if found is None or found in _TAKEN[wanted]:
        return None
    return f"it {_NAMES[found]}{_advice(path, found, wanted)}"


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
    if path.name.lower().endswith(SUFFIXES) or content.startswith(PARQUET_MARK):
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


def _advice(path: Path, found: str, wanted: str) -> str:
    return _ADVICE.get((found, wanted), "").format(path=path)
