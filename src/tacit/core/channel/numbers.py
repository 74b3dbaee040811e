"""Exact numbers for the parameters of a coin, and logarithms that are never rounded down.

A parameter is converted to a `Fraction` at once. A float stands for the decimal it prints as:
`0.7` is 7/10, not the nearest binary number, so thresholds are exact integers and a design
file reads as its author wrote it.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.errors import DesignError

Number = int | float | str | Fraction | Decimal

#: A column of floats may miss 1 by this much; the rest goes to its largest entry.
FLOAT_SLACK = Fraction(1, 10**9)
#: Numerators and denominators have at most about 300 digits.
_MOST_BITS = 1000


def fraction(value: Any, what: str) -> Fraction:
    """`value` as an exact fraction; `what` names it in the error.

    >>> fraction(0.7, "theta"), fraction("1/6", "theta")
    (Fraction(7, 10), Fraction(1, 6))
    """
    try:
        exact = _exact(value)
    except (ArithmeticError, TypeError, ValueError):
        raise DesignError(
            f"{what} must be a number such as 0.7 or a fraction such as '1/6', got {_brief(value)}"
        ) from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        raise DesignError(f"{what} has too many digits; at most about 300 are allowed")
    return exact


def _exact(value: Any) -> Fraction:
    if isinstance(value, bool | np.bool_):
        raise TypeError
    if isinstance(value, str) and "/" not in value:
        value = Decimal(value)
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_BITS:
        raise ValueError
    if isinstance(value, int | np.integer | Fraction | Decimal | str):
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


def _brief(value: Any) -> str:
    return shortened(str(value) if isinstance(value, Fraction) else repr(value))


def shortened(text: str) -> str:
    """At most 60 characters, for one line of a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def probability(value: Any, what: str) -> Fraction:
    """`value` as an exact probability."""
    result = fraction(value, what)
    if not 0 <= result <= 1:
        raise DesignError(f"{what} must lie between 0 and 1, got {_brief(value)}")
    return result


def distribution(values: Any, what: str) -> tuple[Fraction, ...]:
    """`values` as exact probabilities that sum to 1.

    Exact entries must sum to 1 exactly; floats to within 1e-9, and then the largest entry takes
    the rounding, so that what is stored always sums to 1.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise DesignError(f"{what} must be a list of probabilities, got {values!r}")
    given = list(values)
    exact = all(isinstance(v, int | str | Fraction | Decimal) for v in given)
    slack = Fraction(0) if exact else FLOAT_SLACK
    entries = [_entry(v, f"{what}[{i}]", slack) for i, v in enumerate(given)]
    rest = 1 - sum(entries, Fraction(0))
    if not entries or abs(rest) > slack:
        raise DesignError(f"{what} must sum to 1, but sums to {float(1 - rest):.12g}")
    largest = max(range(len(entries)), key=entries.__getitem__)
    entries[largest] += rest
    return tuple(entries)


def _entry(value: Any, what: str, slack: Fraction) -> Fraction:
    """A probability; the value may lie outside [0, 1] by `slack`."""
    given = fraction(value, what)
    inside = min(max(given, Fraction(0)), Fraction(1))
    return inside if abs(given - inside) <= slack else probability(value, what)


def log_up(ratio: Fraction | None) -> float:
    """Natural logarithm of an exact ratio, rounded up to a float; None is infinite.

    Epsilon is shown to people who rely on it, so it is never rounded towards zero.
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    with decimal.localcontext() as context:
        context.prec = 60 + ratio.denominator.bit_length() // 3
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        above = exact + abs(exact).scaleb(-40)
        nearest = float(above)
        return nearest if Decimal(nearest) >= above else math.nextafter(nearest, math.inf)


def sum_up(terms: Iterable[float]) -> float:
    """Sum of floats, rounded up."""
    summands = list(terms)
    if math.inf in summands:
        return math.inf
    exact = sum(map(Fraction, summands), Fraction(0))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
