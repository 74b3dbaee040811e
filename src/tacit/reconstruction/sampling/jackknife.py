"""jackknife: the variance of weighted means from samples that each lack one sampling unit (JKn).

    V = sum over units of (1 - f_h) (n_h - 1) / n_h (P_(hc) - P)^2

P_(hc) is the estimate without unit c of stratum h, whose other units weigh n_h / (n_h - 1) times as
much (Rust & Rao, 1996). Replicates of means are not computed record by record: totals of units are
enough. A regression is fitted again without each unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.reconstruction.sampling.sample_rows import Replicate, SampleUnits, UnitTotals

#: Units up to which a regression is fitted again. With more, a refit differs from totals by less
#: than one part in this number.
_REFITS = 2_000


@dataclass(frozen=True)
class Jackknife:
    """Covariance of weighted means by the jackknife of sampling units."""

    def __call__(self, totals: UnitTotals) -> Array:
        units = totals.units
        both = np.column_stack([totals.residual, totals.weight])
        strata = units.by_stratum(both)
        more = (units.n_units / (units.n_units - 1))[units.stratum][:, None]
        own = strata[units.stratum]
        without = strata.sum(axis=0) - own + more * (own - both)
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
