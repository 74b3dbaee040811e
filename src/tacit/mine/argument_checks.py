"""Checks of the numbers that miners are constructed with."""

from __future__ import annotations

import math
import numbers
from typing import Any

from tacit.errors import DataError


def is_real(value: Any) -> bool:
    """Whether this is a number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise DataError unless this is a whole number that is large enough."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise DataError(f"{name} must be a whole number from {least} up, got {value!r}")


def check_rate(name: str, value: Any) -> None:
    """Raise DataError unless this is a number between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:
        raise DataError(f"{name} must lie between 0 and 1, got {value!r}")


def non_negative(name: str, value: Any) -> float:
    """Check that an argument is a finite number of at least 0."""
    if not is_real(value) or not 0 <= value < math.inf:
        raise DataError(f"{name} must be a number from 0 up, got {value!r}")
    return float(value)
