"""GroupTable: the answers to a question in the groups of one or two others, with comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.rounding import finite
from tacit.reconstruction import Estimate
from tacit.reconstruction.comparisons import GroupShares
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.studio import disclosure
from tacit.studio.disclosure import Cells, why_hidden
from tacit.studio.release import Release

#: The categories that make a group: of the layer, if there is one, and of the question.
GroupLabels = tuple[Any, ...]

#: A table with more cells is refused.
MOST_CELLS = 400


@dataclass(frozen=True)
class GroupCell:
    """The share of an answer in a group; hidden cells have no numbers.

    If the group may be empty, the share may be any number, and the interval has no limits but 0
    and 1.
    """

    group: GroupLabels
    answer: Any
    share: float | None
    low: float | None
    high: float | None

    @property
    def hidden(self) -> bool:
        """Whether the cell is not shown."""
        return self.share is None

    @property
    def unknown(self) -> bool:
        """Whether nothing can be said about the share."""
        return self.low == 0 and self.high == 1


@dataclass(frozen=True)
class GroupComparison:
    """The share of an answer in one group less that in another of the same layer."""

    first: GroupLabels
    second: GroupLabels
    answer: Any
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupTable:
    """Shares in groups, differences to the first group shown, and a test of independence.

    The test is left out if a cell is hidden: its statistic depends on all cells.
    """

    row: str
    by: tuple[str, ...]
    cells: tuple[GroupCell, ...]
    comparisons: tuple[GroupComparison, ...]
    test: HypothesisTest | None
    #: Records that are left out: those without an answer to one of the questions, and others.
    missing: int = 0

    @property
    def hidden(self) -> int:
        """How many cells are not shown."""
        return sum(cell.hidden for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Cells, comparisons and test, JSON-ready; hidden and infinite numbers are None."""

        def entry(group: GroupLabels, cell: Any, number: str) -> dict[str, Any]:
            layer = str(group[0]) if len(group) > 1 else None
            names = {"layer": layer, "column": str(group[-1]), "row": str(cell.answer)}
            return names | {name: getattr(cell, name) for name in (number, "low", "high")}

        cells = [
            entry(cell.group, cell, "share") | {"suppressed": cell.hidden} for cell in self.cells
        ]
        comparisons = [
            entry(pair.first, pair, "difference") | {"against": str(pair.second[-1])}
            for pair in self.comparisons
        ]
        test = self.test
        content: dict[str, Any] = {"cells": cells, "comparisons": comparisons}
        content["test"] = test and {"statistic": test.statistic, "df": test.df, "p": test.pvalue}
        shown: dict[str, Any] = finite(content)
        return shown


def group_table(release: Release, row: str, by: Sequence[str]) -> GroupTable:
    """Answers to `row` in the groups of `by`: a question, or one within the layers of another.

    `by` names the layer first.
    """
    names = [*by, row]
    schema = release.survey.design.schema
    if any(name not in schema for name in names) or len({*names}) < len(names):
        raise DataError("choose two different questions of the survey, or three")
    disclosure.require_comparable(release)
    cells = disclosure.table_cells(release, names)
    if cells > MOST_CELLS:
        raise DataError(
            f"the table has {cells:,} cells, at most {MOST_CELLS} are shown: choose questions with "
            "fewer answers"
        )
    return release.once(("table", *names), lambda: _table(release, row, tuple(by)))


def _table(release: Release, row: str, by: tuple[str, ...]) -> GroupTable:
    for name in (row, *by):
        if (why := why_hidden(release, name)) is not None:
            raise DataError(f"{name}: {why}")
    records = disclosure.answering(release, [*by, row])
    missing = release.counts.n_records - records.counts.n_records
    if missing and len(by) > 1:
        raise DataError(
            "a table of three questions is shown if nobody left out one of them: otherwise tables "
            "of two of them less this one would tell the answers of the people who did"
        )
    table = disclosure.shown_estimates(release, records).table([row], given=list(by))
    hidden = disclosure.hidden_table(release, [*by, row])
    attributes = [release.survey.design.schema[name] for name in (*by, row)]
    low, high = table.interval()
    cells = []
    for cell in np.ndindex(*hidden.shape):
        numbers = (None if hidden[cell] else float(n[cell]) for n in (table.value, low, high))
        cells.append(GroupCell(*_labels(attributes, cell), *numbers))
    test = None
    if not hidden.any():
        layers = list(by[:-1]) or None
        test = records.reconstruction.independence([row, by[-1]], given=layers)
    compared = tuple(_comparisons(table, hidden, attributes))
    return GroupTable(row, by, tuple(cells), compared, test, missing)


def _comparisons(
    table: Estimate, hidden: Cells, attributes: Sequence[Attribute]
) -> Iterator[GroupComparison]:
    """Each group with the first one of its layer that shows the answer."""
    shape, (low, high) = hidden.shape, table.interval()
    known = ~hidden & ((low > 0) | (high < 1))
    layers = [range(size) for size in shape[:-2]]
    answers = [1] if shape[-1] == 2 else range(shape[-1])
    for *layer, answer in product(*layers, answers):
        shown = [k for k in range(shape[-2]) if known[(*layer, k, answer)]]
        for other in shown[1:]:
            first, second = (*layer, other, answer), (*layer, shown[0], answer)
            places = np.array([np.ravel_multi_index(cell, shape) for cell in (first, second)])
            pair = table.part(places, (Attribute("group", range(2)),), "")
            estimate = GroupShares(pair, "", ("", "")).difference()
            limits = estimate.interval()
            (group, label), (against, _) = (_labels(attributes, p) for p in (first, second))
            numbers = (float(part) for part in (estimate.value, *limits))
            yield GroupComparison(group, against, label, *numbers)


def _labels(attributes: Sequence[Attribute], cell: Sequence[int]) -> tuple[GroupLabels, Any]:
    """The categories of the group and the answer of a cell."""
    labels = [a.categories[code] for a, code in zip(attributes, cell, strict=True)]
    return tuple(labels[:-1]), labels[-1]
