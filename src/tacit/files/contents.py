"""What a file holds, for errors: people give a survey file where a published survey is needed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tacit.files.paths import PARQUET_MARK, SUFFIXES

_RECORDS = "records"
#: What each of tacit's files is called, by its key "tacit".
_NAMES = {
    "design": "a design file",
    "published-survey": "a published survey",
    "survey": "a survey file",
    "naive-bayes": "a model file",
    "decision-tree": "a model file",
    "front": "a front of channels",
    "search": "a search that is under way",
    "origin": "the note on the origin of records",
}
#: Which of them are taken for each kind that a command asks for.
_TAKEN = {
    "design": ("design", "published-survey"),
    "published survey": ("published-survey",),
    "survey": ("survey",),
    "model": ("naive-bayes", "decision-tree"),
    "prior": ("design", "published-survey"),
    "rules": (),
    "search": ("search",),
}
_SURVEY_LINE = re.compile(r"^(tacit: *survey|questions:)", re.MULTILINE)


def described(path: Path, wanted: str) -> str | None:
    """What a file is if not of the wanted kind, and what to do then; None if that is not known."""
    found = _found(path)
    if found is None or found in _TAKEN[wanted]:
        return None
    called = "holds records" if found == _RECORDS else f"is {_NAMES[found]}"
    return f"it {called}{_advice(path, found, wanted)}"


def _found(path: Path) -> str | None:
    """The kind of a file by its suffix or its content."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if path.name.lower().endswith(SUFFIXES) or content.startswith(PARQUET_MARK):
        return _RECORDS
    text = content.decode("utf-8-sig", errors="replace")
    if path.suffix.lower() in (".yaml", ".yml") or _SURVEY_LINE.search(text):
        return "survey"
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kind = said.get("tacit") if isinstance(said, dict) else None
    return kind if isinstance(kind, str) and kind in _NAMES else None


def _advice(path: Path, found: str, wanted: str) -> str:
    match found, wanted:
        case "survey", "design" | "published survey":
            return f"; publish it first: tacit survey publish {path} --out published.json"
        case "design", "published survey":
            return ", which has no questions; publish a survey file"
        case "records", "design" | "prior":
            return "; the design comes first, then the records"
        case "published-survey", "survey":
            return "; check and edit the survey file that it was made from"
    return ""
