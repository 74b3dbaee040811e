"""Checks of numbers that are given as arguments."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from tacit.errors import DataError


def is_real(value: Any) -> bool:
    """Whether this is a number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """`value`, if it is a whole number from `least` to `most`; else a DataError."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        end = "up" if most == math.inf else f"to {most:,}"
        raise DataError(f"{name} must be a whole number from {least} {end}, got {value!r}")
    return int(value)


def check_number(name: str, value: Any) -> float:
    """`value`, if it is a number; else a DataError."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__") or np.ndim(value):
        raise DataError(f"{name} must be a number, got {value!r}")
    return float(value)


def check_share(name: str, value: Any) -> float:
    """`value`, if it is a number from 0 to 1; else a DataError."""
    if not 0 <= check_number(name, value) <= 1:
        raise DataError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)


def check_rate(name: str, value: Any) -> None:
    """Raise DataError unless this is a number between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:
        raise DataError(f"{name} must lie between 0 and 1, got {value!r}")


def non_negative(name: str, value: Any) -> float:
    """Check that an argument is a finite number of at least 0."""
    if not is_real(value) or not 0 <= value < math.inf:
        raise DataError(f"{name} must be a number from 0 up, got {value!r}")
    return float(value)
