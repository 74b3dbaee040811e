"""Candidate models of the true records, and the mixture of them that predicts reports best.

Each candidate is fitted to one half of the reports and judged by the log-likelihood of the other;
the mixture's weights maximise the sum of both (stacking: Smyth & Wolpert, 1999). Then candidates
are fitted to all reports. The two mixtures of the halves say how much chance there is in a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from tacit.core.arrays import Array
from tacit.privacy.disclosure.chow_liu import chow_liu
from tacit.privacy.disclosure.latent_classes import ClassFit, Evidence, LatentClasses, mixed
from tacit.privacy.disclosure.layout import CodedReports, UnitLayout
from tacit.privacy.disclosure.likely_tables import (
    SmallTable,
    Units,
    full_table,
    group_tables,
    small_tables,
)
from tacit.privacy.disclosure.parent_network import parent_network
from tacit.privacy.scopes import reports_of
from tacit.records import Progress

#: Numbers of latent classes that are tried.
CLASSES = (1, 2, 4, 8)
#: Among the models of a stack: the mixture, its two halves, then candidates: of tables the network
#: first and the full table last.
MIXTURE, FIRST, SECOND, NETWORK = range(4)
#: A report's likelihood under a candidate is at least this.
_LEAST = 1e-12
_STEPS = 1000

Found = TypeVar("Found")
Halves = tuple[Array, Array]


class TableStack(NamedTuple):
    """Joint tables along the last axis: the mixture, its halves, and every candidate."""

    layout: UnitLayout
    tables: Array
    weights: Array


def table_stack(
    reports: CodedReports, halves: Halves, rng: np.random.Generator, tell: Progress
) -> TableStack:
    """Tables per group, a tree, a network and latent classes, all as joint tables."""
    layout = reports.layout
    first, second, last, weights = _stacked(reports, halves, _tables, _table_likelihoods, rng, tell)
    models = [found @ weights for found in (last, first, second)]
    return TableStack(layout, np.concatenate([np.stack(models, axis=-1), last], axis=-1), weights)


def class_stack(
    reports: CodedReports, halves: Halves, rng: np.random.Generator, tell: Progress
) -> list[LatentClasses]:
    """The same models as latent classes alone, where a joint table would be too large."""
    first, second, last, weights = _stacked(
        reports, halves, _classes, _class_likelihoods, rng, tell
    )
    return [*(mixed(found, weights) for found in (last, first, second)), *last]


def _stacked(
    reports: CodedReports,
    divided: Halves,
    fit: Callable[[CodedReports, np.random.Generator], Found],
    judge: Callable[[CodedReports, Found], Array],
    rng: np.random.Generator,
    tell: Progress,
) -> tuple[Found, Found, Found, Array]:
    """Candidates from either half and from all reports, and the weights of the mixture."""
    halves = [reports.weighted(half) for half in divided]
    found = []
    for half in halves:
        found.append(fit(half, rng))
        tell(len(found) / 4)
    likely = np.concatenate([judge(halves[1], found[0]), judge(halves[0], found[1])])
    counts = np.concatenate([halves[1].weights, halves[0].weights])
    last = fit(reports, rng)
    tell(3 / 4)
    return found[0], found[1], last, best_weights(likely, counts)


def best_weights(likelihoods: Array, counts: Array) -> Array:
    """Convex weights that maximise the log-likelihood of a mixture; a column per candidate."""
    columns = np.maximum(likelihoods, _LEAST)
    columns = columns / columns.max(axis=1, keepdims=True)
    weights: Array = np.full(columns.shape[1], 1 / columns.shape[1])
    for _ in range(_STEPS):
        weights = weights * ((counts / (columns @ weights)) @ columns) / counts.sum()
    return weights


def _tables(reports: CodedReports, rng: np.random.Generator) -> Array:
    """All candidates along the last axis, the network first."""
    units = range(len(reports.layout.units))
    families = [f for size in (1, 2, 3) for f in combinations(units, size)]
    small = small_tables(reports, families)
    found = [
        parent_network(reports, small),
        chow_liu(reports, small),
        group_tables(reports, small),
        *(model.table() for model in _fitted_classes(reports, small, rng)),
        full_table(reports, small),
    ]
    tables, impossible = np.stack(found, axis=-1), reports.layout.impossible
    if impossible is not None:
        tables[impossible] = 0.0
        tables /= tables.sum(axis=tuple(range(tables.ndim - 1)), keepdims=True)
    return tables


def _classes(reports: CodedReports, rng: np.random.Generator) -> list[LatentClasses]:
    units = range(len(reports.layout.units))
    return _fitted_classes(reports, small_tables(reports, [(u,) for u in units]), rng)


def _fitted_classes(
    reports: CodedReports, small: dict[Units, SmallTable], rng: np.random.Generator
) -> list[LatentClasses]:
    margins = [small[u,].table for u in range(len(reports.layout.units))]
    fitting = ClassFit(reports, margins)
    return [fitting.fit(classes, rng) for classes in CLASSES]


def _table_likelihoods(reports: CodedReports, tables: Array) -> Array:
    sent = reports_of(reports.layout.part(tables))
    return np.asarray(sent[reports.places()])


def _class_likelihoods(reports: CodedReports, models: Sequence[LatentClasses]) -> Array:
    evidence = Evidence(reports.layout, reports.codes)
    return np.stack([evidence.likelihood(model) for model in models], axis=1)
