"""Linear maps: channels and their inverses, as maps between flattened tables.

They are kept in the structure they have. There are four kinds, each closed under transposition and
under powers of the entries, which is all that estimates and their variances need:

    Dense               any matrix
    DiagonalPlusOuter   diag(d) + u v^T
    Agreement           entries depend only on which attributes agree
    Mirror              theta I + (1 - theta) reverse: Agreement of yes/no answers, applied fast

`chain` applies one map per group to a table; their Kronecker product is never built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.core.arrays import Array

#: Beyond this magnification nothing of a double's precision is left to reconstruct from.
WORST_CONDITION = 1e12


class Linear(ABC):
    """A linear map on columns of length `shape[1]`."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Length of results, length of arguments."""

    @abstractmethod
    def __matmul__(self, columns: Array) -> Array:
        """Apply to every column of a matrix."""

    @property
    @abstractmethod
    def T(self) -> Linear:
        """The transposed map."""

    @abstractmethod
    def power(self, exponent: int) -> Linear:
        """The map whose entries are this one's, to this power."""

    def matrix(self) -> Array:
        """All entries."""
        return self @ np.eye(self.shape[1])


@dataclass(frozen=True)
class Dense(Linear):
    """Any matrix."""

    entries: Array

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.entries.shape
        return rows, columns

    def __matmul__(self, columns: Array) -> Array:
        return self.entries @ columns

    @property
    def T(self) -> Dense:
        return Dense(self.entries.T)

    def power(self, exponent: int) -> Dense:
        return Dense(self.entries**exponent)


@dataclass(frozen=True)
class DiagonalPlusOuter(Linear):
    """diag(d) + u v^T: replace-by-a-draw channels and their inverses."""

    d: Array
    u: Array
    v: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.d.size, self.d.size

    def __matmul__(self, columns: Array) -> Array:
        return self.d[:, None] * columns + np.outer(self.u, self.v @ columns)

    @property
    def T(self) -> DiagonalPlusOuter:
        return DiagonalPlusOuter(self.d, self.v, self.u)

    def power(self, exponent: int) -> DiagonalPlusOuter:
        u, v, rest = self.u**exponent, self.v**exponent, self.u * self.v
        whole = self.d + rest
        # (d + r)^n - r^n without cancellation: d times the sum of (d + r)^i r^(n - 1 - i).
        terms = sum(whole**i * rest ** (exponent - 1 - i) for i in range(exponent))
        return DiagonalPlusOuter(np.asarray(self.d * terms), u, v)


@dataclass(frozen=True)
class Agreement(Linear):
    """A symmetric map whose entry (x, y) depends only on where x and y agree.

    `eigenvalues` has one axis of length 2 per attribute: index 0 for the constant vector, 1 for
    contrasts between categories. All such maps share their eigenvectors, products of one
    orthonormal basis per attribute (Helmert), so inverting is dividing.
    """

    sizes: tuple[int, ...]
    eigenvalues: Array

    @property
    def shape(self) -> tuple[int, int]:
        cells = int(np.prod(self.sizes))
        return cells, cells

    def __matmul__(self, columns: Array) -> Array:
        bases = [_contrasts(k) for k in self.sizes]
        kind = np.ix_(*([min(i, 1) for i in range(k)] for k in self.sizes))
        weights = self.eigenvalues[kind].reshape(-1, 1)
        spectrum = chain(bases, columns) * weights
        return chain([basis.T for basis in bases], spectrum)

    @property
    def T(self) -> Agreement:
        return self

    def power(self, exponent: int) -> Agreement:
        # The inverse of `coefficients`: I has eigenvalues 1, 1 and J - I has k - 1, -1.
        steps = [np.array([[k - 1.0, 1.0], [-1.0, 1.0]]) for k in self.sizes]
        return Agreement(self.sizes, along_axes(steps, self.coefficients() ** exponent))

    def inverse(self) -> Agreement:
        """The inverse map; the caller has checked that no eigenvalue is zero."""
        return Agreement(self.sizes, 1 / self.eigenvalues)

    def coefficients(self) -> Array:
        """Entries by agreement: axis a has index 0 where attribute a differs, 1 where it agrees."""
        steps = [np.array([[1, -1], [1, k - 1]]) / k for k in self.sizes]
        return along_axes(steps, self.eigenvalues)


@dataclass(frozen=True)
class Mirror(Linear):
    """theta * I + (1 - theta) * reverse: keep all yes/no answers of a group or flip all."""

    theta: float
    size: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def __matmul__(self, columns: Array) -> Array:
        return np.asarray(self.theta * columns + (1 - self.theta) * columns[::-1])

    @property
    def T(self) -> Mirror:
        return self

    def power(self, exponent: int) -> Linear:
        return Dense(self.matrix() ** exponent)


def along_axes(steps: Sequence[Array], table: Array) -> Array:
    """Apply one small matrix along each axis of a table."""
    flat = chain([Dense(step) for step in steps], table.reshape(-1, 1))
    return flat.reshape(table.shape)


@lru_cache(maxsize=64)
def _contrasts(k: int) -> Dense:
    """Orthonormal basis of R^k: row 0 is constant, the others sum to zero."""
    from scipy.linalg import helmert  # slow to load

    return Dense(helmert(k, full=True))


def chain(maps: Sequence[Linear], columns: Array) -> Array:
    """Apply kron(maps) to every column, one map at a time.

    Each step works on the leading axis and moves it to the back, so that after all steps the axes
    are in their first order again. The columns are one more axis.
    """
    batch = columns.shape[1]
    turning = columns
    for step in maps:
        turning = (step @ turning.reshape(step.shape[1], -1)).T
    return turning.reshape(batch, -1).T


def outer(first: Array, second: Array) -> Array:
    """Flattened outer product of two vectors: the diagonal of a Kronecker product."""
    return np.multiply.outer(first, second).ravel()


def row_shares(table: Array) -> Array:
    """The table with each row divided by its sum."""
    return np.asarray(table / table.sum(axis=1, keepdims=True))
