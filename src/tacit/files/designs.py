"""JSON files that describe one value: a design, or a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tacit.design import Design
from tacit.errors import FileError, TacitError
from tacit.files.paths import check_readable, reading

Value = TypeVar("Value")


def read_design(path: str | Path) -> Design:
    """The design that a file describes; errors name the file, and the line where JSON is broken."""
    return read_described(path, Design.from_json, "design")


def read_described(path: str | Path, parse: Callable[[str], Value], kind: str) -> Value:
    """What a file of this kind describes, as `parse` reads it; errors name the file."""
    source = read_text(path)
    try:
        return parse(source)
    except TacitError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
        raise FileError(f"{path}: not a {kind} file: {error}") from None


def read_text(path: str | Path) -> str:
    """The UTF-8 text of a file that is there and not empty."""
    path = Path(path)
    check_readable(path)
    with reading(path):
        return path.read_text(encoding="utf-8-sig")
