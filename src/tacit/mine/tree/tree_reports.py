"""TreeReports: reported patterns prepared for a tree, and the rows that count at its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Index, Mask
from tacit.channel.distribution import uniform
from tacit.counting import PatternTable
from tacit.counting.keys import Unsigned
from tacit.design import Design
from tacit.label_codes import code_type
from tacit.mine.tree.tree import NONE
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.group_weights import GroupWeights, States
from tacit.reconstruction.report_weights import ReportWeights
from tacit.reconstruction.weights import KeepOrDrawWeights


@dataclass(frozen=True, eq=False)
class TreeReports:
    """Reported patterns, their shares of the records, and the weights of each group.

    `answers` has the reported codes of each true attribute, patterns x attributes. If a group has
    a joint report, its answers are 0 and the joint report is in `cells`.
    """

    sizes: tuple[int, ...]
    target: int
    shares: Array
    n_records: int
    group_weights: tuple[GroupWeights, ...]
    answers: Unsigned
    cells: tuple[Index, ...]

    @classmethod
    def of(cls, patterns: PatternTable, design: Design, target: str) -> TreeReports:
        """The reports in a pattern table of a design."""
        for factor in design.channel(design.schema.names).factors:
            factor.require_reconstructable()
        reports = ReportWeights(patterns, design)
        groups = [reports.group(g) for g in range(len(design.groups))]
        answers = np.zeros((len(patterns), len(design.schema)), code_type(design.schema))
        for group in groups:
            for a, column in group.answers.items():
                answers[:, a] = column
        return cls(
            design.schema.sizes,
            design.schema.index(target),
            patterns.counts / patterns.n_records,
            patterns.n_records,
            tuple(group.weights for group in groups),
            answers,
            tuple(group.cells for group in groups),
        )

    @classmethod
    def restored(cls, found: Reconstruction, target: str) -> TreeReports:
        """The reconstructed joint table as if it had been reported, with its negative shares.

        It gives the same tables at every node, for any design, but not their noise.
        """
        schema = found.design.schema
        cells = np.indices(schema.sizes, code_type(schema)).reshape(len(schema), -1).T
        shares = found.joint().ravel()
        return cls.true(cells, shares, schema.sizes, schema.index(target), found.n_records)

    @classmethod
    def true(
        cls, records: Unsigned, shares: Array, sizes: tuple[int, ...], target: int, n_records: int
    ) -> TreeReports:
        """Records that are reported as they are."""
        group = KeepOrDrawWeights(tuple(range(len(sizes))), 1.0, uniform(sizes))
        nothing = np.zeros(len(shares), np.intp)
        codes = np.ascontiguousarray(records)
        return cls(sizes, target, shares, n_records, (group,), codes, (nothing,))

    @property
    def features(self) -> list[int]:
        """The attributes to split by."""
        return [a for a in range(len(self.sizes)) if a != self.target]

    @cached_property
    def groups(self) -> Index:
        """The group of each attribute."""
        found = np.zeros(len(self.sizes), np.intp)
        for g, group in enumerate(self.group_weights):
            found[list(group.attributes)] = g
        return found

    def rows(self) -> Rows:
        """Every pattern, at one node that has no conditions."""
        n = len(self.shares)
        states = zip(self.group_weights, self.cells, strict=True)
        return Rows(
            np.arange(n),
            np.zeros(n, np.intp),
            self.shares,
            tuple(group.start(cells) for group, cells in states),
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Patterns that count at nodes: pattern, node, share of the records, and states."""

    pattern: Index
    node: Index
    share: Array
    states: tuple[States, ...]

    def take(self, rows: Index | Mask) -> Rows:
        """Some of the rows."""
        states = tuple(own[rows] for own in self.states)
        return Rows(self.pattern[rows], self.node[rows], self.share[rows], states)

    def below(
        self, reports: TreeReports, attribute: Index, branches: Index, children: Index
    ) -> Rows:
        """The rows at the children of nodes that are split by an attribute each.

        `branches` says to which branch of a node each category belongs, nodes x categories;
        `children` numbers the wanted children, nodes x branches, -1 for others.
        """
        split_by = attribute[self.node]
        taken = branches[self.node, reports.answers[self.pattern, split_by]]
        split_group = reports.groups[split_by]
        parts: list[list[npt.NDArray[Any]]] = []
        for g, group in enumerate(reports.group_weights):
            rows = np.flatnonzero(split_group == g)
            if len(rows):
                parts += self._stepped(g, group, rows, split_by[rows], taken[rows], children)
        return _rows(parts) if parts else self.take(np.zeros(0, np.intp))

    def _stepped(
        self, g: int, group: GroupWeights, rows: Index, by: Index, taken: Index, children: Index
    ) -> Iterator[list[npt.NDArray[Any]]]:
        """Columns of the rows in each branch, for splits by attributes of one group."""
        own, node = self.states[g][rows], self.node[rows]
        if group.exact:
            child = np.where(taken == NONE, NONE, children[node, taken])
            kept = np.flatnonzero(child != NONE)
            some = rows[kept]
            yield [self.pattern[some], child[kept], self.share[some]] + [
                s[some] for s in self.states
            ]
            return
        for branch in np.flatnonzero((children != NONE).any(axis=0)):
            child = children[node, branch]
            after = group.step(own, by, taken == branch)
            kept = np.flatnonzero((child >= 0) & ~group.dropped(after))
            some = rows[kept]
            states = [after[kept] if h == g else old[some] for h, old in enumerate(self.states)]
            yield [self.pattern[some], child[kept], self.share[some], *states]

    def merged(self, reports: TreeReports) -> Rows:
        """The same with rows joined that no later condition can tell apart."""
        pairs = zip(reports.group_weights, self.states, strict=True)
        spent = np.logical_and.reduce([group.settled(states) for group, states in pairs])
        if not spent.any():
            return self
        nodes, first, which = np.unique(self.node[spent], return_index=True, return_inverse=True)
        rows = np.flatnonzero(spent)[first]
        shares = np.bincount(which, self.share[spent], len(nodes))
        joint = [self.pattern[rows], nodes, shares, *(states[rows] for states in self.states)]
        kept = self.take(~spent)
        return _rows([[kept.pattern, kept.node, kept.share, *kept.states], joint])


def _rows(parts: Sequence[Sequence[npt.NDArray[Any]]]) -> Rows:
    """Rows from parts of their columns."""
    pattern, node, share, *states = (np.concatenate(same) for same in zip(*parts, strict=True))
    return Rows(pattern, node, share, tuple(states))
