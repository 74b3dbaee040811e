"""SignedKernels: what can be done to a group's report so that, with signs, the disguise is undone.

The inverse W of a group's channel is written as  W = sum_s v_s K_s  with K_s stochastic: each way
turns a report into one possible true answer and has a weight v_s, which may be negative and may
depend on the report. The weights of a group's ways sum to 1 for every report.

    truthful     1: keep
    replacing    1/theta: keep                -(1-theta)/theta: a draw from the known distribution
    related      theta/(2theta-1): K^(even)   -(1-theta)/(2theta-1): K^(odd)
    matrix       W[x, report]: answer x, one way for each true cell x

K of a related group gives every answer another category, all alike. Its inverse is the series
(1/theta) sum_j (-r)^j K^j with r = (1-theta)/theta: a mixture of even powers less one of odd
powers, both with geometric weights in r^2, so drawing the power keeps it exact. For yes/no answers
even powers keep and odd ones complement. The series needs r < 1, so theta > 1/2.

References: the complement set of Du & Zhan (2003, section 4.3) is `related` with yes/no answers,
P(Y cc) of Zhan & Matwin (section 3.4) is the draw of `replacing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Codes
from tacit.channel.distribution import Distribution
from tacit.exact_draws import Draws, source_of


@dataclass(frozen=True)
class Columns:
    """Where a group stands in true records and in reported ones."""

    true: tuple[int, ...]
    sizes: tuple[int, ...]
    reported: tuple[int, ...]
    reported_sizes: tuple[int, ...]

    def joint(self, reported: Codes) -> npt.NDArray[np.intp]:
        """The group's report as one number."""
        reports = [reported[:, column] for column in self.reported]
        return np.asarray(np.ravel_multi_index(reports, self.reported_sizes))


@dataclass(frozen=True, eq=False)
class SignedKernel(ABC):
    """One thing that can be done to a group's report."""

    columns: Columns

    @property
    def random(self) -> bool:
        """Whether two calls of `write` may differ."""
        return False

    @abstractmethod
    def weights(self, reported: Codes) -> Array | float:
        """What this way counts, record by record where it depends on the report."""

    @abstractmethod
    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        """Fill the group's columns in a copy of the records."""


@dataclass(frozen=True, eq=False)
class ConstantKernel(SignedKernel):
    """A way whose weight is the same for every report."""

    weight: float

    def weights(self, reported: Codes) -> float:
        return self.weight


@dataclass(frozen=True, eq=False)
class KeepKernel(ConstantKernel):
    """Take the report for the truth."""

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        for true, report in zip(self.columns.true, self.columns.reported, strict=True):
            copy[:, true] = reported[:, report]


@dataclass(frozen=True, eq=False)
class ComplementKernel(ConstantKernel):
    """Take the opposite of every yes/no answer."""

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        for true, report in zip(self.columns.true, self.columns.reported, strict=True):
            copy[:, true] = reported[:, report] ^ 1


@dataclass(frozen=True, eq=False)
class DrawKernel(ConstantKernel):
    """Draw the group's answers from a known distribution, afresh for every record."""

    drawn: Distribution

    @property
    def random(self) -> bool:
        return True

    @cached_property
    def _units(self) -> list[tuple[tuple[int, ...], Draws]]:
        units, distributions = self.drawn.units
        return [(u, Draws([d])) for u, d in zip(units, distributions, strict=True)]

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        source = source_of(rng)
        for unit, draws in self._units:
            cells = draws.draw(None, len(copy), source)
            answers = np.unravel_index(cells, [self.columns.sizes[i] for i in unit])
            for place, codes in zip(unit, answers, strict=True):
                copy[:, self.columns.true[place]] = codes


@dataclass(frozen=True, eq=False)
class PowerKernel(ConstantKernel):
    """Apply K an even (`parity` 0) or odd (1) number of times; `ratio` is (1-theta)/theta.

    K^j keeps an answer of k categories with probability (1 + (k-1) a) / k, a = (-1/(k-1))^j, and
    else gives another one, all alike.
    """

    parity: int
    ratio: float

    @property
    def random(self) -> bool:
        return True

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        power = 2 * (rng.geometric(1 - self.ratio**2, len(copy)) - 1) + self.parity
        places = zip(self.columns.true, self.columns.reported, self.columns.sizes, strict=True)
        for true, report, k in places:
            same = (1 + (k - 1) * (-1 / (k - 1)) ** power) / k
            other = rng.random(len(copy)) >= same
            shift = np.where(other, rng.integers(1, k, len(copy)), 0)
            copy[:, true] = (reported[:, report] + shift) % k


@dataclass(frozen=True, eq=False)
class CellKernel(SignedKernel):
    """Take one true cell for the truth; its weight is its entry of W at the report."""

    cell: int
    entries: Array

    def weights(self, reported: Codes) -> Array:
        weights: Array = self.entries[self.columns.joint(reported)]
        return weights

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        answers = np.unravel_index(self.cell, self.columns.sizes)
        for true, code in zip(self.columns.true, answers, strict=True):
            copy[:, true] = code


def cells_of(columns: Columns, inverse: Array) -> tuple[SignedKernel, ...]:
    """One way for each true cell: exact for any channel."""
    return tuple(CellKernel(columns, x, np.ascontiguousarray(row)) for x, row in enumerate(inverse))


def keep_or_draw(columns: Columns, theta: float, drawn: Distribution) -> tuple[SignedKernel, ...]:
    """The ways of the replacing families."""
    kept = KeepKernel(columns, 1 / theta)
    return (kept,) if theta == 1 else (kept, DrawKernel(columns, -(1 - theta) / theta, drawn))


def keep_or_complement(columns: Columns, theta: float) -> tuple[SignedKernel, ...]:
    """The ways of a related group of yes/no answers."""
    both = (
        KeepKernel(columns, theta / (2 * theta - 1)),
        ComplementKernel(columns, -(1 - theta) / (2 * theta - 1)),
    )
    return tuple(way for way in both if way.weight)


def even_or_odd(columns: Columns, theta: float) -> tuple[SignedKernel, ...]:
    """The ways of a related group of any categories with theta > 1/2."""
    ratio = (1 - theta) / theta
    if ratio == 0:
        return (KeepKernel(columns, 1.0),)
    return (
        PowerKernel(columns, theta / (2 * theta - 1), 0, ratio),
        PowerKernel(columns, -(1 - theta) / (2 * theta - 1), 1, ratio),
    )
