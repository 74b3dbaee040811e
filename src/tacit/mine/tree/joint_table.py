"""joint_table: P(features, class) of largest penalised likelihood, from reports.

The prior p0 counts as `strength` records:

    maximise  sum_y n_y log (M p)_y  +  strength * sum_x p0(x) log p(x)
    p <- (p * M^T(n / M p) + strength * p0) / (n + strength)

This is concave, so EM, accelerated by SQUAREM, finds its one maximum. Infinite strength leaves p0
as it is. p0 is naive Bayes, fitted by EM to the same reports: the M step turns the expected table
into the closest table of that model. `joint_fit` chooses the strength.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import TINY, Array, Index
from tacit.mine.tree.joint_channel import JointChannel
from tacit.reconstruction.likelihood import EMStep, squarem
from tacit.records import PatternTable

#: Share of the uniform table in the prior, so that no cell is impossible.
_UNIFORM = 0.01
#: EM stops if a step would gain about this much log-likelihood per record, or after so many.
_TOLERANCE, _ITERATIONS = 1e-6, 20

#: The M step of a model: expected table in, table of the model out.
MStep = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class TableReports:
    """Distinct reports as cells of the reported table, and how many people sent each."""

    channel: JointChannel
    cells: Index
    counts: Array

    @property
    def total(self) -> float:
        """The number of reports."""
        return float(self.counts.sum())

    @classmethod
    def of(cls, channel: JointChannel, patterns: PatternTable) -> TableReports:
        """The reports in a pattern table, summed over attributes that the channel does not have."""
        cells = channel.cells(patterns)
        size = math.prod(channel.channel.reported.sizes)
        counts = np.bincount(cells, patterns.counts.astype(np.float64), size)
        seen = np.flatnonzero(counts)
        return cls(channel, seen, np.asarray(counts[seen], np.float64))

    def class_likelihoods(self, table: Array) -> Array:
        """log P(reported class | the other reported answers) of each report.

        What models are compared by: the likelihood of whole reports prefers one that describes
        the dependence among attributes well, even if its classes are not the class.
        """
        likely = self.channel.class_chances(np.maximum(self.channel.reported(table), TINY))
        return np.asarray(np.log(likely[self.cells]))

    def expected(self, table: Array) -> tuple[Array, float]:
        """p * M^T(n / M p) / n, the table expected given the reports; log-likelihood per record."""
        shares = self.counts / self.total
        likely = np.maximum(self.channel.reported(table)[self.cells], TINY)
        ratio = np.zeros(math.prod(self.channel.channel.reported.sizes))
        ratio[self.cells] = shares / likely
        return table * self.channel.pulled_back(ratio), float(shares @ np.log(likely))


def with_uniform(table: Array) -> Array:
    """A prior in which every cell is possible."""
    return np.asarray((1 - _UNIFORM) * table / table.sum() + _UNIFORM / table.size)


def penalised(reports: TableReports, prior: Array, strength: float, start: Array) -> Array:
    """The table of largest penalised likelihood."""
    weight = strength / reports.total

    def step(table: Array) -> EMStep:
        expected, likelihood = reports.expected(table)
        after = (expected + weight * prior) / (1 + weight)
        penalty = weight * float((prior * np.log(np.maximum(table, TINY))).sum())
        return EMStep(after, likelihood + penalty, _gap(after, table))

    return squarem(step, start, _normed, _TOLERANCE, _ITERATIONS)[0]


def maximised(reports: TableReports, m_step: MStep, start: Array) -> Array:
    """The table of largest likelihood in the model of an M step, from a start."""

    def step(table: Array) -> EMStep:
        expected, likelihood = reports.expected(table)
        after = m_step(expected)
        return EMStep(after, likelihood, _gap(after, table))

    return squarem(step, m_step(start), m_step, _TOLERANCE, _ITERATIONS)[0]


def _gap(after: Array, before: Array) -> float:
    """About how much an EM step gains in log-likelihood per record."""
    return float((np.square(after - before) / np.maximum(before, TINY)).sum())


def _normed(table: Array) -> Array:
    return np.asarray(table / table.sum())


def naive_bayes_table(channel: JointChannel, prior: Array, tables: list[Array]) -> Array:
    """P(c) prod_a P(x_a | c), features x classes; tables are classes x categories."""
    joint = np.asarray(prior)[None]
    for table in tables:
        joint = (joint[:, None] * table.T[None]).reshape(-1, channel.n_classes)
    return np.asarray(joint / joint.sum())


def naive_bayes_step(channel: JointChannel, n_records: float) -> MStep:
    """The M step of naive Bayes, with one record added to every category."""

    def m_step(expected: Array) -> Array:
        classes = expected.sum(axis=0)
        cube = expected.reshape(*channel.sizes, channel.n_classes)
        tables = []
        for a in range(len(channel.sizes)):
            others = tuple(b for b in range(len(channel.sizes)) if b != a)
            margin = cube.sum(axis=others).T + 1 / n_records
            tables.append(margin / margin.sum(axis=1, keepdims=True))
        return naive_bayes_table(channel, classes, tables)

    return m_step
