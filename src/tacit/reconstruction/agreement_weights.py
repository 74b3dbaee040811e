"""KeepOrDifferWeights: weights of a related group with more than two categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, repeat

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.linear_maps import along_axes
from tacit.core.design import Factor
from tacit.errors import DataError
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States
from tacit.reconstruction.interval import EventMoments
from tacit.reconstruction.signed_kernels import KeepKernel, PowerKernel, SignedKernel

#: An int64 has room for this many attributes, one bit each.
_WORD = 63
#: Numbers of hits that are tabulated for one event.
_MAX_HITS = 1 << 22

#: Conditions of one kind: allowed categories, all categories, number of attributes.
Kinds = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class KeepOrDifferWeights(GroupWeights):
    """All true, or every answer another one. States have one bit per attribute: its last hit.

    Attributes with as many categories, of which as many are allowed, are exchangeable: the weight
    depends on how many of them hit.
    """

    theta: float
    sizes: tuple[int, ...]

    def start(self, cells: Index) -> States:
        return np.zeros(len(cells), self._bits.dtype)

    @property
    def heaviest(self) -> float:
        each = [np.abs(_by_hits(self.theta, ((1, k, 1),))).max() for k in self.sizes]
        return float(max(each))

    @cached_property
    def _bits(self) -> States:
        """The bit of each attribute of the schema; Python integers if a word is too short."""
        kind = np.int64 if len(self.attributes) < _WORD else object
        bits = np.zeros(max(self.attributes) + 1, kind)
        bits[list(self.attributes)] = [1 << i for i in range(len(self.attributes))]
        return bits

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        bit = self._bits[attribute]
        return np.where(hit, states | bit, states & ~bit)

    def weights(self, events: Events, states: States) -> Array:
        numbers = np.stack([events.of(a).sum(axis=1) for a in self.attributes], axis=1)
        kinds, which = np.unique(numbers, axis=0, return_inverse=True)
        return np.stack([self._weights(kind, states) for kind in kinds])[which.ravel()]

    def _weights(self, numbers: Index, states: States) -> Array:
        """The same for events that allow so many categories of each attribute."""
        kinds = self._kinds(numbers)
        place = np.zeros(len(states), np.int64)
        for members in kinds.values():
            hits = sum((states >> i & 1).astype(np.int64) for i in members)
            place = place * (len(members) + 1) + hits
        return _by_hits(self.theta, _counted(kinds)).ravel()[place]

    def _kinds(self, numbers: Index) -> dict[tuple[int, int], list[int]]:
        """Attributes with a condition, by allowed and all categories."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for i, (b, k) in enumerate(zip(numbers.tolist(), self.sizes, strict=True)):
            if b < k:
                kinds.setdefault((b, k), []).append(i)
        return kinds

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        numbers = np.array([event.of(a).sum() for a in self.attributes])
        kinds = _counted(self._kinds(numbers))
        powers = _by_hits(self.theta, kinds) ** power
        steps = [
            _hit_products(n, np.array([k - b, b - 1]) / (k - 1), np.array([k - b - 1, b]) / (k - 1))
            for b, k, n in kinds
        ]
        moved = along_axes(steps, powers)
        *outside, inside = (self.theta * powers + (1 - self.theta) * moved).ravel()
        return EventMoments((inside, inside), (min(outside), max(outside)))

    def hit_tables(self, events: Events, attributes: Index) -> Array:
        """One table serves all events whose attributes have as many categories."""
        sizes = np.array(events.sizes)[attributes]
        _, first, which = np.unique(sizes, axis=0, return_index=True, return_inverse=True)
        tables = []
        for f in first.tolist():
            one = slice(f, f + 1)
            tables.append(super().hit_tables(events.take(one), attributes[one])[0])
        return np.stack(tables)[which.ravel()]

    def kernels(self, factor: Factor) -> tuple[SignedKernel, ...] | None:
        ratio = (1 - self.theta) / self.theta if self.theta > 0 else math.inf
        if ratio >= 1:
            return None
        if ratio == 0:
            return (KeepKernel(factor, 1.0),)
        even = self.theta / (2 * self.theta - 1)
        return (PowerKernel(factor, even, 0, ratio), PowerKernel(factor, 1 - even, 1, ratio))


def _counted(kinds: dict[tuple[int, int], list[int]]) -> Kinds:
    return tuple((b, k, len(members)) for (b, k), members in kinds.items())


@lru_cache(maxsize=4096)
def _by_hits(theta: float, kinds: Kinds) -> Array:
    """g by the number of hits among the attributes of each kind (allowed, size, how many).

    W is a sum over sets U of attributes of 1/(theta + (1-theta) prod_U -1/(k-1)) times contrasts
    I - J/k on U and means J/k elsewhere; sets with as many members of each kind are summed at once.
    """
    cells = math.prod(n + 1 for _, _, n in kinds)
    if cells > _MAX_HITS:
        raise DataError(
            f"the weights of an event with conditions on attributes of {len(kinds)} different "
            f"sizes in one related group need {cells:,} cases, more than the {_MAX_HITS:,} "
            "allowed; use fewer conditions"
        )
    products = np.ones(())
    for _, k, n in kinds:
        products = np.multiply.outer(products, (-1 / (k - 1)) ** np.arange(n + 1))
    steps = [
        _hit_products(n, np.array([b / k, 1 - b / k]), np.array([b / k, -b / k]))
        for b, k, n in kinds
    ]
    return along_axes(steps, 1 / (theta + (1 - theta) * products))


def _hit_products(n: int, hit: Array, miss: Array) -> Array:
    """Row h: coefficients of the polynomial hit^h miss^(n - h), from linear hit and miss."""
    hits = list(accumulate(repeat(hit, n), np.convolve, initial=np.ones(1)))
    misses = list(accumulate(repeat(miss, n), np.convolve, initial=np.ones(1)))
    return np.stack([np.convolve(hits[h], misses[n - h]) for h in range(n + 1)])
