"""NodeTables: P(E, c) and P(E, v, c) of nodes E, reconstructed from reports, with their noise.

A report's weight for a conjunction is the product of its groups' weights g. So rows are summed by
node, by the state of the split attribute's group and by the reported answer, each row with the
weight of its other groups; the rest is linear and small:

    T(E, v, c) = sum over states and answers of  H_c[E, state, answer] g[v, state, answer]

If the class is in the same group, its answer is one more axis. The same sums of squared weights
give second moments, so every table has its variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from tacit.arrays import Array, Index, Mask
from tacit.counting.keys import Unsigned
from tacit.mine.tree.class_tables import OtherGroup, SameGroup, Split, expanded
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import Rows, TreeReports
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import States

#: Rows that are processed together, unless one node has more.
ROWS = 1 << 19
#: States below this are found by counting, others by sorting.
_FEW_STATES = 1 << 16


class NodeTables:
    """The tables of some nodes: their rows, and intermediate results that the tables share."""

    def __init__(self, reports: TreeReports, rows: Rows, events: Events) -> None:
        self.reports, self.rows, self.events = reports, rows, events
        self.n = len(events)
        self.own = int(reports.groups[reports.target])

    @cached_property
    def states(self) -> list[tuple[States, Index]]:
        """The states of each group that occur, and which of them each row has."""
        return [_present(states) for states in self.rows.states]

    @cached_property
    def weights(self) -> list[Array | None]:
        """The weight of each group in each row; None if it is 1 in all."""
        return [self._weights(g) for g in range(len(self.reports.group_weights))]

    @classmethod
    def root(cls, reports: TreeReports) -> NodeTables:
        """The node without conditions."""
        return cls(reports, reports.rows(), Events.certain(reports.sizes))

    def below(self, attribute: Index, branches: Index, wanted: Mask) -> NodeTables:
        """The wanted children of nodes split by an attribute each, in the order of `wanted`.

        `branches` says to which branch each category belongs, nodes x categories, NONE for those
        that are not allowed; `wanted` is nodes x branches.
        """
        parents, which = np.nonzero(wanted)
        places = np.full(wanted.shape, NONE)
        places[wanted] = np.arange(len(parents))
        rows = self.rows.below(self.reports, attribute, branches, places)
        inside = branches[parents] == which[:, None]
        return NodeTables(
            self.reports, rows, self.events.below(parents, attribute[parents], inside)
        )

    def merged(self) -> NodeTables:
        """The same with rows joined that no later condition can tell apart."""
        rows = self.rows.merged(self.reports)
        return self if rows is self.rows else NodeTables(self.reports, rows, self.events)

    def affordable(self, wanted: Mask) -> Iterator[Mask]:
        """Wanted children in parts, so that not too many rows are processed together."""
        places = np.flatnonzero(wanted)
        rows = np.bincount(self.rows.node, minlength=self.n)
        needed = np.cumsum(np.repeat(rows, wanted.shape[1])[places])
        for part in np.split(places, np.flatnonzero(np.diff(needed // ROWS)) + 1):
            if len(part):
                some = np.zeros(wanted.size, bool)
                some[part] = True
                yield some.reshape(wanted.shape)

    def unseen(self, attribute: Index) -> Array:
        """How much one more report could add to a variance, after a split by an attribute per node.

        Variances are estimated from the reports themselves, and would be close to 0 if hardly any
        report fits an event. 0 if answers are reported as they are.
        """
        reports = self.reports
        if all(group.exact for group in reports.group_weights):
            return np.zeros(self.n)
        touched = np.stack(
            [
                (self.events.choices() < reports.sizes)[:, r.attributes].any(1)
                for r in reports.group_weights
            ]
        )
        touched[self.own] = True
        touched[reports.groups[attribute], np.arange(self.n)] = True
        each = np.array([group.heaviest for group in reports.group_weights])
        weight = np.where(touched, each[:, None], 1.0).prod(axis=0)
        return np.asarray(np.maximum(weight**2 - weight, 0) / reports.n_records)

    def by_class(self) -> tuple[Array, Array]:
        """P(E, c), nodes x classes, and the second moments of its weights for each two classes."""
        rest, squares = self.rest({self.own})
        key, cells = self.with_answers(*self.key(self.own), self.reports.target)
        g = self.after(self.own, self.reports.target, slice(None))
        g = np.broadcast_to(g, (self.n, *g.shape[1:]))
        value = np.einsum("nk,nck->nc", self.sums(key, cells, rest), g)
        moment = np.einsum("nk,nck,ndk->ncd", self.sums(key, cells, squares), g, g, optimize=True)
        return value, moment

    @cached_property
    def classes(self) -> Array:
        """The weight of the class's own group in each row for each class, rows x classes."""
        key, cells = self.with_answers(*self.key(self.own), self.reports.target)
        g = self.after(self.own, self.reports.target, slice(None)).swapaxes(1, 2)
        if len(g) == 1:
            return np.asarray(g[0].take(key - self.rows.node * cells, axis=0))
        return np.asarray(g.reshape(-1, g.shape[2]).take(key, axis=0))

    def by_row(self) -> Array:
        """g(E, c) of every row, rows x classes."""
        rest, _ = self.rest({self.own})
        return np.asarray(self.classes * (rest / self.rows.share)[:, None])

    def splits(self, attributes: Iterable[int], with_noise: bool) -> Iterator[tuple[int, Split]]:
        """The table of each attribute; with its noise if asked for."""
        wanted = set(attributes)
        for g, group in enumerate(self.reports.group_weights):
            members = [a for a in group.attributes if a in wanted]
            if members:
                rest, squares = self.rest({g, self.own})
                crossing = (
                    SameGroup(self, g, rest, squares)
                    if g == self.own
                    else OtherGroup(self, g, rest, squares)
                )
                for a in members:
                    yield a, crossing.split(a, with_noise)

    def _weights(self, g: int) -> Array | None:
        """The weight of a group in each row; None if it is 1 in all."""
        group, events = self.reports.group_weights[g], self.events
        if group.exact or all(events.allowed[:, events.span(a)].all() for a in group.attributes):
            return None
        kinds, index = self.states[g]
        found = group.weights(events, kinds)
        return found[0, index] if len(found) == 1 else found[self.rows.node, index]

    def rest(self, without: set[int]) -> tuple[Array, Array]:
        """Shares times the other groups' weights, and times their squares."""
        value = square = self.rows.share
        for g, weight in enumerate(self.weights):
            if weight is not None and g not in without:
                value, square = value * weight, square * weight**2
        return value, square

    def key(self, g: int) -> tuple[Index, int]:
        """One number per row for its node and the state of a group; how many there are per node."""
        kinds, index = self.states[g]
        many = len(kinds) > 1
        return (self.rows.node * len(kinds) + index if many else self.rows.node), len(kinds)

    def with_answers(self, key: Index, cells: int, a: int) -> tuple[Index, int]:
        """The same with the reported answers to an attribute."""
        if not self.reports.group_weights[self.reports.groups[a]].by_attribute:
            return key, cells
        k = self.reports.sizes[a]
        return key * k + self.answers[a], cells * k

    @cached_property
    def answers(self) -> Unsigned:
        """Reported codes, attributes x rows."""
        return np.ascontiguousarray(self.reports.answers[self.rows.pattern].T)

    def sums(self, key: Index, cells: int, weights: Array) -> Array:
        """Weights of rows summed by key, nodes x cells."""
        found = np.bincount(key, weights, self.n * cells)
        return np.asarray(found.reshape(self.n, cells), np.float64)

    def after(self, g: int, a: int, some: slice) -> Array:
        """g after a condition on an attribute, nodes (or 1) x categories x (states, answers)."""
        events = self.events if some == slice(None) else self.events.take(some)
        found = expanded(self.reports.group_weights[g], events, (a,), self.states[g][0])
        return found.reshape(*found.shape[:2], -1)


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
