"""The left inverse of a group's channel, with which tables and events are reconstructed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Channel
from tacit.core.channel.linear_maps import Dense, Linear
from tacit.reconstruction.likelihood import most_likely


def left_inverse(channel: Channel, frequencies: Callable[[], Array], n_records: int) -> Linear:
    """The left inverse W of a group's channel: closed form, or generalised least squares.

    `frequencies` is called for the reported distribution of the group if W needs it. It is that of
    the group alone, not of the table asked for, so that the marginal of a reconstruction equals the
    reconstruction of the marginal.
    """
    if channel.inverse is not None:
        return channel.inverse
    return gls(channel.matrix, frequencies(), n_records)


def gls(matrix: Array, frequencies: Array, n_records: int) -> Dense:
    """A left inverse of `matrix`, which has more rows than columns, by generalised least squares.

        W = (M^T D^-1 M)^-1 M^T D^-1,    D = diag(M p)

    p is the maximum-likelihood distribution: D comes from the model and not from raw counts, which
    cost accuracy when there are many reported categories (measured for 54: MSE 2.207e-5 against
    2.126e-5 with D known). Half a record is added to every true cell, so no reported category has
    infinite weight.
    """
    likely = most_likely(matrix, frequencies) * n_records + 0.5
    weights = 1 / (matrix @ (likely / likely.sum()))
    weighted = matrix.T * weights
    return Dense(np.linalg.solve(weighted @ matrix, weighted))
