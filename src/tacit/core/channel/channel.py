"""Channel: the matrix[reported, true] of one group, with its guarantee and its condition.

A channel is what an adversary and an analyst both see of a coin. It carries epsilon, so no
disguise comes without its guarantee, and the condition number, so no reconstruction comes
without a warning of what it costs. It offers all that its users need: the matrix and its inverse
as linear maps and the weights of reports for estimates, the kernel for privacy figures, exact
fractions for bounds. Defaults serve any dense matrix; families override them with closed forms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import product

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.numbers import Distribution, log_up
from tacit.core.channel.weights import Axes, CellKernel, GroupWeights, MatrixWeights, SignedKernel
from tacit.errors import DataError

# Linear maps ------------------------------------------------------------------------------------
#
# Channels and their inverses are maps between flattened tables, kept in the structure they have.
# There are four kinds, each closed under transposition and under powers of the entries, which is
# all that estimates and their variances need:
#
#     Dense               any matrix
#     DiagonalPlusOuter   diag(d) + u v^T
#     Agreement           entries depend only on which attributes agree
#     Mirror              theta I + (1 - theta) reverse: Agreement of yes/no answers, applied fast
#
# `chain` applies one map per group to a table; their Kronecker product is never built.


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


# Kernels ----------------------------------------------------------------------------------------
#
# What an adversary needs of one group's channel: three passes over a table, free of cancellation.
#
#     total    sum_x M[y, x]   t[x]      probability of each report
#     squares  sum_x M[y, x]^2 t[x]      for a guess drawn from the posterior
#     peak     max_x M[y, x]   t[x]      for the best guess
#
# Sums and maxima distribute over products, so these passes can be taken group by group over
# independent groups. Only numbers that are not negative are added and multiplied: a zero stays
# exactly zero, and every result is right up to a few roundings. That is why privacy figures can
# be rounded outward. Entries computed from the eigenvalues of a channel have neither property.


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


class Kernel(ABC):
    """The channel of one group; tables have its true cells along their first axis."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The longest sum behind one entry of a result: roundings grow with it."""

    @property
    def mixture(self) -> Mixture | None:
        """Its two strategies, None for a matrix without structure."""
        return None

    @abstractmethod
    def apply(self, step: Step, table: Array) -> Array:
        """One of the three passes, down each column of the table."""

    @property
    @abstractmethod
    def entropies(self) -> Array:
        """Entropy of the report for each true cell, in bits."""

    @property
    @abstractmethod
    def entries(self) -> Array:
        """matrix[reported, true], every entry right up to a few roundings and zeros exact."""

    @abstractmethod
    def outcomes(self, answers: Index) -> Iterator[Array]:
        """P(outcome | category of the first attribute, known answers to the others).

        A table[category, case] per outcome; `answers` has a row per other attribute and a column
        per case. Reports that say the same about the first attribute are one outcome.
        """


def along_axis(kernel: Kernel, step: Step, table: Array, axis: int) -> Array:
    """One step along an axis of a table."""
    ahead = np.moveaxis(table, axis, 0)
    done = kernel.apply(step, ahead.reshape(ahead.shape[0], -1))
    return np.moveaxis(done.reshape(-1, *ahead.shape[1:]), 0, axis)


@dataclass(frozen=True, eq=False)
class DenseKernel(Kernel):
    """A matrix without structure, over attributes with these numbers of categories."""

    matrix: Array
    shape: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return int(self.matrix.shape[1])

    def apply(self, step: Step, table: Array) -> Array:
        if step is not Step.PEAK:
            return (self.matrix if step is Step.TOTAL else self.matrix**2) @ table
        peaks: Array = np.zeros((self.matrix.shape[0], table.shape[1]))
        for column, values in zip(self.matrix.T, table, strict=True):
            np.maximum(peaks, column[:, None] * values, out=peaks)
        return peaks

    @property
    def entries(self) -> Array:
        return self.matrix

    @property
    def entropies(self) -> Array:
        return np.asarray(uncertainty(self.matrix).sum(axis=0))

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """M[y, (x, known)] for every joint report y."""
        cells = self.matrix.reshape(-1, *self.shape)[(slice(None), slice(None), *answers)]
        yield from cells.reshape(*cells.shape[:2], -1)


def check_dense(cells: int) -> None:
    """Raise DataError if a channel has too many cells to be written out."""
    if cells > MAX_DENSE:
        raise DataError(
            f"a channel of {cells:,} cells is too large to be written out "
            f"(at most {MAX_DENSE:,}); measure fewer attributes at once"
        )


def kron(matrices: Iterable[Array]) -> Array:
    """The Kronecker product, written out; faster than NumPy's for small matrices."""
    return reduce(_kron, matrices)


def _kron(first: Array, second: Array) -> Array:
    cells = first[:, None, :, None] * second[None, :, None]
    return cells.reshape(len(first) * len(second), -1)


def uncertainty(probabilities: Array) -> Array:
    """-p log2 p, entry by entry; 0 at 0."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -probabilities * np.log2(positive)


# Channels ---------------------------------------------------------------------------------------


class LocallyPrivate(ABC):
    """A disguise, known by the largest ratio of the probabilities of a report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two true answers; None if none."""

    @property
    def epsilon(self) -> float:
        """Local differential privacy: log of `ratio`, rounded up; infinite without a limit."""
        return log_up(self.ratio)


#: Position of an attribute in its group, and the codes of two of its categories.
Target = tuple[int, int, int]
#: For each outcome, its probability under a first and under a second true cell.
Outcomes = list[tuple[Fraction, Fraction]]
#: Channels of at most this many true cells are multiplied as matrices.
_SMALL = 64
#: Beyond this magnification nothing of a double's precision is left to reconstruct from.
WORST_CONDITION = 1e12


@dataclass(frozen=True)
class SecondMoments:
    """What one report weighs, squared, in the estimate of a cell (one entry per cell).

    Moments of a higher power have the same form.

    Let g be a report's weight in the estimate of cell x. `own` is E[g^2 | true = x], `low` and
    `high` bound E[g^2 | true = x'] over the other cells x'. Intervals need them to know the
    variance under a hypothesis, not only at the estimate.
    """

    own: Array
    low: Array
    high: Array

    def __mul__(self, other: SecondMoments) -> SecondMoments:
        """Those of two groups' joint cells; another cell differs in one group or in both."""
        here, there = (self.own, self.low, self.high), (other.own, other.low, other.high)
        low = high = outer(self.own, other.low)
        # All products but that of both own; moments of odd powers may be negative.
        for first, second in [*product(here[:1], there[2:]), *product(here[1:], there)]:
            joint = outer(first, second)
            low, high = np.minimum(low, joint), np.maximum(high, joint)
        return SecondMoments(outer(self.own, other.own), low, high)


class Channel(LocallyPrivate):
    """matrix[reported, true] of one group; cells are flattened in the order of its attributes."""

    @property
    @abstractmethod
    def true_shape(self) -> tuple[int, ...]:
        """Number of categories of each true attribute."""

    @property
    def reported_shape(self) -> tuple[int, ...]:
        """Number of categories of each reported attribute."""
        return self.true_shape

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of two entries in a row, exact; None where a row has a zero."""

    @property
    @abstractmethod
    def overlap(self) -> Fraction:
        """sum_y min_x M[y, x]: the share of reports that say nothing about the truth (Doeblin)."""

    @abstractmethod
    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Pairs of true cells that a report tells apart best, as the columns of both cells.

        At least the pairs that no other pair dominates (see `tacit.core.bounds`), or the
        erasure experiment, which dominates all. With a target, the two cells have its categories.
        """

    @property
    @abstractmethod
    def condition(self) -> float:
        """Largest over smallest singular value; infinite for a singular channel."""

    @property
    def magnification(self) -> float:
        """By how much reconstruction may magnify an error, in a norm that suits the channel."""
        return self.condition

    @property
    def reconstructable(self) -> bool:
        """Whether the true distribution can be told from the reported one."""
        return self.magnification < WORST_CONDITION

    @property
    @abstractmethod
    def forward(self) -> Linear:
        """The channel as a map: reported distribution = forward @ true distribution."""

    @property
    @abstractmethod
    def inverse(self) -> Linear | None:
        """The closed form of the inverse; None where there are more reported than true cells."""

    @abstractmethod
    def moments(self, power: int) -> SecondMoments:
        """Moments of this power of the weights that `inverse` gives to reports."""

    @cached_property
    def undisguised(self) -> bool:
        """Whether a report reveals the true answers, so that shares of them are counted."""
        if self.inverse is None or not self.reconstructable:
            return False
        moments = self.moments(2)
        return bool((moments.own == 1).all() and (moments.high == 0).all())

    @property
    def matrix(self) -> Array:
        """All entries."""
        return self.forward.matrix()

    @property
    def fast_forward(self) -> Linear:
        """`forward` in the form that is applied fastest, for maps that are applied often."""
        small = math.prod(self.true_shape) <= _SMALL
        return Dense(self.matrix) if small else self.forward

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> GroupWeights:
        """What a report contributes to estimates of events, for a group of these attributes.

        `inverse` is called for W, if the weights need all its entries: a channel with more reported
        than true cells has many inverses, and the best depends on the reports.
        """
        return MatrixWeights(attributes, inverse(), self.matrix)

    def cell_kernels(self, true: Axes, reported: Axes, inverse: Array) -> tuple[SignedKernel, ...]:
        """W as a signed mixture of one kernel per true cell: exact for any channel."""
        cells = np.indices(self.true_shape).reshape(len(self.true_shape), -1).T
        return tuple(
            CellKernel(true, reported, 0.0, tuple(cell), self.reported_shape, np.array(row))
            for cell, row in zip(cells.tolist(), inverse, strict=True)
        )

    @cached_property
    def kernel(self) -> Kernel:
        """The channel as an adversary needs it: passes over tables without cancellation."""
        check_dense(math.prod(self.true_shape))
        return DenseKernel(self.matrix, self.true_shape)


def erasure(shared: Fraction) -> Outcomes:
    """The truth with probability 1 - shared, else nothing."""
    nothing = Fraction(0)
    return [(1 - shared, nothing), (nothing, 1 - shared), (shared, shared)]


def moments_of(forward: Dense, inverse: Dense, power: int) -> SecondMoments:
    """Moments by plain multiplication: row x, column x' holds E[g^power | true = x'].

    Where a row stands for several true cells, `own` is the largest of the row.
    """
    moments = inverse.power(power) @ forward.entries
    rows, columns = moments.shape
    if rows != columns:
        largest = moments.max(axis=1)
        return SecondMoments(largest, moments.min(axis=1), largest)
    diagonal = np.eye(rows, dtype=bool)
    low = np.where(diagonal, np.inf, moments).min(axis=1)
    return SecondMoments(moments[diagonal], low, np.where(diagonal, -np.inf, moments).max(axis=1))
