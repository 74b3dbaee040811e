"""The left inverse W of a group's channel: closed form, or generalised least squares.

    W = (M^T D^-1 M)^-1 M^T D^-1,    D = diag(M p)

GLS is for more reported than true categories. p is the maximum-likelihood distribution of the group
itself. D comes from the model and not from raw counts, which cost accuracy when there are many
reported categories (measured for 54: MSE 2.207e-5 against 2.126e-5 with D known). p comes from the
group alone, not from the table asked for, so that the marginal of a reconstruction equals the
reconstruction of the marginal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import Channel
from tacit.core.channel.linear_maps import Dense, Linear
from tacit.reconstruction.likelihood import most_likely


def left_inverse(channel: Channel, frequencies: Callable[[], Array], n_records: int) -> Linear:
    """W of one group; `frequencies` is called for its reported distribution if W needs it."""
    if channel.inverse is not None:
        return channel.inverse
    return gls(channel.matrix, frequencies(), n_records)


def gls(matrix: Array, frequencies: Array, n_records: int) -> Dense:
    """A left inverse of `matrix`, weighted for these reported frequencies.

    Half a record is added to every true cell, so no reported category has infinite weight.
    """
    likely = most_likely(matrix, frequencies) * n_records + 0.5
    weights = 1 / (matrix @ (likely / likely.sum()))
    weighted = matrix.T * weights
    return Dense(np.linalg.solve(weighted @ matrix, weighted))
