"""Weights of reports: what a group's report contributes to the estimate of an event.

    g(y; E) = sum of W[x, y] over the true answers x in E,    P(E) = mean of g over the reports

W is the inverse of the channel's matrix. An event is a set of allowed categories per attribute. A
report passes through its conditions one by one and has a `state`: which conditions it has met so
far. A condition changes the state by whether the reported category is allowed (a hit) or not (a
miss); the weight depends on the state alone:

    keep or draw         all met, or not             1/theta - b P(Y in E), or - b P(Y in E)
    keep or complement   none yet, all met,          1, theta/(2 theta - 1),
                         all missed, mixed           -(1-theta)/(2 theta - 1), 0
    keep or differ       the attributes that hit     by agreement
    matrix               the report itself           sum of the rows of W in E

with b = (1-theta)/theta; columns: channel, states, weights.

W is also a signed mixture of stochastic matrices, W = sum_s v_s K_s. Each kernel K_s turns a report
into one possible true answer and has a weight v_s, which may be negative and may depend on the
report. The weights of a group's kernels sum to 1 for every report.

    truthful     1: keep
    replacing    1/theta: keep                -(1-theta)/theta: a draw from the known distribution
    related      theta/(2theta-1): K^(even)   -(1-theta)/(2theta-1): K^(odd)
    matrix       W[x, report]: answer x, one kernel per true cell x

K of a related group replaces every answer by one of the others, all equally likely. Its inverse is
the series (1/theta) sum_j (-r)^j K^j with r = (1-theta)/theta: a mixture of even powers minus one
of odd powers, both with geometric weights in r^2, so drawing the power keeps it exact. For yes/no
answers even powers keep and odd ones complement. The series needs r < 1, so theta > 1/2.

References: the complement set of Du & Zhan (2003, section 4.3) is `related` with yes/no answers,
P(Y cc) of Zhan & Matwin (section 3.4) is the draw of a group that
replaces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index, Mask, row_products

States = npt.NDArray[np.signedinteger[Any]]
#: Columns of records.
Axes = tuple[int, ...]
#: The least and the largest value.
Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Events:
    """Conjunctions of conditions on true records: `allowed` is events x categories.

    The categories of all attributes are side by side. Each event may be parted further by the
    categories of the `fixed` attributes, the last one running fastest; parts are only expanded on
    demand.
    """

    sizes: tuple[int, ...]
    allowed: Mask
    fixed: tuple[int, ...] = ()

    @classmethod
    def certain(cls, sizes: Sequence[int]) -> Events:
        """The one event that allows every record."""
        return cls(tuple(sizes), np.ones((1, sum(sizes)), dtype=bool))

    @classmethod
    def conjunction(cls, sizes: Sequence[int], conditions: Mapping[int, Sequence[int]]) -> Events:
        """The one event that allows these codes of each attribute, and any of the others."""
        event = cls.certain(sizes)
        for a, codes in conditions.items():
            event.allowed[0, event.span(a)] = np.isin(np.arange(sizes[a]), codes)
        return event

    def __len__(self) -> int:
        return len(self.allowed) * self._parts

    @property
    def _parts(self) -> int:
        return math.prod(self.sizes[a] for a in self.fixed)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.sizes, initial=0))

    def span(self, a: int) -> slice:
        """The columns of an attribute's categories in `allowed`."""
        return slice(self._starts[a], self._starts[a + 1])

    def of(self, a: int) -> Mask:
        """Which categories of an attribute each event allows."""
        if not self.fixed:
            return self.allowed[:, self.span(a)]
        if a not in self.fixed:
            return np.repeat(self.allowed[:, self.span(a)], self._parts, axis=0)
        after = math.prod(self.sizes[b] for b in self.fixed[self.fixed.index(a) + 1 :])
        categories = np.repeat(np.eye(self.sizes[a], dtype=bool), after, axis=0)
        return np.tile(categories, (len(self) // len(categories), 1))

    def parted(self, attributes: Sequence[int]) -> Events:
        """Every event parted by the categories of these attributes."""
        return self.with_fixed((*self.fixed, *attributes))

    def with_fixed(self, attributes: tuple[int, ...]) -> Events:
        """The events parted by the categories of these attributes and no others."""
        return Events(self.sizes, self.allowed, attributes)

    def take(self, rows: Index | slice) -> Events:
        """Some of the events, none of them parted."""
        return Events(self.sizes, self.allowed[rows])

    def choices(self) -> Index:
        """How many categories of each attribute are allowed, events x attributes."""
        starts = self._starts[:-1]
        return np.asarray(np.add.reduceat(self.allowed.astype(np.uint16), starts, axis=1))

    def padded(self, attribute: Index) -> Mask:
        """Which categories of its attribute each event allows, events x the most categories."""
        columns = np.array(self._starts)[attribute][:, None] + np.arange(max(self.sizes))
        rows = np.arange(len(attribute))[:, None]
        return np.asarray(self.allowed[rows, columns % self._starts[-1]])

    def below(self, parents: Index, attribute: Index, allowed: Mask) -> Events:
        """Events with one more condition each; `allowed` is padded to the most categories."""
        narrower = self.allowed[parents]
        for a in np.unique(attribute):
            rows, span = np.flatnonzero(attribute == a), self.span(a)
            narrower[rows, span] &= allowed[rows, : span.stop - span.start]
        return Events(self.sizes, narrower)


@dataclass(frozen=True)
class EventMoments:
    """Least and largest E[g^k | true answers] over the answers inside and outside an event.

    g is the weight of a report for the event, k a power. The outside of a product of groups is
    where at least one group is outside its own event.
    """

    inside: Range
    outside: Range

    def __mul__(self, other: EventMoments) -> EventMoments:
        mixed = [(self.inside, other.outside), (self.outside, other.inside)]
        outside = [_products(*pair) for pair in [*mixed, (self.outside, other.outside)]]
        return EventMoments(
            _products(self.inside, other.inside),
            (min(low for low, _ in outside), max(high for _, high in outside)),
        )


#: The moments of an event whose conditions are all on undisguised attributes.
UNDISGUISED = EventMoments((1.0, 1.0), (0.0, 0.0))


def _products(first: Range, second: Range) -> Range:
    """Least and largest product; a moment of an odd power may be negative."""
    products = [a * b for a, b in product(first, second)]
    return min(products), max(products)


@dataclass(frozen=True, eq=False)
class SignedKernel(ABC):
    """One kernel of a group, which has these columns in true and in reported records.

    Its weight is the same for every report unless it says otherwise.
    """

    true: Axes
    reported: Axes
    weight: float

    #: Whether two calls of `write` may differ.
    random: ClassVar[bool] = False

    def weights(self, reported: Codes) -> Array | float:
        """The weight of each record."""
        return self.weight

    @abstractmethod
    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        """Fill the group's columns in a copy of the records."""


@dataclass(frozen=True, eq=False)
class KeepKernel(SignedKernel):
    """Take the report as the truth; with `flip` 1 the opposite of every yes/no answer."""

    flip: int = 0

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        for true, report in zip(self.true, self.reported, strict=True):
            copy[:, true] = reported[:, report] ^ self.flip


@dataclass(frozen=True, eq=False)
class CellKernel(SignedKernel):
    """Take one true cell as the truth; its weight is its entry of W at the report."""

    answers: tuple[int, ...]
    reported_shape: tuple[int, ...]
    entries: Array

    def weights(self, reported: Codes) -> Array:
        reports = [reported[:, column] for column in self.reported]
        return np.asarray(self.entries[np.ravel_multi_index(reports, self.reported_shape)])

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        copy[:, self.true] = self.answers


@dataclass(frozen=True, eq=False)
class GroupWeights(ABC):
    """One group: the positions of its true attributes in the schema."""

    attributes: Axes

    #: Whether a report has an answer of its own for each attribute.
    by_attribute: ClassVar[bool] = True

    @property
    def exact(self) -> bool:
        """Whether reports are the truth."""
        return False

    @property
    def same_for_all_events(self) -> bool:
        """Whether weights depend on the states alone, so that they are the same for all events."""
        return False

    @property
    def n_states(self) -> int | None:
        """How many states there are before those that are dropped; None if they are many."""
        return None

    @property
    @abstractmethod
    def heaviest(self) -> float:
        """The largest weight of a report in an event, or close to it."""

    def dropped(self, states: States) -> Mask:
        """Whether reports in these states weigh 0 whatever conditions follow."""
        return np.zeros(len(states), bool)

    def settled(self, states: States) -> Mask:
        """Whether no later condition can change these states."""
        return np.zeros(len(states), bool)

    def start(self, cells: Index) -> States:
        """States before any condition; `cells` are the joint reports."""
        return np.zeros(len(cells), np.int8)

    @abstractmethod
    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        """States after a condition on an attribute (or on one per report)."""

    @abstractmethod
    def weights(self, events: Events, states: States) -> Array:
        """g of reports in these states, events x states; one row if it is the same for all."""

    @abstractmethod
    def moments(self, event: Events, power: int = 2) -> EventMoments:
        """E[g^power | x] for true answers x inside and outside one event."""

    def inside_weights(self, event: Events, states: States, power: int = 2) -> Array:
        """Weights that estimate the mean of E[g^power | x] over the event, 1 x states."""
        return self.moments(event, power).inside[0] * self.weights(event, states)

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...] | None:
        """W as a signed mixture of few stochastic kernels; None if there is none.

        `reported` are the group's columns in reported records.
        """
        return None

    def parted(self, events: Events, attributes: Sequence[int], states: States) -> Array:
        """g after conditions on these attributes, for every category and every hit or miss.

        Axes: events, a category of each attribute, states, then miss (0) or hit (1) of each.
        """
        hits = np.indices((2,) * len(attributes)).reshape(len(attributes), -1).astype(bool)
        stepped = np.repeat(states, hits.shape[1])
        for attribute, hit in zip(attributes, hits, strict=True):
            stepped = self.step(stepped, attribute, np.tile(hit, len(states)))
        weights = self.weights(events.parted(attributes), stepped)
        sizes = [events.sizes[a] if len(weights) > 1 else 1 for a in attributes]
        return weights.reshape(-1, *sizes, len(states), *(2,) * len(attributes))

    def hit_tables(self, events: Events, attributes: Index) -> Array:
        """g of each event for every hit or miss of its attributes, the last running fastest.

        `attributes` is events x attributes: each event has conditions on these alone. The result
        is events x 2^attributes. Only for groups that report attribute by attribute.
        """
        hits = np.indices((2,) * attributes.shape[1]).reshape(attributes.shape[1], -1)
        states = self.start(np.zeros(hits.shape[1], np.intp))
        for a, hit in zip(attributes[0].tolist(), hits.astype(bool), strict=True):
            states = self.step(states, a, hit)
        return np.broadcast_to(self.weights(events, states), (len(events), hits.shape[1]))


@dataclass(frozen=True, eq=False)
class MatrixWeights(GroupWeights):
    """Any channel of the joint answer. The state is the joint report."""

    inverse: Array
    forward: Array

    by_attribute: ClassVar[bool] = False

    @property
    def heaviest(self) -> float:
        return float(np.abs(self.inverse).max())

    def start(self, cells: Index) -> States:
        return cells.astype(np.int64)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return states

    def weights(self, events: Events, states: States) -> Array:
        return np.asarray((self._allowed(events) @ self.inverse)[:, states])

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        allowed = self._allowed(event)
        moments, inside = self._moments(allowed, power)[0], allowed[0] > 0
        parts = (moments[inside], moments[~inside])
        return EventMoments(*((float(part.min()), float(part.max())) for part in parts))

    def inside_weights(self, event: Events, states: States, power: int = 2) -> Array:
        allowed = self._allowed(event)
        return np.asarray(((allowed * self._moments(allowed, power)) @ self.inverse)[:, states])

    def _allowed(self, events: Events) -> Array:
        return allowed_cells([events.of(a) for a in self.attributes])

    def _moments(self, allowed: Array, power: int) -> Array:
        """E[g^power | x], events x cells."""
        return np.asarray((allowed @ self.inverse) ** power @ self.forward)


def allowed_cells(masks: Sequence[Mask]) -> Array:
    """Whether each joint cell is allowed, events x cells."""
    return reduce(row_products, (mask.astype(np.float64) for mask in masks))
