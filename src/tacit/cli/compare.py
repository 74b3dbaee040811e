"""`tacit compare`: the share of an event in two groups, with difference, ratio and odds ratio."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import event
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError
from tacit.number_text import decimals, number_of, span
from tacit.reconstruction import Estimate
from tacit.reconstruction.fit import misfit
from tacit.table import Table

Where = Annotated[
    str,
    typer.Option(
        metavar="EVENT",
        help="The event: attribute=category, several separated by commas. An attribute named "
        "twice may have either category.",
    ),
]
Between = Annotated[
    list[str],
    typer.Option(
        metavar="CONDITION", help="A group, written like an event. Give this option twice."
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
    output: Output,
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
    first, second = (event(text, design.schema, "--between") for text in between)
    found = people.reconstructed(records)
    groups = (first, second)
    estimates = [found.probability(chosen, given=group) for group in groups]
    estimates += [
        found.difference(chosen, between=groups),
        found.ratio(chosen, between=groups),
        found.odds_ratio(chosen, between=groups),
    ]
    output.print(
        lambda: output.content("comparison", design.fingerprint, estimates),
        lambda: show.print_table(_table(estimates, output.level)),
    )


def _table(estimates: list[Estimate], level: float) -> Table:
    """A row per quantity."""
    rows: list[tuple[Any, ...]] = []
    for kind, each in zip(_KINDS, estimates, strict=True):
        lower, upper = (float(limit) for limit in each.interval(level))
        numbers = (decimals(float(each.value)), decimals(float(each.stderr)), span(lower, upper))
        rows.append((kind, *numbers))
    first, second = estimates[:2]
    people = number_of(first.n_records, "reported record")
    if first.n_left_out:
        people += f" ({first.n_left_out:,} without an answer left out)"
    title = f"{first.name} and {second.name} from {people}"
    title = "\n".join(filter(None, [misfit(first.fit), title]))
    heads = ("", "estimate", "std. error", f"{show.percent(level)} interval")
    return Table(heads, rows, title, "lrrr")
