"""gls: the generalised least squares inverse, for more reported than true categories.

    W = (M^T D^-1 M)^-1 M^T D^-1,    D = diag(M p)

p is the maximum-likelihood distribution of the group itself. D from the model and not from raw
counts, which cost accuracy when there are many reported categories (measured for 54: MSE 2.207e-5
against 2.126e-5 with D known); p from the group alone, not from the table asked for, keeps the
marginal of a reconstruction equal to the reconstruction of the marginal.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.channel.linear_maps import Dense
from tacit.reconstruction.likelihood import fit


def gls(matrix: Array, frequencies: Array, n_records: int) -> Dense:
    """A left inverse of `matrix`, weighted for these reported frequencies.

    Half a record is added to every true cell, so no reported category has infinite weight.
    """
    likely = fit(Dense(matrix), frequencies).value * n_records + 0.5
    weights = 1 / (matrix @ (likely / likely.sum()))
    weighted = matrix.T * weights
    return Dense(np.linalg.solve(weighted @ matrix, weighted))
