"""ClassTables: attributes against the class at all nodes, P(E, v, c) with its noise.

The reports at a node are summed by the state s of the attribute's group and by the reported answers
v' and c'. The weight g of a report for (v, c) depends on its state and on whether v' = v and c' = c
(a hit or a miss), so a table is a sum of at most four terms per state:

    T(v, c) = sum over s, hv, hc of  S[s, hv, hc] g[v, c, s, hv, hc]

with S[hit, hit] = N[v, c], S[hit, miss] = N[v, .] - N[v, c], and so on. The same sums of squared
weights give second moments. If the class is in another group, its weights are already in the sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States

#: Numbers that are processed at once.
_AT_ONCE = 1 << 21
#: States that are summed one by one.
_FEW_STATES = 4
#: Variances below this share of the second moment are rounding.
_ROUNDING = 1e-9


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
        found = self.source.group.weights(self.events, self.source.states)
        return found[:, None, None, :, None, None]

    def _parted(self, *attributes: int) -> Array:
        found = self.source.group.parted(self.events, attributes, self.source.states)
        if self.source.group.by_attribute:
            return found
        return found[..., 1:, 1:] if len(attributes) > 1 else found[..., 1:]  # no misses

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
        own, cross = zip(*parts, strict=True)
        return np.concatenate(own), np.concatenate(cross)

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
            np.broadcast_to(own, (*own.shape[:3], *hits)).reshape(*own.shape[:3], -1)
            for own in (g.both, g.by_category, g.by_class, g.whole)
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
        own, cross = weighted(flat, g.by_category**2), weighted(flat, g.by_category * g.whole)
        shape = (*own.shape[:2], *squares.shape[3:])
        return own.reshape(shape), cross.reshape(shape)


def weighted(sums: Array, g: Array) -> Array:
    """Sums of pairs x s x v' x c' times weights of pairs x v x c x s x hv x hc, summed over s."""
    found = np.zeros((len(sums), *map(max, g.shape[1:3], sums.shape[2:4])))
    for hv in range(g.shape[4]):
        if not g[..., hv, :].any():
            continue
        by_category = _part(sums, 2, hv, g.shape[4])
        for hc in range(g.shape[5]):
            if (own := g[..., hv, hc]).any():
                found += _summed(_part(by_category, 3, hc, g.shape[5]), own)
    return found


def _summed(sums: Array, g: Array) -> Array:
    """Pairs x s x v x c times pairs x v x c x s, summed over s."""
    if sums.shape[1] > _FEW_STATES:
        return np.asarray((sums * np.moveaxis(g, 3, 1)).sum(axis=1))
    return sum((sums[:, s] * g[..., s] for s in range(sums.shape[1])), np.zeros(()))


def moments_by_class(squares: Array, one: Array, other: Array) -> tuple[Array, Array]:
    """Means of products of weights for each two classes, pairs x v x c x c'.

    First those of `one` and `one`, then those of `one` and `other`.
    """
    answers = squares.shape[3]
    first, second = by_answer(one, answers), by_answer(other, answers)
    parts = [_part(squares, 2, hv, one.shape[4]) for hv in range(one.shape[4])]
    sums = np.stack(parts, axis=3)[:, :, :, None].transpose(0, 2, 3, 1, 4, 5)
    weights = sums * first
    shape = (*weights.shape[:3], -1)
    second = np.broadcast_to(second, weights.shape).reshape(shape).swapaxes(2, 3)
    first = np.broadcast_to(first, weights.shape).reshape(shape).swapaxes(2, 3)
    return weights.reshape(shape) @ first, weights.reshape(shape) @ second


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
