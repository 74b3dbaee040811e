"""ClassTables: an attribute against the class at all nodes, P(E, v, c) with its noise.

Rows are summed by node, by the state of the attribute's group and by the reported answer; the rest
is linear in the weights g of a category, a state and an answer. Two cases: if the class is in the
same group, rows are also summed by its answer; if it is in another, its weight is known per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.arrays import Array, Index
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States

if TYPE_CHECKING:
    from tacit.mine.tree.node_tables import NodeTables

#: Numbers that are processed at once if every node has weights of its own.
_AT_ONCE = 1 << 21
#: Variances below this share of the second moment are rounding.
_ROUNDING = 1e-9


class SplitMoments(NamedTuple):
    """Moments of a split, nodes x categories x classes ( x classes).

    `beyond` is P(E,v,c) - P(E,v) P(E,c) / P(E) and `noise` its standard error by the disguise
    alone, 0 if answers are reported as they are. `own` are the second moments of the weights
    of (v, c) and (v, c'), `cross` those of (v, c) and c' whatever the category.
    """

    beyond: Array
    noise: Array
    own: Array
    cross: Array


class Split(NamedTuple):
    """P(E, v, c) for the categories v of one attribute, nodes x categories x classes."""

    value: Array
    moments: SplitMoments | None


class ClassTables(ABC):
    """Attributes of one group against the class; weights and their squares without both groups.

    `base` has the cell that each row is summed into, and the number of cells per node.
    """

    def __init__(self, tables: NodeTables, g: int, rest: Array, squares: Array) -> None:
        self.tables, self.g, self.rest, self.squares = tables, g, rest, squares
        self.n_classes = tables.reports.sizes[tables.reports.target]
        self.base = tables.key(g)
        self._scaled: dict[int, Index] = {}

    def split(self, a: int, with_noise: bool) -> Split:
        """The table of one attribute, with its moments if asked for."""
        sums = self.sums(a, squared=False)
        squares = self.sums(a, squared=True) if with_noise else None
        allowed = self.tables.events.allowed[:, self.tables.events.span(a)]
        values, moments = [], []
        for some in self._chunks(sums[0].size * allowed.shape[1] * self.n_classes):
            g, free = self.after(a, some), allowed[some, :, None]
            value = self.value(sums[some], g)
            if with_noise or allowed.shape[1] > 2:  # one category of two leaves no split anyway
                value = np.where(free, value, 0.0)
            values.append(value)
            if squares is not None:
                shape = (len(value), *g.shape[1:])
                inside = np.where(free if g.ndim == free.ndim else free[..., None], g, 0.0)
                moments.append(self._moments(value, squares[some], np.broadcast_to(inside, shape)))
        together = SplitMoments(*map(_joined, zip(*moments, strict=True))) if moments else None
        return Split(_joined(values), together)

    def key(self, a: int) -> tuple[Index, int]:
        """`base` with the reported answers to an attribute."""
        base, cells = self.base
        if not self.tables.reports.group_weights[self.g].by_attribute:
            return base, cells
        k = self.tables.reports.sizes[a]
        if k not in self._scaled:
            self._scaled[k] = base * k
        return self._scaled[k] + self.tables.answers[a], cells * k

    @abstractmethod
    def sums(self, a: int, squared: bool) -> Array:
        """Weights, or squared weights, summed by state and answer at every node."""

    @abstractmethod
    def after(self, a: int, some: slice) -> Array:
        """g after the conditions, at some nodes or one for all."""

    @abstractmethod
    def value(self, sums: Array, g: Array) -> Array:
        """P(E, v, c)."""

    @abstractmethod
    def second(self, squares: Array, g: Array, r: Array, q: Array) -> tuple[Array, Array, Array]:
        """Second moments of `beyond`, of (v, c) with (v, c'), and of (v, c) with c'."""

    def _moments(self, value: Array, squares: Array, g: Array) -> SplitMoments:
        """Second moments, with r = P(v | E) and q = P(c | E).

        The second moment of `beyond` over true records, which is not noise, follows from the table.
        """
        total = value.sum(axis=(1, 2), keepdims=True)
        by_v, by_c = value.sum(axis=2, keepdims=True), value.sum(axis=1, keepdims=True)
        usable = np.where(total > 0, total, 1.0)  # other nodes are not used
        r, q = by_v / usable, by_c / usable
        second, own, cross = self.second(squares, g, r, q)
        true = (
            value * ((1 - r) * (1 - q)) ** 2
            + (by_v - value) * ((1 - r) * q) ** 2
            + (by_c - value) * (r * (1 - q)) ** 2
            + (total - by_v - by_c + value) * (r * q) ** 2
        )
        added = np.where(second - true < _ROUNDING * second, 0.0, second - true)
        noise = np.sqrt(added / self.tables.reports.n_records)
        return SplitMoments(value - by_v * by_c / usable, noise, own, cross)

    def _chunks(self, numbers: int) -> Iterator[slice]:
        """Slices of nodes, for so many numbers per node."""
        step = max(1, _AT_ONCE // numbers)
        for start in range(0, self.tables.n, step):
            yield slice(start, start + step)


class SameGroup(ClassTables):
    """The class is in the same group: rows are also summed by its answer.

    Sums are nodes x cells, g is nodes x categories x classes x cells.
    """

    def __init__(self, tables: NodeTables, g: int, rest: Array, squares: Array) -> None:
        super().__init__(tables, g, rest, squares)
        self.base = tables.with_answers(*self.base, tables.reports.target)
        #: g if it is the same at all nodes, by the size of the attribute.
        self._shared: dict[int, Array] = {}

    def sums(self, a: int, squared: bool) -> Array:
        return self.tables.sums(*self.key(a), self.squares if squared else self.rest)

    def after(self, a: int, some: slice) -> Array:
        tables, size = self.tables, self.tables.reports.sizes[a]
        if size in self._shared:
            return self._shared[size]
        events, both = tables.events.take(some), (tables.reports.target, a)
        group = tables.reports.group_weights[self.g]
        found = expanded(group, events, both, tables.states[self.g][0]).swapaxes(1, 2)
        g = np.ascontiguousarray(found).reshape(*found.shape[:3], -1)
        if len(g) == 1 < len(events):
            self._shared[size] = g
        return g

    def value(self, sums: Array, g: Array) -> Array:
        if len(g) == 1:
            return np.asarray(sums @ g[0].reshape(-1, g.shape[3]).T).reshape(-1, *g.shape[1:3])
        return np.asarray(np.einsum("nk,nvck->nvc", sums, g, optimize=True))

    def second(self, squares: Array, g: Array, r: Array, q: Array) -> tuple[Array, Array, Array]:
        """`beyond` is the mean of g(v,c) - r g(c) - q g(v) + r q g."""
        whole = g.sum(axis=1, keepdims=True)
        phi = g - r[..., None] * whole
        phi = phi - q[..., None] * phi.sum(axis=2, keepdims=True)
        weighted = g * squares[:, None, None]
        return (
            np.einsum("nk,nvck->nvc", squares, phi**2, optimize=True),
            np.einsum("nvck,nvdk->nvcd", weighted, g, optimize=True),
            np.einsum("nvck,ndk->nvcd", weighted, whole[:, 0], optimize=True),
        )


class OtherGroup(ClassTables):
    """The class is in another group: its weight is known per row.

    Sums are nodes x classes ( x classes) x cells, g is nodes x categories x cells.
    """

    def sums(self, a: int, squared: bool) -> Array:
        key, cells = self.key(a)
        weights = self._products if squared else self._values
        found = np.stack([self.tables.sums(key, cells, own) for own in weights], axis=1)
        if not squared:
            return found
        first, second = np.triu_indices(self.n_classes)
        place = np.zeros((self.n_classes, self.n_classes), np.intp)
        place[first, second] = place[second, first] = np.arange(len(first))
        return np.asarray(found[:, place])

    @cached_property
    def _values(self) -> list[Array]:
        """Weights of rows for each class."""
        return [self.rest * own for own in self.tables.classes.T]

    @cached_property
    def _products(self) -> list[Array]:
        """Products of the weights of rows for each two classes."""
        first, second = np.triu_indices(self.n_classes)
        one, two = self.tables.classes.T[first], self.tables.classes.T[second]
        return [self.squares * a * b for a, b in zip(one, two, strict=True)]

    def after(self, a: int, some: slice) -> Array:
        return self.tables.after(self.g, a, some)

    def value(self, sums: Array, g: Array) -> Array:
        if len(g) == 1:
            return np.asarray(sums @ g[0].T).swapaxes(1, 2)
        return np.asarray(np.einsum("nck,nvk->nvc", sums, g, optimize=True))

    def second(self, squares: Array, g: Array, r: Array, q: Array) -> tuple[Array, Array, Array]:
        """`beyond` is the mean of (g(v) - r g) (g(c) - q g)."""
        whole = g.sum(axis=1, keepdims=True)
        phi = g - r * whole
        by_class = np.eye(self.n_classes) - q.swapaxes(1, 2)
        spread = np.einsum("nce,ncf,nefk->nck", by_class, by_class, squares, optimize=True)
        return (
            np.einsum("nck,nvk->nvc", spread, phi**2, optimize=True),
            np.einsum("ncdk,nvk->nvcd", squares, g**2, optimize=True),
            np.einsum("ncdk,nvk->nvcd", squares, g * whole, optimize=True),
        )


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def expanded(
    group: GroupWeights, events: Events, attributes: tuple[int, ...], states: States
) -> Array:
    """g by the category of each attribute, the state, and the reported answer to each."""
    found = group.parted(events, attributes, states)
    for place, a in enumerate(attributes):
        axis = found.ndim - len(attributes) + place
        miss, hit = np.take(found, [0], axis=axis), np.take(found, [1], axis=axis)
        shape = [1] * found.ndim
        shape[1 + place] = shape[axis] = events.sizes[a]
        same = np.eye(events.sizes[a], dtype=bool).reshape(shape)
        found = np.where(same, hit, miss) if group.by_attribute else hit
    return found
