"""Notes on standard error, printed after the command is done: an error stays one line."""

from __future__ import annotations

from typer import echo

_waiting: list[str] = []


def note(text: str) -> None:
    """Print this after the command is done."""
    if text not in _waiting:
        _waiting.append(text)


def note_seed(seed: int | None) -> None:
    """Say that draws from a seed are for simulation."""
    if seed is not None:
        note(
            f"drawn with seed {seed}, for simulation only: whoever knows the seed can undo "
            "the disguise; leave --seed out for answers of real people"
        )


def tell_notes() -> None:
    """Print the notes."""
    for text in _waiting:
        echo(f"note: {text}", err=True)
    drop_notes()


def drop_notes() -> None:
    """Discard the notes of a command that failed."""
    _waiting.clear()
