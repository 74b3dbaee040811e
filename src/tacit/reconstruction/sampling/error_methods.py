"""Variances of weighted means of a sample: linearised (the default), jackknife, bootstrap.

Units are clusters, or records. A stratum with one unit is an error: its variance is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.records.sample import ErrorMethod, Replicate, SampleUnits, UnitTotals

#: Units up to which a regression is fitted again. With more, a refit differs from totals by less
#: than one part in this number.
_REFITS = 2_000
#: Numbers of a block of replicates.
_ENTRIES = 1 << 22


def linearised(totals: UnitTotals) -> Array:
    """Covariance of weighted means by linearisation (Taylor series).

        V = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - t_h)^2 / (sum w)^2

    t_hc is the total of w_i (g_i - P) over the records of unit c in stratum h, t_h the mean of
    these totals in the stratum, n_h its number of units and f_h their share of the population's
    units (Woodruff, 1971; Binder, 1983).
    """
    units = totals.units
    n = units.n_units[:, None]
    means = units.by_stratum(totals.residual) / n
    off = totals.residual - means[units.stratum]
    scale = (1 - units.fraction) * units.n_units / (units.n_units - 1)
    weighted = off * (scale[units.stratum] * units.multiplicity)[:, None]
    return np.asarray(weighted.T @ off / totals.total_weight**2)


class Jackknife:
    """Covariance of weighted means from samples that each lack one sampling unit (JKn).

        V = sum over units of (1 - f_h) (n_h - 1) / n_h (P_(hc) - P)^2

    P_(hc) is the estimate without unit c of stratum h, whose other units weigh n_h / (n_h - 1)
    times as much (Rust & Rao, 1996). Replicates of means are not computed record by record: totals
    of units are enough. A regression is fitted again without each unit.
    """

    def __call__(self, totals: UnitTotals) -> Array:
        units = totals.units
        both = np.column_stack([totals.residual, totals.weight])
        strata = units.by_stratum(both)
        more = (units.n_units / (units.n_units - 1))[units.stratum][:, None]
        stratum = strata[units.stratum]
        without = strata.sum(axis=0) - stratum + more * (stratum - both)
        off = without[:, :-1] / without[:, -1:]
        weighted = off * self._scales(units)[:, None]
        return np.asarray(weighted.T @ off)

    def resamples(self, units: SampleUnits) -> Iterator[Replicate] | None:
        """The sample without each unit; None if there are more than 2,000."""
        if len(units.stratum) > _REFITS:
            return None
        return (self._without(units, unit) for unit in range(len(units.stratum)))

    def _without(self, units: SampleUnits, unit: int) -> Replicate:
        stratum, times = units.stratum[unit], units.multiplicity[unit]
        n = units.n_units[stratum]
        factors = np.where(units.stratum == stratum, n / (n - 1), 1.0)
        factors[unit] *= (times - 1) / times
        return Replicate(factors, float(self._scales(units)[unit]))

    @staticmethod
    def _scales(units: SampleUnits) -> Array:
        scale = (1 - units.fraction) * (units.n_units - 1) / units.n_units
        return np.asarray(scale[units.stratum] * units.multiplicity)

    def __str__(self) -> str:
        return "jackknife"


jackknife = Jackknife()


@dataclass(frozen=True)
class bootstrap:  # noqa: N801 - used like the functions linearised and jackknife
    """Covariance of weighted means from resampled sampling units.

    Each replicate draws n_h - 1 of the n_h units of a stratum with replacement; a unit that is
    drawn m times weighs

        1 + sqrt(1 - f_h) (m n_h / (n_h - 1) - 1)

    times as much (Rao & Wu, 1988; Rao, Wu & Yue, 1992). The same seed gives the same replicates.
    """

    replicates: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.replicates, int) or self.replicates < 2:
            raise DataError(f"replicates must be a whole number above 1, got {self.replicates!r}")

    def __call__(self, totals: UnitTotals) -> Array:
        rng = np.random.default_rng(self.seed)
        both = np.column_stack([totals.residual, totals.weight])
        step = max(1, _ENTRIES // len(both))
        covariance = np.zeros((totals.residual.shape[1],) * 2)
        for start in range(0, self.replicates, step):
            n = min(step, self.replicates - start)
            sums = _factors(totals.units, n, rng) @ both
            off = sums[:, :-1] / sums[:, -1:]
            covariance += off.T @ off
        return np.asarray(covariance / self.replicates)

    def resamples(self, units: SampleUnits) -> Iterator[Replicate]:
        """The resampled samples."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.replicates):
            factors = _factors(units, 1, rng)[0] / units.multiplicity
            yield Replicate(factors, 1 / self.replicates)

    def __str__(self) -> str:
        return f"bootstrap of {self.replicates:,} replicates"


def _factors(units: SampleUnits, replicates: int, rng: np.random.Generator) -> Array:
    """The sum of the factors of the records that each row of units stands for."""
    factors = np.empty((replicates, len(units.stratum)))
    for h, n in enumerate(units.n_units):
        members = np.flatnonzero(units.stratum == h)
        times = units.multiplicity[members]
        drawn = rng.multinomial(round(n) - 1, times / times.sum(), replicates)
        reach = np.sqrt(1 - units.fraction[h])
        factors[:, members] = times + reach * (drawn * n / (n - 1) - times)
    return factors


#: Every method by its name on the command line.
ERROR_METHODS: dict[str, ErrorMethod] = {
    "linearised": linearised,
    "jackknife": jackknife,
    "bootstrap": bootstrap(),
}
