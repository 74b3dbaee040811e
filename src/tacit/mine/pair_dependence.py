"""Which pairs of attributes depend on each other, beyond the disguise and the sample.

For the categories i, j of two attributes, each report contributes

    f_ij(y) = W_ij(y) - p_i W_j(y) - p_j W_i(y) + p_i p_j

to the estimate of P(i, j) - P(i) P(j), where W are the weights of the report and p the estimated
margins. If the attributes are independent, reports are distributed as q = M (p x p), which includes
the sampling of true records as well as the disguise, and f has mean 0 and covariance C under q.
Two statistics have (k-1)(l-1) degrees of freedom:

    S = n m' C^-1 m              m = mean of f over the reports
    L = 2 (log-likelihood of the most likely table - that of the most likely independent margins)

Without disguise S is Pearson's chi-square. It is too large too often where few records are expected
in a cell, and where one coin disguises both attributes and leaves their margins nearly unknown
(f then depends on margins that are badly estimated). L, over the channel, is accurate in both
cases, but is too large too often for cells with fewer records than expected. The p-value is the
larger of both.

The p-values of all pairs are adjusted by Holm's method (Scandinavian Journal of Statistics 6,
1979): the probability that any pair of independent attributes has an adjusted p-value of `error` or
less is at most `error`, however the pairs depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import chdtrc

from tacit.core.arrays import TINY, Array, Index
from tacit.mine.unit_tables import UnitTables, nearest
from tacit.reconstruction.likelihood import EMStep, squarem

#: L is computed for pairs whose p-value by S is at most this.
_LIKELY = 0.05
#: Entries of weights that are worked on at once.
_AT_ONCE = 2**22
#: Directions with a smaller share of the largest variance have none.
_NO_VARIANCE = 1e-9
#: Of the most likely margins: how far the start is moved inside, tolerance and iterations.
_INSIDE, _TOLERANCE, _ITERATIONS = 0.01, 1e-7, 200


@dataclass(frozen=True, eq=False)
class PairDependence:
    """Tests of all pairs of units; `pairs` has their two units, in ascending order.

    `strength` is the share of S that independence does not explain: 1 - (degrees of freedom) / S.
    """

    pairs: Index
    statistic: Array
    freedom: Index
    p_values: Array

    @property
    def adjusted(self) -> Array:
        """p-values adjusted for the number of pairs."""
        return holm(self.p_values)

    @property
    def strength(self) -> Array:
        """How much of each statistic is dependence, 0 if chance explains it."""
        known = self.statistic > self.freedom
        part = np.divide(self.freedom, self.statistic, out=np.ones(len(known)), where=known)
        return np.asarray(1 - part)


def pair_dependence(tables: UnitTables) -> PairDependence:
    """Test every pair of units."""
    pairs = np.array(list(combinations(range(len(tables.sizes)), 2)), np.intp).reshape(-1, 2)
    statistic, freedom = np.zeros(len(pairs)), np.zeros(len(pairs), np.intp)
    for places in _alike(tables, pairs):
        weights = PairWeights.of(tables, pairs[places])
        statistic[places], freedom[places] = weights.statistics()
    p_values = _tail(statistic, freedom)
    for place in np.flatnonzero(p_values <= _LIKELY):
        a, b = pairs[place].tolist()
        ratio = np.array([likelihood_ratio(tables, (a, b))])
        p_values[place] = max(p_values[place], float(_tail(ratio, freedom[place : place + 1])[0]))
    return PairDependence(pairs, statistic, freedom, p_values)


def holm(p_values: Array) -> Array:
    """p-values adjusted for the number of tests.

    >>> holm(np.array([0.04, 0.01, 0.5])).tolist()
    [0.08, 0.03, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    times = np.arange(len(order), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(times * p_values[order]), 1)
    found = np.empty(len(order))
    found[order] = adjusted
    return found


def _alike(tables: UnitTables, pairs: Index) -> Iterator[Index]:
    """Pairs of the same true and reported shape, as many as fit in memory at once."""
    sizes, reports = np.array(tables.sizes), np.array(tables.reports)
    shapes = np.concatenate([sizes[pairs], reports[pairs]], axis=1)
    kinds, kind_of = np.unique(shapes, axis=0, return_inverse=True)
    for kind, shape in enumerate(kinds):
        places = np.flatnonzero(kind_of.ravel() == kind)
        step = max(1, _AT_ONCE // math.prod(shape.tolist()))
        yield from (places[start : start + step] for start in range(0, len(places), step))


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Of pairs of one shape: contributions f, their mean, and reports if independent.

    `contributions` is pairs x contrasts x reported cells.
    """

    contributions: Array
    mean: Array
    expected: Array
    n_records: int

    @classmethod
    def of(cls, tables: UnitTables, pairs: Index) -> PairWeights:
        """The contributions of reports to the dependence of these pairs."""
        shape = tuple(tables.sizes[u] for u in pairs[0])
        units = [(int(a), int(b)) for a, b in pairs]
        own = np.stack([tables.inverse(pair) for pair in units])
        split = own.reshape(len(units), *shape, -1)
        first, second = (np.stack([tables.margins[u] for u in column]) for column in pairs.T)
        apart = first[:, :, None] * second[:, None]
        made = split - first[:, :, None, None] * split.sum(axis=1, keepdims=True)
        made -= second[:, None, :, None] * split.sum(axis=2, keepdims=True)
        made += apart[..., None]
        made = made[:, :-1, :-1].reshape(len(units), -1, own.shape[2])
        matrices = np.stack([tables.matrix(pair) for pair in units])
        expected = np.maximum(matrices @ apart.reshape(len(units), -1, 1), 0)[..., 0]
        seen = tables.counts.tables(pairs).reshape(len(units), -1) / tables.n_records
        return cls(made, (made @ seen[..., None])[..., 0], expected, tables.n_records)

    def statistics(self) -> tuple[Array, Index]:
        """S and degrees of freedom of each pair."""
        made, expected = self.contributions, self.expected[:, None]
        spread = np.sqrt((made**2 * expected).sum(axis=2))
        # Contributions that are always 0 belong to categories that nobody has.
        scale = np.divide(1, spread, out=np.zeros_like(spread), where=spread > _NO_VARIANCE)
        made = made * scale[..., None]
        values, vectors = np.linalg.eigh((made * expected) @ made.transpose(0, 2, 1))
        known = values > _NO_VARIANCE * np.maximum(values[:, -1:], _NO_VARIANCE)
        mean = (vectors.transpose(0, 2, 1) @ (self.mean * scale)[..., None])[..., 0]
        parts = np.divide(mean**2, values, out=np.zeros_like(mean), where=known)
        return self.n_records * parts.sum(axis=1), known.sum(axis=1)


def _tail(statistic: Array, freedom: Index) -> Array:
    """P(chi-square >= statistic); 1 without degrees of freedom."""
    tested = freedom > 0
    return np.where(tested, chdtrc(np.where(tested, freedom, 1), statistic), 1.0)


def likelihood_ratio(tables: UnitTables, pair: tuple[int, int]) -> float:
    """L of one pair."""
    matrix, seen = tables.matrix(pair), tables.frequencies(pair)
    first, second = (tables.margins[u] for u in pair)
    apart = np.outer(first, second)
    own = nearest(tables.inverse(pair) @ seen, matrix, seen, apart.ravel())
    if tables.layout.group_of(pair[0]) is tables.layout.group_of(pair[1]):
        apart = likely_margins(matrix, seen, first, second)
    gap = _log_likelihood(matrix, seen, own) - _log_likelihood(matrix, seen, apart.ravel())
    return 2 * tables.n_records * gap


def _log_likelihood(matrix: Array, seen: Array, table: Array) -> float:
    """Per record."""
    held = seen > 0
    return float(seen[held] @ np.log(np.maximum(matrix[held] @ table, TINY)))


def likely_margins(matrix: Array, seen: Array, first: Array, second: Array) -> Array:
    """The product of the most likely margins of two independent attributes under one coin.

    With coins of their own, each margin is fitted by its own reports. Under one coin, the two
    reports together say more about the margins than each alone.
    """
    sizes = (len(first), len(second))

    def step(margins: Array) -> EMStep:
        apart = np.outer(margins[: sizes[0]], margins[sizes[0] :]).ravel()
        expected = np.maximum(matrix @ apart, TINY)
        table = (apart * (matrix.T @ (seen / expected))).reshape(sizes)
        after = np.concatenate([table.sum(axis=1), table.sum(axis=0)])
        held = seen > 0
        value = float(seen[held] @ np.log(expected[held]))
        return EMStep(after, value, float(np.abs(after - margins).max()))

    def repair(margins: Array) -> Array:
        parts = margins[: sizes[0]], margins[sizes[0] :]
        return np.concatenate([part / part.sum() for part in parts])

    inside = np.concatenate([np.full(k, 1 / k) for k in sizes])
    start = (1 - _INSIDE) * np.concatenate([first, second]) + _INSIDE * inside
    found, _ = squarem(step, start, repair, _TOLERANCE, _ITERATIONS)
    return np.outer(found[: sizes[0]], found[sizes[0] :])
