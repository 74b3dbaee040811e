"""GroupWeights: what a group's report contributes to the estimate of an event.

    g(y; E) = sum of W[x, y] over the true answers x in E,    P(E) = mean of g over the reports

An event is a set of allowed categories per attribute. A report passes through its conditions one by
one and has a `state`: which conditions it has met so far. A condition changes the state by whether
the reported category is allowed (a hit) or not (a miss); the weight depends on the state alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index, Mask
from tacit.core.design import Factor
from tacit.reconstruction.events import Events
from tacit.reconstruction.interval import EventMoments
from tacit.reconstruction.signed_kernels import SignedKernel

States = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class GroupWeights(ABC):
    """One group: the places of its true attributes in the schema."""

    attributes: tuple[int, ...]

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

    def kernels(self, factor: Factor) -> tuple[SignedKernel, ...] | None:
        """W as a signed mixture of few stochastic kernels; None if there is none."""
        return None

    def parted(self, events: Events, attributes: Sequence[int], states: States) -> Array:
        """g after conditions on these attributes, for every category and every hit or miss.

        Axes: events, a category of each attribute, states, then miss (0) or hit (1) of each.
        """
        hits = np.indices((2,) * len(attributes)).reshape(len(attributes), -1).astype(bool)
        stepped = np.repeat(states, hits.shape[1])
        for attribute, hit in zip(attributes, hits, strict=True):
            stepped = self.step(stepped, attribute, np.tile(hit, len(states)))
        found = self.weights(events.parted(attributes), stepped)
        sizes = [events.sizes[a] if len(found) > 1 else 1 for a in attributes]
        return found.reshape(-1, *sizes, len(states), *(2,) * len(attributes))

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
