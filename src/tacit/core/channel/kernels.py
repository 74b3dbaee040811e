"""What an adversary needs of one group's channel: three passes over a table, free of cancellation.

    total    sum_x M[y, x]   t[x]      probability of each report
    squares  sum_x M[y, x]^2 t[x]      for a guess drawn from the posterior
    peak     max_x M[y, x]   t[x]      for the best guess

Sums and maxima distribute over products, so these passes can be taken group by group over
independent groups. Only numbers that are not negative are added and multiplied: a zero stays
exactly zero, and every result is right up to a few roundings. That is why privacy figures can be
rounded outward. Entries computed from the eigenvalues of a channel have neither property.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import reduce

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


def check_dense(cells: int) -> None:
    """Raise DataError if a channel has too many cells to be written out."""
    if cells > MAX_DENSE:
        raise DataError(
            f"a channel of {cells:,} cells is too large to be written out "
            f"(at most {MAX_DENSE:,}); measure fewer attributes at once"
        )


def kron(matrices: Iterable[Array]) -> Array:
    """The Kronecker product, written out; faster than NumPy's for small matrices."""
    return reduce(_kron, matrices)


def _kron(first: Array, second: Array) -> Array:
    cells = first[:, None, :, None] * second[None, :, None]
    return cells.reshape(len(first) * len(second), -1)


def uncertainty(probabilities: Array) -> Array:
    """-p log2 p, entry by entry; 0 at 0."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -probabilities * np.log2(positive)
