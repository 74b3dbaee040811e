"""Known distributions over a group's categories: one an attribute, or one joint table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from tacit.arrays import Array, Index
from tacit.channel.coin import Unit
from tacit.channel.linear_maps import outer


class Distribution(ABC):
    """A distribution over the joint categories of a group."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""

    @abstractmethod
    def marginal(self, kept: Unit) -> Distribution:
        """The distribution of the attributes at these positions, in that order."""

    @property
    @abstractmethod
    def smallest(self) -> Fraction:
        """The smallest probability of a cell, exact."""

    @property
    @abstractmethod
    def concentration(self) -> float:
        """Number of cells times the sum of squared probabilities; 1 if and only if uniform."""

    @property
    @abstractmethod
    def cells(self) -> Array:
        """Probabilities of all cells, flattened."""

    @property
    @abstractmethod
    def units(self) -> tuple[tuple[Unit, ...], tuple[tuple[Fraction, ...], ...]]:
        """How to draw from it: positions drawn together, and their distributions."""

    def at(self, codes: Sequence[Index]) -> Array:
        """Probabilities of cells, given by the codes of each attribute."""
        found: Array = np.ones(1)
        for positions, table in zip(*self.units, strict=True):
            shape = [self.shape[i] for i in positions]
            cells = np.ravel_multi_index(tuple(codes[i] for i in positions), shape)
            found = found * np.array(table, dtype=np.float64)[cells]
        return found

    def smallest_with(self, position: int, code: int) -> Fraction:
        """The smallest probability of a cell in which an attribute has this code, exact."""
        found = Fraction(1)
        for positions, table in zip(*self.units, strict=True):
            cells = np.array(table, dtype=object).reshape([self.shape[i] for i in positions])
            if position in positions:
                cells = cells.take(code, axis=positions.index(position))
            found *= min(np.asarray(cells).ravel().tolist())
        return found

    @property
    def two_smallest(self) -> tuple[Fraction, Fraction]:
        """The two smallest probabilities of cells, exact."""
        tables = [sorted(table)[:2] for table in self.units[1]]
        seconds = (self._with_second(tables, i) for i in range(len(tables)))
        return self.smallest, min(seconds)

    @staticmethod
    def _with_second(tables: list[list[Fraction]], place: int) -> Fraction:
        """The product of the smallest entries, of one table the second smallest."""
        picked = (table[int(i == place)] for i, table in enumerate(tables))
        return math.prod(picked, start=Fraction(1))


@dataclass(frozen=True)
class Independent(Distribution):
    """One distribution an attribute, drawn independently."""

    margins: tuple[tuple[Fraction, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(margin) for margin in self.margins)

    def marginal(self, kept: Unit) -> Independent:
        return Independent(tuple(self.margins[i] for i in kept))

    @property
    def smallest(self) -> Fraction:
        return math.prod((min(margin) for margin in self.margins), start=Fraction(1))

    @property
    def concentration(self) -> float:
        return math.prod(len(m) * float(sum(p * p for p in m)) for m in self.margins)

    @cached_property
    def cells(self) -> Array:
        return reduce(outer, (np.array(margin, dtype=np.float64) for margin in self.margins))

    @property
    def units(self) -> tuple[tuple[Unit, ...], tuple[tuple[Fraction, ...], ...]]:
        return tuple((i,) for i in range(len(self.margins))), self.margins


@dataclass(frozen=True)
class Joint(Distribution):
    """One table over the whole group."""

    sizes: tuple[int, ...]
    table: tuple[Fraction, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sizes

    def marginal(self, kept: Unit) -> Joint:
        full = np.array(self.table, dtype=object).reshape(self.sizes)
        dropped = tuple(i for i in range(len(self.sizes)) if i not in kept)
        order = np.argsort(np.argsort(kept))
        summed = full.sum(axis=dropped) if dropped else full
        table = np.asarray(summed, dtype=object).transpose(order)
        return Joint(tuple(self.sizes[i] for i in kept), tuple(table.ravel()))

    @property
    def smallest(self) -> Fraction:
        return min(self.table)

    @property
    def concentration(self) -> float:
        return len(self.table) * float(sum(p * p for p in self.table))

    @cached_property
    def cells(self) -> Array:
        return np.array(self.table, dtype=np.float64)

    @property
    def units(self) -> tuple[tuple[Unit, ...], tuple[tuple[Fraction, ...], ...]]:
        return (tuple(range(len(self.sizes))),), (self.table,)


def uniform(sizes: tuple[int, ...]) -> Independent:
    """Every category of every attribute equally likely."""
    return Independent(tuple((Fraction(1, k),) * k for k in sizes))
