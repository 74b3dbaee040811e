"""FittedTable: the joint table, with prior and strength chosen by the held-out likelihood.

Reports are split into three folds at random. Each fold has priors of its own, fitted to the other
two: naive Bayes, and classes with any dependence within a group of attributes but none between
groups. The prior that predicts held-out reports better is taken, and then the strength that it
should have (see `joint_table`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import Array
from tacit.mine.tree.joint_table import (
    TableReports,
    by_group_step,
    maximised,
    naive_bayes_step,
    penalised,
    with_uniform,
)

FOLDS = 3
#: Records that the prior may count for.
STRENGTHS = (math.inf, 30_000.0, 3_000.0, 300.0, 30.0, 3.0)
#: Strength of naive Bayes in the table from which EM of a prior by groups starts.
_GROUP_START = 30.0

#: Fits a prior to reports, given a first table.
PriorMethod = Callable[[TableReports, Array], Array]


@dataclass(frozen=True, eq=False)
class Fold:
    """Reports to learn from and reports held out, and a table fitted to the former."""

    learnt: TableReports
    held: TableReports
    table: Array

    def held_likelihood(self) -> float:
        """The log-likelihood of the reports held out."""
        return self.held.log_likelihood(self.table)


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The joint table of all reports, that of each fold, and their priors."""

    reports: TableReports
    table: Array
    strength: float
    folds: tuple[Fold, ...]
    fold_priors: tuple[Array, ...]


def naive_bayes_prior(reports: TableReports, start: Array) -> Array:
    """Naive Bayes of largest likelihood.

    EM may end at a model with the answers of a group turned, so these are tried too.
    """
    m_step = naive_bayes_step(reports.channel, reports.total)
    found = maximised(reports, m_step, start)
    for turned in reports.channel.mirrored(found):
        rival = maximised(reports, m_step, turned)
        if reports.log_likelihood(rival) > reports.log_likelihood(found):
            found = rival
    return with_uniform(found)


def group_prior(reports: TableReports, start: Array) -> Array:
    """P(c) prod_G P(x_G | c) of largest likelihood; naive Bayes has one record in it."""
    base = naive_bayes_prior(reports, start)
    first = penalised(reports, base, _GROUP_START, base)
    return with_uniform(maximised(reports, by_group_step(reports.channel, base, reports.total), first))


def fitted_table(
    reports: TableReports, start: Array, rng: np.random.Generator
) -> FittedTable:
    """The table with the best prior at its best strength; `start` is where EM starts."""
    folds = _folds(reports, start, rng)
    methods: list[PriorMethod] = [naive_bayes_prior]
    if len(reports.channel.channel.factors) > 1:
        methods.append(group_prior)
    candidates = [
        [replace(fold, table=method(fold.learnt, start)) for fold in folds] for method in methods
    ]
    best = int(np.argmax([_held(candidate) for candidate in candidates]))
    return _strengthened(reports, methods[best](reports, start), candidates[best])


def _folds(reports: TableReports, start: Array, rng: np.random.Generator) -> list[Fold]:
    """The reports split at random."""
    left, found = reports.counts.astype(np.int64), []
    for fold in range(FOLDS):
        size = int(left.sum()) // (FOLDS - fold)
        own = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - own
        found.append(Fold(reports.some(reports.counts - own), reports.some(own), start))
    return found


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
