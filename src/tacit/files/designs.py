"""JSON files that describe one value: a design, or a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tacit.design import Design
from tacit.errors import FileError, TacitError
from tacit.files.contents import described
from tacit.files.origin import Origin
from tacit.files.paths import check_readable, reading

Value = TypeVar("Value")


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
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
        raise FileError(f"{path}: not a {what}: {error}") from None


def read_text(path: str | Path) -> str:
    """The UTF-8 text of a file that is there and not empty."""
    path = Path(path)
    check_readable(path)
    with reading(path):
        return path.read_text(encoding="utf-8-sig")
