"""UnitLayout: the record of a design as units under coins, and reported records as codes of units.

A unit is one attribute, or all attributes of a joint matrix. A group of one unit is a matrix. A
group of several units keeps the truth with probability theta, or else disguises it:

    M[y, x] = theta [x = y] + rest prod_u B_u[y_u, x_u]      related
    M[y, x] = theta [x = y] + rest d[y]                      truthful, unrelated, forced, frapp, ...

theta is negative for frapp with lambda < 1. Units are numbered group by group, so a joint table
with one axis per unit also has one axis per group after a reshape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Index, Mask
from tacit.core.channel.kernels import Kernel, Mixture, kron
from tacit.core.channel.linear_maps import Dense, Linear
from tacit.core.conditions import impossible_cells
from tacit.core.design import Design, Factor, ProductChannel
from tacit.privacy.scopes import JointGroups
from tacit.records import PatternTable


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
    kernel: Kernel

    @property
    def inverse(self) -> Linear:
        """A left inverse of the channel."""
        known = self.factor.channel.inverse
        return known or Dense(np.asarray(np.linalg.pinv(self.others[0]), dtype=np.float64))

    @property
    def single(self) -> bool:
        """Whether the group is one unit, and its channel the matrix `others[0]`."""
        return len(self.units) == 1

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
            self._add(factor)
        #: True and reported categories of each unit: the shapes of joint tables.
        self.sizes = tuple(unit.size for unit in self.units)
        self.reports = tuple(unit.reports for unit in self.units)
        self._parts: dict[tuple[int, ...], Array] = {}

    def _add(self, factor: Factor) -> None:
        kernel, first = factor.channel.kernel, len(self.units)
        sizes, reports = factor.channel.true_shape, factor.channel.reported_shape
        found = kernel.mixture
        if len(sizes) == 1 or found is None:
            self.units.append(Unit(factor.names, math.prod(sizes), math.prod(reports)))
            self.groups.append(
                CoinGroup(0.0, 1.0, (kernel.entries,), None, factor, (first,), kernel)
            )
            return
        self.units += [Unit((n,), k, k) for n, k in zip(factor.names, sizes, strict=True)]
        units = tuple(range(first, len(self.units)))
        others = found.others if found.drawn is None else ()
        self.groups.append(
            CoinGroup(found.theta, found.rest, others, found.drawn, factor, units, kernel)
        )

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
        found = impossible_cells(self.design.conditions, self.design.schema.subset(names))
        return None if found is None else found.reshape(self.sizes)

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
        parts = [
            self._part(tuple(u for u in units if u in group.units))
            for group in self.groups
            if any(u in group.units for u in units)
        ]
        return kron(parts)

    def _part(self, units: tuple[int, ...]) -> Array:
        """The channel of some units of one group."""
        if units not in self._parts:
            self._parts[units] = _written(self.group_of(units[0]), units)
        return self._parts[units]

    def part(self, tables: Array) -> JointGroups:
        """Joint tables, stacked along the last axis, as what exact figures are computed from."""
        shape = [math.prod(self.sizes[u] for u in group.units) for group in self.groups]
        factors = tuple(group.factor for group in self.groups)
        kernels = tuple(group.kernel for group in self.groups)
        return JointGroups(factors, kernels, self.design.schema, tables.reshape(*shape, -1))


def _written(group: CoinGroup, units: tuple[int, ...]) -> Array:
    """The channel of some units of a group, from the group's parts."""
    if group.single:
        return group.others[0]
    places = [group.units.index(unit) for unit in units]
    sizes = [group.factor.channel.true_shape[place] for place in places]
    kept: Array = group.theta * np.eye(math.prod(sizes))
    if group.drawn is None:
        return np.asarray(kept + group.rest * kron(group.others[p] for p in places))
    cells = group.drawn.marginal(tuple(places)).cells
    return np.asarray(kept + group.rest * cells[:, None])


@dataclass(frozen=True, eq=False)
class CodedReports:
    """Distinct reported records as codes of units, and how many people sent each."""

    layout: UnitLayout
    codes: Index
    weights: Array

    @classmethod
    def of(cls, layout: UnitLayout, patterns: PatternTable) -> CodedReports:
        """The codes of counted patterns."""
        codes = unit_codes(layout, patterns.patterns)
        return cls(layout, codes, patterns.counts.astype(np.float64))

    @property
    def total(self) -> float:
        """How many records there are."""
        return float(self.weights.sum())

    def weighted(self, weights: Array) -> CodedReports:
        """The same patterns, sent by other numbers of people; patterns of none are left out."""
        kept = weights > 0
        return CodedReports(self.layout, self.codes[kept], weights[kept])

    def halves(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """The records divided at random in two halves, as weights of the patterns."""
        counts = self.weights.astype(np.int64)
        first = rng.multivariate_hypergeometric(counts, int(counts.sum()) // 2).astype(np.float64)
        return first, self.weights - first

    def frequencies(self, units: Sequence[int]) -> Array:
        """The reported distribution of some units, flattened."""
        number = math.prod(self.layout.reports[u] for u in units)
        return np.asarray(np.bincount(self.cells(units), self.weights, number) / self.total)

    def likelihood(self, units: Sequence[int], table: Array) -> float:
        """Twice the log-likelihood of the reports of some units, given their true table."""
        expected, seen = self.layout.matrix(units) @ table.ravel(), self.frequencies(units)
        held = seen > 0
        return 2 * self.total * float(seen[held] @ np.log(np.maximum(expected[held], TINY)))

    def cells(self, units: Sequence[int]) -> Index:
        """Where the reports of some units are found in their flattened table."""
        shape = [self.layout.reports[u] for u in units]
        return np.asarray(np.ravel_multi_index(tuple(self.codes[:, list(units)].T), shape))

    def places(self) -> tuple[Index, ...]:
        """Where each pattern is found in a table with one axis per group."""
        return tuple(self.cells(group.units) for group in self.layout.groups)


def unit_codes(layout: UnitLayout, reported: npt.NDArray[np.integer[Any]]) -> Index:
    """Reported records, a column per attribute of `design.reported`, as codes of units."""
    return np.stack([c.astype(np.intp) for c in unit_columns(layout, reported)], axis=1)


def unit_columns(
    layout: UnitLayout, reported: npt.NDArray[np.integer[Any]]
) -> Iterator[npt.NDArray[np.integer[Any]]]:
    """The codes of each unit; those of a single column as they are."""
    schema = layout.design.reported
    places = [schema.index(name) for name in layout.channel.reported.names]
    for group in layout.groups:
        own = [reported[:, places[axis]] for axis in group.factor.reported_axes]
        if group.single and len(own) > 1:
            shape = group.factor.channel.reported_shape
            yield np.ravel_multi_index([c.astype(np.intp) for c in own], shape)
        else:
            yield from own
