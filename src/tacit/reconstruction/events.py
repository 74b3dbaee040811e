"""Events: what the nodes of a tree say of a record, a set of allowed categories an attribute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from tacit.arrays import Index, Mask


@dataclass(frozen=True, eq=False)
class Events:
    """Conjunctions of conditions: `allowed` is events x categories of all attributes in a row.

    Each event may be parted further by the categories of the `fixed` attributes, the last one
    running fastest; parts are only written out where they are asked for.
    """

    sizes: tuple[int, ...]
    allowed: Mask
    fixed: tuple[int, ...] = ()

    @classmethod
    def certain(cls, sizes: Sequence[int]) -> Events:
        """The one event that allows every record."""
        return cls(tuple(sizes), np.ones((1, sum(sizes)), dtype=bool))

    def __len__(self) -> int:
        return len(self.allowed) * self._parts

    @property
    def _parts(self) -> int:
        return math.prod(self.sizes[a] for a in self.fixed)

    def span(self, a: int) -> slice:
        """Where an attribute's categories stand in the row."""
        ends = list(accumulate(self.sizes, initial=0))
        return slice(ends[a], ends[a + 1])

    def of(self, a: int) -> Mask:
        """Which categories of an attribute each event allows."""
        if a not in self.fixed:
            return np.repeat(self.allowed[:, self.span(a)], self._parts, axis=0)
        place = self.fixed.index(a)
        after = math.prod(self.sizes[b] for b in self.fixed[place + 1 :])
        own = np.repeat(np.eye(self.sizes[a], dtype=bool), after, axis=0)
        return np.tile(own, (len(self) // len(own), 1))

    def parted(self, attributes: Sequence[int]) -> Events:
        """Every event parted by the categories of these attributes."""
        return Events(self.sizes, self.allowed, (*self.fixed, *attributes))

    def take(self, places: Index | slice) -> Events:
        """Some of the events, none of them parted."""
        return Events(self.sizes, self.allowed[places])

    def choices(self) -> Index:
        """How many categories of each attribute are allowed, events x attributes."""
        starts = [self.span(a).start for a in range(len(self.sizes))]
        return np.asarray(np.add.reduceat(self.allowed.astype(np.uint16), starts, axis=1))

    def padded(self, attribute: Index) -> Mask:
        """Which categories of its attribute each event allows, events x the most categories."""
        most = max(self.sizes)
        starts = np.array([self.span(a).start for a in range(len(self.sizes))])
        places = starts[attribute][:, None] + np.arange(most)
        return np.asarray(self.allowed[np.arange(len(attribute))[:, None], places % self.width])

    def below(self, parents: Index, attribute: Index, allowed: Mask) -> Events:
        """Events with one more condition each; `allowed` is padded to the most categories."""
        found = self.allowed[parents]
        for a in np.unique(attribute):
            here, span = np.flatnonzero(attribute == a), self.span(a)
            found[here, span] &= allowed[here, : span.stop - span.start]
        return Events(self.sizes, found)

    @property
    def width(self) -> int:
        """Categories of all attributes."""
        return sum(self.sizes)
