"""A tree of pair tables (Chow & Liu, 1968), fitted to what was reported.

Each pair's true table is estimated over its channel. An edge must pass a likelihood-ratio test of
independence; among those that do, the tree of largest adjusted likelihood ratio is taken. Without
edges the units are independent.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.special import chdtrc

from tacit.core.arrays import TINY, Array
from tacit.models.tree_distribution import ROOT, TreeDistribution, rooted_forest
from tacit.privacy.disclosure.layout import CodedReports
from tacit.privacy.disclosure.likely_tables import SmallTable, Units

#: Level of the test that an edge must pass.
LEVEL = 0.01
#: Records that independence counts for in a pair table.
_PRIOR_RECORDS = 0.5


def chow_liu(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The joint table of the tree; `tables` has those of single units and of pairs."""
    parents = rooted_forest(_scores(reports, tables))
    found = [
        tables[unit,].table if parent == ROOT else _conditional(reports, tables, parent, unit)
        for unit, parent in enumerate(parents)
    ]
    made = TreeDistribution(parents, tuple(found)).joint()
    return np.asarray(made / made.sum())


def _scores(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """Of each pair that passes the test, the excess of its likelihood ratio, else 0."""
    sizes = reports.layout.sizes
    scores: Array = np.zeros((len(sizes), len(sizes)))
    for a, b in combinations(range(len(sizes)), 2):
        if (a, b) in tables:
            apart = reports.likelihood((a, b), np.outer(tables[a,].table, tables[b,].table))
            ratio, freedom = tables[a, b].likelihood - apart, (sizes[a] - 1) * (sizes[b] - 1)
            if chdtrc(freedom, max(ratio, 0.0)) < LEVEL:
                scores[a, b] = ratio - freedom
    return scores


def _conditional(
    reports: CodedReports, tables: dict[Units, SmallTable], parent: int, child: int
) -> Array:
    """P(child | parent), parent x child."""
    first, second = min(parent, child), max(parent, child)
    apart = np.outer(tables[first,].table, tables[second,].table)
    n = reports.total
    pair = (n * tables[first, second].table + _PRIOR_RECORDS * apart) / (n + _PRIOR_RECORDS)
    ahead = pair if parent < child else pair.T
    return np.asarray(ahead / np.maximum(ahead.sum(axis=1, keepdims=True), TINY))
