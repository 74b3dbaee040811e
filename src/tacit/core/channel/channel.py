"""Channel: the matrix[reported, true] of one group, with its guarantee and its condition.

A channel is what an adversary and an analyst both see of a coin. It carries epsilon, so no
disguise comes without its guarantee, and the condition number, so no reconstruction comes
without a warning of what it costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.kernels import DenseKernel, Kernel, check_dense
from tacit.core.channel.linear_maps import Dense, Linear, outer
from tacit.core.channel.numbers import log_up
from tacit.core.channel.weights import Axes, CellKernel, GroupWeights, MatrixWeights, SignedKernel


class LocallyPrivate(ABC):
    """A disguise, known by the largest ratio of the probabilities of a report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two true answers; None if none."""

    @property
    def epsilon(self) -> float:
        """Local differential privacy: log of `ratio`, rounded up; infinite without a limit."""
        return log_up(self.ratio)


#: Position of an attribute in its group, and the codes of two of its categories.
Target = tuple[int, int, int]
#: For each outcome, its probability under a first and under a second true cell.
Outcomes = list[tuple[Fraction, Fraction]]
#: Channels of at most this many true cells are multiplied as matrices.
_SMALL = 64
#: Beyond this magnification nothing of a double's precision is left to reconstruct from.
WORST_CONDITION = 1e12


@dataclass(frozen=True)
class SecondMoments:
    """What one report weighs, squared, in the estimate of a cell (one entry per cell).

    Moments of a higher power have the same form.

    Let g be a report's weight in the estimate of cell x. `own` is E[g^2 | true = x], `low` and
    `high` bound E[g^2 | true = x'] over the other cells x'. Intervals need them to know the
    variance under a hypothesis, not only at the estimate.
    """

    own: Array
    low: Array
    high: Array

    def __mul__(self, other: SecondMoments) -> SecondMoments:
        """Those of two groups' joint cells; another cell differs in one group or in both."""
        here, there = (self.own, self.low, self.high), (other.own, other.low, other.high)
        low = high = outer(self.own, other.low)
        # All products but that of both own; moments of odd powers may be negative.
        for first, second in [*product(here[:1], there[2:]), *product(here[1:], there)]:
            joint = outer(first, second)
            low, high = np.minimum(low, joint), np.maximum(high, joint)
        return SecondMoments(outer(self.own, other.own), low, high)


class Channel(LocallyPrivate):
    """matrix[reported, true] of one group; cells are flattened in the order of its attributes."""

    @property
    @abstractmethod
    def true_shape(self) -> tuple[int, ...]:
        """Number of categories of each true attribute."""

    @property
    def reported_shape(self) -> tuple[int, ...]:
        """Number of categories of each reported attribute."""
        return self.true_shape

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of two entries in a row, exact; None where a row has a zero."""

    @property
    @abstractmethod
    def overlap(self) -> Fraction:
        """sum_y min_x M[y, x]: the share of reports that say nothing about the truth (Doeblin)."""

    @abstractmethod
    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Pairs of true cells that a report tells apart best, as the columns of both cells.

        At least the pairs that no other pair dominates (see `tacit.core.bounds`), or the
        erasure experiment, which dominates all. With a target, the two cells have its categories.
        """

    @property
    @abstractmethod
    def condition(self) -> float:
        """Largest over smallest singular value; infinite for a singular channel."""

    @property
    def magnification(self) -> float:
        """By how much reconstruction may magnify an error, in a norm that suits the channel."""
        return self.condition

    @property
    def reconstructable(self) -> bool:
        """Whether the true distribution can be told from the reported one."""
        return self.magnification < WORST_CONDITION

    @property
    @abstractmethod
    def forward(self) -> Linear:
        """The channel as a map: reported distribution = forward @ true distribution."""

    @property
    @abstractmethod
    def inverse(self) -> Linear | None:
        """The closed form of the inverse; None where there are more reported than true cells."""

    @property
    def second_moments(self) -> SecondMoments:
        """Second moments of the weights that `inverse` gives to reports."""
        return self.moments(2)

    @abstractmethod
    def moments(self, power: int) -> SecondMoments:
        """The same for another power of the weights."""

    @cached_property
    def undisguised(self) -> bool:
        """Whether a report reveals the true answers, so that shares of them are counted."""
        if self.inverse is None or not self.reconstructable:
            return False
        moments = self.second_moments
        return bool((moments.own == 1).all() and (moments.high == 0).all())

    @property
    def matrix(self) -> Array:
        """All entries."""
        return self.forward.matrix()

    @property
    def fast_forward(self) -> Linear:
        """`forward` in the form that is applied fastest, for maps that are applied often."""
        small = math.prod(self.true_shape) <= _SMALL
        return Dense(self.matrix) if small else self.forward

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> GroupWeights:
        """What a report contributes to estimates of events, for a group of these attributes.

        `inverse` is called for W, if the weights need all its entries: a channel with more reported
        than true cells has many inverses, and the best depends on the reports.
        """
        return MatrixWeights(attributes, inverse(), self.matrix)

    def cell_kernels(self, true: Axes, reported: Axes, inverse: Array) -> tuple[SignedKernel, ...]:
        """W as a signed mixture of one kernel per true cell: exact for any channel."""
        cells = np.indices(self.true_shape).reshape(len(self.true_shape), -1).T
        return tuple(
            CellKernel(true, reported, 0.0, tuple(cell), self.reported_shape, np.array(row))
            for cell, row in zip(cells.tolist(), inverse, strict=True)
        )

    @cached_property
    def kernel(self) -> Kernel:
        """The channel as an adversary needs it: passes over tables without cancellation."""
        check_dense(math.prod(self.true_shape))
        return DenseKernel(self.matrix, self.true_shape)


def erasure(shared: Fraction) -> Outcomes:
    """The truth with probability 1 - shared, else nothing."""
    nothing = Fraction(0)
    return [(1 - shared, nothing), (nothing, 1 - shared), (shared, shared)]


def moments_of(forward: Dense, inverse: Dense, power: int) -> SecondMoments:
    """Moments by plain multiplication: row x, column x' holds E[g^power | true = x'].

    Where a row stands for several true cells, `own` is the largest of the row.
    """
    moments = inverse.power(power) @ forward.entries
    rows, columns = moments.shape
    if rows != columns:
        largest = moments.max(axis=1)
        return SecondMoments(largest, moments.min(axis=1), largest)
    diagonal = np.eye(rows, dtype=bool)
    low = np.where(diagonal, np.inf, moments).min(axis=1)
    return SecondMoments(moments[diagonal], low, np.where(diagonal, -np.inf, moments).max(axis=1))
