"""Candidate models of the true records, and the mixture of them that predicts reports best.

Each candidate is fitted to one half of the reports and judged by the log-likelihood of the other;
the mixture's weights maximise the sum of both (stacking: Smyth & Wolpert, 1999). Then candidates
are fitted to all reports. The two mixtures of the halves say how much chance there is in a figure.

Candidates are latent classes, and where a joint table can be built also a Chow-Liu tree, a network
in which each unit depends on at most two others, each group's most likely table with groups
independent, and one full table. The last two assume no model: the first is right if answers to
different questions are unrelated, the second is chosen if there are many records for few cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import chdtri

from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.linear_maps import chain, outer
from tacit.errors import SingularChannelError
from tacit.models.dependence_tree import fit_tree
from tacit.models.latent_classes import LatentClasses, LatentModel, Search
from tacit.models.units import CoinGroup, UnitLayout, UnitReports
from tacit.privacy.scopes import JointGroups, reports_of
from tacit.reconstruction.likelihood import maximise
from tacit.records import Progress

#: Numbers of latent classes that are tried.
CLASSES = (1, 2, 4, 8)
#: Among the models of a stack: the mixture, its two halves, then candidates: of tables the network
#: first and the full table last.
MIXTURE, FIRST, SECOND, NETWORK = range(4)
#: A report's likelihood under a candidate is at least this.
_LEAST = 1e-12
_STEPS = 1000
#: Most likely tables of more cells than this, true or reported, are left out.
MAX_CELLS = 512
#: Level of the test of an edge of the tree, and records that independence counts for in its table.
_TREE_LEVEL, _TREE_RECORDS = 0.01, 0.5
#: The same for the network; strict, because the best of many parents is taken.
_NETWORK_LEVEL, _NETWORK_RECORDS = 1e-3, 2.0
#: A joint table of more cells is not estimated as a whole.
_MAX_JOINT = 4096
#: Of a joint table: share of independent units in the start, tolerance and iterations.
_APART, _TOLERANCE, _ITERATIONS = 0.1, 1e-7, 40

Fitted = TypeVar("Fitted")
Units = tuple[int, ...]
Halves = tuple[Index, Index]


class TableStack(NamedTuple):
    """Joint tables along the last axis: the mixture, its halves, and every candidate."""

    layout: UnitLayout
    tables: Array
    weights: Array


class LikelyTable(NamedTuple):
    """The most likely true table of some units, and twice the log-likelihood of their reports."""

    table: Array
    likelihood: float


def joint_groups(layout: UnitLayout, tables: Array) -> JointGroups:
    """Joint tables, stacked along the last axis, as what exact figures are computed from."""
    shape = [math.prod(layout.sizes[u] for u in group.units) for group in layout.groups]
    factors = tuple(group.factor for group in layout.groups)
    return JointGroups(factors, layout.design.schema, tables.reshape(*shape, -1))


def group_cells(reports: UnitReports) -> tuple[Index, ...]:
    """Where each pattern is in a table with one axis per group."""
    return tuple(reports.cells(group.units) for group in reports.layout.groups)


def table_stack(
    reports: UnitReports, halves: Halves, rng: np.random.Generator, tell: Progress
) -> TableStack:
    """All candidates as joint tables."""
    layout, model = reports.layout, class_model(reports)

    def fit(counts: Index) -> Array:
        part = reports.counted(counts)
        return _tables(part, _fitted_classes(part, model, counts, rng))

    def likelihoods(tables: Array) -> Array:
        return np.asarray(reports_of(joint_groups(layout, tables))[group_cells(reports)])

    first, second, last, weights = _stacked(reports, halves, fit, likelihoods, tell)
    mixtures = [tables @ weights for tables in (last, first, second)]
    return TableStack(layout, np.concatenate([np.stack(mixtures, axis=-1), last], axis=-1), weights)


def class_stack(
    reports: UnitReports, halves: Halves, rng: np.random.Generator, tell: Progress
) -> list[LatentClasses]:
    """The same models as latent classes alone, where a joint table would be too large."""
    model = class_model(reports)

    def fit(counts: Index) -> list[LatentClasses]:
        return _fitted_classes(reports.counted(counts), model, counts, rng)

    def likelihoods(classes: list[LatentClasses]) -> Array:
        return np.stack([report_likelihoods(model, candidate) for candidate in classes], axis=1)

    first, second, last, weights = _stacked(reports, halves, fit, likelihoods, tell)
    return [*(LatentClasses.mixed(models, weights) for models in (last, first, second)), *last]


def class_model(reports: UnitReports) -> LatentModel:
    """Latent classes of units, for any number of classes and any counts of the patterns."""
    return LatentModel.of_units(reports.layout, reports.codes, reports.counts)


def report_likelihoods(model: LatentModel, classes: LatentClasses) -> Array:
    """The probability of each pattern under these classes."""
    variant = model.variant(len(classes.shares))
    return np.asarray(np.exp(variant.logs(variant.join(classes.shares, classes.tables))))


def _stacked(
    reports: UnitReports,
    halves: Halves,
    fit: Callable[[Index], Fitted],
    likelihoods: Callable[[Fitted], Array],
    tell: Progress,
) -> tuple[Fitted, Fitted, Fitted, Array]:
    """Candidates from either half and from all reports, and the weights of the mixture."""
    fitted = []
    for counts in (*halves, reports.counts):
        fitted.append(fit(counts))
        tell(len(fitted) / 4)
    first, second, last = fitted
    likely = np.concatenate([likelihoods(first), likelihoods(second)])
    return first, second, last, best_weights(likely, np.concatenate(halves[::-1]))


def best_weights(likelihoods: Array, counts: Index) -> Array:
    """Convex weights that maximise the log-likelihood of a mixture; a column per candidate."""
    columns = np.maximum(likelihoods, _LEAST)
    columns = columns / columns.max(axis=1, keepdims=True)
    weights: Array = np.full(columns.shape[1], 1 / columns.shape[1])
    for _ in range(_STEPS):
        weights = weights * ((counts / (columns @ weights)) @ columns) / counts.sum()
    return weights


def _fitted_classes(
    reports: UnitReports, model: LatentModel, counts: Index, rng: np.random.Generator
) -> list[LatentClasses]:
    search = Search(reports.margins, (), 0.05, 3, 3e-4, iterations=30, finalists=1, first=4)
    models = [model.variant(number, counts) for number in CLASSES]
    maxima = [search.near_maxima(m, rng)[0][0] for m in models]
    return [LatentClasses(*m.split(at)) for m, at in zip(models, maxima, strict=True)]


def _tables(reports: UnitReports, classes: Sequence[LatentClasses]) -> Array:
    """All candidates along the last axis, the network first."""
    units = range(len(reports.sizes))
    likely = likely_tables(reports, (f for size in (1, 2, 3) for f in combinations(units, size)))
    groups = [_most_likely(reports, likely, [group]) for group in reports.layout.groups]
    joints = [
        parent_network(reports, likely),
        fit_tree(reports, _TREE_LEVEL, _TREE_RECORDS, adjusted=False)[0].joint(),
        reduce(outer, groups).reshape(reports.sizes),
        *(model.joint() for model in classes),
        _most_likely(reports, likely, reports.layout.groups).reshape(reports.sizes),
    ]
    tables, impossible = np.stack(joints, axis=-1), reports.layout.impossible
    if impossible is not None:
        tables[impossible] = 0.0
    return np.asarray(tables / tables.sum(axis=tuple(range(tables.ndim - 1)), keepdims=True))


def likely_tables(reports: UnitReports, families: Iterable[Units]) -> dict[Units, LikelyTable]:
    """The tables of the families, each in ascending order of units, that can be estimated."""
    tables: dict[Units, LikelyTable] = {}
    for units in families:
        shape = [reports.sizes[u] for u in units]
        if max(math.prod(shape), math.prod(reports.reports[u] for u in units)) > MAX_CELLS:
            continue
        try:
            table = reports.most_likely(units)
        except SingularChannelError:
            continue
        likelihood = 2 * reports.n_records * reports.log_likelihood(units, table)
        tables[units] = LikelyTable(table.reshape(shape), likelihood)
    return tables


def _most_likely(
    reports: UnitReports, tables: dict[Units, LikelyTable], groups: Sequence[CoinGroup]
) -> Array:
    """The most likely table of some groups together, flattened; independent units if too large."""
    units = tuple(u for group in groups for u in group.units)
    apart = reduce(outer, (reports.margins[unit] for unit in units))
    reported = math.prod(reports.reports[u] for u in units)
    if len(units) == 1 or max(apart.size, reported) > _MAX_JOINT:
        return apart
    if units in tables:
        return tables[units].table.ravel()
    maps = [group.factor.channel.forward for group in groups]
    frequencies = reports.frequencies(units)
    inverted = chain([group.inverse for group in groups], frequencies[:, None])[:, 0]
    inverted = np.maximum(inverted, 0)
    return maximise(
        lambda p: np.maximum(chain(maps, p[:, None])[:, 0], TINY),
        lambda q: np.maximum(chain([m.T for m in maps], q[:, None])[:, 0], 0),
        frequencies,
        (1 - _APART) * inverted / inverted.sum() + _APART * apart,
        _TOLERANCE,
        _ITERATIONS,
    )[0]


# The network. Units are placed one by one, each with the parents that raise the likelihood of its
# reports most, beyond what chance explains at a strict level. Where no unit depends on those
# placed, the pair or triple of the others that depends most starts again: this finds dependence
# among three answers of which no two depend on each other (exclusive or), which a tree cannot.


def parent_network(reports: UnitReports, tables: dict[Units, LikelyTable]) -> Array:
    """The joint table of the network; `tables` has those of pairs and triples."""
    joint: Array = np.ones((1,) * len(reports.sizes))
    for unit, parents in _Search(tables, reports.sizes).order():
        joint = joint * _conditional(reports, tables, unit, parents)
    joint = np.broadcast_to(joint, reports.sizes)
    return np.asarray(joint / joint.sum())


@lru_cache(maxsize=4096)
def _by_chance(freedom: int) -> float:
    """What a likelihood ratio of nothing exceeds rarely."""
    return float(chdtri(freedom, _NETWORK_LEVEL))


class _Search:
    """Greedy choice of an order and of parents."""

    def __init__(self, tables: dict[Units, LikelyTable], sizes: tuple[int, ...]) -> None:
        self._tables, self._sizes = tables, sizes

    def order(self) -> list[tuple[int, Units]]:
        """Units in their order, each with its parents."""
        placed: list[tuple[int, Units]] = []
        left = set(range(len(self._sizes)))
        while left:
            before = [unit for unit, _ in placed]
            ways = [*combinations(before, 1), *combinations(before, 2)]
            scored = [(self._excess((u,), way), u, way) for u in sorted(left) for way in ways]
            score, unit, parents = max(scored, default=(0.0, 0, ()))
            chosen = [(unit, parents)] if score > 0 else self._start(left)
            placed += chosen
            left -= {unit for unit, _ in chosen}
        return placed

    def _start(self, left: set[int]) -> list[tuple[int, Units]]:
        """The units that depend most on each other, or all that are left as independent."""
        families = [f for size in (2, 3) for f in combinations(sorted(left), size)]
        scored = [(self._excess(*((u,) for u in family)), family) for family in families]
        score, family = max(scored, default=(0.0, ()))
        if score <= 0:
            return [(unit, ()) for unit in sorted(left)]
        return [(unit, family[:number]) for number, unit in enumerate(family)]

    def _excess(self, *parts: Units) -> float:
        """By how much the likelihood of some units exceeds that of independent parts, beyond
        chance; minus infinity if a table of them could not be estimated.
        """
        sets = [tuple(sorted(units)) for units in (sum(parts, ()), *parts)]
        if any(units not in self._tables for units in sets):
            return -np.inf
        whole, *apart = (self._tables[units].likelihood for units in sets)
        cells, *few = (math.prod(self._sizes[u] for u in units) - 1 for units in sets)
        return whole - sum(apart) - _by_chance(cells - sum(few))


def _conditional(
    reports: UnitReports, tables: dict[Units, LikelyTable], unit: int, parents: Units
) -> Array:
    """P(unit | parents), with an axis for every unit."""
    family = tuple(sorted((unit, *parents)))
    sizes, axis, n = reports.sizes, family.index(unit), reports.n_records
    margin = reports.margins[unit].reshape([-1 if u == unit else 1 for u in family])
    table = tables[family].table if parents else margin
    added = _NETWORK_RECORDS / max(1, table.size // sizes[unit])
    given = (n * table + added * margin) / (n * table.sum(axis=axis, keepdims=True) + added)
    return np.asarray(given).reshape([k if u in family else 1 for u, k in enumerate(sizes)])
