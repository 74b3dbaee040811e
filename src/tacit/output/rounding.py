"""Numbers for people, rounded outward: privacy down, risk up.

A value within 1e-9 of a printed number is printed as that number: figures are computed with a
margin for roundings, which must not cost a whole digit.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeVar, cast

Value = TypeVar("Value")
_NEAR = Decimal("1e-9")


def down(value: float, digits: int = 3) -> str:
    """A figure of privacy.

    >>> down(0.29999999999996), down(0.2996)
    ('0.300', '0.299')
    """
    return str((Decimal(value) + _NEAR).quantize(Decimal(10) ** -digits, ROUND_FLOOR))


def up(value: float, digits: int = 3) -> str:
    """A figure of risk; an infinite one in words.

    >>> up(0.7001), up(float("inf"))
    ('0.701', 'infinite')
    """
    if math.isinf(value):
        return "infinite"
    near = (Decimal(value) - _NEAR).quantize(Decimal(10) ** -digits, ROUND_CEILING)
    return str(abs(near) if near == 0 else near)


def monte_carlo(stderr: float) -> str:
    """The largest error of figures of which the pessimistic end is shown, in words."""
    return f"with a standard error of up to {up(stderr, 4)}, shown three of them on the safe side"


def finite(value: Value) -> Value:
    """The same with infinite numbers as None: JSON has no infinity."""
    plain: Any = value
    if isinstance(value, dict):
        plain = {key: finite(item) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        plain = [finite(item) for item in value]
    elif isinstance(value, float) and not math.isfinite(value):
        plain = None
    return cast(Value, plain)


def epsilon(value: float) -> str:
    """Two decimals, rounded up without exception: a guarantee that is known exactly.

    >>> epsilon(1.0986122886681098)
    '1.10'
    """
    if math.isinf(value):
        return "infinite"
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_CEILING))
