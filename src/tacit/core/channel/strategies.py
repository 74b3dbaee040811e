"""Strategies: what a coin may decide to do with the answers of its group."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.core.channel.numbers import Distribution, Probabilities, Unit
from tacit.core.exact_draws import Draws, Integers, Source

#: Of more joint results, the chances are not listed.
_MOST_CHANCES = 1000


class Redraw(NamedTuple):
    """What a strategy draws anew: reports of one unit, given their joint true answers."""

    true: Unit
    sizes: tuple[int, ...]
    reported: Unit
    reported_sizes: tuple[int, ...]
    draw: Callable[[Integers, Source], Integers]

    def __call__(
        self, answers: Sequence[Codes], reports: Sequence[Codes], rows: Any, source: Source
    ) -> None:
        """Overwrite the reports in these rows."""
        joint = np.ravel_multi_index([answers[i][rows] for i in self.true], self.sizes)
        drawn = np.unravel_index(self.draw(joint, source), self.reported_sizes)
        for position, codes in zip(self.reported, drawn, strict=True):
            reports[position][rows] = codes


class UnitChannel(NamedTuple):
    """One unit under one strategy: positions of its answers and its reports, B[reported, true]."""

    attributes: Unit
    reports: Unit
    matrix: Array


class Strategy(ABC):
    """What a coin may decide to do with the answers of its group.

    `sizes` are the numbers of categories of its attributes, `reported` those of its reports.
    """

    @abstractmethod
    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        """How to draw reports, unit by unit; answers without a redraw are reported as they are."""

    @abstractmethod
    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        """The channels of what the strategy disguises independently."""

    @abstractmethod
    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        """The probability of each result that one throw must tell apart, if it decides all."""


@dataclass(frozen=True)
class Keep(Strategy):
    """Report the truth."""

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        return []

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        return [UnitChannel((i,), (i,), np.eye(k)) for i, k in enumerate(sizes)]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield weight


@dataclass(frozen=True)
class Differ(Strategy):
    """Report, for each unit, one of the other answers, all alike; for yes/no the opposite."""

    units: tuple[Unit, ...]

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        shapes = {unit: tuple(sizes[i] for i in unit) for unit in self.units}
        return [Redraw(unit, shape, unit, shape, _another(shape)) for unit, shape in shapes.items()]

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        cells = {unit: math.prod(sizes[i] for i in unit) for unit in self.units}
        return [UnitChannel(unit, unit, (1 - np.eye(k)) / (k - 1)) for unit, k in cells.items()]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield weight / math.prod(math.prod(sizes[i] for i in u) - 1 for u in self.units)


@dataclass(frozen=True)
class Replace(Strategy):
    """Report a draw from a known distribution, whatever the truth."""

    drawn: Distribution

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        redraws = []
        for unit, table in self.drawn.units:
            shape = tuple(sizes[i] for i in unit)
            draw = _drawn(Draws([table]), by_truth=False)
            redraws.append(Redraw(unit, shape, unit, shape, draw))
        return redraws

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        pairs = ((unit, np.array([table], dtype=np.float64)) for unit, table in self.drawn.units)
        return [UnitChannel(unit, unit, row.repeat(row.size, axis=0).T) for unit, row in pairs]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        """Of too many cells, one chance that no device can throw stands for all."""
        listed = math.prod(self.drawn.shape) <= _MOST_CHANCES
        tables = [table for _, table in self.drawn.units]
        cells = product(*tables) if listed else iter([(Fraction(1, 10**9),)])
        yield from (weight * math.prod(cell, start=Fraction(1)) for cell in cells)


@dataclass(frozen=True)
class Substitute(Strategy):
    """Report a draw from the distribution that belongs to the group's true joint answer."""

    columns: tuple[Probabilities, ...]

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        draw = _drawn(Draws(self.columns), by_truth=True)
        positions, reports = tuple(range(len(sizes))), tuple(range(len(reported)))
        return [Redraw(positions, tuple(sizes), reports, tuple(reported), draw)]

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        positions, reports = tuple(range(len(sizes))), tuple(range(len(reported)))
        return [UnitChannel(positions, reports, np.array(self.columns, dtype=np.float64).T)]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield from (weight * entry for column in self.columns for entry in column)


def _drawn(draws: Draws, by_truth: bool) -> Callable[[Integers, Source], Integers]:
    """From the distribution that belongs to the true answer, or from the only one."""
    return lambda joint, source: draws.draw(joint if by_truth else None, len(joint), source)


def _another(sizes: Sequence[int]) -> Callable[[Integers, Source], Integers]:
    """One of the other answers, each equally likely."""
    if list(sizes) == [2]:
        return lambda joint, source: 1 - joint
    if len(sizes) == 1:
        (cells,) = sizes
        draws = Draws([[Fraction(1, cells - 1)] * (cells - 1)])
        return lambda joint, source: (joint + 1 + draws.draw(None, len(joint), source)) % cells
    draws_by_attribute = [Draws([[Fraction(1, k)] * k]) for k in sizes]

    def redraw(joint: Integers, source: Source) -> Integers:
        """Any joint answer, drawn again if it is the true one."""
        drawn, left = joint.copy(), np.arange(len(joint))
        while left.size:
            columns = [draws.draw(None, len(left), source) for draws in draws_by_attribute]
            drawn[left] = np.ravel_multi_index(columns, sizes)
            left = left[drawn[left] == joint[left]]
        return drawn

    return redraw
