"""SampleRows: the records of a sample, grouped, with their design weights, strata and clusters.

A mean over the population is estimated by sum w g / sum w. Its variance is that between the
sampling units (clusters, or records if there are none) of each stratum; see `linearised`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index, Mask

#: Covariance of means: from totals of each sampling unit, less what their mean explains.
ErrorMethod = Callable[["UnitTotals"], Array]


@dataclass(frozen=True, eq=False)
class SampleUnits:
    """The strata: how many sampling units each has, and the share of the population's that is."""

    stratum: Index
    multiplicity: Array
    n_units: Array
    fraction: Array

    @property
    def df(self) -> float:
        """Degrees of freedom: units less strata."""
        return float(self.n_units.sum() - len(self.n_units))

    def by_stratum(self, totals: Array) -> Array:
        """Sums over the units of each stratum, strata x quantities."""
        return sums_by(self.stratum, totals * self.multiplicity[:, None], len(self.n_units))


class Replicate(NamedTuple):
    """A resampled sample: factors of the weights of the units, and its share of the variance."""

    factors: Array
    scale: float


@dataclass(frozen=True, eq=False)
class UnitTotals:
    """What an error method needs: weighted totals of residuals and of weights in each unit.

    A unit that occurs `units.multiplicity` times is given once.
    """

    units: SampleUnits
    residual: Array
    weight: Array

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all records."""
        return float(self.weight @ self.units.multiplicity)


class Calibration(NamedTuple):
    """Known totals: the cell of each record or row, and which totals each cell is part of."""

    cell: Index
    margins: Array

    def take(self, rows: Index) -> Calibration:
        """That of these rows."""
        return self._replace(cell=self.cell[rows])


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Rows of records with the same pattern, stratum and cluster (and weight, without clusters).

    `weight` and `square` are sums of the design weights and of their squares over the records of a
    row, scaled to a mean of 1 per record. `unit` is the cluster of each row, or None: then every
    record is a sampling unit. `calibration` has the known totals to which the weights were
    calibrated. Rows that an analysis does not use are kept with weight zero: they count as members
    of their strata and clusters, and with their `full` weight for the known totals.
    """

    stratum: Index
    unit: Index | None
    number: Array
    weight: Array
    square: Array
    full: Array
    n_units: Array
    fraction: Array
    errors: ErrorMethod
    calibration: Calibration | None = None

    @property
    def n_records(self) -> int:
        """The number of records with a positive weight."""
        return round(float(self.number[self.weight > 0].sum()))

    @cached_property
    def units(self) -> SampleUnits:
        """The sampling units; records of a row without clusters are alike and come once."""
        if self.unit is None:
            return SampleUnits(self.stratum, self.number, self.n_units, self.fraction)
        n_clusters = int(self.unit.max()) + 1
        stratum = np.zeros(n_clusters, np.intp)
        stratum[self.unit] = self.stratum
        return SampleUnits(stratum, np.ones(n_clusters), self.n_units, self.fraction)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.units.df

    @cached_property
    def weight_effect(self) -> float:
        """The design effect of unequal weights alone (Kish, 1965): n sum w^2 / (sum w)^2."""
        return float(self.n_records * self.square.sum() / self.weight.sum() ** 2)

    def mean(self, values: Array) -> Array:
        """Weighted means of values, rows x quantities."""
        return np.asarray(self.weight @ values / self.weight.sum())

    def covariance(self, values: Array, true_products: Array | None = None) -> Array:
        """Covariance of the weighted means of values, rows x quantities.

        `true_products` are values whose means are those of the products of the *true* quantities,
        rows x quantities x quantities; a finite population needs them, see `kept_noise`. If they
        are left out, quantities are shares of events that exclude each other.
        """
        totals = UnitTotals(self.units, *self._totals(self._contributions(values)))
        covariance = self.errors(totals)
        if not self.fraction.any():
            return covariance
        noise = self.kept_noise
        if true_products is None:
            true = np.diag(noise @ values)
        else:
            true = np.tensordot(noise, true_products, axes=1)
        return np.asarray(covariance + (values.T * noise) @ values - true)

    @cached_property
    def kept_noise(self) -> Array:
        """What a finite population does not remove, per row: f sum w^2 / (sum w)^2.

        If all people are asked, their true answers have no sampling error, but the noise of the
        disguise stays. The factor 1 - f is too much for it by f times its variance.
        """
        return np.asarray(self.fraction[self.stratum] * self.square / self.weight.sum() ** 2)

    def _contributions(self, values: Array) -> Array:
        """Weighted residuals: values less their mean, and less what the known totals explain."""
        weighted = (values - self.mean(values)) * self.weight[:, None]
        if self.calibration is None:
            return weighted
        cell, x = self.calibration
        weights = np.bincount(cell, self.full, len(x))
        right = x.T @ sums_by(cell, weighted, len(x))
        slopes = np.linalg.lstsq((x.T * weights) @ x, right, rcond=None)[0]
        return np.asarray(weighted - (x @ slopes)[cell] * self.full[:, None])

    def resamples(self) -> Iterator[Replicate] | None:
        """Factors of the weights of the rows, if the method of errors has replicates of the units.

        What is not a mean is estimated again from each. Weights that were calibrated are calibrated
        again, by linear factors. There are none if they would be too many and totals are precise
        enough.
        """
        resamples = getattr(self.errors, "resamples", None)
        replicates = None if resamples is None else resamples(self.units)
        return None if replicates is None else map(self._row_factors, replicates)

    def _row_factors(self, replicate: Replicate) -> Replicate:
        factors = replicate.factors if self.unit is None else replicate.factors[self.unit]
        if self.calibration is not None:
            cell, x = self.calibration
            weights = np.bincount(cell, self.full * factors, len(x))
            gap = x.T @ (np.bincount(cell, self.full, len(x)) - weights)
            slopes = np.linalg.lstsq((x.T * weights) @ x, gap, rcond=None)[0]
            factors = factors * (1 + x @ slopes)[cell]
        return replicate._replace(factors=factors)

    def _totals(self, weighted: Array) -> tuple[Array, Array]:
        """The sums of contributions and of weights in each unit."""
        if self.unit is None:
            return weighted / self.number[:, None], self.weight / self.number
        n = len(self.units.stratum)
        weights = np.bincount(self.unit, self.weight, n).astype(np.float64)
        return sums_by(self.unit, weighted, n), weights

    def regrouped(self, cells: Index) -> tuple[SampleRows, Index]:
        """Rows joined where their cells are the same as well, and the cell of each."""
        first, which = joint_ranks([cells, *self.keys()])
        return self.joined(first, which), cells[first]

    def keys(self) -> list[Index]:
        """What records must share to be in one row, beside their reports."""
        keys = [(self.weight > 0).astype(np.intp)]
        if self.unit is None:
            weights = np.unique(self.full / self.number, return_inverse=True)[1]
            keys += [self.stratum, weights.astype(np.intp)]
        else:
            keys.append(self.unit)
        return keys if self.calibration is None else [*keys, self.calibration.cell]

    def joined(self, first: Index, which: Index) -> SampleRows:
        """Rows summed by `which`; `first` is one of the rows of each sum."""
        return self._of_rows(first, lambda sums: np.bincount(which, sums).astype(np.float64))

    def restricted(self, members: Mask) -> SampleRows:
        """The rows of these records; the others are kept with weight zero."""
        members = members & (self.weight > 0)
        scale = self.number[members].sum() / self.weight[members].sum()
        return replace(
            self,
            weight=np.where(members, scale * self.weight, 0.0),
            square=np.where(members, scale**2 * self.square, 0.0),
            full=scale * self.full,
        )

    def expanded(self) -> tuple[SampleRows, Index]:
        """A row per record, and the row that each came from."""
        times = self.number.round().astype(np.intp)
        rows = np.repeat(np.arange(len(times)), times)
        return self._of_rows(rows, lambda sums: sums[rows] / self.number[rows]), rows

    def _of_rows(self, rows: Index, sums: Callable[[Array], Array]) -> SampleRows:
        """New rows with the stratum, unit and calibration of these; `sums` makes their sums."""
        return replace(
            self,
            stratum=self.stratum[rows],
            unit=None if self.unit is None else self.unit[rows],
            number=sums(self.number),
            weight=sums(self.weight),
            square=sums(self.square),
            full=sums(self.full),
            calibration=None if self.calibration is None else self.calibration.take(rows),
        )


def sums_by(cells: Index, values: Array, n: int) -> Array:
    """Sums of rows of values by their cells, n x quantities."""
    return np.stack([np.bincount(cells, column, n) for column in values.T], axis=1)


def joint_ranks(keys: list[Index]) -> tuple[Index, Index]:
    """A record of each distinct combination of keys, and the combination of each record."""
    which = np.unique(keys[0], return_inverse=True)[1].astype(np.int64)
    for key in keys[1:]:
        joint = which * (int(key.max()) + 1) + key
        which = np.unique(joint, return_inverse=True)[1].astype(np.int64)
    _, first, ranks = np.unique(which, return_index=True, return_inverse=True)
    return first, ranks
