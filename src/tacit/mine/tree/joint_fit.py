"""FittedTable: the joint table, with the strength of its prior chosen by held-out likelihood.

Reports are split into three folds at random. The prior of a fold is naive Bayes fitted to the
reports of the other two, and so are its tables at several strengths (see `joint_table`). The
strength that predicts the held-out reports best is used for the table of all reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import Array
from tacit.mine.tree.joint_table import (
    TableReports,
    maximised,
    naive_bayes_step,
    penalised,
    with_uniform,
)

FOLDS = 3
#: Records that the prior may count for.
STRENGTHS = (math.inf, 30_000.0, 3_000.0, 300.0, 30.0, 3.0)


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


def fitted_table(reports: TableReports, start: Array, rng: np.random.Generator) -> FittedTable:
    """The table at its best strength; `start` is where EM for naive Bayes starts."""
    folds = [
        replace(fold, table=_prior(fold.learnt, start)) for fold in _folds(reports, start, rng)
    ]
    return _strengthened(reports, _prior(reports, start), folds)


def _prior(reports: TableReports, start: Array) -> Array:
    """Naive Bayes of largest likelihood, with a little of the uniform table."""
    m_step = naive_bayes_step(reports.channel, reports.total)
    return with_uniform(maximised(reports, m_step, start))


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
