"""Numbers in text: digits, plurals, and a word for unknown numbers."""

from __future__ import annotations

import math

UNKNOWN, UNBOUNDED = "unknown", "unbounded"
#: Four decimals show at most one digit of numbers that are closer to 0.
_SMALL = 1e-3
#: Share of a number that is a rounding error beside it.
_ROUNDING = 1e-9


def number_of(n: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> number_of(1, "record"), number_of(2000, "record"), number_of(0, "leaf", "leaves")
    ('1 record', '2,000 records', '0 leaves')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def text(label: object) -> str:
    """The text by which labels are compared: 2.0 gives "2", True gives "True"."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def decimals(value: float, scale: float = 0.0) -> str:
    """Four decimals, or three significant digits below .001, or "unknown" for NaN.

    Beside numbers of size `scale`, what is a billion times smaller is 0 and a rounding error.

    >>> decimals(0.25), decimals(0.00025), decimals(2.5e-7), decimals(math.nan)
    ('0.2500', '0.000250', '2.50e-07', 'unknown')
    >>> decimals(1e-17, scale=0.02)
    '0.0000'
    """
    if math.isnan(value):
        return UNKNOWN
    if abs(value) <= _ROUNDING * scale < math.inf:
        value = 0.0
    return f"{value:.4f}" if value == 0 or abs(value) >= _SMALL else f"{value:#.3g}"


def span(lower: float, upper: float) -> str:
    """The two ends of an interval, or "unknown" for NaN; infinite ends are "unbounded".

    >>> span(0.25, 0.5), span(math.nan, math.nan), span(-math.inf, 0.5), span(-math.inf, math.inf)
    ('0.2500 .. 0.5000', 'unknown', 'unbounded .. 0.5000', 'unbounded')
    """
    if math.isnan(lower) or math.isnan(upper):
        return UNKNOWN
    if math.isinf(lower) and math.isinf(upper):
        return UNBOUNDED
    scale = max(abs(end) for end in (lower, upper) if math.isfinite(end))
    ends = (UNBOUNDED if math.isinf(end) else decimals(end, scale) for end in (lower, upper))
    return " .. ".join(ends)
