"""FittedTable: the joint table, with the strength of its prior chosen by held-out likelihood.

Reports are split into three folds at random. The prior of a fold is naive Bayes, learnt from the
reports of the other two by likelihood or from reconstructed pairs, and its tables are fitted to
them at several strengths (see `joint_table`). Prior and strength are those that predict the
reported class of held-out reports from their other answers best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.record_split import folds_of
from tacit.mine.tree.group_links import Links
from tacit.mine.tree.joint_channel import JointChannel
from tacit.mine.tree.joint_table import (
    TableReports,
    maximised,
    naive_bayes_step,
    naive_bayes_table,
    penalised,
    with_uniform,
)
from tacit.models.bayes_parameters import projected_prior, shrunk_table
from tacit.reconstruction import Reconstruction

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
    """The joint table of all reports, that of each fold, and their priors.

    `kind` is which of the `priors` it has, `likely` the naive Bayes table of largest likelihood.
    """

    reports: TableReports
    table: Array
    kind: int
    likely: Array
    strength: float
    folds: tuple[Fold, ...]
    fold_priors: tuple[Array, ...]


def fitted_table(
    reconstruction: Reconstruction, target: str, names: Sequence[str], rng: np.random.Generator
) -> FittedTable:
    """The table of some features and the target, with the best prior at its best strength."""
    channel = JointChannel(reconstruction.design.channel([*names, target]))
    reports = TableReports.of(channel, reconstruction.patterns)
    parts = list(folds_of(reconstruction.patterns, FOLDS, rng))
    learnt = [Reconstruction(part, reconstruction.design) for part, _ in parts]
    folds = [
        Fold(TableReports.of(channel, own), TableReports.of(channel, held), np.empty(0))
        for own, held in parts
    ]
    by_fold = [
        priors(fold.learnt, pairs_table(channel, part, target), Links(channel, part, target))
        for fold, part in zip(folds, learnt, strict=True)
    ]
    candidates = [
        [replace(fold, table=table) for fold, table in zip(folds, tables, strict=True)]
        for tables in zip(*by_fold, strict=True)
    ]
    best = int(np.argmax([_held(candidate) for candidate in candidates]))
    first = pairs_table(channel, reconstruction, target)
    likely = likeliest(reports, first)
    found = averaged(first, Links(channel, reconstruction, target).shrunk(likely))[best]
    table, strength, fitted = _strengthened(reports, found, candidates[best])
    known = tuple(fold.table for fold in candidates[best])
    return FittedTable(reports, table, best, likely, strength, tuple(fitted), known)


def refitted_table(
    fitted: FittedTable, reconstruction: Reconstruction, target: str
) -> tuple[TableReports, Array]:
    """The table of other reports, with the kind of prior and the strength of this one."""
    channel = fitted.reports.channel
    reports = TableReports.of(channel, reconstruction.patterns)
    links = Links(channel, reconstruction, target)
    first = pairs_table(channel, reconstruction, target)
    prior = averaged(first, links.shrunk(likeliest(reports, fitted.likely)))[fitted.kind]
    if math.isinf(fitted.strength):
        return reports, prior
    return reports, penalised(reports, prior, fitted.strength, fitted.table)


def pairs_table(channel: JointChannel, reconstruction: Reconstruction, target: str) -> Array:
    """Naive Bayes from reconstructed pairs, shrunk towards independence by their noise."""
    prior = projected_prior(reconstruction, target, 1.0)
    unbiased = [reconstruction.table([target, n]) for n in channel.channel.true.names[:-1]]
    tables = [shrunk_table(pair, prior, 1.0) for pair in unbiased]
    return naive_bayes_table(channel, np.maximum(prior, _LEAST_CLASS), tables)


def priors(reports: TableReports, by_pairs: Array, links: Links) -> list[Array]:
    """Naive Bayes from pairs, of largest likelihood, and the average of both.

    If attributes depend on each other beyond the class, the classes of largest likelihood may be
    other clusters than the class; the pairs then contradict them, and the average has less of both.
    """
    return averaged(by_pairs, links.shrunk(likeliest(reports, by_pairs)))


def likeliest(reports: TableReports, start: Array) -> Array:
    """Naive Bayes of largest likelihood, from a start."""
    return maximised(reports, naive_bayes_step(reports.channel, reports.total), start)


def averaged(by_pairs: Array, likely: Array) -> list[Array]:
    """Both and their average, with every cell possible."""
    return [with_uniform(table) for table in (by_pairs, (by_pairs + likely) / 2, likely)]


def _held(folds: Sequence[Fold]) -> float:
    return sum(fold.held_likelihood() for fold in folds)


def _strengthened(
    reports: TableReports, prior: Array, folds: list[Fold]
) -> tuple[Array, float, list[Fold]]:
    """The table, its strength and the folds at the strength with the largest held-out likelihood.

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
    return table, STRENGTHS[best], steps[best]
