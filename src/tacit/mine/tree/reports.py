"""TreeReports: reported patterns prepared for a tree, and the rows that count at its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.keep_or_draw import KeepOrDrawWeights
from tacit.core.channel.numbers import uniform
from tacit.core.channel.weights import GroupWeights, States
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.errors import DataError
from tacit.mine.tree.cells import (
    CellCounts,
    CodedAnswers,
    PackedAnswers,
    ReportedAnswers,
    StreamedAnswers,
    packed,
)
from tacit.mine.tree.tree import NONE
from tacit.reconstruction.report_weights import GroupReports, ReportWeights
from tacit.records import CountEngine, PatternTable
from tacit.records.keys import smallest

#: Yes/no records are packed if the records are at most this many times the patterns.
_MOST_REPEATED = 4


@dataclass(frozen=True, eq=False)
class TreeReports:
    """Reported patterns, their shares of the records, and the weights of each group.

    `answers` has the reported codes of each true attribute. If a group has a joint report, its
    answers are 0 and the joint report is in `joint`. `weighted`: true records with any weights.
    """

    sizes: tuple[int, ...]
    target: int
    shares: Array
    n_records: int
    group_weights: tuple[GroupWeights, ...]
    answers: ReportedAnswers
    joint: tuple[Index, ...]
    weighted: bool = False

    @classmethod
    def of(cls, patterns: PatternTable, design: Design, target: str) -> TreeReports:
        """The reports in a pattern table of a design."""
        for factor in design.channel(design.schema.names).factors:
            factor.require_reconstructable()
        if patterns.engine is not None:
            return cls.streamed(patterns, patterns.engine, design, target)
        reports = ReportWeights(patterns, design)
        groups = [reports.group(g) for g in range(len(design.groups))]
        return cls(
            design.schema.sizes,
            design.schema.index(target),
            patterns.counts / patterns.n_records,
            patterns.n_records,
            tuple(group.weights for group in groups),
            _answers(patterns, design, groups),
            tuple(group.cells for group in groups),
        )

    @classmethod
    def streamed(
        cls, patterns: PatternTable, engine: CountEngine, design: Design, target: str
    ) -> TreeReports:
        """Reports that do not fit in memory: cells are counted in one pass per level."""
        reports, factors = (
            ReportWeights(patterns, design),
            design.channel(design.schema.names).factors,
        )
        weights = [reports.weights(g) for g in range(len(factors))]
        if any(group.n_states is None for group in weights):
            raise DataError(
                "the records do not fit in memory, which a tree needs unless all groups are "
                "related, unrelated or truthful"
            )
        columns = tuple(patterns.schema.index(name) for name in design.schema.names)
        return cls(
            design.schema.sizes,
            design.schema.index(target),
            np.zeros(0),
            patterns.n_records,
            tuple(weights),
            StreamedAnswers(engine, columns),
            (),
        )

    @classmethod
    def of_cells(
        cls, weights: Array, sizes: tuple[int, ...], n_records: int, target: int | None = None
    ) -> TreeReports:
        """All cells of a joint table with their weights; the target is the last unless given."""
        cells = np.indices(sizes, smallest(max(sizes))).reshape(len(sizes), -1).T
        target = len(sizes) - 1 if target is None else target
        return cls.true(cells, weights.ravel(), sizes, target, n_records)

    @classmethod
    def true(
        cls, records: Codes, shares: Array, sizes: tuple[int, ...], target: int, n_records: int
    ) -> TreeReports:
        """True records with their weights."""
        group = KeepOrDrawWeights(tuple(range(len(sizes))), 1.0, uniform(sizes))
        nothing = np.zeros(len(shares), np.intp)
        answers = CodedAnswers(np.ascontiguousarray(records.T))
        return cls(sizes, target, shares, n_records, (group,), answers, (nothing,), weighted=True)

    @property
    def features(self) -> list[int]:
        """The attributes to split by."""
        return [a for a in range(len(self.sizes)) if a != self.target]

    @cached_property
    def exact(self) -> bool:
        """Whether reports are the truth."""
        return all(group.exact for group in self.group_weights)

    @cached_property
    def groups(self) -> Index:
        """The group of each attribute."""
        groups = np.zeros(len(self.sizes), np.intp)
        for g, group in enumerate(self.group_weights):
            groups[list(group.attributes)] = g
        return groups

    @property
    def has_cells(self) -> bool:
        """Whether reports can be counted in cells, because all groups have few states."""
        return all(group.n_states is not None for group in self.group_weights)

    def cells(self) -> CellCounts:
        """The counts of one cell that has all reports."""
        return self.answers.cells(self.sizes, self.target, self.shares, self.n_records)

    def rows(self) -> Rows:
        """Every pattern, at one node that has no conditions."""
        if isinstance(self.answers, StreamedAnswers):
            raise DataError("the records do not fit in memory, which this needs")
        n = len(self.shares)
        states = zip(self.group_weights, self.joint, strict=True)
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
        states = tuple(states_of_group[rows] for states_of_group in self.states)
        return Rows(self.pattern[rows], self.node[rows], self.share[rows], states)

    def children(
        self, reports: TreeReports, attribute: Index, branches: Index, children: Index
    ) -> Rows:
        """The rows at the children of nodes that are split by an attribute each.

        `branches` says to which branch of a node each category belongs, nodes x categories;
        `children` numbers the wanted children, nodes x branches, -1 for others.
        """
        split_by = attribute[self.node]
        taken = branches[self.node, reports.answers.codes[split_by, self.pattern]]
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
        before, node = self.states[g][rows], self.node[rows]
        for branch in np.flatnonzero((children != NONE).any(axis=0)):
            child = children[node, branch]
            after = group.step(before, by, taken == branch)
            inside = np.flatnonzero((child >= 0) & ~group.dropped(after))
            some = rows[inside]
            states = [after[inside] if h == g else old[some] for h, old in enumerate(self.states)]
            yield [self.pattern[some], child[inside], self.share[some], *states]

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
        open_rows = self.take(~spent)
        return _rows(
            [[open_rows.pattern, open_rows.node, open_rows.share, *open_rows.states], joint]
        )


def _rows(parts: Sequence[Sequence[npt.NDArray[Any]]]) -> Rows:
    """Rows from parts of their columns."""
    pattern, node, share, *states = (np.concatenate(same) for same in zip(*parts, strict=True))
    return Rows(pattern, node, share, tuple(states))


def _answers(
    patterns: PatternTable, design: Design, groups: Sequence[GroupReports]
) -> ReportedAnswers:
    """The reported codes, packed if they can be counted bit by bit."""
    few = all(group.weights.n_states is not None for group in groups)
    sizes = design.schema.sizes
    if few and set(sizes) == {2} and patterns.n_records <= _MOST_REPEATED * len(patterns):
        columns = [patterns.schema.index(name) for name in design.schema.names]
        return PackedAnswers(packed(patterns.patterns, columns), len(sizes))
    codes = np.zeros((len(sizes), len(patterns)), code_type(design.schema))
    for group in groups:
        for a, column in group.answers.items():
            codes[a] = column
    return CodedAnswers(codes)
