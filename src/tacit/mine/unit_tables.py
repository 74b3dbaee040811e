"""UnitTables: reported tables of few units with their channels and left inverses.

A unit is an attribute, or all attributes of a joint matrix (see `UnitLayout`, which the disclosure
figures share). The channel of some units is the product of those of their groups, and so is W.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.kernels import kron
from tacit.core.design import Design
from tacit.errors import DataError, SingularChannelError
from tacit.privacy.disclosure.layout import UnitLayout, unit_columns
from tacit.reconstruction.likelihood import maximise
from tacit.reconstruction.tables import gls
from tacit.records import PatternTable
from tacit.records.bit_columns import FewWayCounts

#: Cells of a pair of units, true or reported, at most.
MAX_PAIR_CELLS = 1024
#: A channel with a larger condition number is not inverted.
_WORST_CONDITION = 1e12
#: Negative cells closer to 0 are rounding errors.
_ROUNDINGS = 1e-12
#: Of a most likely table: how far the start is moved inside, tolerance and iterations.
_INSIDE, _TOLERANCE, _ITERATIONS = 0.02, 1e-7, 200


class UnitTables:
    """Reported records of a design by unit."""

    def __init__(self, patterns: PatternTable, design: Design) -> None:
        self.layout = UnitLayout(design)
        self.n_records, self.multiplicity = patterns.n_records, patterns.counts
        self.sizes, self.reports = self.layout.sizes, self.layout.reports
        self.names = [unit.names for unit in self.layout.units]
        self._check_sizes()
        self.columns = list(unit_columns(self.layout, patterns.patterns))
        self.counts = FewWayCounts(self.columns, self.reports, patterns.counts)
        self._inverses: dict[tuple[int, ...], Array] = {}

    def _check_sizes(self) -> None:
        for sizes in (self.sizes, self.reports):
            largest = np.argsort(sizes)[::-1][:2]
            cells = int(np.prod([sizes[u] for u in largest]))
            if cells > MAX_PAIR_CELLS:
                names = " and ".join(", ".join(self.names[u]) for u in largest)
                raise DataError(
                    f"the table of {names} has {cells:,} cells, at most {MAX_PAIR_CELLS:,} are "
                    "allowed; merge categories"
                )

    def matrix(self, units: tuple[int, ...]) -> Array:
        """M of some units in ascending order, reported x true cells."""
        return self.layout.matrix(units)

    def inverse(self, units: tuple[int, ...]) -> Array:
        """W of some units in ascending order, true x reported cells."""
        parts = [
            self._inverse(own)
            for group in self.layout.groups
            if (own := tuple(u for u in units if u in group.units))
        ]
        return kron(parts)

    def _inverse(self, units: tuple[int, ...]) -> Array:
        """W of some units of one group, kept for further use."""
        if units not in self._inverses:
            self._inverses[units] = self._made_inverse(units)
        return self._inverses[units]

    def _made_inverse(self, units: tuple[int, ...]) -> Array:
        matrix = self.matrix(units)
        # A matrix of too low rank has a condition number near 1e16, not an infinite one.
        if np.linalg.cond(matrix) > _WORST_CONDITION:
            self.layout.group_of(units[0]).factor.require_reconstructable()
            names = ", ".join(name for u in units for name in self.names[u])
            raise SingularChannelError(f"the table of {names} cannot be reconstructed")
        if matrix.shape[0] == matrix.shape[1]:
            return np.asarray(np.linalg.inv(matrix))
        return gls(matrix, self.frequencies(units), self.n_records).entries

    def frequencies(self, units: tuple[int, ...]) -> Array:
        """The reported distribution of some units, flattened."""
        return np.asarray(self.counts.tables(np.array([units]))[0].ravel() / self.n_records)

    def table(self, units: tuple[int, ...]) -> Array:
        """The unbiased table of some units, flattened."""
        return self.inverse(units) @ self.frequencies(units)

    @cached_property
    def margins(self) -> list[Array]:
        """The most likely distribution of each unit: the unbiased one, if nothing is negative."""
        return [
            nearest(
                self.table((u,)), self.matrix((u,)), self.frequencies((u,)), np.full(size, 1 / size)
            )
            for u, size in enumerate(self.sizes)
        ]

    def sampled(self, most: int, rng: np.random.Generator) -> UnitTables:
        """The same tables with at most so many of the records, drawn at random, to weigh."""
        if len(self.multiplicity) <= most:
            return self
        chances = self.multiplicity / self.n_records
        drawn = rng.choice(len(chances), most, p=chances)
        made = copy(self)
        made.columns = [column[drawn] for column in self.columns]
        made.multiplicity = np.ones(most, np.int64)
        return made

    def report_cells(self, units: tuple[int, ...]) -> Index:
        """Where the reports of each pattern are found in the flattened table of some units."""
        shape = [self.reports[u] for u in units]
        codes = [self.columns[u].astype(np.intp) for u in units]
        return np.asarray(np.ravel_multi_index(codes, shape))


def nearest(unbiased: Array, matrix: Array, frequencies: Array, inside: Array) -> Array:
    """The unbiased table if it is a distribution, and else the most likely one.

    With as many reported as true cells, an unbiased table without negative cells is the most
    likely one. Otherwise EM starts from it, moved towards the distribution `inside`.
    """
    cut = np.maximum(unbiased, 0)
    if unbiased.min() >= -_ROUNDINGS:
        return np.asarray(cut / cut.sum())
    start = (1 - _INSIDE) * cut / cut.sum() + _INSIDE * inside
    return maximise(
        lambda p: np.maximum(matrix @ p, TINY),
        lambda q: matrix.T @ q,
        frequencies,
        start,
        _TOLERANCE,
        _ITERATIONS,
    )[0]
