"""Exact numbers for the parameters of a coin, and logarithms that never flatter.

A parameter is a `Fraction` from the door on. A float stands for the decimal it prints as:
`0.7` is 7/10, not the nearest binary number, so thresholds are exact integers and a design
file reads as its author wrote it.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.errors import DesignError

Number = int | float | str | Fraction | Decimal

#: A column of floats may miss 1 by this much; the rest goes to its largest entry.
FLOAT_SLACK = Fraction(1, 10**9)


def fraction(value: Any, what: str) -> Fraction:
    """`value` as an exact fraction; `what` names it in the error.

    >>> fraction(0.7, "theta"), fraction("1/6", "theta")
    (Fraction(7, 10), Fraction(1, 6))
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, int | Fraction | Decimal | str):
            return Fraction(value)
        return Fraction(repr(float(value)))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise DesignError(
            f"{what} must be a number such as 0.7 or a fraction such as '1/6', got {value!r}"
        ) from None


def probability(value: Any, what: str) -> Fraction:
    """`value` as an exact probability."""
    result = fraction(value, what)
    if not 0 <= result <= 1:
        raise DesignError(f"{what} must lie between 0 and 1, got {value}")
    return result


def distribution(values: Any, what: str) -> tuple[Fraction, ...]:
    """`values` as exact probabilities that sum to 1.

    Exact entries must sum to 1 exactly; floats to within 1e-9, and then the largest entry takes
    the rounding, so that what is stored always sums to 1.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise DesignError(f"{what} must be a list of probabilities, got {values!r}")
    given = list(values)
    entries = [probability(v, f"{what}[{i}]") for i, v in enumerate(given)]
    rest = 1 - sum(entries, Fraction(0))
    exact = all(isinstance(v, int | str | Fraction | Decimal) for v in given)
    if not entries or abs(rest) > (Fraction(0) if exact else FLOAT_SLACK):
        raise DesignError(f"{what} must sum to 1, but sums to {float(1 - rest):.12g}")
    largest = max(range(len(entries)), key=entries.__getitem__)
    entries[largest] += rest
    return tuple(entries)


def texts(values: Sequence[Fraction]) -> list[str]:
    """Fractions as the exact strings a design file holds."""
    return [str(v) for v in values]


def log_up(ratio: Fraction | None) -> float:
    """Natural logarithm of an exact ratio, rounded up to a float; None is infinite.

    Epsilon is shown to people who rely on it, so it is never rounded towards zero.
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    with decimal.localcontext() as context:
        context.prec = 60 + len(str(ratio.denominator))
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        above = exact + abs(exact).scaleb(-40)
        nearest = float(above)
        return nearest if Decimal(nearest) >= above else math.nextafter(nearest, math.inf)
