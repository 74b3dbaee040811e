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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.pair_dependence import PairDependence, pair_dependence
from tacit.mine.unit_tables import UnitTables, nearest
from tacit.models.tree_distribution import ROOT, TreeDistribution, rooted_forest

#: Independence counts for at least this share of the records, so that any margins can be met.
_LEAST_SHARE = 1e-12
_ROUNDS, _TOLERANCE = 1000, 1e-13
#: A pair that passed its test has at least this score.
_LEAST_SCORE = 1e-12


@dataclass(frozen=True)
class TreeEdge:
    """Two units, their mutual information in bits with its standard error, and the test.

    `p_value` is that of the pair alone, `adjusted` that for all pairs.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    information: float
    stderr: float
    p_value: float
    adjusted: float


class TreeFit(NamedTuple):
    """The distribution over units, and its edges, most information first."""

    tree: TreeDistribution
    edges: tuple[TreeEdge, ...]
    n_passed: int


def fit_tree(tables: UnitTables, error: float, alpha: float) -> TreeFit:
    """The tree of the pairs that depend on each other at this family-wise error rate."""
    found = pair_dependence(tables)
    passed = np.flatnonzero(found.adjusted <= error)
    fitted: dict[tuple[int, int], tuple[int, Array]] = {}
    scores: Array = np.zeros((len(tables.sizes),) * 2)
    for place in passed.tolist():
        a, b = found.pairs[place].tolist()
        table = pair_table(tables, (a, b), alpha)
        fitted[a, b] = place, table
        scores[a, b] = max(information(table) * found.strength[place], _LEAST_SCORE)
    parents = rooted_forest(scores)
    conditionals, edges = [], []
    for child, parent in enumerate(parents):
        own = tables.margins[child]
        if parent == ROOT:
            conditionals.append(own)
            continue
        pair = (min(parent, child), max(parent, child))
        place, table = fitted[pair]
        conditionals.append(_conditional(table if parent < child else table.T, own))
        edges.append(_edge(tables, found, pair, place, table))
    edges.sort(key=lambda edge: (-edge.information, edge.first, edge.second))
    tree = TreeDistribution(parents, tuple(conditionals))
    return TreeFit(tree, tuple(edges), len(passed))


def pair_table(tables: UnitTables, pair: tuple[int, int], alpha: float) -> Array:
    """The table of two units with the margins of both."""
    first, second = (tables.margins[u] for u in pair)
    apart, n = np.outer(first, second), tables.n_records
    matrix, seen = tables.matrix(pair), tables.frequencies(pair)
    own = nearest(tables.inverse(pair) @ seen, matrix, seen, apart.ravel()).reshape(apart.shape)
    added = max(alpha, _LEAST_SHARE * n)
    return with_margins((n * own + added * apart) / (n + added), first, second)


def with_margins(table: Array, first: Array, second: Array) -> Array:
    """The table that is proportional to this one by row and by column and has these margins."""
    made = table
    for _ in range(_ROUNDS):
        made = made * _ratio(first, made.sum(axis=1))[:, None]
        made = made * _ratio(second, made.sum(axis=0))
        if np.abs(made.sum(axis=1) - first).max() < _TOLERANCE:
            break
    return made


def information(table: Array) -> float:
    """Mutual information of the two axes of a table, in bits."""
    return float((table * _log_ratio(table)).sum())


def _log_ratio(table: Array) -> Array:
    """log2 of a table divided by the product of its margins; 0 for empty cells."""
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    held = (table > 0) & (apart > 0)
    return np.log2(np.divide(table, apart, out=np.ones_like(table), where=held))


def _edge(
    tables: UnitTables,
    found: PairDependence,
    pair: tuple[int, int],
    place: int,
    table: Array,
) -> TreeEdge:
    """The information of an edge, less what noise adds, with its standard error.

    The error has two parts: that of the linear part of the information, by the delta method, and
    that of what noise adds, which is about chi-square distributed and is all there is near
    independence.
    """
    value, strength = information(table), float(found.strength[place])
    seen = tables.frequencies(pair)
    weights = _log_ratio(table).ravel() @ tables.inverse(pair)
    linear = max(float(seen @ weights**2 - (seen @ weights) ** 2), 0.0) / tables.n_records
    added, freedom = value * (1 - strength), max(int(found.freedom[place]), 1)
    return TreeEdge(
        tables.names[pair[0]],
        tables.names[pair[1]],
        value * strength,
        float(np.sqrt(linear + 2 * added**2 / freedom)),
        float(found.p_values[place]),
        float(found.adjusted[place]),
    )


def _conditional(table: Array, own: Array) -> Array:
    """P(child | parent); the child's margin where the parent's category never occurs."""
    total = table.sum(axis=1, keepdims=True)
    return np.where(total > 0, table / np.where(total > 0, total, 1), own)


def _ratio(over: Array, under: Array) -> Array:
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
