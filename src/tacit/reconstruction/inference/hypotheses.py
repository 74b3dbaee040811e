"""Hypotheses about a table of true answers: what they exclude, and the nearest table they allow.

    independence of blocks b given g:   p = p(g) prod_b p(b | g)
    goodness of fit:                    p = p0
    no trend:                           Cov(score of a, score of b) = 0, tested within independence

A table of the problem may have further axes (attributes that a joint matrix ties to those asked
for); no hypothesis restricts these.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array

Axes = tuple[int, ...]
#: Shares below this are taken for empty categories.
_EMPTY = 1e-7


@dataclass(frozen=True, eq=False)
class Hypothesis(ABC):
    """A set of tables of the attributes asked for, which are the first `axes` axes."""

    text: str
    axes: int

    @abstractmethod
    def nearest(self, table: Array) -> Array:
        """The allowed table that is most likely if this table was observed."""

    @abstractmethod
    def contrasts(self, table: Array) -> Array:
        """Numbers that are 0 for allowed tables; smooth in the table."""

    @abstractmethod
    def df(self, table: Array) -> int:
        """By how much an allowed table is restricted, empty categories left out."""

    @abstractmethod
    def tangent(self, table: Array) -> Array:
        """Directions in which an allowed table can move and stay allowed, cells x directions.

        Multiplying it by a number is one of them.
        """

    @property
    def directed(self) -> bool:
        """Whether only the contrasts are tested, not every departure."""
        return False

    def nearest_whole(self, table: Array) -> Array:
        """The same for a table with further axes, which keep their distribution given the rest."""
        further = tuple(range(self.axes, table.ndim))
        if not further:
            return self.nearest(table)
        known = table.sum(axis=further, keepdims=True)
        shape = known.shape
        found = self.nearest(known.reshape(shape[: self.axes])).reshape(shape)
        return np.asarray(table * found / np.where(known > 0, known, 1.0))

    def asked(self, table: Array) -> Array:
        """The table of the attributes asked for."""
        return np.asarray(table.sum(axis=tuple(range(self.axes, table.ndim))))


@dataclass(frozen=True, eq=False)
class Independence(Hypothesis):
    """Blocks of axes are independent of each other, given the axes `given`."""

    blocks: tuple[Axes, ...]
    given: Axes = ()

    def nearest(self, table: Array) -> Array:
        base = self._margin(table, ())
        safe = np.where(base > 0, base, 1.0)
        found = base * np.ones(table.shape)
        for block in self.blocks:
            found = found * self._margin(table, block) / safe
        return np.asarray(found)

    def tangent(self, table: Array) -> Array:
        """For each block, P(other blocks | given) within each of its categories."""
        base = self._margin(table, ())
        safe = np.where(base > 0, base, 1.0)
        directions = []
        for block in self.blocks:
            others = np.ones(table.shape)
            for other in self.blocks:
                if other != block:
                    others = others * self._margin(table, other) / safe
            shape = self._margin(table, block).shape
            cells = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), table.shape)
            direction = np.zeros((table.size, math.prod(shape)))
            direction[np.arange(table.size), cells.ravel()] = others.ravel()
            directions.append(direction)
        return np.concatenate(directions, axis=1)

    def contrasts(self, table: Array) -> Array:
        """P(cell) P(given)^(blocks - 1) less the product of P(block, given)."""
        found = table * self._margin(table, ()) ** (len(self.blocks) - 1)
        product = np.ones(table.shape)
        for block in self.blocks:
            product = product * self._margin(table, block)
        return np.ravel(found - product)

    def df(self, table: Array) -> int:
        groups = self._filled(table, ())
        total = 0
        for place in np.argwhere(groups > _EMPTY):
            sizes = []
            for block in self.blocks:
                shares = self._filled(table, block)
                sizes.append(max(1, int(np.sum(shares[tuple(place)] > _EMPTY))))
            total += math.prod(sizes) - 1 - sum(k - 1 for k in sizes)
        return total

    def _margin(self, table: Array, block: Axes) -> Array:
        """P(block, given) on the axes of the table."""
        kept = {*block, *self.given}
        others = tuple(axis for axis in range(table.ndim) if axis not in kept)
        return np.asarray(table.sum(axis=others, keepdims=True))

    def _filled(self, table: Array, block: Axes) -> Array:
        """P(block, given) with the axes of `given` first and the block flattened."""
        margin = self._margin(table, block)
        rest = tuple(axis for axis in range(table.ndim) if axis not in self.given)
        moved = margin.transpose(*self.given, *rest)
        shape = [margin.shape[axis] for axis in self.given]
        return moved.reshape(shape) if not block else moved.reshape(*shape, -1)


@dataclass(frozen=True, eq=False)
class Specified(Hypothesis):
    """The table is this one."""

    expected: Array

    def nearest(self, table: Array) -> Array:
        return self.expected

    def tangent(self, table: Array) -> Array:
        return self.expected.reshape(-1, 1)

    def contrasts(self, table: Array) -> Array:
        return np.ravel(table - self.expected)

    def df(self, table: Array) -> int:
        return int(np.sum(self.expected > 0)) - 1


@dataclass(frozen=True, eq=False)
class NoTrend(Independence):
    """The scores of the first two axes are not correlated, given the others."""

    scores: tuple[Array, Array] = (np.zeros(0), np.zeros(0))

    @property
    def directed(self) -> bool:
        return True

    def contrasts(self, table: Array) -> Array:
        """Sum over groups of P(group) times the covariance of the scores in it."""
        first, second = self.scores
        shape = (1,) * (table.ndim - 2)
        a, b = first.reshape(-1, 1, *shape), second.reshape(1, -1, *shape)
        total, both = table.sum(axis=(0, 1)), (table * a * b).sum(axis=(0, 1))
        means = (table * a).sum(axis=(0, 1)), (table * b).sum(axis=(0, 1))
        safe = np.where(np.abs(total) > _EMPTY, total, 1.0)
        return np.array([np.sum(both - means[0] * means[1] / safe)])

    def df(self, table: Array) -> int:
        return 1


def slopes(contrasts: Callable[[Array], Array], table: Array) -> Array:
    """Derivatives of contrasts by the cells, contrasts x cells: central differences."""
    step = 1e-5
    columns = []
    for cell in range(table.size):
        flat = np.zeros(table.size)
        flat[cell] = step
        moved = flat.reshape(table.shape)
        columns.append((contrasts(table + moved) - contrasts(table - moved)) / (2 * step))
    return np.stack(columns, axis=1)
