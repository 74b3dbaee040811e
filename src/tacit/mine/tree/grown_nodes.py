"""Estimates at the nodes of a grown tree, from the reports it was grown from or from others.

`follow` estimates all nodes, level by level. `Visit` goes from node to node and has the weight of
each pattern there, so that nodes can be compared with their covariance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.row_tables import RowTables
from tacit.mine.tree.tables_of_reports import root_tables
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction.linear_estimate import covariance_of_means


def follow(tree: Tree, reports: TreeReports) -> Tree:
    """The same tree, with the shares of its nodes and their covariance read from these reports."""
    value, moment = np.zeros_like(tree.value), np.zeros_like(tree.covariance)
    root = np.zeros(1, np.intp)
    waiting: list[tuple[Index, Callable[[], NodeTables]]] = [(root, partial(root_tables, reports))]
    while waiting:
        nodes, tables_of = waiting.pop()
        tables = tables_of()
        value[nodes], moment[nodes] = tables.by_class()
        attribute, child = tree.attribute[nodes], tree.child[nodes]
        branches = branches_of(child)
        wanted = branches == np.arange(branches.shape[1])
        allowed = np.where(tables.events.padded(attribute), branches, NONE)
        waiting += [
            (child[some], partial(tables.below, attribute, allowed, some))
            for some in tables.affordable(attribute, wanted)
        ]
    covariance = covariance_of_means(moment, value[:, :, None], value[:, None], reports.n_records)
    return replace(tree, value=value, covariance=covariance, n_records=reports.n_records)


@dataclass(frozen=True, eq=False)
class Visit:
    """One node of a tree, with the reports that count there."""

    tree: Tree
    tables: RowTables
    node: int = 0

    @classmethod
    def root(cls, tree: Tree, reports: TreeReports) -> Visit:
        """The root."""
        return cls(tree, RowTables.root(reports))

    @property
    def is_leaf(self) -> bool:
        """Whether the node is not split."""
        return bool(self.tree.attribute[self.node] == NONE)

    def right(self) -> Array:
        """The weight of each pattern for P(node, class = the node's label)."""
        weights = self.tables.by_row()[:, self.tree.label[self.node]]
        patterns = len(self.tables.reports.shares)
        return np.asarray(np.bincount(self.tables.rows.pattern, weights, patterns), np.float64)

    def children(self) -> Iterator[Visit]:
        """The nodes below, from the first category on."""
        attribute, child = self.tree.attribute[[self.node]], self.tree.child[[self.node]]
        branches = branches_of(child)
        allowed = np.where(self.tables.events.padded(attribute), branches, NONE)
        for branch in np.unique(branches[branches != NONE]):
            wanted = np.arange(branches.shape[1])[None] == branch
            tables = self.tables.children(attribute, allowed, wanted)
            yield Visit(self.tree, tables, int(child[0, branch]))


def right_and_wrong(tree: Tree, reports: TreeReports) -> Array:
    """The weight of each pattern for true class c and predicted class v, patterns x c x v."""
    n_classes = tree.value.shape[1]
    found = np.zeros((len(reports.shares), n_classes, n_classes))
    waiting = [Visit.root(tree, reports)]
    while waiting:
        visit = waiting.pop()
        if visit.is_leaf:
            rows, label = visit.tables.rows, tree.label[visit.node]
            np.add.at(found[:, :, label], rows.pattern, visit.tables.by_row())
        else:
            waiting += visit.children()
    return found


def branches_of(child: Index) -> Index:
    """The first category that leads where each category does, as the number of its branch."""
    same = child[:, :, None] == child[:, None, :]
    return np.where(child == NONE, NONE, same.argmax(axis=2))
