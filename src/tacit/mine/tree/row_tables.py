"""RowTables: tables of nodes from the rows that count there, for any design.

A row is a pattern at a node, with the state of each group. Rows are summed by node, state and
reported answers, each with the weight of its other groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import Rows, TreeReports
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import States

#: Rows that are processed together, unless one node has more.
ROWS = 1 << 19
#: States below this are found by counting, others by sorting.
_FEW_STATES = 1 << 16


class RowTables(NodeTables):
    """The tables of some nodes: their rows, and intermediate results that the tables share."""

    def __init__(self, reports: TreeReports, rows: Rows, events: Events) -> None:
        super().__init__(reports, events)
        self.rows = rows
        self._bases: dict[int, tuple[Index, int]] = {}

    @classmethod
    def root(cls, reports: TreeReports) -> RowTables:
        return cls(reports, reports.rows(), Events.certain(reports.sizes))

    def below(
        self, attribute: Index, branches: Index, wanted: Mask, last: bool = False
    ) -> RowTables:
        found = self.children(attribute, branches, wanted)
        rows = found.rows.merged(self.reports)
        return found if rows is found.rows else RowTables(self.reports, rows, found.events)

    def children(self, attribute: Index, branches: Index, wanted: Mask) -> RowTables:
        """The same as `below`, with a row for every pattern."""
        parents, which = np.nonzero(wanted)
        places = np.full(wanted.shape, NONE)
        places[wanted] = np.arange(len(parents))
        rows = self.rows.below(self.reports, attribute, branches, places)
        inside = branches[parents] == which[:, None]
        return RowTables(self.reports, rows, self.events.below(parents, attribute[parents], inside))

    def affordable(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        """Wanted children in parts, so that not too many rows are processed together."""
        places = np.flatnonzero(wanted)
        rows = np.bincount(self.rows.node, minlength=self.n)
        needed = np.cumsum(np.repeat(rows, wanted.shape[1])[places])
        for part in np.split(places, np.flatnonzero(np.diff(needed // ROWS)) + 1):
            if len(part):
                some = np.zeros(wanted.size, bool)
                some[part] = True
                yield some.reshape(wanted.shape)

    def states(self, g: int) -> States:
        return self._states[g][0]

    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        rest = self._rest({g, self.own})[squared]
        if g == self.own:
            return np.stack([self._by_answers(g, a, [rest])[..., 0] for a in attributes], axis=1)
        classes = self._classes.T
        if not squared:
            weights = [rest * own for own in classes]
            return np.stack([self._by_answers(g, a, weights)[..., 0, :] for a in attributes], 1)
        first, second = np.triu_indices(len(classes))
        weights = [rest * classes[c] * classes[d] for c, d in zip(first, second, strict=True)]
        found = np.stack([self._by_answers(g, a, weights)[..., 0, :] for a in attributes], 1)
        place = np.zeros((len(classes), len(classes)), np.intp)
        place[first, second] = place[second, first] = np.arange(len(first))
        return np.asarray(found[..., place])

    def class_sums(self, squared: bool) -> Array:
        rest = self._rest({self.own})[squared]
        return self._by_answers(self.own, None, [rest])[:, :, 0, :, 0]

    def by_row(self) -> Array:
        """g(E, c) of every row, rows x classes."""
        rest, _ = self._rest({self.own})
        return np.asarray(self._classes * (rest / self.rows.share)[:, None])

    @cached_property
    def _states(self) -> list[tuple[States, Index]]:
        """The states of each group that occur, and which of them each row has."""
        return [_present(states) for states in self.rows.states]

    @cached_property
    def _weights(self) -> list[Array | None]:
        """The weight of each group in each row; None if it is 1 in all."""
        return [self._weights_of(g) for g in range(len(self.reports.group_weights))]

    def _weights_of(self, g: int) -> Array | None:
        group, events = self.reports.group_weights[g], self.events
        if group.exact or all(events.allowed[:, events.span(a)].all() for a in group.attributes):
            return None
        kinds, index = self._states[g]
        found = group.weights(events, kinds)
        return found[0, index] if len(found) == 1 else found[self.rows.node, index]

    def _rest(self, without: set[int]) -> tuple[Array, Array]:
        """Shares times the other groups' weights, and times their squares."""
        value = square = self.rows.share
        for g, weight in enumerate(self._weights):
            if weight is not None and g not in without:
                value, square = value * weight, square * weight**2
        return value, square

    @cached_property
    def _classes(self) -> Array:
        """The weight of the class's own group in each row for each class, rows x classes."""
        target, group = self.reports.target, self.reports.group_weights[self.own]
        kinds, index = self._states[self.own]
        g = group.parted(self.events, (target,), kinds)
        node = self.rows.node if len(g) > 1 else 0
        if not group.by_attribute:
            return np.asarray(g[node, :, index, 1])
        miss, hit = g[node, :, index, 0], g[node, :, index, 1]
        n_classes = self.reports.sizes[target]
        return np.where(self.answers[target][:, None] == np.arange(n_classes), hit, miss)

    def _by_answers(self, g: int, a: int | None, weights: list[Array]) -> Array:
        """Weights of rows summed: nodes x states x answers x reported classes x weights.

        Answers and classes are axes of length 1 if a joint report or another group has them.
        """
        key, cells = self._base(g)
        k = 1
        if a is not None and self.reports.group_weights[g].by_attribute:
            k = self.reports.sizes[a]
            key = key * k + self.answers[a]
        n_states = len(self.states(g))
        shape = (self.n, n_states, cells // n_states, k)
        sums = [np.bincount(key, own, self.n * cells * k).reshape(shape) for own in weights]
        return np.asarray(np.stack(sums, axis=-1), np.float64).swapaxes(2, 3)

    def _base(self, g: int) -> tuple[Index, int]:
        """The node, the state and, in its own group, the reported class of each row.

        One number per row, and how many there are per node.
        """
        if g not in self._bases:
            kinds, index = self._states[g]
            cells = len(kinds)
            base = self.rows.node * cells + index if cells > 1 else self.rows.node
            if g == self.own and self.reports.group_weights[g].by_attribute:
                n_classes = self.reports.sizes[self.reports.target]
                base, cells = (
                    base * n_classes + self.answers[self.reports.target],
                    cells * n_classes,
                )
            self._bases[g] = base, cells
        return self._bases[g]

    @cached_property
    def answers(self) -> Codes:
        """Reported codes, attributes x rows."""
        return self.reports.answers.codes.take(self.rows.pattern, axis=1)


def _present(states: States) -> tuple[States, Index]:
    """The states that occur, and which of them each row has."""
    if states.dtype == object or states.max(initial=0) >= _FEW_STATES:
        kinds, index = np.unique(states, return_inverse=True)
        return kinds, index
    seen = np.bincount(states, minlength=1)
    kinds = np.flatnonzero(seen)
    if len(kinds) <= 1:
        return np.resize(kinds, 1), np.zeros(len(states), np.intp)
    return kinds, (np.cumsum(seen > 0) - 1)[states]
