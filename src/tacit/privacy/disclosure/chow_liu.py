"""A tree of pair tables (Chow & Liu, 1968), fitted to what was reported.

Each pair's true table is estimated over its channel. An edge must pass a likelihood-ratio test of
independence; among those that do, the tree of largest adjusted likelihood ratio is taken. Without
edges the units are independent.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.stats import chi2

from tacit.arrays import Array
from tacit.privacy.disclosure.layout import CodedReports
from tacit.privacy.disclosure.small_tables import SmallTable, Units

#: Level of the test that an edge must pass.
LEVEL = 0.01
#: Records that independence counts for in a pair table.
_PRIOR_RECORDS = 0.5

Edge = tuple[int, int]


def chow_liu(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The joint table of the tree; `tables` has those of single units and of pairs."""
    layout = reports.layout
    edges = spanning(_edges(reports, tables), len(layout.units))
    made: Array = np.ones((1,) * len(layout.units))
    placed: set[int] = set()
    for root in range(len(layout.units)):
        if root in placed:
            continue
        made = made * _along(tables[root,].table, (root,), layout.sizes)
        placed.add(root)
        waiting = [root]
        while waiting:
            parent = waiting.pop()
            for child in [c for c in _neighbours(edges, parent) if c not in placed]:
                made = made * _conditional(reports, tables, parent, child)
                placed.add(child)
                waiting.append(child)
    made = np.broadcast_to(made, layout.sizes)
    return np.asarray(made / made.sum())


def _edges(reports: CodedReports, tables: dict[Units, SmallTable]) -> list[tuple[float, Edge]]:
    """Pairs that pass the test, with the excess of their likelihood ratio."""
    found = []
    sizes = reports.layout.sizes
    for a, b in combinations(range(len(sizes)), 2):
        if (a, b) not in tables:
            continue
        apart = np.outer(tables[a,].table, tables[b,].table).ravel()
        expected = reports.layout.matrix((a, b)) @ apart
        seen = reports.frequencies((a, b))
        held = seen > 0
        independent = 2 * reports.total * float(seen[held] @ np.log(expected[held]))
        ratio, freedom = tables[a, b].likelihood - independent, (sizes[a] - 1) * (sizes[b] - 1)
        if chi2.sf(max(ratio, 0.0), freedom) < LEVEL:
            found.append((ratio - freedom, (a, b)))
    return found


def spanning(edges: list[tuple[float, Edge]], nodes: int) -> list[Edge]:
    """The forest of largest total score (Kruskal)."""
    root = list(range(nodes))
    kept = []
    for _, (a, b) in sorted(edges, reverse=True):
        if root[a] != root[b]:
            kept.append((a, b))
            old, new = root[a], root[b]
            root = [new if r == old else r for r in root]
    return kept


def _neighbours(edges: list[Edge], node: int) -> list[int]:
    return [b if a == node else a for a, b in edges if node in (a, b)]


def _conditional(
    reports: CodedReports, tables: dict[Units, SmallTable], parent: int, child: int
) -> Array:
    """P(child | parent), with an axis for every unit."""
    first, second = min(parent, child), max(parent, child)
    apart = np.outer(tables[first,].table, tables[second,].table)
    n = reports.total
    pair = (n * tables[first, second].table + _PRIOR_RECORDS * apart) / (n + _PRIOR_RECORDS)
    given = pair / np.maximum(pair.sum(axis=int(child > parent), keepdims=True), 1e-300)
    return _along(given, (first, second), reports.layout.sizes)


def _along(table: Array, units: Units, sizes: tuple[int, ...]) -> Array:
    """A table over some units with an axis of length 1 for all others."""
    return table.reshape([k if u in units else 1 for u, k in enumerate(sizes)])
