"""Coin: the frozen description of how one group of attributes is disguised.

A coin picks a strategy s with probability w_s and the group's answers are disguised with it:
M = sum_s w_s * kron_a B[s, a].  A coin says what may happen, in words a page or a
sampler can follow (`strategies`), and which channel results (`channel`); it draws nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, ClassVar, Literal

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.channel import Channel
from tacit.core.channel.numbers import shortened
from tacit.core.schema import Attribute
from tacit.errors import DesignError

Attributes = tuple[Attribute, ...]
#: Positions of attributes in their group that are handled as one joint answer.
Unit = tuple[int, ...]


@dataclass(frozen=True)
class Keep:
    """Report the truth."""


@dataclass(frozen=True)
class Differ:
    """Report, for each unit, one of the other answers, all alike; for yes/no the opposite."""

    units: tuple[Unit, ...]


@dataclass(frozen=True)
class Replace:
    """Report, for each unit, a draw from its distribution, whatever the truth."""

    units: tuple[Unit, ...]
    distributions: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Substitute:
    """Report a draw from the distribution that belongs to the group's true joint answer."""

    columns: tuple[tuple[Fraction, ...], ...]


Strategy = Keep | Differ | Replace | Substitute


@dataclass(frozen=True)
class Coin(ABC):
    """How one group is disguised. Subclasses are the families, equal when their parameters are."""

    family: ClassVar[str]
    #: A respondent is asked for the answer, one of two questions, whether two answers agree, or
    #: whether any of two answers is yes.
    asks: ClassVar[Literal["answer", "either", "comparison", "any_yes"]] = "answer"
    #: Further words for the categories of a report, by which records may name them.
    report_words: ClassVar[tuple[str, ...]] = ()

    def check(self, attributes: Attributes) -> None:
        """Raise DesignError if the coin cannot disguise these attributes."""

    @property
    def separable(self) -> bool:
        """Whether any part of the group has a channel of its own."""
        return True

    def reported(self, attributes: Attributes) -> Attributes:
        """The attributes of a report; the true ones unless reports have categories of their own."""
        return tuple(
            Attribute(a.name, a.categories, a.missing, a.edges, self.report_words)
            if self.report_words
            else a
            for a in attributes
        )

    def report_meaning(self, attributes: Attributes) -> str:
        """What a report says about the answer."""
        return "the true answer, or one that chance chose"

    @abstractmethod
    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        """What the coin may decide, and how often."""

    @abstractmethod
    def channel(self, attributes: Attributes, kept: Unit | None = None) -> Channel:
        """The channel of the attributes at the positions `kept`, in that order; all if None."""

    @property
    def each_throw(self) -> tuple[Fraction, ...] | None:
        """The probabilities that each of several throws decides; None if one throw decides."""
        return None

    @property
    @abstractmethod
    def remedy(self) -> str:
        """Why the channel is singular when it is, and what would help."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description with exact numbers."""
        parameters = {f.name.rstrip("_"): plain(getattr(self, f.name)) for f in fields(self)}
        return {"family": self.family} | {k: v for k, v in parameters.items() if v is not None}

    def __str__(self) -> str:
        texts = {k: str(v).replace("'", "") for k, v in self.to_dict().items() if k != "family"}
        return f"{self.family}({', '.join(f'{k}={shortened(v)}' for k, v in texts.items())})"


def plain(value: Any) -> Any:
    """Fractions as strings, tuples as lists, named pairs as objects."""
    if isinstance(value, tuple):
        if value and is_pair(value[0]):
            return {name: plain(item) for name, item in value}
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def is_pair(value: Any) -> bool:
    """Whether value is a (name, parameters) pair, the frozen form of a JSON object's member."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def require_one_yes_no(family: str, attributes: Attributes) -> None:
    """Raise DesignError unless the group is one attribute with two categories."""
    if len(attributes) != 1 or attributes[0].size != 2:
        raise DesignError(
            f"{family} needs a group of one attribute with two categories, got "
            + ", ".join(f"{a.name!r} with {a.size}" for a in attributes)
        )


def all_positions(attributes: Attributes, kept: Unit | None) -> Unit:
    """`kept`, or every position."""
    return tuple(range(len(attributes))) if kept is None else kept


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
        margins = []
        for unit, table in zip(*self.units, strict=True):
            if positions := [i for i in kept if i in unit]:
                axes = [i for i in unit if i in kept]
                dropped = tuple(axis for axis, i in enumerate(unit) if i not in kept)
                full = self._table(unit, table)
                summed = np.asarray(full.sum(axis=dropped) if dropped else full, dtype=object)
                cells = summed.transpose([axes.index(i) for i in positions]).ravel()
                margins.append((tuple(map(kept.index, positions)), tuple(cells)))
        units, tables = zip(*sorted(margins), strict=True)
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
            math.prod((p[int(i == second)] for i, p in enumerate(pairs)), start=Fraction(1))
            for second in range(len(pairs))
        )
        return self.smallest, min(seconds)

    def smallest_with(self, position: int, code: int) -> Fraction:
        """The smallest probability of a cell in which an attribute has this code, exact."""
        smallest = Fraction(1)
        for unit, table in zip(*self.units, strict=True):
            cells = table
            if position in unit:
                axis = unit.index(position)
                cells = self._table(unit, table).take([code], axis).ravel().tolist()
            smallest *= min(cells)
        return smallest

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
        probabilities: Array = np.ones(1)
        for unit, table in zip(*self.units, strict=True):
            cells = self._table(unit, table).astype(np.float64)
            probabilities = probabilities * cells[tuple(codes[i] for i in unit)]
        return probabilities


def uniform(sizes: Iterable[int]) -> Distribution:
    """Every category of every attribute equally likely."""
    return Distribution.independent((Fraction(1, k),) * k for k in sizes)
