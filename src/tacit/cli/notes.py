"""Notes on standard error, told when a command has done its work: an error stays one line."""

from __future__ import annotations

import typer

_waiting: list[str] = []


def note(text: str) -> None:
    """Tell this once the command is done."""
    if text not in _waiting:
        _waiting.append(text)


def tell_notes() -> None:
    """Tell what was noted."""
    for text in _waiting:
        typer.echo(f"note: {text}", err=True)
    drop_notes()


def drop_notes() -> None:
    """Forget what was noted by a command that failed."""
    _waiting.clear()
