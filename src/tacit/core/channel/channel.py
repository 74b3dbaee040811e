"""Channel: the matrix[reported, true] of one group, with its guarantee and its condition.

A channel is what an adversary and an analyst both see of a coin. It carries epsilon, so no
disguise comes without its guarantee, and the condition number, so no reconstruction comes
without a warning of what it costs. It offers all that its users need: the matrix and its inverse
as linear maps and the weights of reports for estimates, passes over tables for privacy figures,
exact fractions for bounds. Defaults serve any dense matrix; families override them with closed
forms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel import linear_maps, weights
from tacit.core.channel.event_moments import EventMoments
from tacit.core.channel.kernels import (
    Mixture,
    Step,
    check_dense,
    dense_outcomes,
    dense_pass,
    uncertainty,
)
from tacit.core.channel.linear_maps import Agreement, Dense, DiagonalPlusOuter, Linear, Mirror
from tacit.core.channel.numbers import Distribution, Probabilities, log_up
from tacit.core.channel.weights import Axes, GroupWeights, SignedKernel


class LocallyPrivate(ABC):
    """A disguise, known by the largest ratio of the probabilities of a report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two true answers, exact.

        For a matrix that of two entries in a row; None where a report has the probability 0.
        """

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
        return self.magnification < linear_maps.WORST_CONDITION

    @property
    @abstractmethod
    def forward(self) -> Linear:
        """The channel as a map: reported distribution = forward @ true distribution."""

    @property
    @abstractmethod
    def inverse(self) -> Linear | None:
        """The closed form of the inverse; None where there are more reported than true cells."""

    @abstractmethod
    def moments(self, power: int) -> EventMoments:
        """Moments of this power of the weights that `inverse` gives to reports, of each cell."""

    @cached_property
    def undisguised(self) -> bool:
        """Whether a report reveals the true answers, so that shares of them are counted."""
        if self.inverse is None or not self.reconstructable:
            return False
        return self.moments(2).undisguised

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """All entries, right up to a few roundings and zeros exact."""

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
        return weights.MatrixWeights(attributes, inverse(), self.matrix)

    def cell_kernels(self, true: Axes, reported: Axes, inverse: Array) -> tuple[SignedKernel, ...]:
        """W as a signed mixture of one kernel per true cell: exact for any channel."""
        cells = np.indices(self.true_shape).reshape(len(self.true_shape), -1).T
        return tuple(
            weights.CellKernel(true, reported, 0.0, tuple(cell), self.reported_shape, np.array(row))
            for cell, row in zip(cells.tolist(), inverse, strict=True)
        )

    # What an adversary needs: passes over tables of the true cells, without cancellation.

    @property
    def length(self) -> int:
        """The longest sum behind one entry of a result: roundings grow with it."""
        return math.prod(self.true_shape)

    @property
    def mixture(self) -> Mixture | None:
        """Its two strategies, None for a matrix without structure."""
        return None

    def apply(self, step: Step, table: Array) -> Array:
        """One of the three passes, down each column of the table."""
        return dense_pass(self.matrix, step, table)

    @property
    def entropies(self) -> Array:
        """Entropy of the report for each true cell, in bits."""
        return np.asarray(uncertainty(self.matrix).sum(axis=0))

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """P(outcome | category of the first attribute, known answers to the others).

        A table[category, case] per outcome; `answers` has a row per other attribute and a column
        per case. Reports that say the same about the first attribute are one outcome.
        """
        yield from dense_outcomes(self.matrix, self.true_shape, answers)


@dataclass(frozen=True)
class ReplacementChannel(Channel):
    """theta * I + (1 - theta) * y 1^T; theta is negative for frapp with lambda < 1."""

    theta: Fraction
    drawn: Distribution

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.drawn.shape

    @property
    def ratio(self) -> Fraction | None:
        """(theta + (1-theta) y) / ((1-theta) y) at the smallest y: the least likely draw."""
        off = (1 - self.theta) * self.drawn.smallest
        on = self.theta + off
        if self.theta == 0:
            return Fraction(1)
        return None if min(on, off) == 0 else max(on, off) / min(on, off)

    @property
    def overlap(self) -> Fraction:
        lost = self.theta * math.prod(self.true_shape) if self.theta < 0 else 0
        return lost + 1 - self.theta

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Cells drawn less often dominate: a garbling can move uninformative draws onto a cell."""
        if target is None:
            first, second = self.drawn.two_smallest
            pairs = [(first, second), (second, first)]
        else:
            position, *codes = target
            first, second = (self.drawn.smallest_with(position, code) for code in codes)
            pairs = [(first, second)]
        theta, off, experiments = self.theta, 1 - self.theta, []
        for a, b in pairs:
            rest = off * (1 - a - b)
            told_apart = [(theta + off * a, off * a), (off * b, theta + off * b)]
            experiments.append([*told_apart, (rest, rest)])
        return experiments

    @property
    def condition(self) -> float:
        """Singular values: |theta|, and those of a 2 x 2 matrix on the span of 1 and y."""
        theta = float(self.theta)
        tilt = (1 - theta) * math.sqrt(max(self.drawn.concentration - 1, 0.0))
        if math.isinf(tilt):
            return math.inf
        values = np.linalg.svd(np.array([[1.0, 0.0], [tilt, theta]]), compute_uv=False)
        smallest = min(values[1], abs(theta))
        return math.inf if smallest == 0 else float(max(values[0], abs(theta)) / smallest)

    @property
    def magnification(self) -> float:
        """Sum of absolute entries in a column of the inverse, at most: it does not grow with k."""
        return float((1 + abs(1 - self.theta)) / abs(self.theta)) if self.theta else math.inf

    @cached_property
    def forward(self) -> DiagonalPlusOuter:
        theta, y = float(self.theta), self.drawn.cells
        return DiagonalPlusOuter(np.full(y.size, theta), (1 - theta) * y, np.ones(y.size))

    @cached_property
    def inverse(self) -> DiagonalPlusOuter:
        theta, y = float(self.theta), self.drawn.cells
        rest = -(1 - theta) / theta * y
        return DiagonalPlusOuter(np.full(y.size, 1 / theta), rest, np.ones(y.size))

    def moments(self, power: int) -> EventMoments:
        """Row x of the inverse to a power is d_x at x plus u_x everywhere; columns sum to 1."""
        powers = self.inverse.power(power)
        elsewhere = powers.d * self.forward.u + powers.u
        own = elsewhere + powers.d * self.forward.d
        return EventMoments((own, own), (elsewhere, elsewhere))

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> GroupWeights:
        return weights.KeepOrDrawWeights(attributes, float(self.theta), self.drawn)

    @cached_property
    def _same(self) -> Array:
        """The diagonal; if theta is negative, y is uniform (frapp), and the exact sum is taken."""
        if self.theta < 0:
            exact = float(self.theta + (1 - self.theta) * self.drawn.smallest)
            return np.full(self._other.size, exact)
        return float(self.theta) + self._other

    @cached_property
    def _other(self) -> Array:
        """Entries off the diagonal, by row."""
        return float(1 - self.theta) * self.drawn.cells

    @property
    def mixture(self) -> Mixture:
        others: tuple[Array, ...] = ()
        if self.theta >= 0 and len(self.drawn.units) == len(self.drawn.shape):
            rows = (np.array(table, dtype=np.float64) for _, table in self.drawn.units)
            others = tuple(np.repeat(row[:, None], row.size, axis=1) for row in rows)
        return Mixture(float(self.theta), float(1 - self.theta), others, self.drawn)

    @property
    def matrix(self) -> Array:
        check_dense(self.length)
        matrix = np.repeat(self._other[:, None], self.length, axis=1)
        np.fill_diagonal(matrix, self._same)
        return matrix

    def apply(self, step: Step, table: Array) -> Array:
        if self.theta < 0:  # the short formulas would subtract
            return super().apply(step, table)
        same, other = self._same, self._other
        if step is Step.PEAK:
            return np.maximum(same[:, None] * table, np.outer(other, table.max(axis=0)))
        if step is Step.TOTAL:
            return (same - other)[:, None] * table + np.outer(other, table.sum(axis=0))
        squares = ((same - other) * (same + other))[:, None] * table
        return squares + np.outer(other**2, table.sum(axis=0))

    @property
    def entropies(self) -> Array:
        if self.theta < 0:
            return super().entropies
        other = uncertainty(self._other)
        return np.asarray(uncertainty(self._same) - other + other.sum())

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """Category y reported with the others as known, per y; or the others not as known: then a
        draw was reported, from which nobody learns anything.
        """
        size, rest = self.drawn.shape[0], float(1 - self.theta)
        cells = self.drawn.at([np.arange(size)[:, None], *answers])
        cells = np.broadcast_to(cells, (size, *answers.shape[1:]))
        for y, cell in enumerate(cells):
            table = np.repeat(rest * cell[None], size, axis=0)
            if self.theta >= 0:
                table[y] += float(self.theta)
            else:
                table[y] = self._same[0]
            yield table
        if len(answers):
            yield np.repeat(rest * np.maximum(1 - cells.sum(axis=0), 0)[None], size, axis=0)


#: Products of (k - 1) beyond this no longer change an eigenvalue that a double can hold.
_LARGEST_PRODUCT = 10**13


@dataclass(frozen=True)
class AgreementChannel(Channel):
    """theta * I + (1 - theta) * kron L: entries depend only on which attributes agree."""

    theta: Fraction
    sizes: tuple[int, ...]

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def ratio(self) -> Fraction | None:
        """Two or more attributes: reports that mix truth and lie never occur, so None."""
        lie = (1 - self.theta) / math.prod(k - 1 for k in self.sizes)
        if len(self.sizes) > 1 or self.theta == 0 or lie == 0:
            return None
        return max(self.theta, lie) / min(self.theta, lie)

    @property
    def overlap(self) -> Fraction:
        if len(self.sizes) > 1:
            return Fraction(0)
        (k,) = self.sizes
        return k * min(self.theta, (1 - self.theta) / (k - 1))

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Cells that differ in all attributes; of several, also cells that agree in one."""
        theta, sizes, none = self.theta, self.sizes, Fraction(0)
        off = (1 - theta) / math.prod(k - 1 for k in sizes)
        both = off * math.prod(k - 2 for k in sizes)
        alone = 1 - theta - off - both
        experiments = [[(theta, off), (off, theta), (alone, none), (none, alone), (both, both)]]
        if len(sizes) > 1:
            alike = [Fraction(k - 2, k - 1) for k in sizes]
            agreeing = [i for i in range(len(sizes)) if target is None or i != target[0]]
            shared = min(math.prod(alike[:i] + alike[i + 1 :]) for i in agreeing)
            experiments.append(erasure((1 - theta) * shared))
        return experiments

    @property
    def condition(self) -> float:
        """The eigenvalues are theta + (1 - theta) * prod of -1/(k - 1); the largest is 1.

        Floats find the smallest, fractions settle it.
        """
        theta, rest = float(self.theta), float(1 - self.theta)
        nearest = min(self._products(), key=lambda product: abs(theta + rest / product))
        smallest = abs(self.theta + (1 - self.theta) / nearest)
        return math.inf if smallest == 0 else float(1 / smallest)

    def _products(self) -> set[int]:
        """prod -(k_a - 1) over the subsets of attributes, each value once."""
        products = {1}
        for k in self.sizes:
            products |= {-p * (k - 1) for p in products if abs(p) < _LARGEST_PRODUCT}
        return products

    @cached_property
    def forward(self) -> Agreement:
        contrast = np.ones(())
        for k in self.sizes:
            contrast = np.multiply.outer(contrast, np.array([1.0, -1 / (k - 1)]))
        theta = float(self.theta)
        return Agreement(self.sizes, theta + (1 - theta) * contrast)

    @cached_property
    def inverse(self) -> Agreement:
        """For one yes/no group P(E) = (theta P*(E) - (1-theta) P*(not E)) / (2 theta - 1)."""
        return self.forward.inverse()

    def moments(self, power: int) -> EventMoments:
        powers = self.inverse.power(power)
        product = Agreement(self.sizes, powers.eigenvalues * self.forward.eigenvalues)
        *others, same = product.coefficients().ravel()
        own, low, high = np.outer([same, min(others), max(others)], np.ones(math.prod(self.sizes)))
        return EventMoments((own, own), (low, high))

    @property
    def _yes_no(self) -> bool:
        return set(self.sizes) == {2}

    @property
    def fast_forward(self) -> Linear:
        if not self._yes_no:
            return super().fast_forward
        return Mirror(float(self.theta), math.prod(self.sizes))

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> GroupWeights:
        if self._yes_no:
            return weights.KeepOrComplementWeights(attributes, float(self.theta))
        return weights.KeepOrDifferWeights(attributes, float(self.theta), self.sizes)

    @property
    def length(self) -> int:
        return sum(self.sizes)

    @cached_property
    def mixture(self) -> Mixture:
        others = tuple((1 - np.eye(k)) / (k - 1) for k in self.sizes)
        return Mixture(float(self.theta), float(1 - self.theta), others, None)

    @property
    def matrix(self) -> Array:
        cells = math.prod(self.sizes)
        check_dense(cells)
        return self.apply(Step.TOTAL, np.eye(cells))

    def apply(self, step: Step, table: Array) -> Array:
        mixture, turning = self.mixture, table
        for other in mixture.others:  # each moves the leading axis to the back
            turning = dense_pass(other, step, turning.reshape(len(other), -1)).T
        differ = turning.reshape(table.shape[1], -1).T
        if step is Step.PEAK:
            return np.maximum(mixture.theta * table, mixture.rest * differ)
        power = 2 if step is Step.SQUARES else 1
        return mixture.theta**power * table + mixture.rest**power * differ

    @property
    def entropies(self) -> Array:
        ways = math.prod(k - 1 for k in self.sizes)
        truth, other = uncertainty(np.array([self.mixture.theta, self.mixture.rest / ways]))
        return np.full(math.prod(self.sizes), truth + ways * other)

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """The others show what the coin decided: the category is the true one, or another one."""
        same = self.mixture.theta * np.eye(self.sizes[0])
        other = self.mixture.rest * self.mixture.others[0]
        for table in (same, other) if len(self.sizes) > 1 else (same + other,):
            yield from table[:, :, None]


#: Of matrices with more true cells than this, experiments are not listed.
_MOST_LISTED = 12


@dataclass(frozen=True)
class MatrixChannel(Channel):
    """Any matrix, dense."""

    rows: tuple[Probabilities, ...]
    shape: tuple[int, ...]
    shape_of_reports: tuple[int, ...]

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def reported_shape(self) -> tuple[int, ...]:
        return self.shape_of_reports

    @property
    def ratio(self) -> Fraction | None:
        if any(min(row) == 0 for row in self.rows):
            return None
        return max(max(row) / min(row) for row in self.rows)

    @property
    def overlap(self) -> Fraction:
        return sum((min(row) for row in self.rows), Fraction(0))

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Every pair of cells; of large matrices the erasure experiment."""
        cells = math.prod(self.shape)
        if cells > _MOST_LISTED:
            return [erasure(self.overlap)]
        pairs = list(permutations(range(cells), 2))
        if target is not None:
            codes = np.indices(self.shape)[target[0]].ravel()
            pairs = [(u, v) for u, v in pairs if (codes[u], codes[v]) == target[1:]]
        return [[(row[u], row[v]) for row in self.rows] for u, v in pairs]

    @property
    def condition(self) -> float:
        return float(np.linalg.cond(self.matrix))

    @cached_property
    def matrix(self) -> Array:
        return np.array(self.rows, dtype=np.float64)

    @property
    def forward(self) -> Dense:
        return Dense(self.matrix)

    @cached_property
    def inverse(self) -> Dense | None:
        if self.matrix.shape[0] != self.matrix.shape[1]:
            return None
        return Dense(np.linalg.inv(self.matrix).astype(np.float64))

    def moments(self, power: int) -> EventMoments:
        assert self.inverse is not None, "a square matrix"
        return moments_of(self.forward, self.inverse, power)


def erasure(shared: Fraction) -> Outcomes:
    """The truth with probability 1 - shared, else nothing."""
    nothing = Fraction(0)
    return [(1 - shared, nothing), (nothing, 1 - shared), (shared, shared)]


def moments_of(forward: Dense, inverse: Dense, power: int) -> EventMoments:
    """Moments by plain multiplication: row x, column x' holds E[g^power | true = x'].

    Where a row stands for several true cells, that of its own is the largest.
    """
    moments = inverse.power(power) @ forward.entries
    rows, columns = moments.shape
    if rows != columns:
        largest = moments.max(axis=1)
        return EventMoments((largest, largest), (moments.min(axis=1), largest))
    diagonal = np.eye(rows, dtype=bool)
    own, low = moments[diagonal], np.where(diagonal, np.inf, moments).min(axis=1)
    return EventMoments((own, own), (low, np.where(diagonal, -np.inf, moments).max(axis=1)))
