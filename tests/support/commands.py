"""What a command of tacit left behind."""

from __future__ import annotations

from typing import NamedTuple


class Ran(NamedTuple):
    """Its exit status and what it printed."""

    status: int
    out: str
    err: str


def is_one_error(ran: Ran, said: str) -> None:
    """One line on standard error that begins with `error:` and holds these words."""
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
