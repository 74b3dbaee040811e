"""Signed kernels: a group's inverse W as a signed mixture of stochastic matrices.

    W = sum_s v_s K_s

Each kernel K_s turns a report into one possible true answer and has a weight v_s, which may be
negative and may depend on the report. The weights of a group's kernels sum to 1 for every report.

    truthful     1: keep
    replacing    1/theta: keep                -(1-theta)/theta: a draw from the known distribution
    related      theta/(2theta-1): K^(even)   -(1-theta)/(2theta-1): K^(odd)
    matrix       W[x, report]: answer x, one kernel per true cell x

K of a related group replaces every answer by one of the others, all equally likely. Its inverse is
the series (1/theta) sum_j (-r)^j K^j with r = (1-theta)/theta: a mixture of even powers minus one
of odd powers, both with geometric weights in r^2, so drawing the power keeps it exact. For yes/no
answers even powers keep and odd ones complement. The series needs r < 1, so theta > 1/2.

References: the complement set of Du & Zhan (2003, section 4.3) is `related` with yes/no answers,
P(Y cc) of Zhan & Matwin (section 3.4) is the draw of `replacing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.core.channel.coin import Distribution
from tacit.core.design import Factor
from tacit.core.exact_draws import Draws, source_of


@dataclass(frozen=True, eq=False)
class SignedKernel(ABC):
    """One kernel of a group, a factor of the channel of whole records.

    Its weight is the same for every report unless it says otherwise.
    """

    factor: Factor
    weight: float

    #: Whether two calls of `write` may differ.
    random: ClassVar[bool] = False

    def weights(self, reported: Codes) -> Array | float:
        """The weight of each record."""
        return self.weight

    @abstractmethod
    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        """Fill the group's columns in a copy of the records."""


@dataclass(frozen=True, eq=False)
class KeepKernel(SignedKernel):
    """Take the report as the truth; with `flip` 1 the opposite of every yes/no answer."""

    flip: int = 0

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        for true, report in zip(self.factor.true_axes, self.factor.reported_axes, strict=True):
            copy[:, true] = reported[:, report] ^ self.flip


@dataclass(frozen=True, eq=False)
class DrawKernel(SignedKernel):
    """Draw the group's answers from a known distribution, independently for every record."""

    drawn: Distribution

    random: ClassVar[bool] = True

    @cached_property
    def _units(self) -> list[tuple[tuple[int, ...], Draws]]:
        units, distributions = self.drawn.units
        return [(u, Draws([d])) for u, d in zip(units, distributions, strict=True)]

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        source = source_of(rng)
        for unit, draws in self._units:
            cells = draws.draw(None, len(copy), source)
            answers = np.unravel_index(cells, [self.drawn.shape[i] for i in unit])
            for place, codes in zip(unit, answers, strict=True):
                copy[:, self.factor.true_axes[place]] = codes


@dataclass(frozen=True, eq=False)
class PowerKernel(SignedKernel):
    """Apply K an even (`parity` 0) or odd (1) number of times; `ratio` is (1-theta)/theta.

    K^j keeps an answer of k categories with probability (1 + (k-1) a) / k, a = (-1/(k-1))^j, and
    else gives one of the others, all equally likely.
    """

    parity: int
    ratio: float

    random: ClassVar[bool] = True

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        power = 2 * (rng.geometric(1 - self.ratio**2, len(copy)) - 1) + self.parity
        axes, sizes = (
            (self.factor.true_axes, self.factor.reported_axes),
            self.factor.channel.true_shape,
        )
        for true, report, k in zip(*axes, sizes, strict=True):
            same = (1 + (k - 1) * (-1 / (k - 1)) ** power) / k
            other = rng.random(len(copy)) >= same
            shift = np.where(other, rng.integers(1, k, len(copy)), 0)
            copy[:, true] = (reported[:, report] + shift) % k


@dataclass(frozen=True, eq=False)
class CellKernel(SignedKernel):
    """Take one true cell as the truth; its weight is its entry of W at the report."""

    cell: int
    entries: Array

    def weights(self, reported: Codes) -> Array:
        reports = [reported[:, column] for column in self.factor.reported_axes]
        joint = np.ravel_multi_index(reports, self.factor.channel.reported_shape)
        return np.asarray(self.entries[joint])

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        copy[:, self.factor.true_axes] = np.unravel_index(self.cell, self.factor.channel.true_shape)


def cell_kernels(factor: Factor, inverse: Array) -> tuple[SignedKernel, ...]:
    """One kernel per true cell: exact for any channel."""
    rows = enumerate(inverse)
    return tuple(CellKernel(factor, 0.0, x, np.ascontiguousarray(row)) for x, row in rows)
