"""What an adversary needs of one group's channel: three passes over a table, free of cancellation.

    total    sum_x M[y, x]   t[x]      probability of each report
    squares  sum_x M[y, x]^2 t[x]      for a guess drawn from the posterior
    peak     max_x M[y, x]   t[x]      for the best guess

Sums and largest values of products over independent groups can be taken group by group, because
both distribute over products; so can the squares. Only numbers that are not negative are added
and multiplied: a zero stays exactly zero, and every result is right to a few roundings, which is
what lets privacy figures be rounded outward. Entries of a channel computed through its
eigenvalues would have neither property.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.channel import Channel
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.related import AgreementChannel
from tacit.errors import DataError

#: A group whose channel has no structure may have this many true cells.
MAX_DENSE = 4096


class Kernel(ABC):
    """The channel of one group; tables have its true cells along their first axis."""

    #: The longest sum behind one entry of a result: roundings grow with it.
    length: int

    @abstractmethod
    def total(self, table: Array) -> Array:
        """sum_x M[y, x] t[x]."""

    @abstractmethod
    def squares(self, table: Array) -> Array:
        """sum_x M[y, x]^2 t[x]."""

    @abstractmethod
    def peak(self, table: Array) -> Array:
        """max_x M[y, x] t[x]."""

    @property
    @abstractmethod
    def entropies(self) -> Array:
        """Entropy of the report for each true cell, in bits."""


@dataclass(frozen=True)
class AnyKernel(Kernel):
    """A matrix without structure."""

    entries: Array

    @property
    def length(self) -> int:  # type: ignore[override]
        return int(self.entries.shape[1])

    def total(self, table: Array) -> Array:
        return self.entries @ table

    def squares(self, table: Array) -> Array:
        return self.entries**2 @ table

    def peak(self, table: Array) -> Array:
        found: Array = np.zeros((self.entries.shape[0], table.shape[1]))
        for column, values in zip(self.entries.T, table, strict=True):
            np.maximum(found, column[:, None] * values, out=found)
        return found

    @property
    def entropies(self) -> Array:
        return np.asarray(uncertainty(self.entries).sum(axis=0))


@dataclass(frozen=True)
class KeepOrReplace(Kernel):
    """theta * I + (1 - theta) * y 1^T with theta >= 0: `own` on the diagonal, `other` off it."""

    own: Array
    other: Array

    @property
    def length(self) -> int:  # type: ignore[override]
        return self.own.size

    def total(self, table: Array) -> Array:
        kept = (self.own - self.other)[:, None] * table
        return kept + np.outer(self.other, table.sum(axis=0))

    def squares(self, table: Array) -> Array:
        kept = ((self.own - self.other) * (self.own + self.other))[:, None] * table
        return kept + np.outer(self.other**2, table.sum(axis=0))

    def peak(self, table: Array) -> Array:
        return np.maximum(self.own[:, None] * table, np.outer(self.other, table.max(axis=0)))

    @property
    def entropies(self) -> Array:
        other = uncertainty(self.other)
        return np.asarray(uncertainty(self.own) - other + other.sum())


@dataclass(frozen=True)
class KeepOrDiffer(Kernel):
    """theta * I + (1 - theta) * kron_a L_a: the two parts have no cell in common."""

    theta: float
    rest: float
    sizes: tuple[int, ...]

    @property
    def length(self) -> int:  # type: ignore[override]
        return sum(self.sizes)

    def total(self, table: Array) -> Array:
        return self.theta * table + self.rest * self._differ(table, AnyKernel.total)

    def squares(self, table: Array) -> Array:
        return self.theta**2 * table + self.rest**2 * self._differ(table, AnyKernel.squares)

    def peak(self, table: Array) -> Array:
        return np.maximum(self.theta * table, self.rest * self._differ(table, AnyKernel.peak))

    def _differ(self, table: Array, step: Callable[[AnyKernel, Array], Array]) -> Array:
        """One step along every attribute; each moves the leading axis to the back."""
        turning = table
        for k in self.sizes:
            others = AnyKernel((1 - np.eye(k)) / (k - 1))
            turning = step(others, turning.reshape(k, -1)).T
        return turning.reshape(table.shape[1], -1).T

    @property
    def entropies(self) -> Array:
        ways = math.prod(k - 1 for k in self.sizes)
        each = uncertainty(np.array([self.theta, self.rest / ways]))
        return np.full(math.prod(self.sizes), each[0] + ways * each[1])


def kernel_of(channel: Channel) -> Kernel:
    """The passes of a group's channel, in the structure it has."""
    if isinstance(channel, AgreementChannel):
        return KeepOrDiffer(float(channel.theta), float(1 - channel.theta), channel.sizes)
    if isinstance(channel, ReplacementChannel) and channel.theta >= 0:
        other = float(1 - channel.theta) * channel.drawn.cells
        return KeepOrReplace(float(channel.theta) + other, other)
    return AnyKernel(entries(channel))


def entries(channel: Channel) -> Array:
    """matrix[reported, true], every entry right to a few roundings and zeros exact."""
    cells = math.prod(channel.true_shape)
    if cells > MAX_DENSE:
        raise DataError(
            f"a channel of {cells:,} cells is too large to be written out "
            f"(at most {MAX_DENSE:,}); measure fewer attributes at once"
        )
    if isinstance(channel, AgreementChannel):
        return kernel_of(channel).total(np.eye(cells))
    if isinstance(channel, ReplacementChannel):
        return _replacement(channel)
    return channel.matrix


def _replacement(channel: ReplacementChannel) -> Array:
    """theta * I + (1 - theta) * y 1^T; where theta is negative, y is uniform (frapp)."""
    other = float(1 - channel.theta) * channel.drawn.cells
    own = float(channel.theta) + other
    if channel.theta < 0:
        own[:] = float(channel.theta + (1 - channel.theta) * channel.drawn.smallest)
    made = np.repeat(other[:, None], other.size, axis=1)
    np.fill_diagonal(made, own)
    return made


def uncertainty(probabilities: Array) -> Array:
    """-p log2 p, entry by entry; 0 at 0."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -probabilities * np.log2(positive)
