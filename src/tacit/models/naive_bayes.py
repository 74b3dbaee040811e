"""Naive Bayes seen through a design: its likelihood and EM steps, and three ways to learn it.

Naive Bayes says P(c, x) = P(c) prod_a P(x_a | c). A group's coin picks strategy s with probability
w_s and then disguises each unit u of attributes by itself, so a report has the probability
(`ConditionalModel`)

    P(y) = sum_c P(c) prod_G sum_s w_s prod_u q[s,u][c, y_u],
    q[s,u] = D_u B[s,u]^T,    D_u[c] = kron_a P(x_a | c)

with B[s,u] the channel of the unit and D_u[c] the distribution of its true answers in class c. The
sum is over classes and strategies, never over true records. It uses the whole report at once: under
one related group, the answers together show whether they were flipped. Tables of the class and one
attribute cannot show that.

Units are packed into blocks of a few hundred reported cells, so that P(y | s, c) takes one lookup
per block, and the expected counts one sum over patterns per block. What any strategy handles as one
unit stays in one block. Patterns are processed in chunks, so memory use stays small.

`literal` is Zhan & Matwin (2004, section 3.3): reconstruct P(c) and each P(c, a), and cut negative
cells at zero.

`pairs` uses the same tables and accounts for their noise. The dependence d = P(c, a) - P(c) P(a)
is multiplied by

    max(0, 1 - df / (d^T Cov(d)^-1 d)),    df = (classes - 1) (categories - 1)

(James & Stein), so an attribute whose dependence is within noise has no influence.

`likelihood` maximises the likelihood of the whole reports. The answers of a report together show
how they were disguised, so this method learns far more: under one related group at theta = .51 it
classifies Adult as well as undisguised data do, .82, while `pairs` reaches .77. If
attributes depend on each other beyond the class and the noise is large, the maximum may
describe another clustering of the records than the class. So groups whose link with the class is
within noise are left out, and the fit is compared with the unbiased tables of the class and each
attribute. If they contradict the fit, the result of `pairs` is used and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.special import chdtri, ndtri

from tacit.core.arrays import TINY, Array, Codes, Index, row_products
from tacit.core.channel.families import Attributes
from tacit.core.channel.linear_maps import row_shares
from tacit.core.channel.numbers import Unit
from tacit.core.channel.strategies import UnitChannel
from tacit.core.design import Design
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.estimate import OnDemand
from tacit.reconstruction.likelihood import Convergence, EMStep, squarem
from tacit.reconstruction.tables import project
from tacit.records import PatternTable
from tacit.records.keys import column_blocks

#: Cells of a block, unless one unit has more: its tables fit in the fastest cache.
CELLS = 512
_TINY = float(np.finfo(np.float64).tiny)

#: P(x_a | c) of every attribute, classes x categories; for the class itself, the identity.
Tables = list[Array]


@dataclass(frozen=True, eq=False)
class BlockUnits:
    """The units of a block under one strategy, their answers side by side in one row.

    `spans` has the true attributes of each unit and their slice of the row of true answers.
    `matrix` has B[reported, true] of all units along its diagonal. `cells` is the position of a
    unit's report in the row of reports, units x cells of the block.
    """

    spans: tuple[tuple[Unit, slice], ...]
    matrix: Array
    cells: Index

    def table(self, tables: Tables) -> Array:
        """prod_u q_u[c, y_u], classes x cells."""
        reported = self._true(tables) @ self.matrix.T
        return np.asarray(reported.take(self.cells, axis=1).prod(axis=1))

    def add(self, counts: Tables, tables: Tables, sums: Array) -> None:
        """Add the expected true categories, given sums of reports by class and cell.

        E[x | c] = D[c, x] sum_y B[y, x] sums[c, y] / q[c, y]
        """
        true = self._true(tables)
        reported = true @ self.matrix.T
        by_report, cells = np.empty_like(reported), self.cells.ravel()
        for row, by_cell in zip(by_report, sums, strict=True):
            row[:] = np.bincount(cells, np.concatenate([by_cell] * len(self.cells)), row.size)
        joint = true * (ratio(by_report, reported) @ self.matrix)
        for unit, span in self.spans:
            for a, table in _by_attribute(unit, joint[:, span], tables):
                counts[a] += table

    def posteriors(self, tables: Tables) -> Iterator[tuple[int, Array]]:
        """P(x_a | c, y) of each attribute: classes x categories x cells."""
        true = self._true(tables)
        reported = true @ self.matrix.T
        posterior = ratio(true[:, :, None] * self.matrix.T, reported[:, None])
        for (unit, span), cells in zip(self.spans, self.cells, strict=True):
            for a, table in _by_attribute(unit, posterior[:, span], tables):
                yield a, table.take(cells, axis=2)

    def _true(self, tables: Tables) -> Array:
        """D of every unit, classes x true answers."""
        units = ([tables[a] for a in unit] for unit, _ in self.spans)
        return np.concatenate([reduce(row_products, unit) for unit in units], axis=1)


def _by_attribute(unit: Unit, joint: Array, tables: Tables) -> Iterator[tuple[int, Array]]:
    """Sums over the other attributes of the unit; its joint answers are the second axis."""
    full = joint.reshape(len(joint), *(tables[a].shape[1] for a in unit), *joint.shape[2:])
    for axis, a in enumerate(unit):
        yield a, full.sum(axis=tuple(i + 1 for i in range(len(unit)) if i != axis))


def ratio(over: Array, under: Array) -> Array:
    """over / under, zero where both are zero."""
    return np.asarray(over / np.maximum(under, _TINY))


def tied_positions(n: int, units: Iterable[Unit]) -> list[list[int]]:
    """Positions that must share a block, because some strategy handles them as one unit."""
    parts = [{i} for i in range(n)]
    for unit in units:
        apart = [part for part in parts if part.isdisjoint(unit)]
        touched = [part for part in parts if not part.isdisjoint(unit)]
        parts = [*apart, set().union(*touched)]
    return sorted(sorted(part) for part in parts)


def packed_blocks(tied: Iterable[Sequence[int]], sizes: Sequence[int]) -> list[list[int]]:
    """Join neighbours as long as the block has few enough cells."""
    packs: list[list[int]] = []
    for members in tied:
        together = [*packs[-1], *members] if packs else []
        if packs and math.prod(sizes[i] for i in together) <= CELLS:
            packs[-1] = together
        else:
            packs.append(list(members))
    return packs


def side_by_side(
    units: Sequence[UnitChannel], reported: Attributes, members: Sequence[int]
) -> BlockUnits:
    """The units of the block that has these members."""
    codes = np.indices([reported[i].size for i in members]).reshape(len(members), -1)
    spans, cells, row, column = [], [], 0, 0
    for unit in units:
        reports = [codes[members.index(i)] for i in unit.reports]
        sizes = [reported[i].size for i in unit.reports]
        cells.append(row + np.ravel_multi_index(reports, sizes))
        spans.append((unit.attributes, slice(column, column + unit.matrix.shape[1])))
        row, column = row + unit.matrix.shape[0], column + unit.matrix.shape[1]
    return BlockUnits(tuple(spans), block_diag(*(unit.matrix for unit in units)), np.stack(cells))


#: Cells of the grid per pattern, at most.
_SPARSEST = 4


def grid_expectations(
    grid: Array, prior: Array, one: Array, two: Array
) -> tuple[float, Array, list[Array]]:
    """The log-likelihood, and posteriors summed by class and by the cells of two blocks.

    If one group has two blocks, a report y = (i, j) is one cell of each, and

        P(y) = sum over (s, c) of  U[(s, c), i] V[(s, c), j]
        U = P(c) w_s P(i | s, c),  V = P(j | s, c)

    so P of all reports is the product U^T V. With F the shares of the reports and Q = F / P, the
    sums of the posterior of (s, c) by the cells of the blocks are U * (V Q^T) and V * (U Q). There
    is no lookup and no sum per pattern. It pays if most combinations of two cells are reported.

    `grid` is F. `one` and `two` are strategies x classes x cells, `one` with the weights of the
    strategies.
    """
    u = (one * prior[:, None]).reshape(-1, one.shape[2])
    v = two.reshape(-1, two.shape[2])
    chances = u.T @ v
    reported = grid > 0
    with np.errstate(divide="ignore"):
        logs = grid[reported] * np.log(chances[reported])
    ratios = ratio(grid, chances)
    first = (u * (v @ ratios.T)).reshape(one.shape)
    second = (v * (u @ ratios)).reshape(two.shape)
    return float(logs.sum()), first.sum(axis=(0, 2)), [first, second]


#: Patterns per chunk of an EM step: their tables fit in the processor's cache.
CHUNK = 1 << 14
#: The same for scores, of which a pattern has many.
_SCORED = 2048
#: A product is rescaled before it can fall below this, long before it underflows.
_VANISHING = 1e-150


class AttributeBlock(NamedTuple):
    """Some attributes of a group: the cell of each pattern, and the units of each strategy."""

    codes: Codes
    n_cells: int
    strategies: tuple[BlockUnits, ...]


#: P(y | s, c) of each block, strategies x classes x cells, the first with the weights of the
#: strategies; and whether the product of the blocks before it must be rescaled.
BlockTables = list[tuple[Array, bool]]


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """A group: the probability of each strategy, and the blocks of its attributes."""

    weights: Array
    blocks: tuple[AttributeBlock, ...]

    @classmethod
    def packed(
        cls,
        patterns: PatternTable,
        reported: Attributes,
        weights: Sequence[float],
        strategies: Sequence[Sequence[UnitChannel]],
    ) -> GroupBlocks:
        """Blocks of reported attributes; strategies have weights and disguise by units."""
        units = [unit for strategy in strategies for unit in strategy]
        tied = tied_positions(len(reported), (unit.reports for unit in units))
        blocks = []
        for members in packed_blocks(tied, [a.size for a in reported]):
            inside = [[unit for unit in s if unit.reports[0] in members] for s in strategies]
            places = [patterns.schema.index(reported[i].name) for i in members]
            columns = [patterns.patterns[:, place] for place in places]
            sizes = [reported[i].size for i in members]
            n_cells = math.prod(sizes)
            kind = np.min_scalar_type(n_cells - 1)
            codes = np.concatenate([keys.astype(kind) for keys in column_blocks(columns, sizes)])
            block_units = tuple(side_by_side(units, reported, members) for units in inside)
            blocks.append(AttributeBlock(codes, n_cells, block_units))
        return cls(np.array(weights), tuple(blocks))

    def tables(self, tables: Tables) -> BlockTables:
        """The tables of the blocks under these parameters."""
        tables_of = [np.stack([u.table(tables) for u in block.strategies]) for block in self.blocks]
        vanishing, least = [], 1.0
        for low in (float(table.min(where=table > 0, initial=1)) for table in tables_of):
            vanishing.append(least * low < _VANISHING)
            least = low if vanishing[-1] else least * low
        tables_of[0] *= self.weights[:, None, None]
        return list(zip(tables_of, vanishing, strict=True))


@dataclass(frozen=True, eq=False)
class ChunkPosterior:
    """The posterior of a chunk of patterns, and their share of the records.

    `classes` is P(c | y), classes x patterns. Each group has w_s P(y_G | s, c) up to scale in
    `by_strategy`, strategies x classes x patterns, with `totals` over the strategies, and in
    `codes` the patterns' cells in its blocks.
    """

    shares: Array
    log_likelihood: Array
    classes: Array
    by_strategy: Sequence[Array]
    totals: list[Array]
    codes: list[list[Index]]

    def strategies(self, classes: Array) -> Iterator[Array]:
        """P(s | c, y) of each group, times the given values of classes x patterns."""
        for by_strategy, total in zip(self.by_strategy, self.totals, strict=True):
            yield by_strategy * ratio(classes, total)


class ConditionalModel:
    """Patterns and their design; parameters are passed in. Without a target, classes are latent."""

    def __init__(
        self, patterns: PatternTable, design: Design, target: str | None, n_classes: int = 1
    ) -> None:
        self.shares = patterns.counts / patterns.n_records
        self.n_records = patterns.n_records
        self.target = None if target is None else design.schema.index(target)
        self.sizes = design.schema.sizes
        self.n_classes = n_classes if self.target is None else self.sizes[self.target]
        self.names = design.schema.names
        self.groups = []
        for group in design.groups:
            reported = group.coin.reported(design.attributes_of(group))
            weights, strategies = zip(*design.unit_channels(group), strict=True)
            self.groups.append(GroupBlocks.packed(patterns, reported, weights, strategies))

    def posterior(self, prior: Array, tables: Tables, length: int) -> Iterator[ChunkPosterior]:
        """Classes and strategies given the reports, `length` patterns at a time.

        Bayes' rule: P(c | y) is proportional to P(c) prod_G sum_s w_s P(y_G | s, c).
        """
        block_tables = [group.tables(tables) for group in self.groups]
        for start in range(0, len(self.shares), length):
            chunk = slice(start, start + length)
            codes = [[b.codes[chunk].astype(np.intp) for b in g.blocks] for g in self.groups]
            by_strategy, log_scales = zip(*map(_look_up, block_tables, codes), strict=True)
            totals = [values.sum(axis=0) for values in by_strategy]
            classes, logs = prior[:, None].copy(), sum(log_scales)
            for total in totals:
                logs = logs + _rescale(classes)
                classes = classes * total
            likelihood = classes.sum(axis=0)
            with np.errstate(divide="ignore"):
                logs = logs + np.log(likelihood)
            shares, posterior = self.shares[chunk], ratio(classes, likelihood)
            yield ChunkPosterior(shares, logs, posterior, by_strategy, totals, codes)

    def step(self, parameters: Array, alpha: float) -> EMStep:
        """One step of expectation-maximisation, with `alpha` records added to every category."""
        prior, tables = self.split(parameters)
        log_likelihood, classes, sums = self._expectations(prior, tables)
        after = self.join(classes, self._expected_tables(tables, sums, alpha))
        penalty = alpha / self.n_records * sum(np.log(t).sum() for t in self._free(tables))
        change = float(np.abs(after - parameters).max())
        return EMStep(after, log_likelihood + float(penalty), change)

    def information(self, prior: Array, tables: Tables) -> Array:
        """Information matrix of the logits of prior and tables, from the scores of the reports.

        By Fisher's identity, the score of a report is the expected score of the complete data
        given the report: the posterior count of (class c, category x) minus its expectation.
        """
        size = self.join(prior, tables).size
        total = np.zeros((size, size))
        posteriors = [
            [[list(units.posteriors(tables)) for units in b.strategies] for b in group.blocks]
            for group in self.groups
        ]
        for chunk in self.posterior(prior, tables, _SCORED):
            scores = [-table[:, :, None] * chunk.classes[:, None] for table in tables]
            strategies = chunk.strategies(chunk.classes)
            for weighted, cells, blocks in zip(strategies, chunk.codes, posteriors, strict=True):
                for codes, block in zip(cells, blocks, strict=True):
                    for weight, attributes in zip(weighted, block, strict=True):
                        for a, table in attributes:
                            scores[a] += table.take(codes, axis=2) * weight[:, None]
            free = [score.reshape(-1, score.shape[-1]) for score in self._free(scores)]
            stacked = np.concatenate([chunk.classes - prior[:, None], *free])
            total += (stacked * chunk.shares) @ stacked.T
        return total * self.n_records

    def split(self, parameters: Array) -> tuple[Array, Tables]:
        """Prior and tables out of one vector."""
        lengths = [self.n_classes * k for a, k in enumerate(self.sizes) if a != self.target]
        prior, *parts = np.split(parameters, list(accumulate([self.n_classes, *lengths]))[:-1])
        tables = [part.reshape(self.n_classes, -1) for part in parts]
        if self.target is not None:
            tables.insert(self.target, np.eye(self.n_classes))
        return prior, tables

    def join(self, prior: Array, tables: Tables) -> Array:
        """Prior and tables as one vector, without the table of the class itself."""
        return np.concatenate([prior, *(table.ravel() for table in self._free(tables))])

    def repair(self, parameters: Array) -> Array:
        """Make every distribution sum to 1 again."""
        prior, tables = self.split(parameters)
        return self.join(prior / prior.sum(), [*map(row_shares, tables)])

    def _free(self, tables: Tables) -> Tables:
        return [table for a, table in enumerate(tables) if a != self.target]

    @cached_property
    def _grid(self) -> Array | None:
        """Shares of the reports by the cells of two blocks, if there are no others.

        None if it would be sparse.
        """
        blocks = [block for group in self.groups for block in group.blocks]
        if len(self.groups) > 1 or len(blocks) != 2:
            return None
        (codes, rows, _), (others, columns, _) = blocks
        if rows * columns > _SPARSEST * len(self.shares):
            return None
        cells = codes.astype(np.intp) * columns + others
        grid = np.bincount(cells, self.shares, rows * columns).astype(np.float64)
        return grid.reshape(rows, columns)

    def _expectations(self, prior: Array, tables: Tables) -> tuple[float, Array, list[list[Array]]]:
        """The log-likelihood, and posteriors summed by class and by the cells of each block."""
        if self._grid is not None:
            (one, _), (two, vanishing) = self.groups[0].tables(tables)
            if not vanishing:
                log_likelihood, classes, by_block = grid_expectations(self._grid, prior, one, two)
                return log_likelihood, classes, [by_block]
        log_likelihood, classes = 0.0, np.zeros(self.n_classes)
        sums = [
            [np.zeros((len(block.strategies), self.n_classes, block.n_cells)) for block in g.blocks]
            for g in self.groups
        ]
        for chunk in self.posterior(prior, tables, CHUNK):
            log_likelihood += float((chunk.shares * chunk.log_likelihood).sum())
            weights = chunk.shares * chunk.classes
            classes += weights.sum(axis=1)
            strategies = chunk.strategies(weights)
            for totals, weighted, codes in zip(sums, strategies, chunk.codes, strict=True):
                for total, cells in zip(totals, codes, strict=True):
                    for row, weight in zip(chain(*total), chain(*weighted), strict=True):
                        row += np.bincount(cells, weight, row.size)
        return log_likelihood, classes, sums

    def _expected_tables(self, tables: Tables, sums: list[list[Array]], alpha: float) -> Tables:
        """P(x_a | c) of the expected true categories, with `alpha` records added to each."""
        counts = [np.zeros((self.n_classes, k)) for k in self.sizes]
        for group, by_block in zip(self.groups, sums, strict=True):
            for block, by_strategy in zip(group.blocks, by_block, strict=True):
                for units, by_cell in zip(block.strategies, by_strategy, strict=True):
                    units.add(counts, tables, by_cell)
        added = [count + alpha / self.n_records for count in counts]
        return [*map(row_shares, added)]


def _look_up(tables: BlockTables, codes: Sequence[Index]) -> tuple[Array, Array]:
    """w_s P(y | s, c), strategies x classes x patterns, and the log of its scale."""
    (first, _), *others = tables
    product, log_scale = first.take(codes[0], axis=2), np.zeros(len(codes[0]))
    for (table, vanishing), cells in zip(others, codes[1:], strict=True):
        if vanishing:
            log_scale += _rescale(product)
        product *= table.take(cells, axis=2)
    return product, log_scale


def _rescale(values: Array) -> Array:
    """Divide each pattern's values by the largest, in place; gives the logs of the divisors."""
    top = values.reshape(-1, values.shape[-1]).max(axis=0)
    top[top == 0] = 1
    values /= top
    return np.asarray(np.log(top))


TOLERANCE = 1e-6
MAX_ITERATIONS = 500
#: Share of the uniform distribution in the start of EM, so that no category starts impossible.
_START = 0.1
#: Probability of rejecting a true model, and of using a group that has no link with the class.
_FALSE_ALARM = 1e-3
#: A mirrored model that is behind by this much log-likelihood cannot become the best.
_HOPELESS = 1000.0


@dataclass(frozen=True, eq=False)
class BayesParameters:
    """Prior and tables, and how they were learnt.

    `covariance_of` computes the covariance of the logits of prior and tables, at the positions that
    `logit_positions` gives; None if only that of unbiased tables is known. `note` is for the user.
    `pair_tables` are the unbiased tables of the class and each attribute, `prior_table` that of the
    class; `unused` attributes are not used for prediction.
    """

    prior: Array
    tables: Tables
    n_records: int
    method: str
    pair_tables: Mapping[str, Estimate] = field(default_factory=dict)
    prior_table: Estimate | None = None
    convergence: Convergence | None = None
    covariance_of: OnDemand[Array] | None = None
    note: str = ""
    unused: tuple[str, ...] = ()


#: Learns from a reconstruction about a target, with some records added to every category.
BayesMethod = Callable[[Reconstruction, str, float], BayesParameters]


def logit_positions(design: Design, target: str) -> dict[str, Index]:
    """Positions of the logits of the prior (under the target's name) and of each table."""
    others, n = design.schema.without(target), design.schema[target].size
    ends = np.cumsum([n, *(n * size for size in others.sizes)])
    positions = np.split(np.arange(ends[-1]), ends[:-1])
    return dict(zip((target, *others.names), positions, strict=True))


def literal(reconstruction: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """P(c) and P(a, c) as reconstructed, negative cells cut at zero, `alpha` records added."""
    alone, unbiased = reconstruction.table([target]), pair_tables(reconstruction, target)
    share = alpha / reconstruction.n_records
    prior = np.maximum(alone.value, share)
    tables = [row_shares(np.maximum(p.value, 0) + share) for p in unbiased.values()]
    n = reconstruction.n_records
    return BayesParameters(prior / prior.sum(), tables, n, "literal", unbiased, alone)


def pairs(reconstruction: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """P(c) and P(a | c) from pair tables, shrunk towards independence by their noise."""
    alone, unbiased = reconstruction.table([target]), pair_tables(reconstruction, target)
    prior = projected_prior(reconstruction, target, alpha)
    tables = [shrunk_table(pair, prior, alpha) for pair in unbiased.values()]
    return BayesParameters(prior, tables, reconstruction.n_records, "pairs", unbiased, alone)


def projected_prior(reconstruction: Reconstruction, target: str, alpha: float) -> Array:
    """P(c), projected onto the simplex, `alpha` records added."""
    unbiased = reconstruction.table([target]).value
    return _smoothed(project(unbiased), alpha, reconstruction.n_records)


def shrunk_table(pair: Estimate, prior: Array, alpha: float) -> Array:
    """P(a | c) of a pair table, shrunk towards independence by its noise."""
    dependence, statistic, freedom = class_dependence(pair)
    shrinkage = max(0.0, 1 - freedom / max(statistic, TINY))
    joint = np.outer(prior, _margin(pair, alpha)) + shrinkage * dependence
    return row_shares(np.maximum(joint, 0.5 / pair.n_records))


def likelihood(reconstruction: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """Parameters of largest likelihood, `alpha` records added; `pairs` if the tables contradict."""
    design, unbiased = reconstruction.design, pair_tables(reconstruction, target)
    used = _used_groups(design, target, unbiased)
    patterns, names = reconstruction.patterns, used.reported.names
    if names != patterns.schema.names:
        patterns = patterns.subset(names)
    model = ConditionalModel(patterns, used, target)
    alone = reconstruction.table([target])
    start = _start(model, unbiased, alone)
    best, rival = _maxima(model, used, target, start, alpha)
    prior, tables = model.split(best[0])
    fitted = dict(zip(model.names, tables, strict=True))
    if _contradicted(unbiased, prior, fitted, alpha):
        note = "the reports contradict a naive Bayes model, so it was learnt from pairs"
        return replace(pairs(reconstruction, target, alpha), note=note)
    unused = tuple(name for name in design.schema.names if name not in fitted)
    fitted |= {name: np.tile(_margin(unbiased[name], alpha), (len(prior), 1)) for name in unused}
    return BayesParameters(
        prior,
        [fitted[name] for name in unbiased],
        reconstruction.n_records,
        "likelihood",
        unbiased,
        alone,
        convergence=best[1],
        covariance_of=OnDemand(partial(_likelihood_covariance, design, target, model, best, rival)),
        note=f"within noise and not used for prediction: {', '.join(unused)}" if unused else "",
        unused=unused,
    )


def pair_tables(reconstruction: Reconstruction, target: str) -> dict[str, Estimate]:
    """Reconstructed P(c, a) of every other attribute."""
    others = reconstruction.design.schema.without(target)
    tables = {name: reconstruction.table([target, name]) for name in others.names}
    return {name: replace(table, fit_of=None) for name, table in tables.items()}


def class_dependence(table: Estimate) -> tuple[Array, float, int]:
    """d = P(c, a) - P(c) P(a), its chi-square d^T Cov(d)^-1 d and the degrees of freedom."""
    rows, columns = table.value.sum(axis=1), table.value.sum(axis=0)
    dependence = table.value - np.outer(rows, columns)
    by_row = np.kron(np.eye(len(rows)), np.outer(columns, np.ones(len(columns))))
    by_column = np.kron(np.outer(rows, np.ones(len(rows))), np.eye(len(columns)))
    slope = np.eye(dependence.size) - (by_row + by_column)
    precision = np.linalg.pinv(slope @ table.covariance @ slope.T, rcond=1e-8, hermitian=True)
    statistic = float(dependence.ravel() @ precision @ dependence.ravel())
    return dependence, statistic, (len(rows) - 1) * (len(columns) - 1)


def _margin(table: Estimate, alpha: float) -> Array:
    """P(a) of a pair table, `alpha` records added."""
    return _smoothed(project(table.value.sum(axis=0)), alpha, table.n_records)


def _smoothed(distribution: Array, alpha: float, n_records: int) -> Array:
    """A distribution with `alpha` records added to every category."""
    raised = distribution + alpha / n_records
    return np.asarray(raised / raised.sum())


def _used_groups(design: Design, target: str, unbiased: Mapping[str, Estimate]) -> Design:
    """The target's group and those whose link with the target is beyond noise.

    All groups if the class is reported without disguise: no other clustering can replace it then.
    """
    if design.channel(design.jointly_reported([target])).magnification == 1:
        return design
    groups = []
    for group in design.groups:
        if target not in group.attributes:
            tests = [class_dependence(unbiased[name]) for name in group.attributes]
            statistic, freedom = sum(d[1] for d in tests), sum(d[2] for d in tests)
            if statistic <= chdtri(freedom, _FALSE_ALARM):
                continue
        groups.append(group)
    names = {name for group in groups for name in group.attributes}
    return Design(design.schema.subset([n for n in design.schema.names if n in names]), groups)


def _start(model: ConditionalModel, unbiased: Mapping[str, Estimate], classes: Estimate) -> Array:
    """Reconstructed tables, projected onto the simplex and mixed with the uniform distribution."""
    prior, tables = project(classes.value), []
    for name in model.names:
        table = np.eye(model.n_classes)
        if name in unbiased:
            table = row_shares(project(unbiased[name].value) + 1 / model.n_records)
        tables.append(_START / table.shape[1] + (1 - _START) * table)
    return model.join(_START / prior.size + (1 - _START) * prior, tables)


#: A maximum of the likelihood and how it was reached.
Maximum = tuple[Array, Convergence]


def _maxima(
    model: ConditionalModel, design: Design, target: str, start: Array, alpha: float
) -> tuple[Maximum, Maximum | None]:
    """The maximum reached from the start and its rival, the likelier first.

    If the target's group is kept or turned as a whole, the mirrored model, with every answer of
    the group turned, gives nearly the same reports: only theta and 1 - theta change places.
    """
    step = partial(model.step, alpha=alpha)
    first = squarem(step, start, model.repair, TOLERANCE, MAX_ITERATIONS)
    group = design.group_of(target)
    if group.coin.flip_odds(design.attributes_of(group)) is None:
        return first, None
    prior, tables = model.split(first[0])
    for name in group.attributes:
        column = design.schema.index(name)
        tables[column] = tables[column][:, ::-1]
    mirrored = model.join(prior[::-1], [table[::-1] for table in tables])
    behind = first[1].log_likelihood - step(mirrored).log_likelihood
    if behind * model.n_records > _HOPELESS:
        return first, None
    second = squarem(step, mirrored, model.repair, TOLERANCE, MAX_ITERATIONS)
    if second[1].log_likelihood > first[1].log_likelihood:
        return second, first
    return first, second


def _contradicted(
    unbiased: Mapping[str, Estimate], prior: Array, fitted: Mapping[str, Array], alpha: float
) -> bool:
    """Whether any cell of an unbiased table is further from the fit than noise explains.

    Adding alpha records to each of k categories moves a cell by up to alpha * k / n.
    """
    gaps = []
    for name, table in unbiased.items():
        if name in fitted:
            gap = np.abs(table.value - prior[:, None] * fitted[name])
            added = alpha * fitted[name].shape[1] / table.n_records
            stderr = np.maximum(table.stderr, 1 / table.n_records)
            gaps.append(np.maximum(gap - added, 0) / stderr)
    cells = sum(gap.size for gap in gaps)
    return bool(gaps) and max(gap.max() for gap in gaps) > -float(ndtri(_FALSE_ALARM / 2 / cells))


def _likelihood_covariance(
    design: Design, target: str, model: ConditionalModel, best: Maximum, rival: Maximum | None
) -> Array:
    """Covariance of the logits of prior and all tables; NaN where it is not known.

    The covariance at the best maximum, plus the spread between it and its rival, weighted by their
    likelihoods: the information at one maximum does not include the other. It is rough below
    a few hundred records.
    """
    information = model.information(*model.split(best[0]))
    fitted = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    if rival is not None:
        lead = best[1].log_likelihood - rival[1].log_likelihood
        weight = 1 / (1 + np.exp(min(model.n_records * lead, 700.0)))
        apart = np.log(np.maximum(best[0], 1e-12) / np.maximum(rival[0], 1e-12))
        fitted = fitted + weight * (1 - weight) * np.outer(apart, apart)
    positions = logit_positions(design, target)
    used = np.concatenate([positions[name] for name in positions if name in model.names])
    full = np.full((1 + max(map(max, positions.values())),) * 2, np.nan)
    full[np.ix_(used, used)] = fitted
    return full
