"""Kernels: what an adversary needs of one group's channel.

Three passes over a table, free of cancellation:

    total    sum_x M[y, x]   t[x]      probability of each report
    squares  sum_x M[y, x]^2 t[x]      for a guess drawn from the posterior
    peak     max_x M[y, x]   t[x]      for the best guess

Sums and maxima distribute over products, so these passes can be taken group by group over
independent groups. Only numbers that are not negative are added and multiplied: a zero stays
exactly zero, and every result is right up to a few roundings. That is why privacy figures can
be rounded outward. Entries computed from the eigenvalues of a channel have neither property.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.numbers import Distribution
from tacit.errors import DataError

#: The largest number of true cells for which a channel is written out as a matrix.
MAX_DENSE = 4096


@dataclass(frozen=True, eq=False)
class Mixture:
    """Keep the truth with probability theta, else disguise it (rest = 1 - theta).

        M[y, x] = theta [x = y] + rest prod_a B_a[y_a, x_a]      `others` are the B_a
        M[y, x] = theta [x = y] + rest d[y]                      `drawn` is d

    `others` is also given if d is a product; theta is negative for frapp with lambda < 1.
    """

    theta: float
    rest: float
    others: tuple[Array, ...]
    drawn: Distribution | None


class Step(Enum):
    """The three passes over a table t."""

    #: sum_x M[y, x] t[x]
    TOTAL = "total"
    #: sum_x M[y, x]^2 t[x]
    SQUARES = "squares"
    #: max_x M[y, x] t[x]
    PEAK = "peak"


class Kernel(ABC):
    """The channel of one group; tables have its true cells along their first axis."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The longest sum behind one entry of a result: roundings grow with it."""

    @property
    def mixture(self) -> Mixture | None:
        """Its two strategies, None for a matrix without structure."""
        return None

    @abstractmethod
    def apply(self, step: Step, table: Array) -> Array:
        """One of the three passes, down each column of the table."""

    @property
    @abstractmethod
    def entropies(self) -> Array:
        """Entropy of the report for each true cell, in bits."""

    @property
    @abstractmethod
    def entries(self) -> Array:
        """matrix[reported, true], every entry right up to a few roundings and zeros exact."""

    @abstractmethod
    def outcomes(self, answers: Index) -> Iterator[Array]:
        """P(outcome | category of the first attribute, known answers to the others).

        A table[category, case] per outcome; `answers` has a row per other attribute and a column
        per case. Reports that say the same about the first attribute are one outcome.
        """


def along_axis(kernel: Kernel, step: Step, table: Array, axis: int) -> Array:
    """One step along an axis of a table."""
    ahead = np.moveaxis(table, axis, 0)
    done = kernel.apply(step, ahead.reshape(ahead.shape[0], -1))
    return np.moveaxis(done.reshape(-1, *ahead.shape[1:]), 0, axis)


@dataclass(frozen=True, eq=False)
class DenseKernel(Kernel):
    """A matrix without structure, over attributes with these numbers of categories."""

    matrix: Array
    shape: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return int(self.matrix.shape[1])

    def apply(self, step: Step, table: Array) -> Array:
        if step is not Step.PEAK:
            return (self.matrix if step is Step.TOTAL else self.matrix**2) @ table
        peaks: Array = np.zeros((self.matrix.shape[0], table.shape[1]))
        for column, values in zip(self.matrix.T, table, strict=True):
            np.maximum(peaks, column[:, None] * values, out=peaks)
        return peaks

    @property
    def entries(self) -> Array:
        return self.matrix

    @property
    def entropies(self) -> Array:
        return np.asarray(uncertainty(self.matrix).sum(axis=0))

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """M[y, (x, known)] for every joint report y."""
        cells = self.matrix.reshape(-1, *self.shape)[(slice(None), slice(None), *answers)]
        yield from cells.reshape(*cells.shape[:2], -1)


@dataclass(frozen=True, eq=False)
class KeepOrReplace(Kernel):
    """theta * I + rest * y 1^T, y the distribution of the draw that replaces the truth."""

    theta: Fraction
    rest: float
    drawn: Distribution

    @cached_property
    def same(self) -> Array:
        """The diagonal; if theta is negative, y is uniform (frapp), and the exact sum is taken."""
        if self.theta < 0:
            exact = float(self.theta + (1 - self.theta) * self.drawn.smallest)
            return np.full(self.other.size, exact)
        return float(self.theta) + self.other

    @cached_property
    def other(self) -> Array:
        """Entries off the diagonal, by row."""
        return self.rest * self.drawn.cells

    @property
    def length(self) -> int:
        return self.other.size

    @property
    def mixture(self) -> Mixture:
        positions, margins = self.drawn.units
        others: tuple[Array, ...] = ()
        if self.theta >= 0 and len(positions) == len(self.drawn.shape):
            rows = (np.array(margin, dtype=np.float64) for margin in margins)
            others = tuple(np.repeat(row[:, None], row.size, axis=1) for row in rows)
        return Mixture(float(self.theta), self.rest, others, self.drawn)

    @cached_property
    def _dense(self) -> DenseKernel:
        """If theta is negative, the short formulas would subtract."""
        return DenseKernel(self.entries)

    def apply(self, step: Step, table: Array) -> Array:
        if self.theta < 0:
            return self._dense.apply(step, table)
        same, other = self.same, self.other
        if step is Step.PEAK:
            return np.maximum(same[:, None] * table, np.outer(other, table.max(axis=0)))
        if step is Step.TOTAL:
            return (same - other)[:, None] * table + np.outer(other, table.sum(axis=0))
        squares = ((same - other) * (same + other))[:, None] * table
        return squares + np.outer(other**2, table.sum(axis=0))

    @property
    def entropies(self) -> Array:
        if self.theta < 0:
            return self._dense.entropies
        other = uncertainty(self.other)
        return np.asarray(uncertainty(self.same) - other + other.sum())

    @property
    def entries(self) -> Array:
        check_dense(self.length)
        matrix = np.repeat(self.other[:, None], self.length, axis=1)
        np.fill_diagonal(matrix, self.same)
        return matrix

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """Category y reported with the others as known, per y; or the others not as known: then a
        draw was reported, which says nothing.
        """
        size = self.drawn.shape[0]
        cells = self.drawn.at([np.arange(size)[:, None], *answers])
        cells = np.broadcast_to(cells, (size, *answers.shape[1:]))
        for y, cell in enumerate(cells):
            table = np.repeat(self.rest * cell[None], size, axis=0)
            if self.theta >= 0:
                table[y] += float(self.theta)
            else:
                table[y] = self.same[0]
            yield table
        if len(answers):
            yield np.repeat(self.rest * np.maximum(1 - cells.sum(axis=0), 0)[None], size, axis=0)


@dataclass(frozen=True, eq=False)
class KeepOrDiffer(Kernel):
    """theta * I + rest * kron_a L_a: the two parts have no cell in common."""

    theta: float
    rest: float
    sizes: tuple[int, ...]

    @property
    def length(self) -> int:
        return sum(self.sizes)

    @cached_property
    def mixture(self) -> Mixture:
        others = tuple((1 - np.eye(k)) / (k - 1) for k in self.sizes)
        return Mixture(self.theta, self.rest, others, None)

    def apply(self, step: Step, table: Array) -> Array:
        turning = table
        for other in self.mixture.others:  # each moves the leading axis to the back
            turning = DenseKernel(other).apply(step, turning.reshape(len(other), -1)).T
        differ = turning.reshape(table.shape[1], -1).T
        if step is Step.PEAK:
            return np.maximum(self.theta * table, self.rest * differ)
        power = 2 if step is Step.SQUARES else 1
        return self.theta**power * table + self.rest**power * differ

    @property
    def entropies(self) -> Array:
        ways = math.prod(k - 1 for k in self.sizes)
        truth, other = uncertainty(np.array([self.theta, self.rest / ways]))
        return np.full(math.prod(self.sizes), truth + ways * other)

    @property
    def entries(self) -> Array:
        cells = math.prod(self.sizes)
        check_dense(cells)
        return self.apply(Step.TOTAL, np.eye(cells))

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """The others show what the coin decided: the category is the true one, or another one."""
        same = self.theta * np.eye(self.sizes[0])
        other = self.rest * self.mixture.others[0]
        for table in (same, other) if len(self.sizes) > 1 else (same + other,):
            yield from table[:, :, None]


def check_dense(cells: int) -> None:
    """Raise DataError if a channel has too many cells to be written out."""
    if cells > MAX_DENSE:
        raise DataError(
            f"a channel of {cells:,} cells is too large to be written out "
            f"(at most {MAX_DENSE:,}); measure fewer attributes at once"
        )


def kron(matrices: Iterable[Array]) -> Array:
    """The Kronecker product, written out; faster than NumPy's for small matrices."""
    product: Array = np.ones((1, 1))
    for matrix in matrices:
        cells = product[:, None, :, None] * matrix[None, :, None]
        product = cells.reshape(len(product) * len(matrix), -1)
    return product


def uncertainty(probabilities: Array) -> Array:
    """-p log2 p, entry by entry; 0 at 0."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -probabilities * np.log2(positive)
