"""Positions of marks on the strips of charts, and their numbers as text.

A chart is a table whose second column is a strip of SVG. Positions on it are percentages of its
width, so a strip fits any screen and nothing is distorted.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The values at both ends of a strip, and in how many steps the axis is divided."""

    low: float = 0.0
    high: float = 1.0
    steps: int = 4
    unit: str = " %"
    factor: float = 100.0
    labels: tuple[str, ...] = ()

    def at(self, value: float) -> str:
        """The position of a value as a percentage of the width.

        >>> Scale().at(0.25), Scale(-0.2, 0.6).at(0), Scale().at(-0.1)
        ('25.00%', '25.00%', '0.00%')
        """
        return f"{100 * self.place(value):.2f}%"

    def place(self, value: float) -> float:
        """The position of a value from 0 to 1; outside the axis, that of its nearer end."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def span(self, start: float, end: float) -> str:
        """The width from one value to a larger one."""
        return f"{100 * (self.place(end) - self.place(start)):.2f}%"

    def stem(self, value: float) -> tuple[str, str]:
        """The start and the width of the bar from 0 to a value, on either side of 0."""
        start, end = sorted((0.0, value))
        return self.at(start), self.span(start, end)

    @property
    def ticks(self) -> list[str]:
        """The numbers below the axis; the last one has the unit.

        >>> Scale().ticks, Scale(-0.2, 0.6, unit=" points").ticks[-1]
        (['0', '25', '50', '75', '100 %'], '60 points')
        """
        if self.labels:
            return list(self.labels)
        step = (self.high - self.low) / self.steps
        values = (self.factor * (self.low + k * step) for k in range(self.steps + 1))
        numbers = [f"{round(value, 9) + 0.0:g}" for value in values]
        return [*numbers[:-1], numbers[-1] + self.unit]


def scale_for(values: Sequence[float], unit: str = " %", whole: bool = False) -> Scale:
    """A scale with round ends that contains 0 and all values; with `whole`, also 100 %.

    >>> scale_for([0.154, 0.47]).ticks
    ['0', '10', '20', '30', '40', '50 %']
    >>> scale_for([-0.02, 0.4], whole=True).ticks
    ['-20', '0', '20', '40', '60', '80', '100 %']
    """
    low, high = min(0.0, *values), max(1.0 if whole else 0.0, *values)
    for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1.0):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= (6 if low < 0 or not whole else 4):
            return Scale(first * step, max(last, first + 1) * step, max(last - first, 1), unit)
    return Scale(low, high, 4, unit)


def odds_scale(ratios: Sequence[float]) -> Scale:
    """A logarithmic scale of odds ratios in steps of 2 or more; positions are those of log2.

    >>> odds_scale([0.4, 5.0]).ticks
    ['1/4', '1/2', '1', '2', '4', '8']
    """
    logs = [math.log2(min(max(ratio, 2.0**-12), 2.0**12)) for ratio in ratios]
    low, high = math.floor(min(0.0, *logs)), math.ceil(max(0.0, *logs))
    high = max(high, low + 1)
    step = -(-(high - low) // 8)
    low, high = -step * -(low // step), step * -(-high // step)
    powers = range(low, high + 1, step)
    labels = tuple(f"{2**power:g}" if power >= 0 else f"1/{2**-power}" for power in powers)
    return Scale(low, high, len(labels) - 1, labels=labels)


def ratio_text(ratio: float) -> str:
    """An odds ratio; beyond three digits only that it is large or small.

    >>> ratio_text(2.054), ratio_text(1e9), ratio_text(1e-9)
    ('2.05', '> 999', '< 0.01')
    """
    return "> 999" if ratio > 999 else "< 0.01" if ratio < 0.01 else f"{ratio:.2f}"


def wrapped(label: str) -> list[str]:
    """A label in at most three lines of a picture.

    >>> wrapped("A long answer that does not fit in a single line of the picture")
    ['A long answer that does not', 'fit in a single line of the', 'picture']
    """
    return textwrap.wrap(label, 30, max_lines=3, placeholder=" …") or [""]


def row_height(lines: int) -> int:
    """The height of a row of a picture with so many lines of text."""
    return 12 + 14 * lines


def percent(share: float) -> str:
    """A share as percent, with a narrow space.

    >>> percent(0.41)
    '41.0\\u202f%'
    """
    return f"{100 * share:.1f}\u202f%"


def interval_text(low: float, high: float) -> str:
    """Both limits of an interval in percent.

    >>> interval_text(0.349, 0.471)
    '34.9 to 47.1'
    """
    return f"{100 * low:.1f} to {100 * high:.1f}"


def rounded(shares: Sequence[float]) -> bool:
    """Whether shares that sum to 1 no longer do so when each is rounded to a tenth of a percent.

    >>> rounded([0.3333, 0.3333, 0.3334]), rounded([0.59, 0.41])
    (True, False)
    """
    return abs(sum(round(1000 * share) for share in shares) - 1000) > 0
