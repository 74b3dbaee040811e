"""ClassTables: an attribute against the class at all nodes, P(E, v, c) with its noise.

Rows are summed by node, by the state of the attribute's group and by the reported answer; what is
left is linear in the weights g of a category, a state and an answer. Two cases: the class is in the
same group, and its answer is summed by as well, or in another, and its weight is known row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tacit.arrays import Array, Index
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States

if TYPE_CHECKING:
    from tacit.mine.tree.node_tables import NodeTables

#: Numbers that are worked on at once where every node has weights of its own.
_AT_ONCE = 1 << 21
#: Variances below this share of the second moment are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SplitMoments:
    """What is known beside the values of a split, nodes x categories x classes ( x classes).

    `beyond` is P(E,v,c) - P(E,v) P(E,c) / P(E) and `noise` its standard error by the disguise
    alone, none where answers are reported as they are. `own` are the second moments of the weights
    of (v, c) and (v, c'), `cross` those of (v, c) and c' whatever the category.
    """

    beyond: Array
    noise: Array
    own: Array
    cross: Array


@dataclass(frozen=True, eq=False)
class Split:
    """P(E, v, c) for the categories v of one attribute, nodes x categories x classes."""

    value: Array
    moments: SplitMoments | None


class ClassTables(ABC):
    """Attributes of one group against the class; weights and their squares without both groups."""

    def __init__(self, tables: NodeTables, g: int, rest: Array, squares: Array) -> None:
        self.tables, self.g, self.rest, self.squares = tables, g, rest, squares
        self.n_classes = tables.reports.sizes[tables.reports.target]
        self._scaled: dict[int, Index] = {}

    def split(self, a: int, with_noise: bool) -> Split:
        """The table of one attribute, with its moments if asked for."""
        sums = self.sums(a)
        squares = self.squared_sums(a) if with_noise else None
        allowed = self.tables.events.allowed[:, self.tables.events.span(a)]
        parts = []
        for some in self._chunks(sums[0].size * allowed.shape[1] * self.n_classes):
            g, free = self.after(a, some), allowed[some, :, None]
            value = self.value(sums[some], g)
            if with_noise or allowed.shape[1] > 2:  # one category of two leaves no split anyway
                value = np.where(free, value, 0.0)
            moments = None
            if squares is not None:
                shape = (len(value), *g.shape[1:])
                inside = np.where(free if g.ndim == free.ndim else free[..., None], g, 0.0)
                moments = self.moments(value, squares[some], np.broadcast_to(inside, shape))
            parts.append(Split(value, moments))
        return _joined(parts)

    @property
    @abstractmethod
    def base(self) -> tuple[Index, int]:
        """One number a row for what all attributes are summed by; how many a node has."""

    def key(self, a: int) -> tuple[Index, int]:
        """The same with the reported answers to an attribute."""
        base, cells = self.base
        if not self.tables.reports.group_weights[self.g].by_attribute:
            return base, cells
        k = self.tables.reports.sizes[a]
        if k not in self._scaled:
            self._scaled[k] = base * k
        return self._scaled[k] + self.tables.answers[a], cells * k

    @abstractmethod
    def sums(self, a: int) -> Array:
        """Weights summed by state and answer at every node."""

    @abstractmethod
    def squared_sums(self, a: int) -> Array:
        """The same for squared weights."""

    @abstractmethod
    def after(self, a: int, some: slice) -> Array:
        """g after the conditions, at some nodes or one for all."""

    @abstractmethod
    def value(self, sums: Array, g: Array) -> Array:
        """P(E, v, c)."""

    @abstractmethod
    def moments(self, value: Array, squares: Array, g: Array) -> SplitMoments:
        """What the squared weights tell."""

    def noise(self, value: Array, second: Array) -> Array:
        """Standard error of `beyond` by the disguise, from its second moment.

        Its second moment over true records, which is no noise, is known from the table itself.
        """
        total = value.sum(axis=(1, 2), keepdims=True)
        by_v, by_c = value.sum(axis=2, keepdims=True), value.sum(axis=1, keepdims=True)
        r, q = by_v / positive(total), by_c / positive(total)
        true = (
            value * ((1 - r) * (1 - q)) ** 2
            + (by_v - value) * ((1 - r) * q) ** 2
            + (by_c - value) * (r * (1 - q)) ** 2
            + (total - by_v - by_c + value) * (r * q) ** 2
        )
        added = np.where(second - true < _ROUNDING * second, 0.0, second - true)
        return np.asarray(np.sqrt(added / self.tables.reports.n_records))

    def _chunks(self, numbers: int) -> Iterator[slice]:
        """Some nodes at a time, each with so many numbers of its own."""
        step = max(1, _AT_ONCE // numbers)
        for start in range(0, self.tables.n, step):
            yield slice(start, start + step)


class SameGroup(ClassTables):
    """The class is in the same group.

    Sums are nodes x cells, g is nodes x categories x classes x cells.
    """

    def sums(self, a: int) -> Array:
        return self._summed(a, self.rest)

    def squared_sums(self, a: int) -> Array:
        return self._summed(a, self.squares)

    def _summed(self, a: int, weights: Array) -> Array:
        return self.tables.sums(*self.key(a), weights)

    @cached_property
    def base(self) -> tuple[Index, int]:
        """Node, state and class answer of each row as one number."""
        return self.tables.with_answers(*self.tables.key(self.g), self.tables.reports.target)

    def after(self, a: int, some: slice) -> Array:
        tables, size = self.tables, self.tables.reports.sizes[a]
        if size in self._alike:
            return self._alike[size]
        events, both = tables.events.take(some), (tables.reports.target, a)
        group = tables.reports.group_weights[self.g]
        found = expanded(group, events, both, tables.kinds[self.g]).swapaxes(1, 2)
        g = np.ascontiguousarray(found).reshape(*found.shape[:3], -1)
        if len(g) == 1 < len(events):
            self._alike[size] = g
        return g

    @cached_property
    def _alike(self) -> dict[int, Array]:
        """g that is the same at all nodes, by the size of the attribute."""
        return {}

    def value(self, sums: Array, g: Array) -> Array:
        if len(g) == 1:
            return np.asarray(sums @ g[0].reshape(-1, g.shape[3]).T).reshape(-1, *g.shape[1:3])
        return np.asarray(np.einsum("nk,nvck->nvc", sums, g, optimize=True))

    def moments(self, value: Array, squares: Array, g: Array) -> SplitMoments:
        """`beyond` is the mean of g(v,c) - r g(c) - q g(v) + r q g; r = T(v)/T, q = T(c)/T."""
        total = positive(value.sum(axis=(1, 2)))[:, None]
        r = (value.sum(axis=2) / total)[:, :, None, None]
        q = (value.sum(axis=1) / total)[:, None, :, None]
        whole = g.sum(axis=1, keepdims=True)
        phi = g - r * whole
        phi = phi - q * phi.sum(axis=2, keepdims=True)
        weighted = g * squares[:, None, None]
        return SplitMoments(
            beyond(value),
            self.noise(value, np.einsum("nk,nvck->nvc", squares, phi**2, optimize=True)),
            np.einsum("nvck,nvdk->nvcd", weighted, g, optimize=True),
            np.einsum("nvck,ndk->nvcd", weighted, whole[:, 0], optimize=True),
        )


class OtherGroup(ClassTables):
    """The class is in another group.

    Sums are nodes x classes ( x classes) x cells, g is nodes x categories x cells.
    """

    def sums(self, a: int) -> Array:
        return self._summed(a, self._values)

    def squared_sums(self, a: int) -> Array:
        first, second = np.triu_indices(self.n_classes)
        place = np.zeros((self.n_classes, self.n_classes), np.intp)
        place[first, second] = place[second, first] = np.arange(len(first))
        return self._summed(a, self._products)[:, place]

    def _summed(self, a: int, weights: Sequence[Array]) -> Array:
        key, cells = self.key(a)
        return np.stack([self.tables.sums(key, cells, own) for own in weights], axis=1)

    @cached_property
    def base(self) -> tuple[Index, int]:
        """Node and state of each row as one number."""
        return self.tables.key(self.g)

    @cached_property
    def _values(self) -> list[Array]:
        """What rows weigh for each class."""
        return [self.rest * own for own in self.tables.classes.T]

    @cached_property
    def _products(self) -> list[Array]:
        """What rows weigh for each two classes, squared."""
        first, second = np.triu_indices(self.n_classes)
        one, two = self.tables.classes.T[first], self.tables.classes.T[second]
        return [self.squares * a * b for a, b in zip(one, two, strict=True)]

    def after(self, a: int, some: slice) -> Array:
        return self.tables.after(self.g, a, some)

    def value(self, sums: Array, g: Array) -> Array:
        if len(g) == 1:
            return np.asarray(sums @ g[0].T).swapaxes(1, 2)
        return np.asarray(np.einsum("nck,nvk->nvc", sums, g, optimize=True))

    def moments(self, value: Array, squares: Array, g: Array) -> SplitMoments:
        """`beyond` is the mean of (g(v) - r g) (g(c) - q g); r = T(v)/T, q = T(c)/T."""
        total = positive(value.sum(axis=(1, 2)))[:, None]
        r, q = value.sum(axis=2) / total, value.sum(axis=1) / total
        whole = g.sum(axis=1)
        phi = g - r[:, :, None] * whole[:, None]
        by_class = np.eye(self.n_classes) - q[:, :, None]
        spread = np.einsum("nce,ncf,nefk->nck", by_class, by_class, squares, optimize=True)
        return SplitMoments(
            beyond(value),
            self.noise(value, np.einsum("nck,nvk->nvc", spread, phi**2, optimize=True)),
            np.einsum("ncdk,nvk->nvcd", squares, g**2, optimize=True),
            np.einsum("ncdk,nvk->nvcd", squares, g * whole[:, None], optimize=True),
        )


def beyond(value: Array) -> Array:
    """T(v, c) - T(v) T(c) / T."""
    by_category, by_class = value.sum(axis=2, keepdims=True), value.sum(axis=1, keepdims=True)
    return np.asarray(
        value - by_category * by_class / positive(by_class.sum(axis=2, keepdims=True))
    )


def positive(total: Array) -> Array:
    """Totals to divide by; those that are not positive belong to nodes nothing is read from."""
    return np.where(total > 0, total, 1.0)


def _joined(parts: Sequence[Split]) -> Split:
    if len(parts) == 1:
        return parts[0]
    value = np.concatenate([part.value for part in parts])
    moments = [part.moments for part in parts if part.moments is not None]
    if not moments:
        return Split(value, None)
    names = [field.name for field in fields(SplitMoments)]
    return Split(
        value,
        SplitMoments(*(np.concatenate([getattr(m, name) for m in moments]) for name in names)),
    )


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
