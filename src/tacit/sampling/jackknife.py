"""jackknife: the variance of weighted means from samples that each lack one sampling unit (JKn).

    V = sum over units of (1 - f_h) (n_h - 1) / n_h (P_(hc) - P)^2

P_(hc) is the estimate without unit c of stratum h, whose other units weigh n_h / (n_h - 1) times as
much (Rust & Rao, 1996). No replicate is computed record by record: totals of units are enough.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.sampling.sample_rows import UnitTotals


def jackknife(totals: UnitTotals) -> Array:
    """Covariance of weighted means by the jackknife of sampling units."""
    units = totals.units
    both = np.column_stack([totals.residual, totals.weight])
    strata = units.by_stratum(both)
    more = (units.n_units / (units.n_units - 1))[units.stratum][:, None]
    own = strata[units.stratum]
    without = strata.sum(axis=0) - own + more * (own - both)
    off = without[:, :-1] / without[:, -1:]
    scale = (1 - units.fraction) * (units.n_units - 1) / units.n_units
    weighted = off * (scale[units.stratum] * units.multiplicity)[:, None]
    return np.asarray(weighted.T @ off)
