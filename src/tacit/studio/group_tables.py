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
from tacit.output.table import Table
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.studio import disclosure
from tacit.studio.disclosure import Cells, why_hidden
from tacit.studio.recoding import (
    Recoding,
    Words,
    column_name,
    recoded,
    recodings_of_form,
    unchanged,
)
from tacit.studio.release import Release

#: The categories that make a group: of the layer, if there is one, and of the question.
GroupLabels = tuple[Any, ...]

#: A table with more cells is refused.
MOST_CELLS = 400
#: A larger p-value is no evidence of a difference.
_SMALL_P = 0.05


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
    #: About how many people each group has; None if that may not be told.
    people: Mapping[GroupLabels, int | None]
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

    @property
    def finding(self) -> str:
        """The largest difference in words, and what the test says if it finds nothing."""
        if not self.comparisons:
            return ""
        found = "No clear difference: the intervals of all differences contain 0."
        if (largest := self.largest) is not None:
            points, ends = 100 * largest.difference, (largest.low, largest.high)
            low, high = sorted(abs(100 * end) for end in ends)
            *layer, first = largest.first
            inside = f" ({self.by[0]}: {layer[0]})" if layer else ""
            found = (
                f"“{largest.answer}” is {abs(points):.1f} points "
                f"{'more' if points > 0 else 'less'} common in “{first}” than in "
                f"“{largest.second[-1]}”{inside}, 95 % interval {low:.1f} to {high:.1f}."
            )
            if len(self.comparisons) > 1:
                found += " This is the largest difference whose interval does not contain 0."
        if self.test is not None and self.test.pvalue >= _SMALL_P:
            p = self.test.shown_p
            found += f" Over all groups, the test finds no difference (p-value {p})."
        return found

    @property
    def panels(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """A chart per answer and layer with a row per group; of two answers only the second."""
        answers = list(dict.fromkeys(cell.answer for cell in self.cells))
        layers = list(dict.fromkeys(cell.group[:-1] for cell in self.cells))
        panels = []
        for layer, answer in product(layers, answers[-1:] if len(answers) == 2 else answers):
            within = [f"{name}: {c}" for name, c in zip(self.by, layer, strict=False)]
            rows = [
                {
                    "label": cell.group[-1],
                    "people": self.people[cell.group],
                    "share": None if cell.unknown else cell.share,
                    "low": cell.low,
                    "high": cell.high,
                    "reported": None,
                    "why": "hidden" if cell.hidden else "unknown",
                }
                for cell in self.cells
                if cell.answer == answer and cell.group[:-1] == layer
            ]
            panels.append((", ".join([*within, str(answer)]), rows))
        return panels

    def to_table(self) -> Table:
        """Shares of the groups, their differences, and the p-value of the test; a row each."""
        heads = ("figure", "layer", "group", "against", "answer", "value", "low", "high", "people")
        rows: list[tuple[Any, ...]] = []
        for cell in self.cells:
            layer, group = _layer_and_group(cell.group)
            numbers = cell.share, cell.low, cell.high, self.people[cell.group]
            rows.append(("share", layer, group, None, cell.answer, *numbers))
        for pair in self.comparisons:
            layer, group = _layer_and_group(pair.first)
            numbers = pair.difference, pair.low, pair.high, None
            rows.append(("difference", layer, group, pair.second[-1], pair.answer, *numbers))
        if self.test is not None:
            p_value = self.test.pvalue, None, None, None
            rows.append(("p-value of independence", None, None, None, None, *p_value))
        return Table(heads, rows, f"{self.row} by {', '.join(self.by)}")

    def to_dict(self) -> dict[str, Any]:
        """Cells, comparisons and test, JSON-ready; hidden and infinite numbers are None."""

        def entry(group: GroupLabels, cell: Any, number: str) -> dict[str, Any]:
            layer, column = _layer_and_group(group)
            names = {"layer": layer, "column": column, "row": str(cell.answer)}
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
        content["groups"] = [
            dict(zip(("layer", "column"), _layer_and_group(group), strict=True)) | {"people": n}
            for group, n in self.people.items()
        ]
        content["test"] = test and {"statistic": test.statistic, "df": test.df, "p": test.pvalue}
        shown: dict[str, Any] = finite(content)
        return shown


def _layer_and_group(labels: GroupLabels) -> tuple[str | None, str]:
    return (str(labels[0]) if len(labels) > 1 else None), str(labels[-1])


def comparison(
    release: Release, fields: Mapping[str, str], words: Words | None = None
) -> GroupTable:
    """The table of a form: `row` in the groups of `column`, perhaps within those of `layer`.

    Other fields merge answers and name the `reference` group.
    """
    row, column, layer = (fields.get(key, "") for key in ("row", "column", "layer"))
    if not row or not column:
        raise DataError("choose a question for the answers and one for the groups")
    by = [layer, column] if layer else [column]
    recodings = recodings_of_form(release.survey.design.schema, [row, *by], fields, words)
    reference = fields.get("reference") or None
    if reference is not None and column in recodings:
        reference = recodings[column].label_of(reference) or reference
    return group_table(release, row, by, recodings, reference)


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
    people = _people(release, parts[:-1])
    return GroupTable(row, by, tuple(cells), compared, test, people, missing)


def _people(release: Release, parts: Sequence[Recoding]) -> dict[GroupLabels, int | None]:
    """About how many people each group has, by the results of its question or questions.

    None if it has fewer than 20, or if a table would hide it.
    """
    schema, names = release.survey.design.schema, [part.name for part in parts]
    hidden = np.zeros([len(part.groups) for part in parts], bool)
    if len(parts) > 1:
        codes = [part.codes(schema[part.name]) for part in parts]
        hidden = disclosure.hidden_blocks(release, names, codes)
    estimates, people = disclosure.shown_estimates(release), {}
    for cell in np.ndindex(hidden.shape):
        estimate = estimates.probability(_condition(parts, cell))
        n = round(float(estimate.value) * estimate.n_records)
        shown = not hidden[cell] and n >= disclosure.SMALLEST_GROUP
        people[tuple(part.labels[k] for part, k in zip(parts, cell, strict=True))] = (
            n if shown else None
        )
    return people


def _test(records: Release, parts: Sequence[Recoding]) -> HypothesisTest | None:
    """The test of independence of the groups; None if disguised answers are merged."""
    *layers, column, row = parts
    schema, design = records.survey.design.schema, records.survey.design
    changed = {part.name: part for part in parts if part.changes(schema[part.name])}
    if any(design.group_of(name).disguised for name in changed):
        return None
    estimates, names = records.reconstruction, {part.name: part.name for part in parts}
    if changed:
        estimates = reconstruct(*recoded(records.counts, design, list(names), changed))
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
