"""LineFigure: curves placed in a picture, for SVG that a template writes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

#: The place of the axes in the picture.
LEFT, RIGHT, TOP, HEIGHT = 70.0, 590.0, 10.0, 220.0
#: Room below the axes for numbers and the name of the axis, and for a line of the legend.
_BELOW, _LEGEND = 52.0, 22.0
_TICKS = 5


Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """The range of one coordinate, its name, and numbers beside it."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = map(math.log, (low, high, value))
        return (value - low) / (high - low)


@dataclass(frozen=True)
class LineFigure:
    """Curves and axes; the properties are places in the picture."""

    curves: Mapping[str, Points]
    across: Axis
    up: Axis

    @property
    def height(self) -> float:
        """The height of the picture."""
        legend = _LEGEND * len(self.curves) if len(self.curves) > 1 else 0
        return TOP + HEIGHT + _BELOW + legend

    @property
    def bottom(self) -> float:
        """Where the horizontal axis is."""
        return TOP + HEIGHT

    @property
    def lines(self) -> list[tuple[str, list[tuple[float, float]]]]:
        """The name and the places of each curve."""
        return [
            (label, [(self.x(a), self.y(b)) for a, b in points])
            for label, points in self.curves.items()
        ]

    def x(self, value: float) -> float:
        """The horizontal place of a value."""
        return round(LEFT + (RIGHT - LEFT) * self.across.share(value), 1)

    def y(self, value: float) -> float:
        """The vertical place of a value."""
        return round(TOP + HEIGHT * (1 - self.up.share(value)), 1)

    def legend_y(self, line: int) -> float:
        """The vertical place of a line of the legend."""
        return TOP + HEIGHT + _BELOW + _LEGEND * line


def line_figure(
    curves: Mapping[str, Points],
    across: str,
    up: str,
    logarithmic: bool = False,
    named: Sequence[tuple[float, str]] = (),
) -> LineFigure | None:
    """A figure of curves by their names; None without points.

    `across` and `up` name the axes. `logarithmic` is for the vertical axis. `named` are texts at
    values of the horizontal axis instead of numbers.
    """
    drawn = {label: points for label, points in curves.items() if points}
    if not drawn:
        return None
    xs, ys = zip(*(point for points in drawn.values() for point in points), strict=True)
    horizontal = _axis(across, xs)
    if named:
        low, high = _apart(min(xs), max(xs))
        horizontal = Axis(across, low, high, tuple(named))
    logarithmic = logarithmic and min(ys) > 0
    vertical = _axis(up, ys if logarithmic else [0.0, *ys], logarithmic)
    return LineFigure(drawn, horizontal, vertical)


def _axis(name: str, values: Sequence[float], logarithmic: bool = False) -> Axis:
    low, high = _apart(min(values), max(values))
    marks = [*(_log_ticks if logarithmic else _plain_ticks)(low, high)]
    low, high = min(low, marks[0]), max(high, marks[-1])
    return Axis(name, low, high, tuple((mark, f"{mark:,g}") for mark in marks), logarithmic)


def _apart(low: float, high: float) -> tuple[float, float]:
    """Two different ends."""
    if high > low:
        return low, high
    return (low - 1, low + 1) if low == 0 else (low - abs(low) / 2, low + abs(low) / 2)


def _plain_ticks(low: float, high: float) -> Iterator[float]:
    """Round numbers around a range."""
    rough = (high - low) / _TICKS
    unit = 10 ** math.floor(math.log10(rough))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= rough * (1 - 1e-9))
    for k in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1):
        yield round(k * step, 12)


def _log_ticks(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten around a range; only powers if that are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    parts = (1, 2, 5) if last - first <= 2 else (1,)
    marks = [part * 10.0**power for power in range(first, last + 1) for part in parts]
    start = max(k for k, mark in enumerate(marks) if mark <= low * (1 + 1e-9))
    stop = min(k for k, mark in enumerate(marks) if mark >= high * (1 - 1e-9))
    yield from marks[start : stop + 1]
