"""fit_tree: the Chow-Liu tree of reported records, with a test per edge.

An edge must pass the test of `pair_dependence`, at a family-wise error rate over all pairs. Among
the pairs that pass, the tree of largest total mutual information is taken (Chow & Liu, 1968), where

    score(a, b) = I(a; b) (1 - d / S)

leaves out what noise adds to the estimated information: with d degrees of freedom, chance alone
makes the statistic S about d large.

The table of an edge is the unbiased one, or the most likely one if that has negative cells. It
counts for n records, and independence for `alpha`; then it is fitted to the margins of the two
attributes (iterative proportional fitting: Deming & Stephan, 1940), so that all edges at an
attribute agree. Without disguise nothing but `alpha` changes the observed table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.numbers import quotient
from tacit.models.tree_distribution import ROOT, TreeDistribution, rooted_forest
from tacit.models.units import UnitReports
from tacit.reconstruction.likelihood import EMStep, squarem

#: Pairs of units with more cells, true or reported, are not tested.
MAX_PAIR_CELLS = 1024
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
        dependent = self.statistic > self.freedom
        part = np.divide(self.freedom, self.statistic, out=np.ones(len(dependent)), where=dependent)
        return np.asarray(1 - part)


def pair_dependence(reports: UnitReports) -> PairDependence:
    """Test every pair of units whose table is small enough.

    For the categories i, j of two attributes, each report contributes

        f_ij(y) = W_ij(y) - p_i W_j(y) - p_j W_i(y) + p_i p_j

    to the estimate of P(i, j) - P(i) P(j), where W are the weights of the report and p the
    estimated margins. If the attributes are independent, reports are distributed as q = M (p x p),
    which includes the sampling of true records as well as the disguise, and f has mean 0 and
    covariance C under q. Two statistics have (k-1)(l-1) degrees of freedom:

        S = n m' C^-1 m              m = mean of f over the reports
        L = 2 (log-likelihood of the likeliest table - that of the likeliest independent margins)

    Without disguise S is Pearson's chi-square. It is too large too often where few records are
    expected in a cell, and where one coin disguises both attributes and leaves their margins nearly
    unknown (f then depends on margins that are badly estimated). L, over the channel, is accurate
    in both cases, but is too large too often for cells with fewer records than expected. The
    p-value is the larger of both.

    The p-values of all pairs are adjusted by Holm's method (Scandinavian Journal of Statistics 6,
    1979): the probability that any pair of independent attributes has an adjusted p-value of
    `error` or less is at most `error`, however the pairs depend on each other.
    """
    sizes, reported = np.array(reports.sizes), np.array(reports.reports)
    pairs = np.array(list(combinations(range(len(sizes)), 2)), np.intp).reshape(-1, 2)
    cells = np.maximum(sizes[pairs].prod(axis=1), reported[pairs].prod(axis=1))
    pairs = pairs[cells <= MAX_PAIR_CELLS]
    statistic, freedom = np.zeros(len(pairs)), np.zeros(len(pairs), np.intp)
    for rows in _alike(reports, pairs):
        statistic[rows], freedom[rows] = _pair_statistics(reports, pairs[rows])
    p_values = _tail(statistic, freedom)
    for row in np.flatnonzero(p_values <= _LIKELY):
        a, b = pairs[row].tolist()
        ratio = np.array([likelihood_ratio(reports, (a, b))])
        p_values[row] = max(p_values[row], float(_tail(ratio, freedom[row : row + 1])[0]))
    return PairDependence(pairs, statistic, freedom, p_values)


def holm(p_values: Array) -> Array:
    """p-values adjusted for the number of tests.

    >>> holm(np.array([0.04, 0.01, 0.5])).tolist()
    [0.08, 0.03, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    times = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(times * p_values[order]), 1)
    return adjusted


def _alike(reports: UnitReports, pairs: Index) -> Iterator[Index]:
    """Pairs of the same true and reported shape, as many as fit in memory at once."""
    sizes, reported = np.array(reports.sizes), np.array(reports.reports)
    shapes = np.concatenate([sizes[pairs], reported[pairs]], axis=1)
    kinds, kind_of = np.unique(shapes, axis=0, return_inverse=True)
    for kind, shape in enumerate(kinds):
        places = np.flatnonzero(kind_of.ravel() == kind)
        step = max(1, _AT_ONCE // math.prod(shape.tolist()))
        yield from (places[start : start + step] for start in range(0, len(places), step))


def _pair_statistics(reports: UnitReports, pairs: Index) -> tuple[Array, Index]:
    """S and degrees of freedom of pairs of one shape."""
    shape = tuple(reports.sizes[u] for u in pairs[0])
    units = [(int(a), int(b)) for a, b in pairs]
    weights = np.stack([reports.inverse(pair) for pair in units])
    split = weights.reshape(len(units), *shape, -1)
    first, second = (np.stack([reports.margins[u] for u in column]) for column in pairs.T)
    apart = first[:, :, None] * second[:, None]
    contrasts = split - first[:, :, None, None] * split.sum(axis=1, keepdims=True)
    contrasts -= second[:, None, :, None] * split.sum(axis=2, keepdims=True)
    contrasts += apart[..., None]
    # f of the reports: pairs x contrasts x reported cells.
    contrasts = contrasts[:, :-1, :-1].reshape(len(units), -1, weights.shape[2])
    matrices = np.stack([reports.layout.matrix(pair) for pair in units])
    expected = np.maximum(matrices @ apart.reshape(len(units), -1, 1), 0)[..., 0][:, None]
    seen = reports.tables.tables(pairs).reshape(len(units), -1) / reports.n_records
    mean = (contrasts @ seen[..., None])[..., 0]
    spread = np.sqrt((contrasts**2 * expected).sum(axis=2))
    # Contributions that are always 0 belong to categories that nobody has.
    scale = np.divide(1, spread, out=np.zeros_like(spread), where=spread > _NO_VARIANCE)
    contrasts = contrasts * scale[..., None]
    values, vectors = np.linalg.eigh((contrasts * expected) @ contrasts.transpose(0, 2, 1))
    varies = values > _NO_VARIANCE * np.maximum(values[:, -1:], _NO_VARIANCE)
    mean = (vectors.transpose(0, 2, 1) @ (mean * scale)[..., None])[..., 0]
    parts = np.divide(mean**2, values, out=np.zeros_like(mean), where=varies)
    return reports.n_records * parts.sum(axis=1), varies.sum(axis=1)


def _tail(statistic: Array, freedom: Index) -> Array:
    """P(chi-square >= statistic); 1 without degrees of freedom."""
    tested = freedom > 0
    return np.where(tested, chdtrc(np.where(tested, freedom, 1), statistic), 1.0)


def likelihood_ratio(reports: UnitReports, pair: tuple[int, int]) -> float:
    """L of one pair."""
    first, second = (reports.margins[u] for u in pair)
    apart = np.outer(first, second)
    if reports.layout.group_of(pair[0]) is reports.layout.group_of(pair[1]):
        matrix, frequencies = reports.layout.matrix(pair), reports.frequencies(pair)
        apart = likely_margins(matrix, frequencies, first, second)
    gap = reports.log_likelihood(pair, reports.most_likely(pair))
    gap -= reports.log_likelihood(pair, apart)
    return 2 * reports.n_records * gap


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
        reported = seen > 0
        value = float(seen[reported] @ np.log(expected[reported]))
        return EMStep(after, value, float(np.abs(after - margins).max()))

    def repair(margins: Array) -> Array:
        parts = margins[: sizes[0]], margins[sizes[0] :]
        return np.concatenate([part / part.sum() for part in parts])

    inside = np.concatenate([np.full(k, 1 / k) for k in sizes])
    start = (1 - _INSIDE) * np.concatenate([first, second]) + _INSIDE * inside
    fitted, _ = squarem(step, start, repair, _TOLERANCE, _ITERATIONS)
    return np.outer(fitted[: sizes[0]], fitted[sizes[0] :])


#: Independence counts for at least this share of the records, so that any margins can be met.
_LEAST_SHARE = 1e-12
_ROUNDS, _MARGIN_TOLERANCE = 1000, 1e-13
#: A pair that passed its test has at least this score.
_LEAST_SCORE = 1e-12


class TreeEdge(NamedTuple):
    """Two units, their mutual information in bits with its standard error, and the test.

    `p_value` is that of the pair alone, `adjusted` that for all pairs.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    information: float
    stderr: float
    p_value: float
    adjusted: float


def fit_tree(
    reports: UnitReports, error: float, alpha: float, adjusted: bool = True
) -> tuple[TreeDistribution, tuple[TreeEdge, ...]]:
    """The tree of the pairs that depend on each other at this error rate, and its edges.

    Edges with most information come first.

    The rate is family-wise, or that of each pair alone if p-values are not `adjusted`.
    """
    tests = pair_dependence(reports)
    passed = np.flatnonzero((tests.adjusted if adjusted else tests.p_values) <= error)
    tables: dict[tuple[int, int], tuple[int, Array]] = {}
    scores: Array = np.zeros((len(reports.sizes),) * 2)
    for row in passed.tolist():
        a, b = tests.pairs[row].tolist()
        table = pair_table(reports, (a, b), alpha)
        tables[a, b] = row, table
        scores[a, b] = max(information(table) * tests.strength[row], _LEAST_SCORE)
    parents = rooted_forest(scores)
    conditionals, edges = [], []
    for child, parent in enumerate(parents):
        margin = reports.margins[child]
        if parent == ROOT:
            conditionals.append(margin)
            continue
        row, table = tables[min(parent, child), max(parent, child)]
        conditionals.append(_conditional(table if parent < child else table.T, margin))
        edges.append(_edge(reports, tests, row, table))
    edges.sort(key=lambda edge: (-edge.information, edge.first, edge.second))
    return TreeDistribution(parents, tuple(conditionals)), tuple(edges)


def pair_table(reports: UnitReports, pair: tuple[int, int], alpha: float) -> Array:
    """The table of two units with the margins of both."""
    first, second = (reports.margins[u] for u in pair)
    apart, n = np.outer(first, second), reports.n_records
    table = reports.most_likely(pair).reshape(apart.shape)
    added = max(alpha, _LEAST_SHARE * n)
    return with_margins((n * table + added * apart) / (n + added), first, second)


def with_margins(table: Array, first: Array, second: Array) -> Array:
    """The table that is proportional to this one by row and by column and has these margins."""
    fitted = table
    for _ in range(_ROUNDS):
        fitted = fitted * quotient(first, fitted.sum(axis=1))[:, None]
        fitted = fitted * quotient(second, fitted.sum(axis=0))
        if np.abs(fitted.sum(axis=1) - first).max() < _MARGIN_TOLERANCE:
            break
    return fitted


def information(table: Array) -> float:
    """Mutual information of the two axes of a table, in bits."""
    return float((table * _log_ratio(table)).sum())


def _log_ratio(table: Array) -> Array:
    """log2 of a table divided by the product of its margins; 0 for empty cells."""
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    occurs = (table > 0) & (apart > 0)
    return np.log2(np.divide(table, apart, out=np.ones_like(table), where=occurs))


def _edge(reports: UnitReports, tests: PairDependence, row: int, table: Array) -> TreeEdge:
    """The information of an edge, less what noise adds, with its standard error.

    The error has two parts: that of the linear part of the information, by the delta method, and
    that of what noise adds, which is about chi-square distributed and is all there is near
    independence.
    """
    value, strength = information(table), float(tests.strength[row])
    pair = tuple(tests.pairs[row].tolist())
    frequencies = reports.frequencies(pair)
    weights = _log_ratio(table).ravel() @ reports.inverse(pair)
    linear = max(float(frequencies @ weights**2 - (frequencies @ weights) ** 2), 0.0)
    linear /= reports.n_records
    added, freedom = value * (1 - strength), max(int(tests.freedom[row]), 1)
    first, second = (reports.names[unit] for unit in pair)
    stderr = float(np.sqrt(linear + 2 * added**2 / freedom))
    p_values = (float(tests.p_values[row]), float(tests.adjusted[row]))
    return TreeEdge(first, second, value * strength, stderr, *p_values)


def _conditional(table: Array, margin: Array) -> Array:
    """P(child | parent); the child's margin where the parent's category never occurs."""
    return quotient(table, table.sum(axis=1, keepdims=True), margin)
