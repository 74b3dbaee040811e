"""Which pairs of attributes depend on each other, beyond the disguise and the sample.

For the categories i, j of two attributes, each report contributes

    f_ij(y) = W_ij(y) - p_i W_j(y) - p_j W_i(y) + p_i p_j

to the estimate of P(i, j) - P(i) P(j), where W are the weights of the report and p the estimated
margins. If the attributes are independent, reports are distributed as q = M (p x p), which includes
the sampling of true records as well as the disguise, and f has mean 0 and covariance C under q.
Two statistics have (k-1)(l-1) degrees of freedom:

    S = n m' C^-1 m                                              m = mean of f over the reports
    T = 2 n max over t of  t'm - log sum_y q(y) exp(t'f(y))      exponential tilting

Without disguise S is Pearson's chi-square, and T is close to the likelihood ratio. S is too large
too often where few records are expected in a cell; T is accurate far in the tail there (Barndorff-
Nielsen & Cox, Asymptotic Techniques for Use in Statistics, 1989, chapter 4), but too large too
often for cells with fewer records than expected. The p-value is the larger of both.

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
from scipy.stats import chi2

from tacit.arrays import Array, Index
from tacit.mine.unit_tables import UnitTables

#: T is computed for pairs whose p-value by S is at most this.
_LIKELY = 0.05
#: Entries of weights that are worked on at once.
_AT_ONCE = 2**22
#: Directions with a smaller share of the largest variance have none.
_NO_VARIANCE = 1e-9
#: Steps of Newton's method, halvings of a step, and the gain below which it ends.
_STEPS, _HALVINGS, _GAIN = 30, 8, 1e-9


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
    statistic, p_values = np.zeros(len(pairs)), np.ones(len(pairs))
    freedom = np.zeros(len(pairs), np.intp)
    for places in _alike(tables, pairs):
        weights = PairWeights.of(tables, pairs[places])
        statistic[places], freedom[places], p_values[places] = weights.tests()
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

    def tests(self) -> tuple[Array, Index, Array]:
        """S, degrees of freedom and p-value of each pair."""
        whitened, mean, freedom = self._whitened()
        score = self.n_records * (mean**2).sum(axis=1)
        p_values = _tail(score, freedom)
        for place in np.flatnonzero(p_values <= _LIKELY):
            used = freedom[place]
            tilted = _tilted(whitened[place, :used], mean[place, :used], self.expected[place])
            other = _tail(np.array([2 * self.n_records * tilted]), freedom[place : place + 1])
            p_values[place] = max(p_values[place], float(other[0]))
        return score, freedom, p_values

    def _whitened(self) -> tuple[Array, Array, Index]:
        """Contributions and means with unit covariance under independence, largest first."""
        made, expected = self.contributions, self.expected[:, None]
        spread = np.sqrt((made**2 * expected).sum(axis=2))
        # Contributions that are always 0 belong to categories that nobody has.
        scale = np.divide(1, spread, out=np.zeros_like(spread), where=spread > _NO_VARIANCE)
        made = made * scale[..., None]
        values, vectors = np.linalg.eigh((made * expected) @ made.transpose(0, 2, 1))
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        known = values > _NO_VARIANCE * np.maximum(values[:, :1], _NO_VARIANCE)
        root = np.where(known, 1 / np.sqrt(np.where(known, values, 1)), 0)
        turn = (vectors * root[:, None]).transpose(0, 2, 1)
        mean = (turn @ (self.mean * scale)[..., None])[..., 0]
        return turn @ made, mean, known.sum(axis=1)


def _tail(statistic: Array, freedom: Index) -> Array:
    """P(chi-square >= statistic); 1 without degrees of freedom."""
    tested = freedom > 0
    return np.where(tested, chi2.sf(statistic, np.where(tested, freedom, 1)), 1.0)


def _tilted(contributions: Array, mean: Array, expected: Array) -> float:
    """max over t of t'm - log sum_y q(y) exp(t'f(y)), by Newton's method.

    Every t gives a lower bound, so ending early only makes the test stricter.
    """
    held = expected > 0
    made, weights = contributions[:, held], expected[held]

    def value(t: Array) -> tuple[float, Array]:
        exponents = t @ made
        top = float(exponents.max())
        tilted = weights * np.exp(exponents - top)
        return float(t @ mean) - top - math.log(tilted.sum()), tilted / tilted.sum()

    t: Array = np.zeros(len(mean))
    best, tilted = value(t)
    for _ in range(_STEPS):
        centre = made @ tilted
        curvature = (made * tilted) @ made.T - np.outer(centre, centre)
        curvature.flat[:: len(mean) + 1] += _NO_VARIANCE
        step = np.linalg.solve(curvature, mean - centre)
        for halving in range(_HALVINGS):
            found, moved = value(t + step / 2**halving)
            if found > best:
                break
        else:
            return best
        t, gain, best, tilted = t + step / 2**halving, found - best, found, moved
        if gain < _GAIN * best:
            break
    return best
