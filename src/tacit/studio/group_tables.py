"""GroupTable: the answers to a question in the groups of one or two others, with comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.errors import DataError, unknown
from tacit.output.rounding import finite
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.studio import disclosure
from tacit.studio.disclosure import Cells, why_hidden
from tacit.studio.recoding import Recoding, column_name, recoded, unchanged
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

    @property
    def largest(self) -> GroupComparison | None:
        """The largest difference whose interval does not contain 0; None if there is none."""
        clear = [pair for pair in self.comparisons if pair.low > 0 or pair.high < 0]
        return max(clear, key=lambda pair: abs(pair.difference), default=None)

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


def group_table(
    release: Release,
    row: str,
    by: Sequence[str],
    recodings: Mapping[str, Recoding] = MappingProxyType({}),
    reference: str | None = None,
) -> GroupTable:
    """Answers to `row` in the groups of `by`: a question, or one within the layers of another.

    `by` names the layer first. Groups are compared with the `reference` group, or with the first
    one that is shown.
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
    for name in names:
        if (why := why_hidden(release, name)) is not None:
            raise DataError(f"{name}: {why}")
    parts = tuple(recodings.get(name, unchanged(schema[name])) for name in names)
    if reference is not None and reference not in parts[-2].labels:
        raise DataError(unknown("reference group", reference, parts[-2].labels))
    made = partial(_table, release, row, tuple(by), parts, reference)
    return release.once(("table", *parts, reference), made)


def _table(
    release: Release,
    row: str,
    by: tuple[str, ...],
    parts: tuple[Recoding, ...],
    reference: str | None,
) -> GroupTable:
    names = [*by, row]
    records = disclosure.answering(release, names)
    missing = release.counts.n_records - records.counts.n_records
    if missing and len(by) > 1:
        raise DataError(
            "a table of three questions is shown if nobody left out one of them: otherwise tables "
            "of two of them less this one would tell the answers of the people who did"
        )
    schema = release.survey.design.schema
    codes = [part.codes(schema[part.name]) for part in parts]
    hidden = disclosure.hidden_blocks(release, names, codes)
    estimates = disclosure.shown_estimates(release, records)
    shares = np.full((3, *hidden.shape), np.nan)
    if any(part.changes(schema[part.name]) for part in parts):
        for cell in map(tuple, np.argwhere(~hidden)):
            group, answer = _condition(parts[:-1], cell[:-1]), _condition(parts[-1:], cell[-1:])
            estimate = estimates.probability(answer, given=group)
            shares[(slice(None), *cell)] = (estimate.value, *estimate.interval())
    else:
        table = estimates.table([row], given=list(by))
        shares[:] = (table.value, *table.interval())
    cells = []
    for cell in np.ndindex(*hidden.shape):
        numbers = (None if hidden[cell] else float(n[cell]) for n in shares)
        cells.append(GroupCell(*_labels(parts, cell), *numbers))
    known = ~hidden & ((shares[1] > 0) | (shares[2] < 1))
    compared = tuple(_comparisons(estimates, known, parts, reference))
    test = None if hidden.any() else _test(records, parts)
    return GroupTable(row, by, tuple(cells), compared, test, missing)


def _test(records: Release, parts: Sequence[Recoding]) -> HypothesisTest | None:
    """The test of independence of the groups; None if disguised answers are merged."""
    *layers, column, row = parts
    schema, design = records.survey.design.schema, records.survey.design
    changed = {part.name: part for part in parts if part.changes(schema[part.name])}
    if any(design.group_of(name).disguised for name in changed):
        return None
    estimates, names = records.reconstruction, {part.name: part.name for part in parts}
    if changed:
        estimates = reconstruct(*recoded(records, list(names), changed))
        names |= {name: column_name(name) for name in changed}
    given = [names[layer.name] for layer in layers] or None
    return estimates.independence([names[row.name], names[column.name]], given=given)


def _comparisons(
    estimates: Reconstruction, known: Cells, parts: Sequence[Recoding], reference: str | None
) -> Iterator[GroupComparison]:
    """Each group with the reference group of its layer, if both show the answer."""
    shape = known.shape
    layers = [range(size) for size in shape[:-2]]
    answers = [1] if shape[-1] == 2 else range(shape[-1])
    for *layer, answer in product(*layers, answers):
        shown = [k for k in range(shape[-2]) if known[(*layer, k, answer)]]
        wanted = shown[:1] if reference is None else [parts[-2].labels.index(reference)]
        for first, other in product(wanted, shown):
            if first == other or first not in shown:
                continue
            pair = [_condition(parts[:-1], (*layer, k)) for k in (other, first)]
            event = _condition(parts[-1:], (answer,))
            estimate = estimates.difference(event, between=(pair[0], pair[1]))
            group, label = _labels(parts, (*layer, other, answer))
            against, _ = _labels(parts, (*layer, first, answer))
            numbers = (float(part) for part in (estimate.value, *estimate.interval()))
            yield GroupComparison(group, against, label, *numbers)


def _condition(parts: Sequence[Recoding], cell: Sequence[int]) -> dict[str, list[Any]]:
    """The categories of a cell, by question."""
    return {part.name: list(part.groups[k][1]) for part, k in zip(parts, cell, strict=True)}


def _labels(parts: Sequence[Recoding], cell: Sequence[int]) -> tuple[GroupLabels, str]:
    """The groups and the answer of a cell."""
    labels = [part.labels[k] for part, k in zip(parts, cell, strict=True)]
    return tuple(labels[:-1]), labels[-1]
