"""bootstrap: the variance of weighted means from resampled sampling units.

Each replicate draws n_h - 1 of the n_h units of a stratum with replacement; a unit that is drawn m
times weighs

    1 + sqrt(1 - f_h) (m n_h / (n_h - 1) - 1)

times as much (Rao & Wu, 1988; Rao, Wu & Yue, 1992).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.sampling.sample_rows import Replicate, SampleUnits, UnitTotals

#: Numbers of a block of replicates.
_ENTRIES = 1 << 22


@dataclass(frozen=True)
class bootstrap:  # noqa: N801 - used like the functions linearised and jackknife
    """Covariance of weighted means by the bootstrap of sampling units.

    The same seed gives the same replicates.
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
        found = np.zeros((totals.residual.shape[1],) * 2)
        for start in range(0, self.replicates, step):
            n = min(step, self.replicates - start)
            sums = _factors(totals.units, n, rng) @ both
            off = sums[:, :-1] / sums[:, -1:]
            found += off.T @ off
        return np.asarray(found / self.replicates)

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
    found = np.empty((replicates, len(units.stratum)))
    for h, n in enumerate(units.n_units):
        own = np.flatnonzero(units.stratum == h)
        times = units.multiplicity[own]
        drawn = rng.multinomial(round(n) - 1, times / times.sum(), replicates)
        reach = np.sqrt(1 - units.fraction[h])
        found[:, own] = times + reach * (drawn * n / (n - 1) - times)
    return found
