"""Distribution: what a coin may say in place of the truth, over a group's joint categories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.coin import Unit

Probabilities = tuple[Fraction, ...]


@dataclass(frozen=True)
class Distribution:
    """Independent draws of units: attributes at some positions, drawn together from one table.

    `shape` is the number of categories of each attribute. `units` has the positions of each unit
    and its table, in which the last attribute runs fastest.
    """

    shape: tuple[int, ...]
    units: tuple[tuple[Unit, ...], tuple[Probabilities, ...]]

    @classmethod
    def independent(cls, margins: Iterable[Probabilities]) -> Distribution:
        """Every attribute a unit of its own."""
        tables = tuple(margins)
        return cls(tuple(map(len, tables)), (tuple((i,) for i in range(len(tables))), tables))

    @classmethod
    def joint(cls, shape: tuple[int, ...], table: Probabilities) -> Distribution:
        """All attributes one unit."""
        return cls(shape, ((tuple(range(len(shape))),), (table,)))

    def _table(self, unit: Unit, table: Probabilities) -> Any:
        """An exact table with one axis per attribute of its unit."""
        return np.array(table, dtype=object).reshape([self.shape[i] for i in unit])

    def marginal(self, kept: Unit) -> Distribution:
        """The distribution of the attributes at these positions, in that order."""
        found = []
        for unit, table in zip(*self.units, strict=True):
            if wanted := [i for i in kept if i in unit]:
                left = [i for i in unit if i in kept]
                dropped = tuple(axis for axis, i in enumerate(unit) if i not in kept)
                full = self._table(unit, table)
                summed = np.asarray(full.sum(axis=dropped) if dropped else full, dtype=object)
                own = summed.transpose([left.index(i) for i in wanted]).ravel()
                found.append((tuple(map(kept.index, wanted)), tuple(own)))
        units, tables = zip(*sorted(found), strict=True)
        return Distribution(tuple(self.shape[i] for i in kept), (units, tables))

    @property
    def smallest(self) -> Fraction:
        """The smallest probability of a cell, exact."""
        return math.prod(map(min, self.units[1]), start=Fraction(1))

    @property
    def two_smallest(self) -> tuple[Fraction, Fraction]:
        """The two smallest probabilities of cells, exact."""
        pairs = [sorted(table)[:2] for table in self.units[1]]
        seconds = (
            math.prod((p[int(i == place)] for i, p in enumerate(pairs)), start=Fraction(1))
            for place in range(len(pairs))
        )
        return self.smallest, min(seconds)

    def smallest_with(self, position: int, code: int) -> Fraction:
        """The smallest probability of a cell in which an attribute has this code, exact."""
        found = Fraction(1)
        for unit, table in zip(*self.units, strict=True):
            cells = table
            if position in unit:
                axis = unit.index(position)
                cells = self._table(unit, table).take([code], axis).ravel().tolist()
            found *= min(cells)
        return found

    @property
    def concentration(self) -> float:
        """Number of cells times the sum of squared probabilities; 1 if and only if uniform."""
        return math.prod(len(table) * float(sum(p * p for p in table)) for table in self.units[1])

    @cached_property
    def cells(self) -> Array:
        """Probabilities of all cells, flattened."""
        tables = (table.astype(np.float64) for table in map(self._table, *self.units))
        axes = [position for unit in self.units[0] for position in unit]
        joint = reduce(np.multiply.outer, tables)
        return np.asarray(joint.transpose(np.argsort(axes)).ravel())

    def at(self, codes: Sequence[Index]) -> Array:
        """Probabilities of cells, given by the codes of each attribute."""
        found: Array = np.ones(1)
        for unit, table in zip(*self.units, strict=True):
            cells = self._table(unit, table).astype(np.float64)
            found = found * cells[tuple(codes[i] for i in unit)]
        return found


def uniform(sizes: Iterable[int]) -> Distribution:
    """Every category of every attribute equally likely."""
    return Distribution.independent((Fraction(1, k),) * k for k in sizes)
