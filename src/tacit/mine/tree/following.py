"""follow: what reports say at the nodes of a tree that was grown before, on these or others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tacit.channel.linear import Mask
from tacit.mine.learning import Places
from tacit.mine.tree.reports import Reports
from tacit.mine.tree.tables import Tables
from tacit.mine.tree.tree import NONE, Tree


def follow(tree: Tree, reports: Reports) -> Tree:
    """The same tree, with the shares of its nodes and their covariance read from these reports."""
    value, moment = np.zeros_like(tree.value), np.zeros_like(tree.covariance)
    root = np.zeros(1, np.intp)
    waiting: list[tuple[Places, Callable[[], Tables]]] = [(root, partial(Tables.root, reports))]
    while waiting:
        nodes, tables_of = waiting.pop()
        tables = tables_of()
        value[nodes], moment[nodes] = tables.by_class()
        attribute, child = tree.attribute[nodes], tree.child[nodes]
        branches = branches_of(child)
        wanted = branches == np.arange(branches.shape[1])
        allowed = np.where(tables.events.padded(attribute), branches, NONE)
        waiting += [
            (child[some], partial(_below, tables, attribute, allowed, some))
            for some in tables.affordable(wanted)
        ]
    covariance = (moment - value[:, :, None] * value[:, None]) / reports.n_records
    return replace(tree, value=value, covariance=covariance, n_records=reports.n_records)


def _below(tables: Tables, attribute: Places, branches: Places, wanted: Mask) -> Tables:
    return tables.below(attribute, branches, wanted).merged()


def branches_of(child: Places) -> Places:
    """The first category that leads where each category does, as the number of its branch."""
    same = child[:, :, None] == child[:, None, :]
    return np.where(child == NONE, NONE, same.argmax(axis=2))
