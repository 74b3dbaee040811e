"""CellTables: tables of nodes from counts of cells, for groups with few states.

The reports that count at a node are cells, one per combination of the states of its groups. A
condition moves the reports in a state to other states:

    keep or complement   no condition yet: hits have met all, misses have missed all;
                         met all: hits stay, misses weigh nothing; missed all: the reverse
    keep or draw         met all: hits stay, misses have not met all; not met all: all stay

Reports that have not met all conditions are most of the reports, but none of their answers matters
any more. So this state has a cell of all reports, whatever they answered to the group, from which
those that have met all are subtracted. Cells are reported events, so nodes can share them: each is
counted once. All tables of a level are sparse sums of counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.cell_counts import CellCounts, CellSplits, ranges
from tacit.mine.tree.class_tables import by_answer
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction.events import Events
from tacit.reconstruction.group_weights import GroupWeights, States

#: Memory for the cells that are made together, unless one node needs more.
MEMORY = 1 << 26
#: Which reports of a cell a state takes over: those that hit, those that miss, or all.
_HIT, _MISS, _ALL = 0, 1, 2


class Transition(NamedTuple):
    """Reports of a cell, by hit or miss, that a condition moves from one state to another.

    `first`: only the first condition on the group does.
    """

    before: int
    side: int
    after: int
    first: bool = False


def settled_state(group: GroupWeights) -> int:
    """The state that no later condition can change; NONE if there is none."""
    states = _states(group)
    return int(states[-1]) if group.settled(states)[-1] else NONE


def transitions(group: GroupWeights) -> list[Transition]:
    """What a condition does to the cells of a group."""
    states, settled, found = _states(group), settled_state(group), []
    for side, hit in ((_HIT, True), (_MISS, False)):
        after = group.step(states, group.attributes[0], np.full(len(states), hit))
        live = np.flatnonzero(~group.dropped(after) & (after != settled))
        found += [Transition(int(s), side, int(after[s])) for s in live]
    if settled != NONE:
        found += [Transition(0, _ALL, settled, first=True), Transition(settled, _ALL, settled)]
    return found


def _states(group: GroupWeights) -> States:
    assert group.n_states is not None
    return np.arange(group.n_states, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class CellStates:
    """The cells of nodes, in the order of the nodes: node, cell, and the state of each group."""

    node: Index
    cell: Index
    states: States

    def of_nodes(self, nodes: Index, n: int) -> tuple[Index, Index]:
        """The entries of these nodes, of n, one node after the other; and which node each has."""
        many = np.bincount(self.node, minlength=n)
        first = np.cumsum(many) - many
        return ranges(first[nodes], many[nodes]), np.repeat(np.arange(len(nodes)), many[nodes])


class CellTables(NodeTables):
    """The tables of some nodes: their cells, and the counts of these."""

    def __init__(
        self, reports: TreeReports, events: Events, counts: CellCounts, cells: CellStates
    ) -> None:
        super().__init__(reports, events)
        self.counts, self.cells = counts, cells
        self._sparse: dict[tuple[int, bool], csr_array] = {}

    @classmethod
    def root(cls, reports: TreeReports) -> CellTables:
        one = np.zeros(1, np.intp)
        cells = CellStates(one, one, np.zeros((1, len(reports.group_weights)), np.int8))
        return cls(reports, Events.certain(reports.sizes), reports.cells(), cells)

    def affordable(self, attribute: Index, wanted: Mask) -> Iterator[Mask]:
        cells, places = self.cells, np.flatnonzero(wanted)
        group = self.reports.groups[attribute[cells.node]]
        state = cells.states[np.arange(len(cells.node)), group]
        moves = np.zeros((len(self.reports.group_weights), 1 + state.max(initial=0)), np.intp)
        for g, weights in enumerate(self.reports.group_weights):
            for each in transitions(weights):
                if each.side != _ALL and each.before < moves.shape[1]:
                    moves[g, each.before] += 1
        # Children share the rows of their parent evenly, once per transition.
        rows = self.counts.sizes[cells.cell] * moves[group, state]
        moved = np.bincount(cells.node, rows, self.n) / np.maximum(wanted.sum(axis=1), 1)
        each = np.bincount(cells.node, minlength=self.n) * (2 * self.counts.counts[0].nbytes)
        total = np.cumsum(np.repeat(moved * self.counts.row_bytes + each, wanted.shape[1])[places])
        for part in np.split(places, np.flatnonzero(np.diff(total // MEMORY)) + 1):
            if len(part):
                some = np.zeros(wanted.size, bool)
                some[part] = True
                yield some.reshape(wanted.shape)

    def below(
        self, attribute: Index, branches: Index, wanted: Mask, last: bool = False
    ) -> CellTables:
        parents, which = np.nonzero(wanted)
        entry, child, side, states = self._moves(parents, attribute[parents])
        stays = side == _ALL
        branch = np.where(side == _MISS, 1 - which[child], which[child])
        node, cell = self.cells.node[entry], self.cells.cell[entry]
        key = cell * self.n + self._same_splits(attribute, branches)[node]
        _, first, split = np.unique(key[~stays], return_index=True, return_inverse=True)
        n_branches = wanted.shape[1]
        made, number = np.unique(split.ravel() * n_branches + branch[~stays], return_inverse=True)
        kept, carried = np.unique(cell[stays], return_inverse=True)
        new = np.empty(len(cell), np.intp)
        new[~stays], new[stays] = number.ravel(), len(made) + carried.ravel()
        places = np.full(len(first) * n_branches, NONE)
        places[made] = np.arange(len(made))
        nodes = node[~stays][first]
        splits = CellSplits(
            cell[~stays][first],
            attribute[nodes],
            branches[nodes],
            places.reshape(-1, n_branches),
            len(made),
            kept,
        )
        inside = branches[parents] == which[:, None]
        return CellTables(
            self.reports,
            self.events.below(parents, attribute[parents], inside),
            self.counts.below(splits, last),
            CellStates(child, new, states),
        )

    def _same_splits(self, attribute: Index, branches: Index) -> Index:
        """The same number for nodes that are split alike: a cell that they share is split once."""
        if np.bincount(self.cells.cell).max() == 1:  # no cell is shared
            return np.arange(self.n)
        _, first = np.unique(
            np.concatenate([attribute[:, None], branches], axis=1), axis=0, return_inverse=True
        )
        return first.ravel()

    def _moves(self, parents: Index, by: Index) -> tuple[Index, Index, Index, States]:
        """The cells of children: the parent's entry, the child, the side, and the states after."""
        reports = self.reports
        entry, child = self.cells.of_nodes(parents, self.n)
        group, parts = reports.groups[by[child]], []
        state = self.cells.states[entry, group]
        for g, weights in enumerate(reports.group_weights):
            for move in transitions(weights):
                own = (group == g) & (state == move.before)
                if move.first:
                    own &= ~self.conditioned[g, self.cells.node[entry]]
                parts.append((np.flatnonzero(own), move))
        places = np.concatenate([own for own, _ in parts])
        many = [len(own) for own, _ in parts]
        sides = np.repeat([move.side for _, move in parts], many)
        after = np.repeat([move.after for _, move in parts], many)
        order = np.argsort(child[places], kind="stable")
        places, sides, after = places[order], sides[order], after[order]
        states = self.cells.states[entry[places]]
        states[np.arange(len(places)), group[places]] = after
        return entry[places], child[places], sides, states

    def states(self, g: int) -> States:
        return _states(self.reports.group_weights[g])

    def sums(self, g: int, attributes: tuple[int, ...], squared: bool) -> Array:
        counts = np.stack([self.counts.counts[:, self.events.span(a)] for a in attributes], axis=1)
        found = self._by_state(g, counts, squared)
        if g == self.own:
            return np.moveaxis(found[:, 0], 1, 2)
        found = np.moveaxis(found, (1, 2), (4, 2))
        weights = self._class_weights(squared)
        sums = found.reshape(self.n, -1, weights.shape[1]) @ weights
        return sums.reshape(*found.shape[:4], *(counts.shape[-1],) * (2 if squared else 1))

    def class_sums(self, squared: bool) -> Array:
        own = self.events.span(self.reports.target)
        return self._by_state(self.own, self.counts.counts[:, own].sum(axis=1), squared)[:, 0]

    def _class_weights(self, squared: bool) -> Array:
        """g(c), or g(c) g(c'), of the class's group: nodes x (state, reported class) x classes."""
        group, target = self.reports.group_weights[self.own], self.reports.target
        n_classes = self.reports.sizes[target]
        g = group.parted(self.events, (target,), self.states(self.own))
        g = by_answer(g[:, None, :, :, None], n_classes)[:, 0, :, :, 0]
        g = np.moveaxis(g, 1, 3)
        if squared:
            g = (g[..., None] * g[..., None, :]).reshape(*g.shape[:3], -1)
        return g.reshape(len(g), -1, g.shape[3])

    def _by_state(self, g: int, counts: Array, squared: bool) -> Array:
        """Counts times the weights of other groups, as shares, summed by node and states.

        Nodes x states of the class's group (one if it is this group) x states of the group.
        """
        shape = self._shape(g)
        flat = counts.reshape(len(counts), -1)
        found = (self._matrix(g, squared) @ flat).reshape(*shape, *counts.shape[1:])
        for axis, h in enumerate((self.own, g)):
            settled = settled_state(self.reports.group_weights[h])
            if shape[axis + 1] > 1 and settled != NONE:
                met, rest = (np.moveaxis(found, axis + 1, 1)[:, s] for s in (0, settled))
                seen = self.conditioned[h].reshape(-1, *(1,) * (rest.ndim - 1))
                rest -= np.where(seen, met, 0.0)
        return np.asarray(found)

    def _shape(self, g: int) -> tuple[int, int, int]:
        own = len(self.states(self.own)) if g != self.own else 1
        return self.n, own, len(self.states(g))

    def _matrix(self, g: int, squared: bool) -> csr_array:
        """The weight of each cell in each row of the result."""
        if (g, squared) not in self._sparse:
            cells, (n, n_own, n_states) = self.cells, self._shape(g)
            own = cells.states[:, self.own] if g != self.own else 0
            row = (cells.node * n_own + own) * n_states + cells.states[:, g]
            weight = np.full(len(row), self.counts.unit)
            for h, group in enumerate(self.reports.group_weights):
                if h not in (g, self.own) and not group.exact:
                    weight = weight * self._weights(h, squared)
            shape = n * n_own * n_states, len(self.counts.counts)
            self._sparse[g, squared] = csr_array((weight, (row, cells.cell)), shape)
        return self._sparse[g, squared]

    def _weights(self, h: int, squared: bool) -> Array:
        """The weight of a group in each cell, or its square.

        Reports that have met all conditions are in the cell of all reports as well: what they count
        there is subtracted.
        """
        group, node = self.reports.group_weights[h], self.cells.node
        found = group.weights(self.events, self.states(h))
        found = np.broadcast_to(found**2 if squared else found, (self.n, found.shape[1])).copy()
        settled = settled_state(group)
        if settled != NONE:
            found[:, 0] -= np.where(self.conditioned[h], found[:, settled], 0.0)
        return np.asarray(found[node, self.cells.states[:, h]])
