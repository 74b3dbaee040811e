"""Weights of reports per family; `weights_of_channel` is the only place that tells families apart.

    keep or draw         all met, or not             1/theta - b P(Y in E), or - b P(Y in E)
    keep or complement   none yet, all met,          1, theta/(2 theta - 1),
                         all missed, mixed           -(1-theta)/(2 theta - 1), 0
    keep or differ       the attributes that hit     by agreement, see `agreement_weights`
    matrix               the report itself           sum of the rows of W in E

with b = (1-theta)/theta; columns: family, states, weights. A family whose channel is one of these
needs nothing here; a family with a new kind of channel adds a class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import ClassVar

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.channel import Channel
from tacit.core.channel.coin import Distribution
from tacit.core.channel.keep_or_draw import ReplacementChannel
from tacit.core.channel.linear_maps import row_products
from tacit.core.channel.related import AgreementChannel
from tacit.core.design import Factor
from tacit.reconstruction.agreement_weights import KeepOrDifferWeights
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States
from tacit.reconstruction.interval import EventMoments
from tacit.reconstruction.signed_kernels import DrawKernel, KeepKernel, SignedKernel

#: The state of a yes/no group after a miss and a hit in each state.
_AFTER = np.array([[2, 1], [3, 1], [2, 3], [3, 3]], np.int8).ravel()


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

    def dropped(self, states: States) -> Mask:
        return self.settled(states) if self.exact else super().dropped(states)

    def settled(self, states: States) -> Mask:
        return np.asarray(states == 1)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return np.where(hit, states, np.int8(1))

    def weights(self, events: Events, states: States) -> Array:
        met = (states == 0)[None]
        if self.exact:
            return np.asarray(met, np.float64)
        return np.asarray(met / self.theta - self._draw_weight * self._likelihood(events)[:, None])

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        chance = float(self._likelihood(event)[0])
        inside, outside = (
            (met / self.theta - self._draw_weight * chance) ** power for met in (1.0, 0.0)
        )
        drawn = (1 - self.theta) * (chance * inside + (1 - chance) * outside)
        return EventMoments(*((self.theta * g + drawn,) * 2 for g in (inside, outside)))

    def kernels(self, factor: Factor) -> tuple[SignedKernel, ...]:
        kept = KeepKernel(factor, 1 / self.theta)
        drawn = DrawKernel(factor, -self._draw_weight, self.drawn)
        return (kept,) if self.exact else (kept, drawn)

    @property
    def _draw_weight(self) -> float:
        return (1 - self.theta) / self.theta

    def _likelihood(self, events: Events) -> Array:
        """P(Y in E): attributes that are drawn apart contribute one factor each."""
        n, fixed = len(events.allowed), events.fixed
        whole, chances = np.ones(n), np.ones((n, *(events.sizes[a] for a in fixed)))
        for unit, law in self._laws:
            own = tuple(a for a in fixed if a in unit)
            parted = events.with_fixed(own)
            factor = _cells([parted.of(a) for a in unit]) @ law
            if own:
                chances *= factor.reshape(n, *(events.sizes[a] if a in own else 1 for a in fixed))
            else:
                whole *= factor
        return (whole.reshape(n, *(1,) * len(fixed)) * chances).ravel()

    @cached_property
    def _laws(self) -> list[tuple[tuple[int, ...], Array]]:
        """Attributes that are drawn together, and their distribution."""
        units, laws = self.drawn.units
        places = [tuple(self.attributes[i] for i in unit) for unit in units]
        return [(p, np.array(law, dtype=np.float64)) for p, law in zip(places, laws, strict=True)]


@dataclass(frozen=True, eq=False)
class KeepOrComplementWeights(GroupWeights):
    """Yes/no answers, all true or all opposite.

    States: 0 no condition yet, 1 all met, 2 all missed, 3 mixed.
    """

    theta: float

    @property
    def same_for_all_events(self) -> bool:
        return True

    @property
    def n_states(self) -> int:
        return 3

    @property
    def _by_state(self) -> Array:
        spread = 2 * self.theta - 1
        return np.array([1.0, self.theta / spread, -(1 - self.theta) / spread, 0.0])

    @property
    def heaviest(self) -> float:
        return float(np.abs(self._by_state[1:]).max())

    def dropped(self, states: States) -> Mask:
        return np.asarray(states == 3)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return _AFTER.take((states << 1) | hit)

    def weights(self, events: Events, states: States) -> Array:
        return self._by_state[states][None]

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        met, missed = self._by_state[1:3] ** power
        inside = self.theta * met + (1 - self.theta) * missed
        opposite = self.theta * missed + (1 - self.theta) * met
        mixed = sum(not event.of(a).all() for a in self.attributes) > 1
        outside = (min(0.0, opposite), max(0.0, opposite)) if mixed else (opposite, opposite)
        return EventMoments((inside, inside), outside)

    def kernels(self, factor: Factor) -> tuple[SignedKernel, ...]:
        keep, complement = self._by_state[1:3].tolist()
        both = (KeepKernel(factor, keep), KeepKernel(factor, complement, flip=1))
        return tuple(kernel for kernel in both if kernel.weight)


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
        each = (moments[inside], moments[~inside])
        return EventMoments(*((float(own.min()), float(own.max())) for own in each))

    def inside_weights(self, event: Events, states: States, power: int = 2) -> Array:
        allowed = self._allowed(event)
        return np.asarray(((allowed * self._moments(allowed, power)) @ self.inverse)[:, states])

    def _allowed(self, events: Events) -> Array:
        return _cells([events.of(a) for a in self.attributes])

    def _moments(self, allowed: Array, power: int) -> Array:
        """E[g^power | x], events x cells."""
        return np.asarray((allowed @ self.inverse) ** power @ self.forward)


def _cells(masks: Sequence[Mask]) -> Array:
    """Whether each joint cell is allowed, events x cells."""
    return reduce(row_products, (mask.astype(np.float64) for mask in masks))


def weights_of_channel(
    attributes: tuple[int, ...], channel: Channel, inverse: Callable[[], Array]
) -> GroupWeights:
    """The weights of a group with this channel; `inverse` is called for W if it is a matrix."""
    match channel:
        case ReplacementChannel(theta, drawn):
            return KeepOrDrawWeights(attributes, float(theta), drawn)
        case AgreementChannel(theta, sizes) if set(sizes) == {2}:
            return KeepOrComplementWeights(attributes, float(theta))
        case AgreementChannel(theta, sizes):
            return KeepOrDifferWeights(attributes, float(theta), sizes)
        case _:
            return MatrixWeights(attributes, inverse(), channel.matrix)
