"""Numbers in text: plurals, and a word for unknown numbers."""

from __future__ import annotations

import math

UNKNOWN, UNBOUNDED = "unknown", "unbounded"


def number_of(n: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> number_of(1, "record"), number_of(2000, "record"), number_of(0, "leaf", "leaves")
    ('1 record', '2,000 records', '0 leaves')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def decimals(value: float) -> str:
    """Four decimals, or "unknown" for NaN.

    >>> decimals(0.25), decimals(math.nan)
    ('0.2500', 'unknown')
    """
    return UNKNOWN if math.isnan(value) else f"{value:.4f}"


def span(lower: float, upper: float) -> str:
    """The two ends of an interval, or "unknown" for NaN; infinite ends are "unbounded".

    >>> span(0.25, 0.5), span(math.nan, math.nan), span(-math.inf, 0.5), span(-math.inf, math.inf)
    ('0.2500 .. 0.5000', 'unknown', 'unbounded .. 0.5000', 'unbounded')
    """
    if math.isnan(lower) or math.isnan(upper):
        return UNKNOWN
    if math.isinf(lower) and math.isinf(upper):
        return UNBOUNDED
    return " .. ".join(UNBOUNDED if math.isinf(end) else f"{end:.4f}" for end in (lower, upper))
