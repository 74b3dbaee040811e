"""`tacit compare`: the share of an event in two groups, with difference, ratio and odds ratio."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import event, event_option, other_names
from tacit.cli.option_groups import grouped_options
from tacit.cli.output_format import FormattedOutput
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table
from tacit.reconstruction import Estimate
from tacit.reconstruction.estimate import NO_UPPER_LIMIT
from tacit.reconstruction.fit import misfit

Where = Annotated[str, event_option("The event")]
Between = Annotated[
    list[str],
    typer.Option(
        metavar="CONDITION",
        help="A group, written like an event, also of other columns of DATA. Give this option "
        "twice.",
    ),
]

_KINDS = ("first group", "second group", "difference", "ratio", "odds ratio")


@grouped_options
def compare(
    *,
    where: Where,
    between: Between,
    records: ReportedRecords,
    people: DrawnSample,
    output: FormattedOutput,
) -> None:
    """Compare the share of an event between two groups of records, with errors.

    Example: [bold]tacit compare survey.json reported.csv --where smokes=yes
    --between income=high --between income=low[/bold]
    """
    design = records.design
    chosen = event(where, design.schema)
    if len(between) != 2:
        raise DataError(
            "--between must be given twice, once per group; "
            f"got it {number_of(len(between), 'time')}"
        )
    columns = other_names(between, design.schema)
    if not columns:  # errors in the groups come before a long file is counted
        _groups(between, design.schema)
    found = people.reconstructed(records, columns)
    groups = _groups(between, found.design.schema)
    estimates = [found.probability(chosen, given=group) for group in groups]
    estimates += [
        found.difference(chosen, between=groups),
        found.ratio(chosen, between=groups),
        found.odds_ratio(chosen, between=groups),
    ]
    output.show(
        lambda: [_table(estimates, output.level)],
        lambda: _columns(estimates, output.level),
        lambda: output.content("comparison", design.fingerprint, estimates),
    )


def _groups(between: list[str], schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conditions of both groups."""
    first, second = (event(text, schema, "--between") for text in between)
    return first, second


def _columns(estimates: list[Estimate], level: float) -> dict[str, list[Any]]:
    """A row per quantity, all digits."""
    own = [each.columns(level) for each in estimates]
    numbers = {key: [value for each in own for value in each[key]] for key in own[0]}
    return {"quantity": list(_KINDS), "name": [each.name for each in estimates]} | numbers


def _table(estimates: list[Estimate], level: float) -> Table:
    """A row per quantity."""
    rows: list[tuple[Any, ...]] = []
    for kind, each in zip(_KINDS, estimates, strict=True):
        lower, upper = (float(limit) for limit in each.interval(level))
        value, stderr = float(each.value), float(each.stderr)
        shown = each.value_text(value, stderr, lower, upper)
        rows.append((kind, shown, decimals(stderr), span(lower, upper)))
    first, second = estimates[:2]
    people = number_of(first.n_records, "reported record")
    if first.n_left_out:
        people += f" ({first.n_left_out:,} without an answer left out)"
    title = f"{first.name} and {second.name} from {people}"
    endless = any(np.isinf(each.interval(level).upper) for each in estimates)
    notes = [misfit(first.fit), title, NO_UPPER_LIMIT if endless else ""]
    title = "\n".join(filter(None, notes))
    heads = ("", "estimate", "std. error", f"{show.percent(level)} interval")
    return Table(heads, rows, title, "lrrr")
