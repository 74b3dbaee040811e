"""linearised: the variance of weighted means by Taylor series. The default.

    V = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - t_h)^2 / (sum w)^2

t_hc is the total of w_i (g_i - P) over the records of unit c in stratum h, t_h the mean of these
totals in the stratum, n_h its number of units and f_h their share of the population's units
(Woodruff, 1971; Binder, 1983). Units are clusters, or records. A stratum with one unit is an error:
its variance is unknown.
"""

from __future__ import annotations

import numpy as np

from tacit.core.arrays import Array
from tacit.reconstruction.sampling.sample_rows import UnitTotals


def linearised(totals: UnitTotals) -> Array:
    """Covariance of weighted means by linearisation."""
    units = totals.units
    n = units.n_units[:, None]
    means = units.by_stratum(totals.residual) / n
    off = totals.residual - means[units.stratum]
    scale = (1 - units.fraction) * units.n_units / (units.n_units - 1)
    weighted = off * (scale[units.stratum] * units.multiplicity)[:, None]
    return np.asarray(weighted.T @ off / totals.total_weight**2)
