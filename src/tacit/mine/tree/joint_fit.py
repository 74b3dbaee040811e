"""FittedTable: the joint table, with the strength of its prior chosen by held-out likelihood.

Reports are split into three folds at random. The prior of a fold is naive Bayes, learnt from the
reports of the other two by likelihood or from reconstructed pairs, and its tables are fitted to
them at several strengths (see `joint_table`). Prior and strength are those that predict the
reported class of held-out reports from their other answers best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array
from tacit.counting import PatternTable
from tacit.mine.bayes_parameters import pairs
from tacit.mine.tree.joint_channel import JointChannel
from tacit.mine.tree.joint_table import (
    TableReports,
    maximised,
    naive_bayes_step,
    naive_bayes_table,
    penalised,
    with_uniform,
)
from tacit.reconstruction import Estimate, Reconstruction

FOLDS = 3
#: Smallest share of a class in the first naive Bayes model.
_LEAST_CLASS = 1e-4
#: Records that the prior may count for.
STRENGTHS = (math.inf, 30_000.0, 3_000.0, 300.0, 30.0, 3.0)


@dataclass(frozen=True, eq=False)
class Fold:
    """Reports to learn from and reports held out, and a table fitted to the former."""

    learnt: TableReports
    held: TableReports
    table: Array

    def held_likelihood(self) -> float:
        """The log-likelihood of the classes of reports held out."""
        return float(self.held.counts @ self.held.class_likelihoods(self.table))


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The joint table of all reports, that of each fold, and their priors."""

    reports: TableReports
    table: Array
    strength: float
    folds: tuple[Fold, ...]
    fold_priors: tuple[Array, ...]


def fitted_table(
    reconstruction: Reconstruction, target: str, names: Sequence[str], rng: np.random.Generator
) -> FittedTable:
    """The table of some features and the target, with the best prior at its best strength."""
    channel = JointChannel(reconstruction.design.channel([*names, target]))
    reports = TableReports.of(channel, reconstruction.patterns)
    parts = list(split_reports(reconstruction.patterns, FOLDS, rng))
    learnt = [Reconstruction(part, reconstruction.design) for part, _ in parts]
    folds = [
        Fold(TableReports.of(channel, own), TableReports.of(channel, held), np.empty(0))
        for own, held in parts
    ]
    starts = [PairTables.of(channel, part, target) for part in learnt]
    candidates = [
        [replace(f, table=prior(f.learnt, s)) for f, s in zip(folds, starts, strict=True)]
        for prior in PRIORS
    ]
    best = int(np.argmax([_held(candidate) for candidate in candidates]))
    prior = PRIORS[best](reports, PairTables.of(channel, reconstruction, target))
    return _strengthened(reports, prior, candidates[best])


@dataclass(frozen=True, eq=False)
class PairTables:
    """Naive Bayes from reconstructed pairs, and the unbiased table of each feature and the class.

    Naive Bayes is shrunk towards independence by the noise of the pairs.
    """

    naive_bayes: Array
    unbiased: tuple[Estimate, ...]

    @classmethod
    def of(cls, channel: JointChannel, reconstruction: Reconstruction, target: str) -> PairTables:
        """The pairs of the features of a channel."""
        found, schema = pairs(reconstruction, target, 1.0), reconstruction.design.schema
        names = channel.channel.true.names[:-1]
        tables = [found.tables[schema.index(name)] for name in names]
        prior = np.maximum(found.prior, _LEAST_CLASS)
        return cls(
            naive_bayes_table(channel, prior, tables),
            tuple(reconstruction.table([target, name]) for name in names),
        )

    def support(self, channel: JointChannel, table: Array) -> float:
        """How well the unbiased tables agree with a joint table: -1/2 chi-squared.

        Attributes of a group repeat each other's noise, so a group counts like one attribute.
        """
        cube, last = table.reshape(*channel.sizes, -1), len(channel.sizes)
        total = 0.0
        for factor in channel.channel.factors:
            own = [a for a in factor.true_axes if a < last]
            apart = []
            for a in own:
                pair = cube.sum(axis=tuple(b for b in range(last) if b != a)).T
                gap = (self.unbiased[a].value - pair).ravel()
                apart.append(gap @ pseudo_inverse(self.unbiased[a].covariance) @ gap)
            total += float(np.mean(apart)) if apart else 0.0
        return -total / 2


def pseudo_inverse(covariance: Array) -> Array:
    """The inverse of a covariance of shares, which sum to 1."""
    return np.asarray(np.linalg.pinv(covariance, rcond=1e-8, hermitian=True))


def by_pairs(reports: TableReports, start: PairTables) -> Array:
    """Naive Bayes from pairs."""
    return with_uniform(start.naive_bayes)


def by_likelihood(reports: TableReports, start: PairTables) -> Array:
    """Naive Bayes of largest likelihood, averaged with its rivals.

    A rival has the answers of one group turned; where theta is close to 1/2, the reports hardly
    tell them apart. If attributes depend on each other beyond the class, their likelihoods differ
    for reasons other than the class. So they are weighted by the unbiased tables.
    """
    channel = reports.channel
    m_step = naive_bayes_step(channel, reports.total)
    found = [maximised(reports, m_step, start.naive_bayes)]
    found += [maximised(reports, m_step, rival) for rival in channel.mirrored(found[0])]
    support = np.array([start.support(channel, table) for table in found])
    weights = np.exp(support - support.max())
    return with_uniform(np.tensordot(weights / weights.sum(), np.stack(found), 1))


#: The priors that are compared.
PRIORS = (by_pairs, by_likelihood)


def split_reports(
    patterns: PatternTable, folds: int, rng: np.random.Generator
) -> Iterator[tuple[PatternTable, PatternTable]]:
    """The reports split at random: those to learn from and those held out."""
    left = patterns.counts.copy()
    for fold in range(folds):
        size = int(left.sum()) // (folds - fold)
        own = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - own
        yield _with_counts(patterns, patterns.counts - own), _with_counts(patterns, own)


def _with_counts(patterns: PatternTable, counts: npt.NDArray[np.int64]) -> PatternTable:
    kept = counts > 0
    return PatternTable(patterns.schema, patterns.patterns[kept], counts[kept])


def _held(folds: Sequence[Fold]) -> float:
    return sum(fold.held_likelihood() for fold in folds)


def _strengthened(reports: TableReports, prior: Array, folds: list[Fold]) -> FittedTable:
    """The table at the strength with the largest held-out likelihood.

    From the strongest prior down, until two in a row are worse.
    """
    priors = tuple(fold.table for fold in folds)
    steps, held = [folds], [_held(folds)]
    for strength in STRENGTHS[1:]:
        own = strength * (FOLDS - 1) / FOLDS
        steps.append(
            [
                replace(fold, table=penalised(fold.learnt, known, own, fold.table))
                for fold, known in zip(steps[-1], priors, strict=True)
            ]
        )
        held.append(_held(steps[-1]))
        if len(held) > 2 and held[-1] < held[-2] < held[-3]:
            break
    best = int(np.argmax(held))
    table = prior
    for strength in STRENGTHS[1 : best + 1]:
        table = penalised(reports, prior, strength, table)
    return FittedTable(reports, table, STRENGTHS[best], tuple(steps[best]), priors)
