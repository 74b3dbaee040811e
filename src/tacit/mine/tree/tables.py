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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.numbers import uniform
from tacit.core.channel.weights import Events, GroupWeights, KeepOrDrawWeights, States
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.errors import DataError
from tacit.mine.tree.cells import (
    CellCounts,
    CellSplits,
    CodedAnswers,
    PackedAnswers,
    ReportedAnswers,
    StreamedAnswers,
    packed,
    ranges,
)
from tacit.mine.tree.tree import NONE
from tacit.reconstruction.report_weights import GroupReports, ReportWeights
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

    `answers` has the reported codes of each true attribute. If a group has a joint report, its
    answers are 0 and the joint report is in `joint`. `weighted`: true records with any weights.
    """

    sizes: tuple[int, ...]
    target: int
    shares: Array
    n_records: int
    group_weights: tuple[GroupWeights, ...]
    answers: ReportedAnswers
    joint: tuple[Index, ...]
    weighted: bool = False

    @classmethod
    def of(cls, patterns: PatternTable, design: Design, target: str) -> TreeReports:
        """The reports in a pattern table of a design."""
        reports = ReportWeights(patterns, design)
        for factor in reports.factors:
            factor.require_reconstructable()
        schema, n_records = design.schema, patterns.n_records
        sizes, index = schema.sizes, schema.index(target)
        if patterns.engine is not None:  # cells are counted in one pass per level
            weights = tuple(reports.weights(g) for g in range(len(design.groups)))
            if any(group.n_states is None for group in weights):
                raise DataError(
                    "the records do not fit in memory, which a tree needs unless all groups are "
                    "related, unrelated or truthful"
                )
            columns = tuple(patterns.schema.index(name) for name in schema.names)
            streamed = StreamedAnswers(patterns.engine, columns)
            return cls(sizes, index, np.zeros(0), n_records, weights, streamed, ())
        groups = [reports.group(g) for g in range(len(design.groups))]
        return cls(
            sizes,
            index,
            patterns.counts / n_records,
            n_records,
            tuple(group.weights for group in groups),
            _answers(patterns, design, groups),
            tuple(group.cells for group in groups),
        )

    @classmethod
    def of_cells(
        cls, weights: Array, sizes: tuple[int, ...], n_records: int, target: int | None = None
    ) -> TreeReports:
        """All cells of a joint table with their weights; the target is the last unless given."""
        cells = np.indices(sizes, smallest(max(sizes))).reshape(len(sizes), -1).T
        target = len(sizes) - 1 if target is None else target
        return cls.true(cells, weights.ravel(), sizes, target, n_records)

    @classmethod
    def true(
        cls, records: Codes, shares: Array, sizes: tuple[int, ...], target: int, n_records: int
    ) -> TreeReports:
        """True records with their weights."""
        group = KeepOrDrawWeights(tuple(range(len(sizes))), 1.0, uniform(sizes))
        nothing = np.zeros(len(shares), np.intp)
        answers = CodedAnswers(np.ascontiguousarray(records.T))
        return cls(sizes, target, shares, n_records, (group,), answers, (nothing,), weighted=True)

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

    @property
    def has_cells(self) -> bool:
        """Whether reports can be counted in cells, because all groups have few states."""
        return all(group.n_states is not None for group in self.group_weights)

    def cells(self) -> CellCounts:
        """The counts of one cell that has all reports."""
        return self.answers.cells(self.sizes, self.target, self.shares, self.n_records)

    def rows(self) -> Rows:
        """Every pattern, at one node that has no conditions."""
        if isinstance(self.answers, StreamedAnswers):
            raise DataError("the records do not fit in memory, which this needs")
        n = len(self.shares)
        states = zip(self.group_weights, self.joint, strict=True)
        return Rows(
            np.arange(n),
            np.zeros(n, np.intp),
            self.shares,
            tuple(group.start(cells) for group, cells in states),
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Patterns that count at nodes: pattern, node, share of the records, and states."""

    pattern: Index
    node: Index
    share: Array
    states: tuple[States, ...]

    def take(self, rows: Index | Mask) -> Rows:
        """Some of the rows."""
        states = tuple(states_of_group[rows] for states_of_group in self.states)
        return Rows(self.pattern[rows], self.node[rows], self.share[rows], states)

    def children(
        self, reports: TreeReports, attribute: Index, branches: Index, children: Index
    ) -> Rows:
        """The rows at the children of nodes that are split by an attribute each.

        `branches` says to which branch of a node each category belongs, nodes x categories;
        `children` numbers the wanted children, nodes x branches, -1 for others.
        """
        split_by = attribute[self.node]
        taken = branches[self.node, reports.answers.codes[split_by, self.pattern]]
        split_group = reports.groups[split_by]
        parts: list[list[npt.NDArray[Any]]] = []
        for g, group in enumerate(reports.group_weights):
            rows = np.flatnonzero(split_group == g)
            if len(rows):
                parts += self._stepped(g, group, rows, split_by[rows], taken[rows], children)
        return _rows(parts) if parts else self.take(np.zeros(0, np.intp))

    def _stepped(
        self, g: int, group: GroupWeights, rows: Index, by: Index, taken: Index, children: Index
    ) -> Iterator[list[npt.NDArray[Any]]]:
        """Columns of the rows in each branch, for splits by attributes of one group."""
        before, node = self.states[g][rows], self.node[rows]
        for branch in np.flatnonzero((children != NONE).any(axis=0)):
            child = children[node, branch]
            after = group.step(before, by, taken == branch)
            inside = np.flatnonzero((child >= 0) & ~group.dropped(after))
            some = rows[inside]
            states = [after[inside] if h == g else old[some] for h, old in enumerate(self.states)]
            yield [self.pattern[some], child[inside], self.share[some], *states]

    def merged(self, reports: TreeReports) -> Rows:
        """The same with rows joined that no later condition can tell apart."""
        pairs = zip(reports.group_weights, self.states, strict=True)
        spent = np.logical_and.reduce([group.settled(states) for group, states in pairs])
        if not spent.any():
            return self
        nodes, first, which = np.unique(self.node[spent], return_index=True, return_inverse=True)
        rows = np.flatnonzero(spent)[first]
        shares = np.bincount(which, self.share[spent], len(nodes))
        joint = [self.pattern[rows], nodes, shares, *(states[rows] for states in self.states)]
        open_rows = self.take(~spent)
        return _rows(
            [[open_rows.pattern, open_rows.node, open_rows.share, *open_rows.states], joint]
        )


def _rows(parts: Sequence[Sequence[npt.NDArray[Any]]]) -> Rows:
    """Rows from parts of their columns."""
    pattern, node, share, *states = (np.concatenate(same) for same in zip(*parts, strict=True))
    return Rows(pattern, node, share, tuple(states))


def _answers(
    patterns: PatternTable, design: Design, groups: Sequence[GroupReports]
) -> ReportedAnswers:
    """The reported codes, packed if they can be counted bit by bit."""
    few = all(group.weights.n_states is not None for group in groups)
    sizes = design.schema.sizes
    if few and set(sizes) == {2} and patterns.n_records <= _MOST_REPEATED * len(patterns):
        columns = [patterns.schema.index(name) for name in design.schema.names]
        return PackedAnswers(packed(patterns.patterns, columns), len(sizes))
    codes = np.zeros((len(sizes), len(patterns)), code_type(design.schema))
    for group in groups:
        for a, column in group.answers.items():
            codes[a] = column
    return CodedAnswers(codes)


class NodeTables(ABC):
    """The tables of some nodes."""

    def __init__(self, reports: TreeReports, events: Events) -> None:
        self.reports, self.events = reports, events
        self.n = len(events)

    @classmethod
    @abstractmethod
    def root(cls, reports: TreeReports) -> Self:
        """The node without conditions."""

    @abstractmethod
    def children(self, attribute: Index, branches: Index, wanted: Mask, last: bool = False) -> Self:
        """The wanted children of nodes split by an attribute each, in the order of `wanted`.

        `branches` says to which branch each category belongs, nodes x categories, NONE for those
        that are not allowed; `wanted` is nodes x branches. `last` if they will not be split.
        """

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
        return self.events.choices()


@dataclass(frozen=True, eq=False)
class RecordSums:
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
        self,
        reports: TreeReports,
        events: Events,
        keys: npt.NDArray[Any],
        weights: Array,
        node: Index,
    ) -> None:
        super().__init__(reports, events)
        self.keys, self.weights, self.node = keys, weights, node
        self.n_classes = reports.sizes[reports.target]

    @classmethod
    def root(cls, reports: TreeReports) -> RecordTables:
        used = np.flatnonzero(reports.shares)
        codes, n_classes = reports.answers.codes, reports.sizes[reports.target]
        kind = smallest(max(reports.sizes) * n_classes)
        keys = codes[:, used].astype(kind, copy=False) * kind.type(n_classes)
        keys += codes[reports.target, used].astype(kind)
        node = np.zeros(len(used), np.intp)
        return cls(reports, Events.certain(reports.sizes), keys, reports.shares[used], node)

    def children(
        self, attribute: Index, branches: Index, wanted: Mask, last: bool = False
    ) -> RecordTables:
        parents, which = np.nonzero(wanted)
        numbers = np.full((self.n, wanted.shape[1] + 1), NONE)
        numbers[:, :-1][wanted] = np.arange(len(parents))
        rows = np.flatnonzero(np.asarray(wanted.any(axis=1))[self.node])
        at = self.node[rows]
        child = numbers[at, branches[at, self.keys[attribute[at], rows] // self.n_classes]]
        moved = np.flatnonzero(child != NONE)
        rows, inside = rows[moved], np.asarray(branches[parents] == which[:, None])
        events = self.events.below(parents, attribute[parents], inside)
        keys, weights = self.keys[:, rows], self.weights[rows]
        return RecordTables(self.reports, events, keys, weights, child[moved])

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        if wanted.any():
            yield wanted

    def by_class(self) -> tuple[Array, Array]:
        key = self.node * self.n_classes + self.keys[0] % self.n_classes
        sums = np.bincount(key, self.weights, self.n * self.n_classes)
        value = np.asarray(sums, np.float64).reshape(self.n, -1)
        return value, value[:, :, None] * np.eye(self.n_classes)

    def splits(self, wanted: Mask) -> Iterator[RecordSums]:
        sizes, some = self.reports.sizes, np.flatnonzero(wanted.any(axis=0)).tolist()
        for k, run in groupby(some, lambda a: sizes[a]):
            attributes = list(run)
            for batch in chunks(len(attributes), self.n * k * self.n_classes):
                together = tuple(attributes[batch])
                sums = [self._sums(a, k, wanted[:, a]) for a in together]
                yield RecordSums(together, np.stack(sums, axis=1))

    def _sums(self, a: int, k: int, wanted: Mask) -> Array:
        """The weights of the nodes that want an attribute, by category and class."""
        width = k * self.n_classes
        rows: slice | Index = slice(None)
        if not wanted.all():
            rows = np.flatnonzero(wanted[self.node])
        key = self.node[rows] * width + self.keys[a, rows]
        sums = np.bincount(key, self.weights[rows], self.n * width)
        return np.asarray(sums, np.float64).reshape(self.n, k, self.n_classes)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """The reports at nodes, summed for the tables of one group.

    `sums` takes attributes of the same size and gives shares of reports, nodes x attributes x
    states x answers x classes: each report times its weight in the groups that are neither this one
    nor that of the class, or times its square. If the class is in this group, the last axis has
    reported classes; otherwise true ones, each report times its weight for the class, and the
    squares have one more axis, for the products of the weights of two classes. A group with a joint
    report has no answers: those axes have length 1.
    """

    group: GroupWeights
    events: Events
    states: States
    target: int
    n_records: int
    sums: Callable[[tuple[int, ...], bool], Array]


@dataclass(frozen=True, eq=False)
class HitWeights:
    """g of an attribute's group, computed when it is needed: e x v x c x s x hv x hc.

    `free` says which categories each event allows: weights for others are 0. None if all.
    """

    source: GroupSums
    events: Events
    attribute: int
    free: Mask | None = None

    @cached_property
    def both(self) -> Array:
        """g(v, c)."""
        return self._inside(self._parted(self.attribute, self.source.target))

    @cached_property
    def by_category(self) -> Array:
        """g(v)."""
        return self._inside(self._parted(self.attribute)[:, :, None, ..., None])

    @cached_property
    def by_class(self) -> Array:
        """g(c)."""
        return self._parted(self.source.target)[:, None, :, :, None]

    @cached_property
    def whole(self) -> Array:
        """g."""
        weights = self.source.group.weights(self.events, self.source.states)
        return weights[:, None, None, :, None, None]

    def _parted(self, *attributes: int) -> Array:
        weights = self.source.group.parted(self.events, attributes, self.source.states)
        if self.source.group.by_attribute:
            return weights
        return weights[..., 1:, 1:] if len(attributes) > 1 else weights[..., 1:]  # no misses

    def _inside(self, g: Array) -> Array:
        return g if self.free is None else np.where(self.free[:, :, None, None, None, None], g, 0.0)


class ClassTables(ABC):
    """Tables of attributes that have as many categories and are in one group.

    A pair is a node and the position of an attribute. If weights differ between events, there is
    one attribute, and pairs are nodes.
    """

    def __init__(self, source: GroupSums, attributes: tuple[int, ...]) -> None:
        self.source, self.attributes = source, attributes

    @cached_property
    def value(self) -> Array:
        """P(E, v, c), nodes x attributes x categories x classes; 0 if E does not allow v."""
        sums, free = self._sums, self._free
        n, many = free.shape[:2]
        flat = sums.reshape(n * many, *sums.shape[2:])
        nodes = np.repeat(np.arange(n), many)
        parts = [
            weighted(flat[some], self._table_weights(self._weights(nodes[some])))
            for some in chunks(len(flat), flat[0].size * 4)
        ]
        value = np.concatenate(parts).reshape(*free.shape, -1)
        return value if free.all() else np.where(free[..., None], value, 0.0)

    def noise(self, nodes: Index, which: Index) -> tuple[Array, Array]:
        """P(E,v,c) - P(E,v) P(E,c) / P(E) of pairs, and its standard error by the disguise alone.

        Pairs x categories x classes. With r = P(v | E) and q = P(c | E), its weight is

            phi(v, c) = g(v, c) - r g(c) - q g(v) + r q g.

        The second moment of true records, which is not noise, follows from the table.
        """
        squares, parts = self._squares, []
        for some in chunks(len(nodes), squares[0, 0].size * 8):
            at, value = (nodes[some], which[some]), self.value[nodes[some], which[some]]
            total = value.sum(axis=(1, 2), keepdims=True)
            by_v, by_c = value.sum(axis=2, keepdims=True), value.sum(axis=1, keepdims=True)
            usable = np.where(total > 0, total, 1.0)  # other nodes are not used
            r, q = by_v / usable, by_c / usable
            second = self._second(squares[at], self._weights(*at), r, q)
            true = (
                value * ((1 - r) * (1 - q)) ** 2
                + (by_v - value) * ((1 - r) * q) ** 2
                + (by_c - value) * (r * (1 - q)) ** 2
                + (total - by_v - by_c + value) * (r * q) ** 2
            )
            added = np.where(second - true < _ROUNDING * second, 0.0, second - true)
            parts.append((value - by_v * by_c / usable, np.sqrt(added / self.source.n_records)))
        beyond, noise = zip(*parts, strict=True)
        return np.concatenate(beyond), np.concatenate(noise)

    def moments(self, nodes: Index, which: Index) -> tuple[Array, Array]:
        """Second moments of the weights of pairs, pairs x categories x classes x classes.

        First those of (v, c) and (v, c'), then those of (v, c) and c' whatever the category.
        """
        squares, parts = self._squares, []
        for some in chunks(len(nodes), squares[0, 0].size * 8):
            at = nodes[some], which[some]
            parts.append(self._products(squares[at], self._weights(*at)))
        moments, cross = zip(*parts, strict=True)
        return np.concatenate(moments), np.concatenate(cross)

    @abstractmethod
    def _table_weights(self, g: HitWeights) -> Array:
        """The weights that give the table."""

    @abstractmethod
    def _second(self, squares: Array, g: HitWeights, r: Array, q: Array) -> Array:
        """The second moment of phi."""

    @abstractmethod
    def _products(self, squares: Array, g: HitWeights) -> tuple[Array, Array]:
        """The second moments that `moments` gives."""

    @cached_property
    def _sums(self) -> Array:
        return self.source.sums(self.attributes, False)

    @cached_property
    def _squares(self) -> Array:
        return self.source.sums(self.attributes, True)

    @cached_property
    def _free(self) -> Mask:
        """Whether E allows v, nodes x attributes x categories."""
        events = self.source.events
        return np.stack([events.allowed[:, events.span(a)] for a in self.attributes], axis=1)

    @cached_property
    def _shared(self) -> HitWeights:
        return HitWeights(self.source, self.source.events.take(slice(1)), self.attributes[0])

    def _weights(self, nodes: Index, which: Index | None = None) -> HitWeights:
        """The weights at nodes, or of pairs with 0 for categories that are not allowed."""
        free = None if which is None else self._free[nodes, which]
        if free is not None and free.all():
            free = None
        shared = self.source.group.same_for_all_events
        if shared and free is None:
            return self._shared
        events = self._shared.events if shared else self.source.events.take(nodes)
        return HitWeights(self.source, events, self.attributes[0], free)


class SameGroup(ClassTables):
    """The class is in the same group."""

    def _table_weights(self, g: HitWeights) -> Array:
        return g.both

    def _second(self, squares: Array, g: HitWeights, r: Array, q: Array) -> Array:
        # States and hits as one axis: arithmetic on short axes is slow.
        hits = g.both.shape[3:]
        both, by_category, by_class, whole = (
            np.broadcast_to(weights, (*weights.shape[:3], *hits)).reshape(*weights.shape[:3], -1)
            for weights in (g.both, g.by_category, g.by_class, g.whole)
        )
        r, q = r[..., None], q[..., None]
        phi = both - r * by_class - q * (by_category - r * whole)
        return weighted(squares, (phi * phi).reshape(*phi.shape[:3], *hits))

    def _products(self, squares: Array, g: HitWeights) -> tuple[Array, Array]:
        return moments_by_class(squares, g.both, g.by_class)


class OtherGroup(ClassTables):
    """The class is in another group."""

    def _table_weights(self, g: HitWeights) -> Array:
        return g.by_category

    def _second(self, squares: Array, g: HitWeights, r: Array, q: Array) -> Array:
        """phi = (g(v) - r g) (g'(c) - q g'), where g' is of the class's group."""
        by_class = np.eye(q.shape[2]) - q.swapaxes(1, 2)
        spread = np.einsum("pce,pcf,psvef->psvc", by_class, by_class, squares, optimize=True)
        return weighted(spread, (g.by_category - r[..., None, None, None] * g.whole) ** 2)

    def _products(self, squares: Array, g: HitWeights) -> tuple[Array, Array]:
        flat = squares.reshape(*squares.shape[:3], -1)
        moments, cross = weighted(flat, g.by_category**2), weighted(flat, g.by_category * g.whole)
        shape = (*moments.shape[:2], *squares.shape[3:])
        return moments.reshape(shape), cross.reshape(shape)


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


def chunks(n: int, numbers: int) -> Iterator[slice]:
    """Slices of n pairs, for so many numbers per pair."""
    step = max(1, _AT_ONCE // numbers)
    for start in range(0, n, step):
        yield slice(start, start + step)


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

    def __init__(self, reports: TreeReports, events: Events) -> None:
        super().__init__(reports, events)
        self.class_group = int(reports.groups[reports.target])

    @abstractmethod
    def states(self, g: int) -> States:
        """The states of a group that occur."""

    @abstractmethod
    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        """The sums of a group, see `GroupSums`."""

    @abstractmethod
    def class_sums(self, squared: bool) -> Array:
        """Reports by the state of the class's group and the reported class, nodes x s x c'.

        Each report counts times its weight in the other groups, or times its square.
        """

    def by_class(self) -> tuple[Array, Array]:
        """P(E, c), nodes x classes, and the second moments of its weights for each two classes."""
        group = self.reports.group_weights[self.class_group]
        sums, squares = (self.class_sums(squared)[:, :, None] for squared in (False, True))
        value, moment = [], []
        for some in chunks(self.n, sums[0].size * 4):
            g = group.parted(
                self.events.take(some), (self.reports.target,), self.states(self.class_group)
            )
            g = g[:, None, :, :, None, 0 if group.by_attribute else 1 :]
            value.append(weighted(sums[some], g)[:, 0])
            moment.append(moments_by_class(squares[some], g, g)[0][:, 0])
        return np.concatenate(value), np.concatenate(moment)

    def splits(self, wanted: Mask) -> Iterator[ClassTables | RecordSums]:
        """The tables of attributes that some node wants, nodes x attributes.

        Attributes with the same weights are together.
        """
        reports, some = self.reports, np.flatnonzero(wanted.any(axis=0)).tolist()
        for g, group in enumerate(reports.group_weights):
            members = tuple(a for a in group.attributes if a in some)
            states, sums = self.states(g), partial(self.sums, g)
            source = GroupSums(group, self.events, states, reports.target, reports.n_records, sums)
            kind = SameGroup if g == self.class_group else OtherGroup
            for together in self._alike(g, members):
                yield kind(source, together)

    def _alike(self, g: int, members: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Attributes of a group, in their order, in parts that are processed together."""
        if not self.reports.group_weights[g].same_for_all_events:
            return [(a,) for a in members]
        return [tuple(run) for _, run in groupby(members, lambda a: self.reports.sizes[a])]

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
#: States below this are found by counting, others by sorting.
_COUNTED_STATES = 1 << 16


class RowTables(ReportTables):
    """The tables of some nodes: their rows, and intermediate results that the tables share.

    A row is a pattern at a node, with the state of each group. Rows are summed by node, state and
    reported answers, each with the weight of its other groups.
    """

    def __init__(self, reports: TreeReports, rows: Rows, events: Events) -> None:
        super().__init__(reports, events)
        self.rows = rows
        self._bases: dict[int, tuple[Index, int]] = {}

    @classmethod
    def root(cls, reports: TreeReports) -> RowTables:
        return cls(reports, reports.rows(), Events.certain(reports.sizes))

    def children(
        self, attribute: Index, branches: Index, wanted: Mask, last: bool = False
    ) -> RowTables:
        unmerged = self.unmerged_children(attribute, branches, wanted)
        rows = unmerged.rows.merged(self.reports)
        return unmerged if rows is unmerged.rows else RowTables(self.reports, rows, unmerged.events)

    def unmerged_children(self, attribute: Index, branches: Index, wanted: Mask) -> RowTables:
        """The same as `children`, with a row for every pattern."""
        parents, which = np.nonzero(wanted)
        numbers = np.full(wanted.shape, NONE)
        numbers[wanted] = np.arange(len(parents))
        rows = self.rows.children(self.reports, attribute, branches, numbers)
        inside = np.asarray(branches[parents] == which[:, None])
        return RowTables(self.reports, rows, self.events.below(parents, attribute[parents], inside))

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        return batches(wanted, np.bincount(self.rows.node, minlength=self.n), ROWS)

    def states(self, g: int) -> States:
        return self._states[g][0]

    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        rest = self._rest({g, self.class_group})[squared]
        if g == self.class_group:
            return np.stack([self._by_answers(g, a, [rest])[..., 0] for a in attributes], axis=1)
        classes = self._classes.T
        if not squared:
            weights = [rest * weight for weight in classes]
            return np.stack([self._by_answers(g, a, weights)[..., 0, :] for a in attributes], 1)
        first, second = np.triu_indices(len(classes))
        weights = [rest * classes[c] * classes[d] for c, d in zip(first, second, strict=True)]
        sums = np.stack([self._by_answers(g, a, weights)[..., 0, :] for a in attributes], 1)
        pair = np.zeros((len(classes), len(classes)), np.intp)
        pair[first, second] = pair[second, first] = np.arange(len(first))
        return np.asarray(sums[..., pair])

    def class_sums(self, squared: bool) -> Array:
        rest = self._rest({self.class_group})[squared]
        return self._by_answers(self.class_group, None, [rest])[:, :, 0, :, 0]

    def by_row(self) -> Array:
        """g(E, c) of every row, rows x classes."""
        rest, _ = self._rest({self.class_group})
        return np.asarray(self._classes * (rest / self.rows.share)[:, None])

    @cached_property
    def _states(self) -> list[tuple[States, Index]]:
        """The states of each group that occur, and which of them each row has."""
        return [_present(states) for states in self.rows.states]

    @cached_property
    def _weights(self) -> list[Array | None]:
        """The weight of each group in each row; None if it is 1 in all."""
        return [self._weights_of(g) for g in range(len(self.reports.group_weights))]

    def _weights_of(self, g: int) -> Array | None:
        group, events = self.reports.group_weights[g], self.events
        if group.exact or all(events.allowed[:, events.span(a)].all() for a in group.attributes):
            return None
        kinds, index = self._states[g]
        weights = group.weights(events, kinds)
        return weights[0, index] if len(weights) == 1 else weights[self.rows.node, index]

    def _rest(self, without: set[int]) -> tuple[Array, Array]:
        """Shares times the other groups' weights, and times their squares."""
        value = square = self.rows.share
        for g, weight in enumerate(self._weights):
            if weight is not None and g not in without:
                value, square = value * weight, square * weight**2
        return value, square

    @cached_property
    def _classes(self) -> Array:
        """The weight of the class's own group in each row for each class, rows x classes."""
        target, group = self.reports.target, self.reports.group_weights[self.class_group]
        kinds, index = self._states[self.class_group]
        g = group.parted(self.events, (target,), kinds)
        node = self.rows.node if len(g) > 1 else 0
        if not group.by_attribute:
            return np.asarray(g[node, :, index, 1])
        miss, hit = g[node, :, index, 0], g[node, :, index, 1]
        n_classes = self.reports.sizes[target]
        return np.where(self.answers[target][:, None] == np.arange(n_classes), hit, miss)

    def _by_answers(self, g: int, a: int | None, weights: list[Array]) -> Array:
        """Weights of rows summed: nodes x states x answers x reported classes x weights.

        Answers and classes are axes of length 1 if a joint report or another group has them.
        """
        key, cells = self._base(g)
        k = 1
        if a is not None and self.reports.group_weights[g].by_attribute:
            k = self.reports.sizes[a]
            key = key * k + self.answers[a]
        n_states = len(self.states(g))
        shape = (self.n, n_states, cells // n_states, k)
        sums = [np.bincount(key, weight, self.n * cells * k).reshape(shape) for weight in weights]
        return np.asarray(np.stack(sums, axis=-1), np.float64).swapaxes(2, 3)

    def _base(self, g: int) -> tuple[Index, int]:
        """The node, the state and, in its own group, the reported class of each row.

        One number per row, and how many there are per node.
        """
        if g not in self._bases:
            kinds, index = self._states[g]
            cells = len(kinds)
            base = self.rows.node * cells + index if cells > 1 else self.rows.node
            if g == self.class_group and self.reports.group_weights[g].by_attribute:
                n_classes = self.reports.sizes[self.reports.target]
                base, cells = (
                    base * n_classes + self.answers[self.reports.target],
                    cells * n_classes,
                )
            self._bases[g] = base, cells
        return self._bases[g]

    @cached_property
    def answers(self) -> Codes:
        """Reported codes, attributes x rows."""
        return self.reports.answers.codes.take(self.rows.pattern, axis=1)


def _present(states: States) -> tuple[States, Index]:
    """The states that occur, and which of them each row has."""
    if states.dtype == object or states.max(initial=0) >= _COUNTED_STATES:
        kinds, index = np.unique(states, return_inverse=True)
        return kinds, index
    seen = np.bincount(states, minlength=1)
    kinds = np.flatnonzero(seen)
    if len(kinds) <= 1:
        return np.resize(kinds, 1), np.zeros(len(states), np.intp)
    return kinds, (np.cumsum(seen > 0) - 1)[states]


#: Memory for the cells that are made together, unless one node needs more.
MEMORY = 1 << 26
#: Which reports of a cell a state takes over: those that hit, those that miss, or all.
_HIT, _MISS, _ALL = 0, 1, 2


class Transition(NamedTuple):
    """Reports of a cell, by hit or miss, that a condition moves from one state to another.

    `first`: only the first condition on the group does.
    """

    before: int
    side: int
    after: int
    first: bool = False


def settled_state(group: GroupWeights) -> int:
    """The state that no later condition can change; NONE if there is none."""
    states = _states(group)
    return int(states[-1]) if group.settled(states)[-1] else NONE


def transitions(group: GroupWeights) -> list[Transition]:
    """What a condition does to the cells of a group."""
    states, settled, moves = _states(group), settled_state(group), []
    for side, hit in ((_HIT, True), (_MISS, False)):
        after = group.step(states, group.attributes[0], np.full(len(states), hit))
        live = np.flatnonzero(~group.dropped(after) & (after != settled))
        moves += [Transition(int(s), side, int(after[s])) for s in live]
    if settled != NONE:
        moves += [Transition(0, _ALL, settled, first=True), Transition(settled, _ALL, settled)]
    return moves


def _states(group: GroupWeights) -> States:
    assert group.n_states is not None
    return np.arange(group.n_states, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class CellStates:
    """The cells of nodes, in the order of the nodes: node, cell, and the state of each group."""

    node: Index
    cell: Index
    states: States

    def of_nodes(self, nodes: Index, n: int) -> tuple[Index, Index]:
        """The entries of these nodes, of n, one node after the other; and which node each has."""
        many = np.bincount(self.node, minlength=n)
        first = np.cumsum(many) - many
        return ranges(first[nodes], many[nodes]), np.repeat(np.arange(len(nodes)), many[nodes])


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
    """

    def __init__(
        self, reports: TreeReports, events: Events, counts: CellCounts, cells: CellStates
    ) -> None:
        super().__init__(reports, events)
        self.counts, self.cells = counts, cells
        self._sparse: dict[tuple[int, bool], csr_array] = {}

    @classmethod
    def root(cls, reports: TreeReports) -> CellTables:
        zero = np.zeros(1, np.intp)
        cells = CellStates(zero, zero, np.zeros((1, len(reports.group_weights)), np.int8))
        return cls(reports, Events.certain(reports.sizes), reports.cells(), cells)

    def memory_batches(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        cells = self.cells
        group = self.reports.groups[attribute[cells.node]]
        state = cells.states[np.arange(len(cells.node)), group]
        moves = np.zeros((len(self.reports.group_weights), 1 + state.max(initial=0)), np.intp)
        for g, weights in enumerate(self.reports.group_weights):
            for move in transitions(weights):
                if move.side != _ALL and move.before < moves.shape[1]:
                    moves[g, move.before] += 1
        # Children share the rows of their parent evenly, once per transition.
        rows = self.counts.sizes[cells.cell] * moves[group, state]
        moved = np.bincount(cells.node, rows, self.n) / np.maximum(wanted.sum(axis=1), 1)
        counts = np.bincount(cells.node, minlength=self.n) * (2 * self.counts.counts[0].nbytes)
        return batches(wanted, moved * self.counts.row_bytes + counts, MEMORY)

    def children(
        self, attribute: Index, branches: Index, wanted: Mask, last: bool = False
    ) -> CellTables:
        parents, which = np.nonzero(wanted)
        entry, child, side, states = self._moves(parents, attribute[parents])
        stays = side == _ALL
        branch = np.where(side == _MISS, 1 - which[child], which[child])
        node, cell = self.cells.node[entry], self.cells.cell[entry]
        key = cell * self.n + self._same_splits(attribute, branches)[node]
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
        splits = CellSplits(
            cell[~stays][first],
            attribute[nodes],
            branches[nodes],
            numbers.reshape(-1, n_branches),
            len(new_cells),
            old_cells,
        )
        inside = np.asarray(branches[parents] == which[:, None])
        return CellTables(
            self.reports,
            self.events.below(parents, attribute[parents], inside),
            self.counts.below(splits, last),
            CellStates(child, new, states),
        )

    def _same_splits(self, attribute: Index, branches: Index) -> Index:
        """The same number for nodes that are split alike: a cell that they share is split once."""
        if np.bincount(self.cells.cell).max() == 1:  # no cell is shared
            return np.arange(self.n)
        _, first = np.unique(
            np.concatenate([attribute[:, None], branches], axis=1), axis=0, return_inverse=True
        )
        return first.ravel()

    def _moves(self, parents: Index, by: Index) -> tuple[Index, Index, Index, States]:
        """The cells of children: the parent's entry, the child, the side, and the states after."""
        reports = self.reports
        entry, child = self.cells.of_nodes(parents, self.n)
        group, parts = reports.groups[by[child]], []
        state = self.cells.states[entry, group]
        for g, weights in enumerate(reports.group_weights):
            for move in transitions(weights):
                moved = (group == g) & (state == move.before)
                if move.first:
                    moved &= ~self.conditioned[g, self.cells.node[entry]]
                parts.append((np.flatnonzero(moved), move))
        entries = np.concatenate([moved for moved, _ in parts])
        many = [len(moved) for moved, _ in parts]
        sides = np.repeat([move.side for _, move in parts], many)
        after = np.repeat([move.after for _, move in parts], many)
        order = np.argsort(child[entries], kind="stable")
        entries, sides, after = entries[order], sides[order], after[order]
        states = self.cells.states[entry[entries]]
        states[np.arange(len(entries)), group[entries]] = after
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
        span = self.events.span(self.reports.target)
        return self._by_state(self.class_group, self.counts.counts[:, span].sum(axis=1), squared)[
            :, 0
        ]

    def _class_weights(self, squared: bool) -> Array:
        """g(c), or g(c) g(c'), of the class's group: nodes x (state, reported class) x classes."""
        group, target = self.reports.group_weights[self.class_group], self.reports.target
        n_classes = self.reports.sizes[target]
        g = group.parted(self.events, (target,), self.states(self.class_group))
        g = by_answer(g[:, None, :, :, None], n_classes)[:, 0, :, :, 0]
        g = np.moveaxis(g, 1, 3)
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
            cells, (n, n_own, n_states) = self.cells, self._shape(g)
            state = cells.states[:, self.class_group] if g != self.class_group else 0
            row = (cells.node * n_own + state) * n_states + cells.states[:, g]
            weight = np.full(len(row), self.counts.unit)
            for h, group in enumerate(self.reports.group_weights):
                if h not in (g, self.class_group) and not group.exact:
                    weight = weight * self._weights(h, squared)
            shape = n * n_own * n_states, len(self.counts.counts)
            self._sparse[g, squared] = csr_array((weight, (row, cells.cell)), shape)
        return self._sparse[g, squared]

    def _weights(self, h: int, squared: bool) -> Array:
        """The weight of a group in each cell, or its square.

        Reports that have met all conditions are in the cell of all reports as well: what they count
        there is subtracted.
        """
        group, node = self.reports.group_weights[h], self.cells.node
        weights = group.weights(self.events, self.states(h))
        weights = np.broadcast_to(
            weights**2 if squared else weights, (self.n, weights.shape[1])
        ).copy()
        settled = settled_state(group)
        if settled != NONE:
            weights[:, 0] -= np.where(self.conditioned[h], weights[:, settled], 0.0)
        return np.asarray(weights[node, self.cells.states[:, h]])


def root_tables(reports: TreeReports) -> NodeTables:
    """The tables of the node without conditions; chooses the fastest implementation.

    Cells need groups with few states. Counted patterns of answers that are reported as they are
    need no cells: a pattern counts at one node of a level.
    """
    counted = isinstance(reports.answers, CodedAnswers) and len(reports.shares) < reports.n_records
    if reports.weighted or (reports.exact and counted):
        return RecordTables.root(reports)
    return CellTables.root(reports) if reports.has_cells else RowTables.root(reports)
