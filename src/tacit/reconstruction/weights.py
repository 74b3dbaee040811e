"""Group weights: what a group's report counts towards an event of true answers.

    g(y; E) = sum of W[x, y] over the true answers x in E,    P(E) = mean of g over the reports

(METHODS 2, any expectation). An event is a set of allowed categories for each attribute, so a
report need not be undone into true records: it has a `state`, what the event has met in it so far,
and the state has a weight. A condition on an attribute moves the state by whether the reported
category is allowed, a hit, or not.

    kept or drawn        met all so far, or not       1/theta - b P(Y in E), or - b P(Y in E)
    kept or complement   untouched, all, none         1, theta/(2 theta-1), -(1-theta)/(2 theta-1)
    kept or different    which attributes were hit    by agreement, see `Agreement.coefficients`
    matrix               the report itself            sum of the rows of W in E

with b = (1-theta)/theta. A state without weight in any later event is dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Index, Mask
from tacit.channel.channel import Channel
from tacit.channel.distribution import Distribution
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.related import AgreementChannel
from tacit.reconstruction.events import Events

States = npt.NDArray[np.signedinteger[Any]]
#: States from here on are those of reports that no longer count.
DROPPED = -1
#: Bits of a word, one of which is for what is dropped.
_WORD = 63


@dataclass(frozen=True, eq=False)
class GroupWeights(ABC):
    """One group: the places of its true attributes in the schema."""

    attributes: tuple[int, ...]

    @property
    def by_attribute(self) -> bool:
        """Whether a report has an answer of its own for each attribute."""
        return True

    @property
    def exact(self) -> bool:
        """Whether reports are the truth."""
        return False

    @property
    @abstractmethod
    def heaviest(self) -> float:
        """The most that a report weighs in an event, or nearly so."""

    def spent(self, states: States) -> Mask:
        """Whether no later condition can tell reports in these states apart."""
        return np.zeros(len(states), bool)

    def start(self, cells: Index) -> States:
        """States before any condition, from the joint report of each pattern."""
        return np.zeros(len(cells), np.int8)

    @abstractmethod
    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        """States after a condition on an attribute, or one each, that the report meets or not."""

    @abstractmethod
    def weights(self, events: Events, states: States) -> Array:
        """g of reports in these states, events x states; one row if it is the same for all."""

    def parted(self, events: Events, attributes: Sequence[int], states: States) -> Array:
        """g after conditions on these attributes, for every category and every hit or miss.

        Axes: events, a category of each attribute, states, then hit (1) or miss (0) of each.
        """
        hits = np.indices((2,) * len(attributes)).reshape(len(attributes), -1).astype(bool)
        stepped = np.repeat(states, hits.shape[1])
        for attribute, hit in zip(attributes, hits, strict=True):
            after = self.step(stepped, attribute, np.tile(hit, len(states)))
            stepped = np.where(stepped == DROPPED, DROPPED, after)
        found = self.weights(events.parted(attributes), np.maximum(stepped, 0))
        found = np.where(stepped == DROPPED, 0.0, found)
        sizes = [events.sizes[a] for a in attributes]
        sizes = [1] * len(sizes) if len(found) == 1 else sizes
        return found.reshape(-1, *sizes, len(states), *(2,) * len(attributes))


@dataclass(frozen=True, eq=False)
class KeepOrDrawWeights(GroupWeights):
    """All true with probability theta, else a draw: state 0 met all conditions, 1 did not."""

    theta: float
    drawn: Distribution

    @property
    def exact(self) -> bool:
        return self.theta == 1

    @property
    def heaviest(self) -> float:
        return 1 / abs(self.theta)

    def spent(self, states: States) -> Mask:
        return np.asarray(states == 1)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        missed = DROPPED if self.exact else 1
        return np.where(hit, states, missed)

    def weights(self, events: Events, states: States) -> Array:
        if self.exact:
            return np.ones((1, len(states)))
        drawn = (1 - self.theta) / self.theta * self._likelihood(events)
        return np.asarray((states == 0) / self.theta - drawn[:, None])

    def _likelihood(self, events: Events) -> Array:
        """P(Y in E)."""
        chances = np.ones(len(events))
        for unit, law in self._laws:
            chances *= _cells([events.of(a) for a in unit]) @ law
        return chances

    @cached_property
    def _laws(self) -> list[tuple[tuple[int, ...], Array]]:
        """What is drawn together, and its distribution."""
        units, laws = self.drawn.units
        places = [tuple(self.attributes[i] for i in unit) for unit in units]
        return [(p, np.array(law, dtype=np.float64)) for p, law in zip(places, laws, strict=True)]


@dataclass(frozen=True, eq=False)
class KeepOrComplementWeights(GroupWeights):
    """Yes/no answers, all true or all opposite: states 0 untouched, 1 all true, 2 all opposite."""

    theta: float

    @property
    def heaviest(self) -> float:
        return max(self.theta, 1 - self.theta) / abs(2 * self.theta - 1)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        after = np.array([[2, 1], [DROPPED, 1], [2, DROPPED]], np.int8)
        return np.asarray(after[states, hit.astype(np.intp)])

    def weights(self, events: Events, states: States) -> Array:
        spread = 2 * self.theta - 1
        by_state = np.array([1.0, self.theta / spread, -(1 - self.theta) / spread])
        return by_state[states][None]


@dataclass(frozen=True, eq=False)
class KeepOrDifferWeights(GroupWeights):
    """All true, or every answer another one: states have a bit for each attribute that was hit."""

    theta: float
    sizes: tuple[int, ...]

    def start(self, cells: Index) -> States:
        return np.zeros(len(cells), self._bits.dtype)

    @property
    def heaviest(self) -> float:
        each = [np.abs(_by_agreement(self.theta, ((1, k),))).max() for k in self.sizes]
        return float(max(each))

    @cached_property
    def _bits(self) -> States:
        """The bit of each attribute of the schema; numbers of any length where a word is short."""
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
        touched = [i for i, k in enumerate(self.sizes) if numbers[i] < k]
        kinds = tuple((int(numbers[i]), self.sizes[i]) for i in touched)
        place = np.zeros(len(states), np.int64)
        for i in touched:
            place = 2 * place + (states >> i & 1).astype(np.int64)
        return _by_agreement(self.theta, kinds)[place]


@lru_cache(maxsize=4096)
def _by_agreement(theta: float, kinds: tuple[tuple[int, int], ...]) -> Array:
    """g by which attributes are hit, each given as (allowed, size); the first bit is the highest.

    W is a sum over sets U of attributes of 1/(theta + (1-theta) prod_U -1/(k-1)) times contrasts
    I - J/k on U and means J/k elsewhere.
    """
    products = np.ones(())
    for _, k in kinds:
        products = np.multiply.outer(products, np.array([1, -1 / (k - 1)]))
    found = np.asarray(1 / (theta + (1 - theta) * products))
    for axis, (b, k) in enumerate(kinds):
        step = np.array([[b / k, -b / k], [b / k, 1 - b / k]])
        found = np.moveaxis(np.tensordot(step, found, axes=(1, axis)), 0, axis)
    return found.ravel()


@dataclass(frozen=True, eq=False)
class MatrixWeights(GroupWeights):
    """Any channel of the joint answer: the state is the joint report."""

    inverse: Array

    @property
    def by_attribute(self) -> bool:
        return False

    @property
    def heaviest(self) -> float:
        return float(np.abs(self.inverse).max())

    def start(self, cells: Index) -> States:
        return cells.astype(np.int64)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return states

    def weights(self, events: Events, states: States) -> Array:
        masks = [events.of(a) for a in self.attributes]
        return np.asarray((_cells(masks) @ self.inverse)[:, states])


def _cells(masks: Sequence[Mask]) -> Array:
    """Which joint cells are allowed, events x cells."""
    first, *others = (mask.astype(np.float64) for mask in masks)
    for mask in others:
        first = (first[:, :, None] * mask[:, None]).reshape(len(first), -1)
    return first


def weights_of_channel(
    attributes: tuple[int, ...], channel: Channel, inverse: Callable[[], Array]
) -> GroupWeights:
    """The reading of a group with this channel; `inverse` gives W where it is a matrix."""
    match channel:
        case ReplacementChannel(theta, drawn):
            return KeepOrDrawWeights(attributes, float(theta), drawn)
        case AgreementChannel(theta, sizes) if set(sizes) == {2}:
            return KeepOrComplementWeights(attributes, float(theta))
        case AgreementChannel(theta, sizes):
            return KeepOrDifferWeights(attributes, float(theta), sizes)
        case _:
            return MatrixWeights(attributes, inverse())
