"""Passes: what an adversary needs of one group's channel.

    total    sum_x M[y, x]   t[x]      probability of each report
    squares  sum_x M[y, x]^2 t[x]      for a guess drawn from the posterior
    peak     max_x M[y, x]   t[x]      for the best guess

Sums and maxima distribute over products, so these passes over a table can be taken group by group
over independent groups. Only numbers that are not negative are added and multiplied: a zero stays
exactly zero, and every result is right up to a few roundings. That is why privacy figures can
be rounded outward. Entries computed from the eigenvalues of a channel have neither property.

Here are the passes of a matrix without structure; channels have shorter ones (see `Channel.apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.numbers import Distribution
from tacit.errors import DataError

#: The largest number of true cells for which a channel is written out as a matrix.
MAX_DENSE = 4096


@dataclass(frozen=True, eq=False)
class Mixture:
    """Keep the truth with probability theta, else disguise it (rest = 1 - theta).

        M[y, x] = theta [x = y] + rest prod_a B_a[y_a, x_a]      `others` are the B_a
        M[y, x] = theta [x = y] + rest d[y]                      `drawn` is d

    `others` is also given if d is a product; theta is negative for frapp with lambda < 1.
    """

    theta: float
    rest: float
    others: tuple[Array, ...]
    drawn: Distribution | None


class Step(Enum):
    """The three passes over a table t."""

    #: sum_x M[y, x] t[x]
    TOTAL = "total"
    #: sum_x M[y, x]^2 t[x]
    SQUARES = "squares"
    #: max_x M[y, x] t[x]
    PEAK = "peak"


def dense_pass(matrix: Array, step: Step, table: Array) -> Array:
    """One of the three passes, down each column of the table."""
    if step is not Step.PEAK:
        return (matrix if step is Step.TOTAL else matrix**2) @ table
    peaks: Array = np.zeros((matrix.shape[0], table.shape[1]))
    for column, values in zip(matrix.T, table, strict=True):
        np.maximum(peaks, column[:, None] * values, out=peaks)
    return peaks


def dense_outcomes(matrix: Array, shape: tuple[int, ...], answers: Index) -> Iterator[Array]:
    """M[y, (x, known)] for every joint report y, of attributes with these sizes."""
    cells = matrix.reshape(-1, *shape)[(slice(None), slice(None), *answers)]
    yield from cells.reshape(*cells.shape[:2], -1)


def along_axis(apply: Callable[[Step, Array], Array], step: Step, table: Array, axis: int) -> Array:
    """One step along an axis of a table."""
    ahead = np.moveaxis(table, axis, 0)
    done = apply(step, ahead.reshape(ahead.shape[0], -1))
    return np.moveaxis(done.reshape(-1, *ahead.shape[1:]), 0, axis)


def check_dense(cells: int) -> None:
    """Raise DataError if a channel has too many cells to be written out."""
    if cells > MAX_DENSE:
        raise DataError(
            f"a channel of {cells:,} cells is too large to be written out "
            f"(at most {MAX_DENSE:,}); measure fewer attributes at once"
        )


def kron(matrices: Iterable[Array]) -> Array:
    """The Kronecker product, written out; faster than NumPy's for small matrices."""
    product: Array = np.ones((1, 1))
    for matrix in matrices:
        cells = product[:, None, :, None] * matrix[None, :, None]
        product = cells.reshape(len(product) * len(matrix), -1)
    return product


def uncertainty(probabilities: Array) -> Array:
    """-p log2 p, entry by entry; 0 at 0."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -probabilities * np.log2(positive)
