"""NodeTables: P(E, c) and P(E, v, c) of nodes E, reconstructed from reports, with their noise.

A report's weight for a conjunction is the product of its groups' weights g. So the reports at a
node are summed by the state of the split attribute's group and by the reported answers, each with
the weight of its other groups; the rest is linear and small (see `class_tables`).
`RowTables` sums rows and serves any design; `CellTables` counts cells and is faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import groupby
from typing import Self

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.class_tables import (
    ClassTables,
    GroupSums,
    OtherGroup,
    SameGroup,
    chunks,
    moments_by_class,
    weighted,
)
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import States


class NodeTables(ABC):
    """The tables of some nodes."""

    def __init__(self, reports: TreeReports, events: Events) -> None:
        self.reports, self.events = reports, events
        self.n = len(events)
        self.own = int(reports.groups[reports.target])

    @classmethod
    @abstractmethod
    def root(cls, reports: TreeReports) -> Self:
        """The node without conditions."""

    @abstractmethod
    def below(self, attribute: Index, branches: Index, wanted: Mask, last: bool = False) -> Self:
        """The wanted children of nodes split by an attribute each, in the order of `wanted`.

        `branches` says to which branch each category belongs, nodes x categories, NONE for those
        that are not allowed; `wanted` is nodes x branches. `last` if they will not be split.
        """

    @abstractmethod
    def affordable(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        """Wanted children of nodes split by an attribute each, in parts that fit in memory."""

    @abstractmethod
    def states(self, g: int) -> States:
        """The states of a group that occur."""

    @abstractmethod
    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        """The sums of a group, see `GroupSums`."""

    @abstractmethod
    def class_sums(self, squared: bool) -> Array:
        """Reports by the state of the class's group and the reported class, nodes x s x c'.

        Each report counts times its weight in the other groups, or times its square.
        """

    def by_class(self) -> tuple[Array, Array]:
        """P(E, c), nodes x classes, and the second moments of its weights for each two classes."""
        group = self.reports.group_weights[self.own]
        sums, squares = (self.class_sums(squared)[:, :, None] for squared in (False, True))
        value, moment = [], []
        for some in chunks(self.n, sums[0].size * 4):
            g = group.parted(self.events.take(some), (self.reports.target,), self.states(self.own))
            g = g[:, None, :, :, None, 0 if group.by_attribute else 1 :]
            value.append(weighted(sums[some], g)[:, 0])
            moment.append(moments_by_class(squares[some], g, g)[0][:, 0])
        return np.concatenate(value), np.concatenate(moment)

    def splits(self, attributes: Iterable[int]) -> Iterator[ClassTables]:
        """The tables of these attributes; attributes with the same weights are together."""
        wanted, reports = set(attributes), self.reports
        for g, group in enumerate(reports.group_weights):
            members = tuple(a for a in group.attributes if a in wanted)
            states, sums = self.states(g), partial(self.sums, g)
            source = GroupSums(group, self.events, states, reports.target, reports.n_records, sums)
            kind = SameGroup if g == self.own else OtherGroup
            for together in self._alike(g, members):
                yield kind(source, together)

    def _alike(self, g: int, members: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Attributes of a group, in their order, in parts that are processed together."""
        if not self.reports.group_weights[g].same_for_all_events:
            return [(a,) for a in members]
        return [tuple(run) for _, run in groupby(members, lambda a: self.reports.sizes[a])]

    @cached_property
    def choices(self) -> Index:
        """How many categories of each attribute are allowed, nodes x attributes."""
        return self.events.choices()

    @cached_property
    def conditioned(self) -> Mask:
        """Whether a node has a condition on a group, groups x nodes."""
        fewer = self.choices < self.reports.sizes
        return np.stack([fewer[:, own.attributes].any(1) for own in self.reports.group_weights])

    def unseen(self, attribute: Index) -> Array:
        """How much one more report could add to a variance, after a split by an attribute per node.

        Variances are estimated from the reports themselves, and would be close to 0 if hardly any
        report fits an event. 0 if answers are reported as they are.
        """
        reports = self.reports
        if reports.exact:
            return np.zeros(self.n)
        touched = self.conditioned.copy()
        touched[self.own] = True
        touched[reports.groups[attribute], np.arange(self.n)] = True
        each = np.array([group.heaviest for group in reports.group_weights])
        weight = np.where(touched, each[:, None], 1.0).prod(axis=0)
        return np.asarray(np.maximum(weight**2 - weight, 0) / reports.n_records)
