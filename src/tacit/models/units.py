"""UnitLayout: the record of a design as units under coins. UnitReports: reported records by unit.

A unit is one attribute, or all attributes of a joint matrix. A group of one unit is a matrix. A
group of several units keeps the truth with probability theta, or else disguises it:

    M[y, x] = theta [x = y] + rest prod_u B_u[y_u, x_u]      related
    M[y, x] = theta [x = y] + rest d[y]                      truthful, unrelated, forced, frapp, ...

theta is negative for frapp with lambda < 1. Units are numbered group by group, so a joint table
with one axis per unit also has one axis per group after a reshape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Index, Mask
from tacit.core.channel import matrix as matrix_coin
from tacit.core.channel.kernels import Mixture, kron
from tacit.core.channel.linear_maps import Dense, Linear, outer
from tacit.core.conditions import impossible_cells
from tacit.core.design import Design, Factor, Group, ProductChannel
from tacit.core.schema import Attribute, Schema
from tacit.errors import SingularChannelError
from tacit.reconstruction.likelihood import maximise
from tacit.reconstruction.tables import gls
from tacit.records import PatternTable
from tacit.records.bit_columns import FewWayCounts

#: Units of a table that bits of single answers count quickly.
_FEW = 3
#: A channel with a larger condition number is not inverted.
_WORST_CONDITION = 1e12
#: Negative cells closer to 0 are rounding errors.
_ROUNDINGS = 1e-12
#: Of a most likely table: how far the start is moved inside, tolerance and iterations.
_INSIDE, _TOLERANCE, _ITERATIONS = 0.02, 1e-7, 200


@dataclass(frozen=True)
class Unit:
    """Attributes that are modelled as one variable, with its true and reported categories."""

    names: tuple[str, ...]
    size: int
    reports: int


@dataclass(frozen=True, eq=False)
class CoinGroup(Mixture):
    """One coin and the units it disguises; `others` only where no draw replaces the truth."""

    factor: Factor
    units: tuple[int, ...]

    @property
    def inverse(self) -> Linear:
        """A left inverse of the channel."""
        structured = self.factor.channel.inverse
        return structured or Dense(np.asarray(np.linalg.pinv(self.others[0]), dtype=np.float64))

    @property
    def single(self) -> bool:
        """Whether the group is one unit, and its channel the matrix `others[0]`."""
        return len(self.units) == 1

    def channel_of(self, units: tuple[int, ...]) -> Array:
        """The channel of some of the units, written out."""
        if self.single:
            return self.others[0]
        places = [self.units.index(unit) for unit in units]
        truth: Array = self.theta * np.eye(
            math.prod(self.factor.channel.true_shape[place] for place in places)
        )
        if self.drawn is None:
            return np.asarray(truth + self.rest * kron(self.others[place] for place in places))
        return np.asarray(truth + self.rest * self.drawn.marginal(tuple(places)).cells[:, None])

    def background(self, codes: Index) -> Array:
        """rest * d[y] of each report, where a draw replaces the truth."""
        assert self.drawn is not None, "a group that replaces the truth by a draw"
        return np.asarray(self.rest * self.drawn.at(list(codes.T)))


class UnitLayout:
    """Units and groups of a design."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.channel: ProductChannel = design.channel(design.schema.names)
        self.units: list[Unit] = []
        self.groups: list[CoinGroup] = []
        for factor in self.channel.factors:
            channel, first = factor.channel, len(self.units)
            sizes, reports, mixture = channel.true_shape, channel.reported_shape, channel.mixture
            if len(sizes) == 1 or mixture is None:
                self.units.append(Unit(factor.names, math.prod(sizes), math.prod(reports)))
                mixture = Mixture(0.0, 1.0, (channel.matrix,), None)
            else:
                self.units += [Unit((n,), k, k) for n, k in zip(factor.names, sizes, strict=True)]
            others = mixture.others if mixture.drawn is None else ()
            parts = (mixture.theta, mixture.rest, others, mixture.drawn)
            units = tuple(range(first, len(self.units)))
            self.groups.append(CoinGroup(*parts, factor, units))
        #: True and reported categories of each unit: the shapes of joint tables.
        self.sizes = tuple(unit.size for unit in self.units)
        self.reports = tuple(unit.reports for unit in self.units)
        self._parts: dict[tuple[int, ...], Array] = {}

    @cached_property
    def unit_design(self) -> Design:
        """The same disguise of units as attributes, in their order, without conditions."""
        schema = self.design.schema
        attributes, groups = [], []
        for group in self.groups:
            names = group.factor.names
            group_attributes = [schema[name] for name in names]
            coin = self.design.group_of(names[0]).coin
            if group.single and len(names) > 1:
                (unit,) = group.units
                group_attributes = [Attribute(" & ".join(names), range(self.sizes[unit]))]
                coin = matrix_coin(group.others[0].tolist())
            attributes += group_attributes
            groups.append(Group([attribute.name for attribute in group_attributes], coin))
        return Design(Schema(attributes), groups)

    def patterns(self, codes: Index, counts: Index) -> PatternTable:
        """Reports of units, records x units, as patterns of `unit_design`."""
        largest = np.min_scalar_type(max(self.reports) - 1)
        return PatternTable(self.unit_design.reported, codes.astype(largest), counts)

    @property
    def cells(self) -> int:
        """Cells of the joint table, true or reported, whichever has more."""
        return max(math.prod(self.sizes), math.prod(self.reports))

    @property
    def impossible(self) -> Mask | None:
        """Cells of a joint table, an axis per unit, that conditions exclude; None if all can occur.

        The adversary knows them, so every model is 0 there.
        """
        names = [name for unit in self.units for name in unit.names]
        cells = impossible_cells(self.design.conditions, self.design.schema.subset(names))
        return None if cells is None else cells.reshape(self.sizes)

    def unit_of(self, name: str) -> int:
        """The unit that holds an attribute."""
        return next(u for u, unit in enumerate(self.units) if name in unit.names)

    def group_of(self, unit: int) -> CoinGroup:
        """The group that disguises a unit."""
        return next(group for group in self.groups if unit in group.units)

    def categories_of(self, name: str) -> Index:
        """For each cell of the attribute's unit, the category of the attribute."""
        unit = self.units[self.unit_of(name)]
        sizes = [self.design.schema[n].size for n in unit.names]
        return np.asarray(np.indices(sizes)[unit.names.index(name)].ravel())

    def matrix(self, units: Sequence[int]) -> Array:
        """The channel of some units, in ascending order, written out."""
        parts = []
        for group in self.groups:
            inside = tuple(u for u in units if u in group.units)
            if inside and inside not in self._parts:
                self._parts[inside] = group.channel_of(inside)
            parts += [self._parts[inside]] if inside else []
        return kron(parts)


class UnitReports:
    """Reported records of a design by unit: distinct patterns, and how many people sent each."""

    def __init__(self, patterns: PatternTable, design: Design) -> None:
        self.layout = UnitLayout(design)
        self.n_records, self.counts = patterns.n_records, patterns.counts
        self.sizes, self.reports = self.layout.sizes, self.layout.reports
        self.names = [unit.names for unit in self.layout.units]
        #: The codes of each unit; those of a single column as they are.
        self.columns: list[npt.NDArray[np.integer[Any]]] = []
        places = [design.reported.index(name) for name in self.layout.channel.reported.names]
        for group in self.layout.groups:
            columns = [patterns.patterns[:, places[axis]] for axis in group.factor.reported_axes]
            if group.single and len(columns) > 1:
                codes = [column.astype(np.intp) for column in columns]
                shape = group.factor.channel.reported_shape
                self.columns.append(np.ravel_multi_index(codes, shape))
            else:
                self.columns += columns
        self._inverses: dict[tuple[int, ...], Array] = {}
        self._likely: dict[tuple[int, ...], Array] = {}

    def halves(self, rng: np.random.Generator) -> tuple[Index, Index]:
        """The records divided at random in two halves, as counts of the patterns."""
        first = rng.multivariate_hypergeometric(self.counts, self.n_records // 2)
        return first, self.counts - first

    def counted(self, counts: Index) -> UnitReports:
        """Patterns sent by other numbers of people; those of none are left out."""
        other, sent = copy(self), counts > 0
        other.columns, other.counts = [column[sent] for column in self.columns], counts[sent]
        other.n_records = int(counts.sum())
        other._inverses, other._likely = {}, {}
        for cached in ("tables", "margins", "codes"):
            other.__dict__.pop(cached, None)
        return other

    def sampled(self, most: int, rng: np.random.Generator) -> UnitReports:
        """At most so many of the records, drawn at random, but tables of all of them."""
        if len(self.counts) <= most:
            return self
        chances = self.counts / self.n_records
        drawn = rng.choice(len(chances), most, p=chances)
        other = copy(self)
        other.columns = [column[drawn] for column in self.columns]
        other.counts, other.tables = np.ones(most, np.int64), self.tables
        other.__dict__.pop("codes", None)
        return other

    @cached_property
    def tables(self) -> FewWayCounts:
        """Counts of one, two or three units."""
        return FewWayCounts(self.columns, self.reports, self.counts)

    @cached_property
    def codes(self) -> Index:
        """The report of every unit, patterns x units."""
        return np.stack([column.astype(np.intp) for column in self.columns], axis=1)

    def cells(self, units: Sequence[int]) -> Index:
        """Where the reports of each pattern are in the flattened table of some units."""
        shape = [self.reports[u] for u in units]
        codes = [self.columns[u].astype(np.intp) for u in units]
        return np.asarray(np.ravel_multi_index(codes, shape))

    def frequencies(self, units: Sequence[int]) -> Array:
        """The reported distribution of some units, flattened."""
        if len(units) <= _FEW:
            return np.asarray(self.tables.tables(np.array([units]))[0].ravel() / self.n_records)
        number = math.prod(self.reports[u] for u in units)
        return np.asarray(np.bincount(self.cells(units), self.counts, number) / self.n_records)

    def inverse(self, units: tuple[int, ...]) -> Array:
        """W of some units in ascending order, true x reported cells: W M = I."""
        return kron(
            self._inverse(inside)
            for group in self.layout.groups
            if (inside := tuple(u for u in units if u in group.units))
        )

    def _inverse(self, units: tuple[int, ...]) -> Array:
        """W of some units of one group."""
        if units not in self._inverses:
            matrix = self.layout.matrix(units)
            # A matrix of too low rank has a condition number near 1e16, not an infinite one.
            if np.linalg.cond(matrix) > _WORST_CONDITION:
                self.layout.group_of(units[0]).factor.require_reconstructable()
                names = ", ".join(name for u in units for name in self.names[u])
                raise SingularChannelError(f"the table of {names} cannot be reconstructed")
            if matrix.shape[0] == matrix.shape[1]:
                self._inverses[units] = np.asarray(np.linalg.inv(matrix))
            else:
                weights = gls(matrix, self.frequencies(units), self.n_records)
                self._inverses[units] = weights.entries
        return self._inverses[units]

    def unbiased(self, units: tuple[int, ...]) -> Array:
        """The unbiased table of some units, flattened."""
        return self.inverse(units) @ self.frequencies(units)

    @cached_property
    def margins(self) -> list[Array]:
        """The most likely distribution of each unit."""
        return [self.most_likely((u,)) for u in range(len(self.sizes))]

    def most_likely(self, units: tuple[int, ...]) -> Array:
        """The most likely table of some units, flattened: the unbiased one, if not negative.

        With as many reported as true cells, an unbiased table without negative cells is the most
        likely one. Otherwise EM starts from it, moved towards independent units.
        """
        if units in self._likely:
            return self._likely[units]
        unbiased = self.unbiased(units)
        positive = np.maximum(unbiased, 0)
        table = np.asarray(positive / positive.sum())
        if unbiased.min() < -_ROUNDINGS:
            inside: Array = np.full(len(table), 1 / len(table))
            if len(units) > 1:
                inside = reduce(outer, (self.margins[u] for u in units))
            matrix, frequencies = self.layout.matrix(units), self.frequencies(units)
            start = (1 - _INSIDE) * positive / positive.sum() + _INSIDE * inside
            steps = (lambda p: np.maximum(matrix @ p, TINY), lambda q: matrix.T @ q)
            table = maximise(*steps, frequencies, start, _TOLERANCE, _ITERATIONS)[0]
        self._likely[units] = table
        return table

    def log_likelihood(self, units: tuple[int, ...], table: Array) -> float:
        """Log-likelihood per record of the reports of some units, given their true table."""
        frequencies = self.frequencies(units)
        reported = frequencies > 0
        expected = self.layout.matrix(units)[reported] @ table.ravel()
        return float(frequencies[reported] @ np.log(np.maximum(expected, TINY)))
