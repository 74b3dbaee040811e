"""Methods of estimating and testing that a user passes, checked; and how tests are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tacit.errors import DataError
from tacit.reconstruction.inference import TEST_METHODS, TestMethod


def check_table_method(method: Any) -> None:
    """Raise unless this is a method of estimating tables."""
    if not callable(method):
        from tacit.reconstruction import METHODS

        _refuse(method, list(METHODS))


def checked_test(method: Any) -> TestMethod:
    """A method of testing; an error for anything else."""
    if not callable(method):
        _refuse(method, [each.__name__ for each in TEST_METHODS.values()])
    return cast(TestMethod, method)


def given_text(groups: Sequence[str]) -> str:
    """The groups within which a hypothesis is tested."""
    return f" given {', '.join(groups)}" if groups else ""


def _refuse(method: Any, known: list[str]) -> None:
    names = ", ".join(known)
    raise DataError(f"method must be one of tacit.reconstruction: {names}; got {method!r}")
