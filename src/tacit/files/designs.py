"""Design files: JSON that says which questions are asked and how the answers are disguised."""

from __future__ import annotations

from pathlib import Path

from tacit.design import Design
from tacit.errors import FileError, TacitError
from tacit.files.paths import check_readable, reading


def read_design(path: str | Path) -> Design:
    """The design that a file describes; errors name the file, and the line where JSON is broken."""
    path = Path(path)
    check_readable(path)
    with reading(path):
        source = path.read_text(encoding="utf-8-sig")
    try:
        return Design.from_json(source)
    except TacitError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
        raise FileError(f"{path}: not a design file: {error}") from None
