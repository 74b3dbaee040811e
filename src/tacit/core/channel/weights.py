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
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, repeat
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index, Mask, row_products
from tacit.core.channel.event_moments import EventMoments
from tacit.core.channel.linear_maps import along_axes
from tacit.core.channel.numbers import Distribution
from tacit.core.exact_draws import Draws, source_of
from tacit.errors import DataError

States = npt.NDArray[np.signedinteger[Any]]
#: Columns of records.
Axes = tuple[int, ...]


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
        return replace(self, fixed=(*self.fixed, *attributes))

    def take(self, rows: Index | slice) -> Events:
        """Some of the events, none of them parted."""
        return Events(self.sizes, self.allowed[rows])


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

    @property
    def settles(self) -> bool:
        """Whether no later condition can change the last of the `n_states` states."""
        return False

    def dropped(self, states: States) -> Mask:
        """Whether reports in these states weigh 0 whatever conditions follow."""
        return np.full(len(states), False) if self.n_states is None else states >= self.n_states

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


@dataclass(frozen=True, eq=False)
class KeepOrDrawWeights(GroupWeights):
    """All true with probability theta, else a draw. States: 0 met all conditions, 1 did not."""

    theta: float
    drawn: Distribution

    @property
    def exact(self) -> bool:
        return self.theta == 1

    @property
    def same_for_all_events(self) -> bool:
        return self.exact

    @property
    def n_states(self) -> int:
        return 1 if self.exact else 2

    @property
    def heaviest(self) -> float:
        return 1 / abs(self.theta)

    @property
    def settles(self) -> bool:
        return not self.exact

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return np.where(hit, states, np.int8(1))

    def weights(self, events: Events, states: States) -> Array:
        met = (states == 0)[None]
        if self.exact:
            return np.asarray(met, np.float64)
        return np.asarray(met / self.theta - self._draw_weight * self._likelihood(events)[:, None])

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        chance = float(self._likelihood(event)[0])
        weight_of_draw = self._draw_weight * chance
        inside, outside = ((met / self.theta - weight_of_draw) ** power for met in (1.0, 0.0))
        drawn = (1 - self.theta) * (chance * inside + (1 - chance) * outside)
        return EventMoments(*((self.theta * g + drawn,) * 2 for g in (inside, outside)))

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...]:
        keep = KeepKernel(self.attributes, reported, 1 / self.theta)
        draw = DrawKernel(self.attributes, reported, -self._draw_weight, self.drawn)
        return (keep,) if self.exact else (keep, draw)

    @property
    def _draw_weight(self) -> float:
        return (1 - self.theta) / self.theta

    def _likelihood(self, events: Events) -> Array:
        """P(Y in E): attributes that are drawn apart contribute one factor each."""
        n, fixed = len(events.allowed), events.fixed
        whole, chances = np.ones(n), np.ones((n, *(events.sizes[a] for a in fixed)))
        for unit, table in self._tables:
            inside = tuple(a for a in fixed if a in unit)
            parted = replace(events, fixed=inside)
            factor = allowed_cells([parted.of(a) for a in unit]) @ table
            if inside:
                sizes = (events.sizes[a] if a in inside else 1 for a in fixed)
                chances *= factor.reshape(n, *sizes)
            else:
                whole *= factor
        return (whole.reshape(n, *(1,) * len(fixed)) * chances).ravel()

    @cached_property
    def _tables(self) -> list[tuple[tuple[int, ...], Array]]:
        """Attributes that are drawn together, and their distribution."""
        return [
            (tuple(self.attributes[i] for i in unit), np.array(table, dtype=np.float64))
            for unit, table in self.drawn.units
        ]


@dataclass(frozen=True, eq=False)
class DrawKernel(SignedKernel):
    """Draw the group's answers from a known distribution, independently for every record."""

    drawn: Distribution

    random: ClassVar[bool] = True

    @cached_property
    def _draws(self) -> list[Draws]:
        return [Draws([table]) for _, table in self.drawn.units]

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        for (unit, _), draws in zip(self.drawn.units, self._draws, strict=True):
            cells = draws.draw(None, len(copy), source_of(rng))
            answers = np.unravel_index(cells, [self.drawn.shape[i] for i in unit])
            for position, codes in zip(unit, answers, strict=True):
                copy[:, self.true[position]] = codes


#: The state of a yes/no group after a miss and a hit in each state.
_NEXT_STATE = np.array([[2, 1], [3, 1], [2, 3], [3, 3]], np.int8).ravel()


@dataclass(frozen=True, eq=False)
class KeepOrComplementWeights(GroupWeights):
    """Yes/no answers, all true or all opposite.

    States: 0 no condition yet, 1 all met, 2 all missed, 3 mixed.
    """

    theta: float

    same_for_all_events = True
    n_states = 3

    @property
    def _by_state(self) -> Array:
        spread = 2 * self.theta - 1
        return np.array([1.0, self.theta / spread, -(1 - self.theta) / spread, 0.0])

    @property
    def heaviest(self) -> float:
        return float(np.abs(self._by_state[1:]).max())

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return _NEXT_STATE.take((states << 1) | hit)

    def weights(self, events: Events, states: States) -> Array:
        return self._by_state[states][None]

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        met, missed = self._by_state[1:3] ** power
        inside = self.theta * met + (1 - self.theta) * missed
        opposite = self.theta * missed + (1 - self.theta) * met
        mixed = sum(not event.of(a).all() for a in self.attributes) > 1
        outside = (min(0.0, opposite), max(0.0, opposite)) if mixed else (opposite, opposite)
        return EventMoments((inside, inside), outside)

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...]:
        weights = enumerate(self._by_state[1:3].tolist())
        return tuple(KeepKernel(self.attributes, reported, w, flip) for flip, w in weights if w)


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
        return float(max(np.abs(_by_hits(self.theta, ((1, k, 1),))).max() for k in self.sizes))

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
        cells = np.zeros(len(states), np.int64)
        for members in kinds.values():
            hits = sum((states >> i & 1).astype(np.int64) for i in members)
            cells = cells * (len(members) + 1) + hits
        return _by_hits(self.theta, _counted(kinds)).ravel()[cells]

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
            row = slice(f, f + 1)
            tables.append(super().hit_tables(events.take(row), attributes[row])[0])
        return np.stack(tables)[which.ravel()]

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...] | None:
        ratio = (1 - self.theta) / self.theta if self.theta > 0 else math.inf
        if ratio >= 1:
            return None
        if ratio == 0:
            return (KeepKernel(self.attributes, reported, 1.0),)
        even = self.theta / (2 * self.theta - 1)
        return tuple(
            PowerKernel(self.attributes, reported, weight, self.sizes, parity, ratio)
            for parity, weight in enumerate((even, 1 - even))
        )


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


@dataclass(frozen=True, eq=False)
class PowerKernel(SignedKernel):
    """Apply K an even (`parity` 0) or odd (1) number of times; `ratio` is (1-theta)/theta.

    K^j keeps an answer of k categories with probability (1 + (k-1) a) / k, a = (-1/(k-1))^j, and
    else gives one of the others, all equally likely.
    """

    sizes: tuple[int, ...]
    parity: int
    ratio: float

    random: ClassVar[bool] = True

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        power = 2 * (rng.geometric(1 - self.ratio**2, len(copy)) - 1) + self.parity
        for true, report, k in zip(self.true, self.reported, self.sizes, strict=True):
            same = (1 + (k - 1) * (-1 / (k - 1)) ** power) / k
            other = rng.random(len(copy)) >= same
            shift = np.where(other, rng.integers(1, k, len(copy)), 0)
            copy[:, true] = (reported[:, report] + shift) % k


def allowed_cells(masks: Sequence[Mask]) -> Array:
    """Whether each joint cell is allowed, events x cells."""
    return reduce(row_products, (mask.astype(np.float64) for mask in masks))
