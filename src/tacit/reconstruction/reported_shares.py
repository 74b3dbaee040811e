"""Shares among the reports themselves, to be shown beside what is estimated from them.

Only where an attribute is reported in its own categories; a matrix may have other reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.reconstruction.conditions import Condition
from tacit.reconstruction.table_problem import TableProblem
from tacit.records import PatternTable


def reported_table(problem: TableProblem) -> Array | None:
    """The reported distribution of the attributes asked for."""
    true, reported = problem.channel.true, problem.channel.reported
    names = [a.name for a in problem.attributes]
    if not _alike(true, reported, names):
        return None
    axes = [reported.index(name) for name in names]
    others = tuple(axis for axis in range(len(reported)) if axis not in axes)
    kept = sorted(axes)
    table = problem.frequencies.sum(axis=others)
    return np.asarray(table.transpose([kept.index(axis) for axis in axes]))


def reported_within(joint: Array | None, given: int) -> Array | None:
    """The last axes of a reported table given the first ones."""
    if joint is None:
        return None
    totals = joint.sum(axis=tuple(range(given, joint.ndim)), keepdims=True)
    return np.asarray(joint / np.where(totals > 0, totals, np.nan))


def reported_share(
    patterns: PatternTable, design: Design, event: Condition, group: Condition | None
) -> Array | None:
    """The share of reports that meet an event, among those of a group."""
    inside = np.ones(len(patterns), bool)
    for condition in (group, event):
        if condition is None:
            continue
        if not _alike(design.schema, design.reported, condition.names):
            return None
        if condition is event:
            base = patterns.counts[inside].sum()
        for name, codes in condition.codes.items():
            inside &= np.isin(patterns.patterns[:, patterns.schema.index(name)], codes)
    return np.asarray(patterns.counts[inside].sum() / base) if base > 0 else None


def _alike(true: Schema, reported: Schema, names: Sequence[str]) -> bool:
    """Whether these attributes are reported in their own categories."""
    return all(name in reported and reported[name] == true[name] for name in names)
