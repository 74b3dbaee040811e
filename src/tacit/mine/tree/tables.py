"""Reports prepared for a tree, and tables of its nodes.

The tables are P(E, c) and P(E, v, c) of nodes E, attributes v and the class c.
`RecordTables` sums weighted true records. The others reconstruct the tables from reports, with
their noise: a report's weight for a conjunction is the product of its groups' weights g. So the
reports at a node are summed by the state s of the split attribute's group and by the reported
answers v' and c', each with the weight of its other groups. The weight g of a report for (v, c)
depends on its state and on whether v' = v and c' = c (a hit or a miss), so a table is a sum of at
most four terms per state:

    T(v, c) = sum over s, hv, hc of  S[s, hv, hc] g[v, c, s, hv, hc]

with S[hit, hit] = N[v, c], S[hit, miss] = N[v, .] - N[v, c], and so on. The same sums of squared
weights give second moments. If the class is in another group, its weights are already in the sums.
`RowTables` sums rows and serves any design; `CellTables` counts cells and is faster.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.weights import Events, GroupWeights, States
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.errors import DataError
from tacit.mine.tree import cells
from tacit.mine.tree.cells import NONE, CellCounts
from tacit.reconstruction.events import ReportWeights
from tacit.records import PatternTable
from tacit.records.keys import smallest

#: Numbers that are processed at once.
_AT_ONCE = 1 << 21
#: States that are summed one by one.
_FEW_STATES = 4
#: Variances below this share of the second moment are rounding.
_ROUNDING = 1e-9
#: Yes/no records are packed if the records are at most this many times the patterns.
_MOST_REPEATED = 4


@dataclass(frozen=True, eq=False)
class TreeReports:
    """Reported patterns, their shares of the records, and the weights of each group.

    `answers` has the reported codes of each true attribute, attributes x patterns; or yes/no
    answers as words (see `cells.packed`); or the counts of records that do not fit in memory. If a
    group has a joint report, its answers are 0 and the joint report is in `joint`. True records,
    with any weights, have no groups.
    """

    sizes: tuple[int, ...]
    target: int
    shares: Array
    n_records: int
    answers: npt.NDArray[Any] | CellCounts
    group_weights: tuple[GroupWeights, ...] = ()
    joint: tuple[Index, ...] = ()

    @classmethod
    def of(cls, patterns: PatternTable, design: Design, target: str) -> TreeReports:
        """The reports in a pattern table of a design."""
        reports = ReportWeights(patterns, design)
        for factor in reports.factors:
            factor.require_reconstructable()
        schema, n_records = design.schema, patterns.n_records
        sizes, index = schema.sizes, schema.index(target)
        weights = tuple(reports.weights(g) for g in range(len(design.groups)))
        few_states = all(group.n_states is not None for group in weights)
        if few_states:
            columns = tuple(patterns.schema.index(name) for name in schema.names)
        if patterns.engine is not None:  # cells are counted in one pass per level
            if not few_states:
                raise DataError(
                    "the records do not fit in memory, which a tree needs unless all groups are "
                    "related, unrelated or truthful"
                )
            block = cells.CellsOfBlock(sizes, columns, index)
            streamed = cells.StreamedCells(patterns.engine, block, 1 / n_records)
            return cls(sizes, index, np.zeros(0), n_records, streamed, weights)
        groups = [reports.group(g) for g in range(len(design.groups))]
        shares, joint = patterns.counts / n_records, tuple(group.cells for group in groups)
        if few_states and set(sizes) == {2} and n_records <= _MOST_REPEATED * len(patterns):
            answers: npt.NDArray[Any] = cells.packed(patterns.patterns, columns)
        else:
            answers = np.zeros((len(sizes), len(patterns)), code_type(schema))
            for group in groups:
                for a, column in group.answers.items():
                    answers[a] = column
        return cls(sizes, index, shares, n_records, answers, weights, joint)

    @classmethod
    def of_cells(
        cls, weights: Array, sizes: tuple[int, ...], n_records: int, target: int | None = None
    ) -> TreeReports:
        """All cells of a joint table with their weights; the target is the last unless given."""
        records = np.indices(sizes, smallest(max(sizes))).reshape(len(sizes), -1)
        target = len(sizes) - 1 if target is None else target
        return cls(sizes, target, weights.ravel(), n_records, records)

    @classmethod
    def true(
        cls, records: Codes, shares: Array, sizes: tuple[int, ...], target: int, n_records: int
    ) -> TreeReports:
        """True records with their weights."""
        return cls(sizes, target, shares, n_records, np.ascontiguousarray(records.T))

    @property
    def features(self) -> list[int]:
        """The attributes to split by."""
        return [a for a in range(len(self.sizes)) if a != self.target]

    @cached_property
    def exact(self) -> bool:
        """Whether reports are the truth."""
        return all(group.exact for group in self.group_weights)

    @cached_property
    def groups(self) -> Index:
        """The group of each attribute."""
        groups = np.zeros(len(self.sizes), np.intp)
        for g, group in enumerate(self.group_weights):
            groups[list(group.attributes)] = g
        return groups

    @cached_property
    def starts(self) -> Index:
        """The column of the first category of each attribute, all of them side by side."""
        return np.cumsum([0, *self.sizes])

    @property
    def has_cells(self) -> bool:
        """Whether reports can be counted in cells, because all groups have few states."""
        return all(group.n_states is not None for group in self.group_weights)

    @property
    def packed(self) -> bool:
        """Whether the answers are words."""
        return isinstance(self.answers, np.ndarray) and self.answers.dtype == np.uint64

    @cached_property
    def codes(self) -> Codes:
        """The reported codes, attributes x patterns."""
        if isinstance(self.answers, CellCounts):
            raise DataError("the records do not fit in memory, which this needs")
        if self.packed:
            return np.ascontiguousarray(cells.unpacked(self.answers, len(self.sizes)).T)
        return self.answers

    def cells(self) -> CellCounts:
        """The counts of one cell that has all reports."""
        if isinstance(self.answers, CellCounts):
            return self.answers
        n, distinct = self.n_records, len(self.shares) == self.n_records
        if self.packed:
            words = self.answers
            if not distinct:
                words = np.repeat(words, np.rint(self.shares * n).astype(np.intp), axis=0)
            return cells.BitCells(words, len(self.sizes), self.target, 1 / n)
        rows = cells.CodeRows(self.answers, None if distinct else self.shares)
        return cells.CodeCells(rows, self.sizes, self.target, 1 / n if distinct else 1.0)


class NodeTables(ABC):
    """The tables of some nodes.

    `allowed` says which categories the conditions of each node allow, nodes x categories; the
    categories of all attributes are side by side.
    """

    def __init__(self, reports: TreeReports, allowed: Mask) -> None:
        self.reports, self.allowed = reports, allowed
        self.n = len(allowed)

    @classmethod
    @abstractmethod
    def root(cls, reports: TreeReports) -> Self:
        """The node without conditions."""

    def children(self, attribute: Index, branches: Index, wanted: Mask) -> Self:
        """The wanted children of nodes split by an attribute each, in the order of `wanted`.

        `branches` says to which branch each category belongs, nodes x categories; `wanted` is nodes
        x branches.
        """
        sizes, starts = self.reports.sizes, self.reports.starts
        columns = (starts[attribute][:, None] + np.arange(max(sizes))) % starts[-1]
        branches = np.where(np.take_along_axis(self.allowed, columns, axis=1), branches, NONE)
        parents, which = np.nonzero(wanted)
        allowed, inside = self.allowed[parents], branches[parents] == which[:, None]
        for a in np.unique(attribute[parents]):
            rows = np.flatnonzero(attribute[parents] == a)
            allowed[rows, starts[a] : starts[a + 1]] &= inside[rows, : sizes[a]]
        return self._below(allowed, attribute, branches, wanted)

    @abstractmethod
    def _below(self, allowed: Mask, attribute: Index, branches: Index, wanted: Mask) -> Self:
        """The children, with their allowed categories; branches of others are NONE."""

    @abstractmethod
    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        """Wanted children of nodes split by an attribute each, in parts that fit in memory."""

    @abstractmethod
    def by_class(self) -> tuple[Array, Array]:
        """P(E, c), nodes x classes, and the second moments of its weights for each two classes."""

    @abstractmethod
    def splits(self, wanted: Mask) -> Iterator[ClassTables | RecordSums]:
        """The tables of attributes that some node wants, nodes x attributes."""

    def variance_floor(self, attribute: Index) -> Array:
        """Variance floor from one unseen report, after a split by an attribute per node."""
        return np.zeros(self.n)

    @cached_property
    def choices(self) -> Index:
        """How many categories of each attribute are allowed, nodes x attributes."""
        starts = self.reports.starts[:-1]
        return np.asarray(np.add.reduceat(self.allowed.astype(np.uint16), starts, axis=1))


def _numbered(wanted: Mask) -> Index:
    """The number of each wanted child, nodes x branches; NONE for others and at the end."""
    numbers = np.full((len(wanted), wanted.shape[1] + 1), NONE)
    numbers[:, :-1][wanted] = np.arange(np.count_nonzero(wanted))
    return numbers


def _everything(reports: TreeReports) -> Mask:
    """What the root allows."""
    return np.ones((1, sum(reports.sizes)), bool)


class RecordSums(NamedTuple):
    """P(E, v, c) of attributes with as many categories, nodes x attributes x categories x classes.

    0 where a node does not want the attribute.
    """

    attributes: tuple[int, ...]
    value: Array


class RecordTables(NodeTables):
    """Tables of true records, which count by their weight at one node of a level.

    `keys` has code * classes + class of each attribute, attributes x records; `node` is the node of
    each record.
    """

    def __init__(
        self, reports: TreeReports, allowed: Mask, keys: Codes, weights: Array, node: Index
    ) -> None:
        super().__init__(reports, allowed)
        self.keys, self.weights, self.node = keys, weights, node
        self.n_classes = reports.sizes[reports.target]

    @classmethod
    def root(cls, reports: TreeReports) -> RecordTables:
        used = np.flatnonzero(reports.shares)
        codes, n_classes = reports.codes, reports.sizes[reports.target]
        kind = smallest(max(reports.sizes) * n_classes)
        keys = codes[:, used].astype(kind, copy=False) * kind.type(n_classes)
        keys += codes[reports.target, used].astype(kind)
        node = np.zeros(len(used), np.intp)
        return cls(reports, _everything(reports), keys, reports.shares[used], node)

    def _below(
        self, allowed: Mask, attribute: Index, branches: Index, wanted: Mask
    ) -> RecordTables:
        rows = np.flatnonzero(np.asarray(wanted.any(axis=1))[self.node])
        at = self.node[rows]
        branch = branches[at, self.keys[attribute[at], rows] // self.n_classes]
        child = _numbered(wanted)[at, branch]
        moved = np.flatnonzero(child != NONE)
        keys, weights = self.keys[:, rows[moved]], self.weights[rows[moved]]
        return RecordTables(self.reports, allowed, keys, weights, child[moved])

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        if wanted.any():
            yield wanted

    def by_class(self) -> tuple[Array, Array]:
        key = self.node * self.n_classes + self.keys[0] % self.n_classes
        sums = np.bincount(key, self.weights, self.n * self.n_classes)
        value = np.asarray(sums, np.float64).reshape(self.n, -1)
        return value, value[:, :, None] * np.eye(self.n_classes)

    def splits(self, wanted: Mask) -> Iterator[RecordSums]:
        some = np.flatnonzero(wanted.any(axis=0)).tolist()
        for k, run in groupby(some, self.reports.sizes.__getitem__):
            attributes, width = tuple(run), k * self.n_classes
            step = max(1, _AT_ONCE // (self.n * width))
            for together in (attributes[i : i + step] for i in range(0, len(attributes), step)):
                sums = [self._sums(a, width, wanted[:, a]) for a in together]
                value = np.stack(sums, axis=1).reshape(self.n, -1, k, self.n_classes)
                yield RecordSums(together, value)

    def _sums(self, a: int, width: int, wanted: Mask) -> Array:
        """The weights of the nodes that want an attribute, by category and class."""
        rows: slice | Index = slice(None)
        if not wanted.all():
            rows = np.flatnonzero(wanted[self.node])
        key = self.node[rows] * width + self.keys[a, rows]
        sums = np.bincount(key, self.weights[rows], self.n * width)
        return np.asarray(sums, np.float64).reshape(self.n, width)


class ClassTables:
    """Tables of attributes that have as many categories and are in one group, g.

    A pair is a node and the position of an attribute. If weights differ between events, there is
    one attribute, and pairs are nodes.
    """

    def __init__(self, tables: ReportTables, g: int, attributes: tuple[int, ...]) -> None:
        self.tables, self.g, self.attributes = tables, g, attributes
        self.with_class = g == tables.class_group

    @cached_property
    def value(self) -> Array:
        """P(E, v, c), nodes x attributes x categories x classes; 0 if E does not allow v."""
        sums, free = self.tables.sums(self.g, self.attributes, False), self._free
        n, many = free.shape[:2]
        flat = sums.reshape(n * many, *sums.shape[2:])
        nodes = np.repeat(np.arange(n), many)
        value = weighted(flat, self._weights(nodes, with_class=self.with_class))
        value = value.reshape(*free.shape, -1)
        return value if free.all() else np.where(free[..., None], value, 0.0)

    def noise(self, nodes: Index, which: Index) -> tuple[Array, Array]:
        """P(E,v,c) - P(E,v) P(E,c) / P(E) of pairs, and its standard error by the disguise alone.

        Pairs x categories x classes. With r = P(v | E) and q = P(c | E), its weight is

            phi(v, c) = g(v, c) - r g(c) - q g(v) + r q g.

        The second moment of true records, which is not noise, follows from the table.
        """
        value = self.value[nodes, which]
        total = value.sum(axis=(1, 2), keepdims=True)
        by_v, by_c = value.sum(axis=2, keepdims=True), value.sum(axis=1, keepdims=True)
        usable = np.where(total > 0, total, 1.0)  # other nodes are not used
        r, q = by_v / usable, by_c / usable
        second = self._second(nodes, which, r, q)
        true = (
            value * ((1 - r) * (1 - q)) ** 2
            + (by_v - value) * ((1 - r) * q) ** 2
            + (by_c - value) * (r * (1 - q)) ** 2
            + (total - by_v - by_c + value) * (r * q) ** 2
        )
        added = np.where(second - true < _ROUNDING * second, 0.0, second - true)
        return value - by_v * by_c / usable, np.sqrt(added / self.tables.reports.n_records)

    def _second(self, nodes: Index, which: Index, r: Array, q: Array) -> Array:
        """The second moment of phi."""
        squares = self._squares[nodes, which]
        if not self.with_class:
            # phi = (g(v) - r g) (g'(c) - q g'), where g' is of the class's group.
            by_class = np.eye(q.shape[2]) - q.swapaxes(1, 2)
            spread = np.einsum("pce,pcf,psvef->psvc", by_class, by_class, squares, optimize=True)
            by_category, whole = self._weights(nodes, which), self._weights(nodes, category=False)
            return weighted(spread, (by_category - r[..., None, None, None] * whole) ** 2)
        weights = [
            self._weights(nodes, which, category, with_class)
            for category, with_class in ((True, True), (True, False), (False, True), (False, False))
        ]
        # States and hits as one axis: arithmetic on short axes is slow.
        hits = weights[0].shape[3:]
        both, by_category, by_class, whole = (
            np.broadcast_to(g, (*g.shape[:3], *hits)).reshape(*g.shape[:3], -1) for g in weights
        )
        r, q = r[..., None], q[..., None]
        phi = both - r * by_class - q * (by_category - r * whole)
        return weighted(squares, (phi * phi).reshape(*phi.shape[:3], *hits))

    def moments(self, nodes: Index, which: Index) -> tuple[Array, Array]:
        """Second moments of the weights of pairs, pairs x categories x classes x classes.

        First those of (v, c) and (v, c'), then those of (v, c) and c' whatever the category.
        """
        squares = self._squares[nodes, which]
        g = self._weights(nodes, which, with_class=self.with_class)
        whole = self._weights(nodes, category=False, with_class=self.with_class)
        if self.with_class:
            return moments_by_class(squares, g, whole)
        flat = squares.reshape(*squares.shape[:3], -1)
        moments, cross = weighted(flat, g**2), weighted(flat, g * whole)
        shape = (*moments.shape[:2], *squares.shape[3:])
        return moments.reshape(shape), cross.reshape(shape)

    @cached_property
    def _squares(self) -> Array:
        return self.tables.sums(self.g, self.attributes, True)

    @cached_property
    def _free(self) -> Mask:
        """Whether E allows v, nodes x attributes x categories."""
        starts, allowed = self.tables.reports.starts, self.tables.allowed
        return np.stack([allowed[:, starts[a] : starts[a + 1]] for a in self.attributes], axis=1)

    def _weights(
        self,
        nodes: Index,
        which: Index | None = None,
        category: bool = True,
        with_class: bool = False,
    ) -> Array:
        """g at nodes, or of pairs with 0 for categories that are not allowed.

        After conditions on the category, the class, both or none: see `ReportTables.hit_weights`.
        """
        attribute = self.attributes[0] if category else None
        g = self.tables.hit_weights(self.g, nodes, attribute, with_class)
        if which is None or attribute is None or (free := self._free[nodes, which]).all():
            return g
        return np.where(free[:, :, None, None, None, None], g, 0.0)


def weighted(sums: Array, g: Array) -> Array:
    """Sums of pairs x s x v' x c' times weights of pairs x v x c x s x hv x hc, summed over s."""
    total = np.zeros((len(sums), *map(max, g.shape[1:3], sums.shape[2:4])))
    for hv in range(g.shape[4]):
        if not g[..., hv, :].any():
            continue
        by_category = _part(sums, 2, hv, g.shape[4])
        for hc in range(g.shape[5]):
            if (weights := g[..., hv, hc]).any():
                total += _summed(_part(by_category, 3, hc, g.shape[5]), weights)
    return total


def _summed(sums: Array, g: Array) -> Array:
    """Pairs x s x v x c times pairs x v x c x s, summed over s."""
    if sums.shape[1] > _FEW_STATES:
        return np.asarray((sums * np.moveaxis(g, 3, 1)).sum(axis=1))
    return sum((sums[:, s] * g[..., s] for s in range(sums.shape[1])), np.zeros(()))


def moments_by_class(squares: Array, weights_1: Array, weights_2: Array) -> tuple[Array, Array]:
    """Means of products of weights for each two classes, pairs x v x c x c'.

    First those of `weights_1` with itself, then those of `weights_1` and `weights_2`.
    """
    answers = squares.shape[3]
    first, second = by_answer(weights_1, answers), by_answer(weights_2, answers)
    parts = [_part(squares, 2, hv, weights_1.shape[4]) for hv in range(weights_1.shape[4])]
    sums = np.stack(parts, axis=3)[:, :, :, None].transpose(0, 2, 3, 1, 4, 5)
    weights = sums * first
    shape = (*weights.shape[:3], -1)
    second = np.broadcast_to(second, weights.shape).reshape(shape).swapaxes(2, 3)
    first = np.broadcast_to(first, weights.shape).reshape(shape).swapaxes(2, 3)
    return weights.reshape(shape) @ first, weights.reshape(shape) @ second


def batches(wanted: Mask, cost: Array | Index, limit: int) -> Iterator[Mask]:
    """The wanted children, nodes x branches, in parts of about this total cost.

    `cost` is that of each child of a node; one child may cost more.
    """
    children = np.flatnonzero(wanted)
    total = np.cumsum(np.repeat(cost.astype(np.float64), wanted.shape[1])[children])
    for part in np.split(children, np.flatnonzero(np.diff(total // limit)) + 1):
        if len(part):
            batch = np.zeros(wanted.size, bool)
            batch[part] = True
            yield batch.reshape(wanted.shape)


def _part(sums: Array, axis: int, which: int, of: int) -> Array:
    """The sums of misses (0 of 2) or of hits along an axis of answers."""
    if which == of - 1:
        return sums
    total = np.einsum("psvc->psc" if axis == 2 else "psvc->psv", sums)  # faster than a sum
    return np.asarray(np.expand_dims(total, axis) - sums)


def by_answer(g: Array, answers: int) -> Array:
    """Weights by the reported class instead of hit or miss, in the last axis."""
    if g.shape[5] == 1:
        return g
    same = np.eye(answers, dtype=bool)[:, None, None]
    return np.where(same, g[..., 1:], g[..., :1])


class ReportTables(NodeTables):
    """Tables reconstructed from reports."""

    def __init__(self, reports: TreeReports, allowed: Mask) -> None:
        super().__init__(reports, allowed)
        self.class_group = int(reports.groups[reports.target])
        self.events = Events(reports.sizes, allowed)

    @abstractmethod
    def states(self, g: int) -> States:
        """The states of a group that occur."""

    @abstractmethod
    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        """The reports at nodes, summed for the tables of attributes of a group of the same size.

        Shares of reports, nodes x attributes x states x answers x classes: each report times its
        weight in the groups that are neither this one nor that of the class, or times its square.
        If the class is in this group, the last axis has reported classes; otherwise true ones, each
        report times its weight for the class, and the squares have one more axis, for the products
        of the weights of two classes. A group with a joint report has no answers: those axes have
        length 1.
        """

    @abstractmethod
    def class_sums(self, squared: bool) -> Array:
        """Reports by the state of the class's group and the reported class, nodes x s x c'.

        Each report counts times its weight in the other groups, or times its square.
        """

    def hit_weights(
        self, g: int, nodes: Index | slice, attribute: int | None, with_class: bool
    ) -> Array:
        """g of a group at nodes after a condition on an attribute, the class, both or none.

        Nodes x v x c x states x hit v x hit c; there is one node if all have the same weights, and
        an axis without a condition has length 1.
        """
        group, states = self.reports.group_weights[g], self.states(g)
        events = self.events.take(slice(1) if group.same_for_all_events else nodes)
        both = attribute, self.reports.target if with_class else None
        conditions = [a for a in both if a is not None]
        if not conditions:
            return group.weights(events, states)[:, None, None, :, None, None]
        without = (() if attribute is not None else (1, 4)) + (() if with_class else (2, 5))
        weights = np.expand_dims(group.parted(events, conditions, states), without)
        return weights if group.by_attribute else weights[..., -1:, -1:]  # no misses

    def by_class(self) -> tuple[Array, Array]:
        """P(E, c), nodes x classes, and the second moments of its weights for each two classes."""
        sums, squares = (self.class_sums(squared)[:, :, None] for squared in (False, True))
        g = self.hit_weights(self.class_group, slice(None), None, True)
        return weighted(sums, g)[:, 0], moments_by_class(squares, g, g)[0][:, 0]

    def splits(self, wanted: Mask) -> Iterator[ClassTables | RecordSums]:
        """The tables of attributes that some node wants, nodes x attributes.

        Attributes with the same weights are together.
        """
        some = np.flatnonzero(wanted.any(axis=0)).tolist()
        for g, group in enumerate(self.reports.group_weights):
            members = [a for a in group.attributes if a in some]
            size = self.reports.sizes.__getitem__ if group.same_for_all_events else None
            for _, run in groupby(members, size):
                yield ClassTables(self, g, tuple(run))

    @cached_property
    def conditioned(self) -> Mask:
        """Whether a node has a condition on a group, groups x nodes."""
        fewer = self.choices < self.reports.sizes
        return np.stack([fewer[:, group.attributes].any(1) for group in self.reports.group_weights])

    def variance_floor(self, attribute: Index) -> Array:
        """Variance floor from one unseen report, after a split by an attribute per node.

        Variances are estimated from the reports themselves, and would be close to 0 if hardly any
        report fits an event. 0 if answers are reported as they are.
        """
        reports = self.reports
        if reports.exact:
            return np.zeros(self.n)
        touched = self.conditioned.copy()
        touched[self.class_group] = True
        touched[reports.groups[attribute], np.arange(self.n)] = True
        heaviest = np.array([group.heaviest for group in reports.group_weights])
        weight = np.where(touched, heaviest[:, None], 1.0).prod(axis=0)
        return np.asarray(np.maximum(weight**2 - weight, 0) / reports.n_records)


#: Rows that are processed together, unless one node has more.
ROWS = 1 << 19


class RowTables(ReportTables):
    """The tables of some nodes: their rows, and intermediate results that the tables share.

    A row is a pattern at a node, with the state of each group. Rows are summed by node, state and
    reported answers, each with the weight of its other groups.
    """

    def __init__(
        self,
        reports: TreeReports,
        allowed: Mask,
        pattern: Index,
        node: Index,
        row_states: Sequence[States],
    ) -> None:
        super().__init__(reports, allowed)
        self.pattern, self.node, self.row_states = pattern, node, row_states

    @classmethod
    def root(cls, reports: TreeReports) -> RowTables:
        n = reports.codes.shape[1]
        groups = zip(reports.group_weights, reports.joint, strict=True)
        states = [group.start(joint) for group, joint in groups]
        return cls(reports, _everything(reports), np.arange(n), np.zeros(n, np.intp), states)

    def _below(self, allowed: Mask, attribute: Index, branches: Index, wanted: Mask) -> RowTables:
        split_by, numbers = attribute[self.node], _numbered(wanted)
        taken = branches[self.node, self.reports.codes[split_by, self.pattern]]
        split_group = self.reports.groups[split_by]
        parts = [[column[:0] for column in (self.pattern, self.node, *self.row_states)]]
        for g, group in enumerate(self.reports.group_weights):
            rows = np.flatnonzero(split_group == g)
            before = self.row_states[g][rows]
            for branch in np.flatnonzero(wanted.any(axis=0)) if len(rows) else ():
                child = numbers[self.node[rows], branch]
                after = group.step(before, split_by[rows], taken[rows] == branch)
                inside = np.flatnonzero((child != NONE) & ~group.dropped(after))
                states = [states[rows[inside]] for states in self.row_states]
                states[g] = after[inside]
                parts.append([self.pattern[rows[inside]], child[inside], *states])
        pattern, node, *row_states = (np.concatenate(same) for same in zip(*parts, strict=True))
        return RowTables(self.reports, allowed, pattern, node, row_states)

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        return batches(wanted, np.bincount(self.node, minlength=self.n), ROWS)

    def states(self, g: int) -> States:
        return self._states[g][0]

    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        rest = self._rest({g, self.class_group})[squared]
        if g == self.class_group:
            return self._by_answers(g, attributes, [rest])[..., 0]
        classes = self._classes.T
        if not squared:
            return self._by_answers(g, attributes, [rest * c for c in classes])[..., 0, :]
        first, second = np.triu_indices(len(classes))
        weights = [rest * classes[c] * classes[d] for c, d in zip(first, second, strict=True)]
        pair = np.zeros((len(classes), len(classes)), np.intp)
        pair[first, second] = pair[second, first] = np.arange(len(first))
        return np.asarray(self._by_answers(g, attributes, weights)[..., 0, :][..., pair])

    def class_sums(self, squared: bool) -> Array:
        rest = self._rest({self.class_group})[squared]
        return self._by_answers(self.class_group, (None,), [rest])[:, 0, :, 0, :, 0]

    def by_row(self) -> Array:
        """g(E, c) of every row, rows x classes."""
        rest, _ = self._rest({self.class_group})
        return np.asarray(self._classes * (rest / self.share)[:, None])

    @cached_property
    def share(self) -> Array:
        """The share of each row's pattern."""
        return self.reports.shares[self.pattern]

    @cached_property
    def _states(self) -> list[tuple[States, Index]]:
        """The states of each group that occur, and which of them each row has."""
        if not len(self.node):
            return [(np.zeros(1, states.dtype), self.node) for states in self.row_states]
        return [np.unique(states, return_inverse=True) for states in self.row_states]

    @cached_property
    def _weights(self) -> dict[int, Array]:
        """The weight of each group in each row, unless it is 1 in all."""
        by_group = {}
        for g, group in enumerate(self.reports.group_weights):
            if not group.exact and self.conditioned[g].any():
                kinds, index = self._states[g]
                weights = group.weights(self.events, kinds)
                by_group[g] = weights[self.node if len(weights) > 1 else 0, index]
        return by_group

    def _rest(self, without: set[int]) -> tuple[Array, Array]:
        """Shares times the other groups' weights, and times their squares."""
        value = square = self.share
        for g, weight in self._weights.items():
            if g not in without:
                value, square = value * weight, square * weight**2
        return value, square

    @cached_property
    def _classes(self) -> Array:
        """The weight of the class's own group in each row for each class, rows x classes."""
        target, group = self.reports.target, self.reports.group_weights[self.class_group]
        index = self._states[self.class_group][1]
        g = self.hit_weights(self.class_group, slice(None), None, True)[:, 0, :, :, 0]
        node = self.node if len(g) > 1 else 0
        hit = g[node, :, index, -1]
        if not group.by_attribute:
            return np.asarray(hit)
        hits = self.answers[target][:, None] == np.arange(self.reports.sizes[target])
        return np.where(hits, hit, g[node, :, index, 0])

    def _by_answers(
        self, g: int, attributes: tuple[int | None, ...], weights: list[Array]
    ) -> Array:
        """Weights of rows summed: nodes x attributes x states x answers x reported classes x
        weights.

        Answers and classes are axes of length 1 if a joint report or another group has them.
        """
        kinds, index = self._states[g]
        n_classes, by_attribute = 1, self.reports.group_weights[g].by_attribute
        base = self.node * len(kinds) + index
        if g == self.class_group and by_attribute:
            n_classes = self.reports.sizes[self.reports.target]
            base = base * n_classes + self.answers[self.reports.target]
        sums = []
        for a in attributes:
            k, key = 1, base
            if a is not None and by_attribute:
                k = self.reports.sizes[a]
                key = base * k + self.answers[a]
            shape = (self.n, len(kinds), n_classes, k)
            sums += [np.bincount(key, w, math.prod(shape)).reshape(shape) for w in weights]
        by_weight = np.stack(sums, axis=-1).astype(np.float64, copy=False)
        by_weight = by_weight.reshape(*by_weight.shape[:4], len(attributes), len(weights))
        return np.moveaxis(by_weight, (4, 3), (1, 3))

    @cached_property
    def answers(self) -> Codes:
        """Reported codes, attributes x rows."""
        return self.reports.codes.take(self.pattern, axis=1)


#: Memory for the cells that are made together, unless one node needs more.
MEMORY = 1 << 26
#: Which reports of a cell a state takes over: those that hit, those that miss, or all.
_HIT, _MISS, _ALL = 0, 1, 2


#: Reports of a cell, by hit or miss, that a condition moves from one state to another: the state
#: before, the side, the state after, and whether only the first condition on the group does.
Transition = tuple[int, int, int, bool]


def settled_state(group: GroupWeights) -> int:
    """The state that no later condition can change; NONE if there is none."""
    return int(_states(group)[-1]) if group.settles else NONE


def transitions(group: GroupWeights) -> list[Transition]:
    """What a condition does to the cells of a group."""
    states, settled = _states(group), settled_state(group)
    moves: list[Transition] = []
    for side, hit in ((_HIT, True), (_MISS, False)):
        after = group.step(states, group.attributes[0], np.full(len(states), hit))
        live = np.flatnonzero(~group.dropped(after) & (after != settled))
        moves += [(int(s), side, int(after[s]), False) for s in live]
    if settled != NONE:
        moves += [(0, _ALL, settled, True), (settled, _ALL, settled, False)]
    return moves


def _states(group: GroupWeights) -> States:
    assert group.n_states is not None
    return np.arange(group.n_states, dtype=np.int8)


class CellTables(ReportTables):
    """The tables of some nodes: their cells, and the counts of these.

    The reports that count at a node are cells, one per combination of the states of its groups. A
    condition moves the reports in a state to other states:

        keep or complement   no condition yet: hits have met all, misses have missed all;
                             met all: hits stay, misses weigh nothing; missed all: the reverse
        keep or draw         met all: hits stay, misses have not met all; not met all: all stay

    Reports that have not met all conditions are most of the reports, but none of their answers
    matters any more. So this state has a cell of all reports, whatever they answered to the group,
    from which those that have met all are subtracted. Cells are reported events, so nodes can share
    them: each is counted once. All tables of a level are sparse sums of counts.

    `node` and `cell` are those of each cell of a node, in the order of the nodes; `cell_states` has
    its state in each group.
    """

    def __init__(
        self,
        reports: TreeReports,
        allowed: Mask,
        counts: CellCounts,
        node: Index,
        cell: Index,
        cell_states: States,
    ) -> None:
        super().__init__(reports, allowed)
        self.counts, self.node, self.cell, self.cell_states = counts, node, cell, cell_states
        self._sparse: dict[tuple[int, bool], csr_array] = {}

    @classmethod
    def root(cls, reports: TreeReports) -> CellTables:
        zero = np.zeros(1, np.intp)
        states = np.zeros((1, len(reports.group_weights)), np.int8)
        return cls(reports, _everything(reports), reports.cells(), zero, zero, states)

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        group = self.reports.groups[attribute[self.node]]
        settled = np.array([settled_state(weights) for weights in self.reports.group_weights])
        moves = np.take_along_axis(self.cell_states, group[:, None], 1)[:, 0] != settled[group]
        # Children share the rows of their parent evenly.
        rows = np.bincount(self.node, self.counts.sizes[self.cell] * moves, self.n)
        moved = rows / np.maximum(wanted.sum(axis=1), 1)
        counts = np.bincount(self.node, minlength=self.n) * (2 * self.counts.counts[0].nbytes)
        return batches(wanted, moved * self.counts.row_bytes + counts, MEMORY)

    def _below(self, allowed: Mask, attribute: Index, branches: Index, wanted: Mask) -> CellTables:
        parents, which = np.nonzero(wanted)
        entry, child, side, states = self._moves(parents, attribute[parents])
        stays = side == _ALL
        branch = np.where(side == _MISS, 1 - which[child], which[child])
        node, cell = self.node[entry], self.cell[entry]
        # Nodes that are split alike have the same number: a cell that they share is split once.
        alike = np.unique(np.column_stack([attribute, branches]), axis=0, return_inverse=True)[1]
        key = cell * self.n + alike.ravel()[node]
        _, first, split = np.unique(key[~stays], return_index=True, return_inverse=True)
        n_branches = wanted.shape[1]
        new_cells, number = np.unique(
            split.ravel() * n_branches + branch[~stays], return_inverse=True
        )
        old_cells, carried = np.unique(cell[stays], return_inverse=True)
        new = np.empty(len(cell), np.intp)
        new[~stays], new[stays] = number.ravel(), len(new_cells) + carried.ravel()
        numbers = np.full(len(first) * n_branches, NONE)
        numbers[new_cells] = np.arange(len(new_cells))
        nodes = node[~stays][first]
        splits = cells.CellSplits(
            cell[~stays][first],
            attribute[nodes],
            branches[nodes],
            numbers.reshape(-1, n_branches),
            len(new_cells),
            old_cells,
        )
        counts = self.counts.below(splits)
        return CellTables(self.reports, allowed, counts, child, new, states)

    def _moves(self, parents: Index, by: Index) -> tuple[Index, Index, Index, States]:
        """The cells of children: the parent's entry, the child, the side, and the states after."""
        many = np.bincount(self.node, minlength=self.n)
        entry = cells.ranges((np.cumsum(many) - many)[parents], many[parents])
        child = np.repeat(np.arange(len(parents)), many[parents])
        group, parts = self.reports.groups[by[child]], []
        state = self.cell_states[entry, group]
        for g, weights in enumerate(self.reports.group_weights):
            for before, side, after, first in transitions(weights):
                moved = (group == g) & (state == before)
                if first:
                    moved &= ~self.conditioned[g, self.node[entry]]
                rows = np.flatnonzero(moved)
                parts.append([rows, np.full_like(rows, side), np.full_like(rows, after)])
        entries, sides, states_after = np.concatenate(parts, axis=1)
        order = np.argsort(child[entries], kind="stable")
        entries, sides, states_after = entries[order], sides[order], states_after[order]
        states = self.cell_states[entry[entries]]
        states[np.arange(len(entries)), group[entries]] = states_after
        return entry[entries], child[entries], sides, states

    def states(self, g: int) -> States:
        return _states(self.reports.group_weights[g])

    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        counts = np.stack([self.counts.counts[:, self.events.span(a)] for a in attributes], axis=1)
        by_state = self._by_state(g, counts, squared)
        if g == self.class_group:
            return np.moveaxis(by_state[:, 0], 1, 2)
        by_state = np.moveaxis(by_state, (1, 2), (4, 2))
        weights = self._class_weights(squared)
        sums = by_state.reshape(self.n, -1, weights.shape[1]) @ weights
        return sums.reshape(*by_state.shape[:4], *(counts.shape[-1],) * (2 if squared else 1))

    def class_sums(self, squared: bool) -> Array:
        counts = self.counts.counts[:, self.events.span(self.reports.target)].sum(axis=1)
        return self._by_state(self.class_group, counts, squared)[:, 0]

    def _class_weights(self, squared: bool) -> Array:
        """g(c), or g(c) g(c'), of the class's group: nodes x (state, reported class) x classes."""
        n_classes = self.reports.sizes[self.reports.target]
        g = self.hit_weights(self.class_group, slice(None), None, True)
        g = np.moveaxis(by_answer(g, n_classes)[:, 0, :, :, 0], 1, 3)
        if squared:
            g = (g[..., None] * g[..., None, :]).reshape(*g.shape[:3], -1)
        return g.reshape(len(g), -1, g.shape[3])

    def _by_state(self, g: int, counts: Array, squared: bool) -> Array:
        """Counts times the weights of other groups, as shares, summed by node and states.

        Nodes x states of the class's group (one if it is this group) x states of the group.
        """
        shape = self._shape(g)
        flat = counts.reshape(len(counts), -1)
        sums = (self._matrix(g, squared) @ flat).reshape(*shape, *counts.shape[1:])
        for axis, h in enumerate((self.class_group, g)):
            settled = settled_state(self.reports.group_weights[h])
            if shape[axis + 1] > 1 and settled != NONE:
                met, rest = (np.moveaxis(sums, axis + 1, 1)[:, s] for s in (0, settled))
                seen = self.conditioned[h].reshape(-1, *(1,) * (rest.ndim - 1))
                rest -= np.where(seen, met, 0.0)
        return np.asarray(sums)

    def _shape(self, g: int) -> tuple[int, int, int]:
        n_own = len(self.states(self.class_group)) if g != self.class_group else 1
        return self.n, n_own, len(self.states(g))

    def _matrix(self, g: int, squared: bool) -> csr_array:
        """The weight of each cell in each row of the result."""
        if (g, squared) not in self._sparse:
            n, n_own, n_states = self._shape(g)
            state = self.cell_states[:, self.class_group] if g != self.class_group else 0
            row = (self.node * n_own + state) * n_states + self.cell_states[:, g]
            weight = np.full(len(row), self.counts.unit)
            for h, group in enumerate(self.reports.group_weights):
                if h not in (g, self.class_group) and not group.exact:
                    weight = weight * self._weights(h, squared)
            shape = n * n_own * n_states, len(self.counts.counts)
            self._sparse[g, squared] = csr_array((weight, (row, self.cell)), shape)
        return self._sparse[g, squared]

    def _weights(self, h: int, squared: bool) -> Array:
        """The weight of a group in each cell, or its square.

        Reports that have met all conditions are in the cell of all reports as well: what they count
        there is subtracted.
        """
        group = self.reports.group_weights[h]
        weights = group.weights(self.events, self.states(h))
        weights = np.repeat(weights**2 if squared else weights, self.n // len(weights), axis=0)
        settled = settled_state(group)
        if settled != NONE:
            weights[:, 0] -= np.where(self.conditioned[h], weights[:, settled], 0.0)
        return np.asarray(weights[self.node, self.cell_states[:, h]])


def root_tables(reports: TreeReports) -> NodeTables:
    """The tables of the node without conditions; chooses the fastest implementation.

    Cells need groups with few states. Counted patterns of answers that are reported as they are
    need no cells: a pattern counts at one node of a level.
    """
    coded = isinstance(reports.answers, np.ndarray) and not reports.packed
    counted = coded and len(reports.shares) < reports.n_records
    if not reports.group_weights or (reports.exact and counted):
        return RecordTables.root(reports)
    return CellTables.root(reports) if reports.has_cells else RowTables.root(reports)
