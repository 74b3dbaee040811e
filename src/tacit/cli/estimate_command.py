"""`tacit estimate`: reported records in, tables of the true answers out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from tacit.attribute import text
from tacit.cli import show
from tacit.cli.arguments import Events, Tables, event, split
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, unknown
from tacit.files import check_out, write_frame
from tacit.reconstruction import METHODS, Estimate, ShareBounds
from tacit.reconstruction.estimate import free_names
from tacit.schema import Schema

NUMBERS = ("estimate", "stderr", "lower", "upper")

Given = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES|EVENT",
        help="Within groups: attributes, separated by commas, for tables; a condition such as "
        "income=high for --where.",
    ),
]
ByMethod = Annotated[
    str,
    typer.Option(
        metavar="|".join(METHODS),
        help=" ".join(f"{name}: {method.__doc__}" for name, method in METHODS.items()),
    ),
]
Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds", help="For --where: bounds on the share, whatever the missing answers are."
    ),
]
Out = Annotated[Path | None, typer.Option(help="Also write the tables: .csv, .csv.gz or .parquet.")]


@grouped_options
def estimate(
    *,
    table: Tables = None,
    where: Events = None,
    given: Given = None,
    method: ByMethod = "inversion",
    bounds: Bounds = False,
    out: Out = None,
    records: ReportedRecords,
    people: DrawnSample,
    output: Output,
) -> None:
    """Estimate tables of the true answers from reported records, with their errors.

    Example: [bold]tacit estimate survey.json reported.csv --table smokes,income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --where smokes=yes,income=high[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --table smokes --given income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --weights w --clusters village[/bold]

    Example: [bold]tacit estimate published.json --database survey.db[/bold]
    """
    design = records.design
    tables = [split(names, design.schema.names) for names in table or []]
    events = [event(given, design.schema) for given in where or []]
    groups, group = _given(given, design.schema, bool(events), bool(tables))
    if not tables and not events:
        tables = [[name] for name in design.schema.names if name not in groups]
    # All errors in the options come before a long file is counted.
    for names in [*([*groups, *names] for names in tables), *map(list, events)]:
        design.channel(design.closure(names)).require_reconstructable()
    _check_method(method, bool(events))
    if bounds and not (events and given is None and out is None):
        raise DataError("--bounds goes with --where, and without --given and --out")
    check_out(out, records.data)
    found = people.reconstructed(records)
    if bounds:
        _print_bounds([found.bounds(own) for own in events], design.fingerprint, output)
        return
    estimates = [found.table(names, METHODS[method], groups or None) for names in tables]
    estimates += [found.probability(allowed, group) for allowed in events]
    if out is not None:
        write_frame(out, _frame(estimates, output.level))
    output.print_estimates("estimates", design.fingerprint, estimates)


def _print_bounds(found: list[ShareBounds], design: str, output: Output) -> None:
    def content() -> dict[str, Any]:
        header = {"tacit": "bounds", "version": 1, "design": design}
        return header | {"bounds": [each.to_dict(output.level) for each in found]}

    def render() -> None:
        for each in found:
            show.print_table(each.to_table(output.level))

    output.print(content, render)


def _check_method(method: str, events: bool) -> None:
    """An error for an unknown method, or one that events do not have."""
    if method not in METHODS:
        raise DataError(unknown("method", method, METHODS))
    if events and method != "inversion":
        raise DataError(
            f"--where is estimated by inversion; leave out --method {method} or ask for a --table"
        )


def _given(
    text: str | None, schema: Schema, events: bool, tables: bool
) -> tuple[list[str], dict[str, list[str]] | None]:
    """--given as the attributes that group tables, or as the condition of events."""
    if text is None:
        return [], None
    if events and tables:
        raise DataError("--given goes with --table or with --where, not with both; ask one by one")
    if events:
        return [], event(text, schema, "--given")
    names = split(text, schema)
    for name in names:
        if name not in schema and "=" in name:
            raise DataError(f"--given: {name!r} is a condition, which goes with --where")
        schema.index(name)
    return names, None


def _frame(estimates: list[Estimate], level: float) -> Any:
    """All tables in one: the quantity, a column per attribute, the numbers."""
    names = list(dict.fromkeys(a.name for found in estimates for a in found.attributes))
    shown = free_names(names, ["quantity", *NUMBERS])
    columns: dict[str, list[Any]] = {key: [] for key in ("quantity", *shown.values(), *NUMBERS)}
    for found in estimates:
        own = found.columns(level)
        n_cells = len(own["estimate"])
        columns["quantity"] += [found.name] * n_cells
        labels = dict(zip((a.name for a in found.attributes), own.values(), strict=False))
        for name, column in shown.items():
            columns[column] += (
                [text(label) for label in labels[name]] if name in labels else [None] * n_cells
            )
        for key in NUMBERS:
            columns[key] += own[key]
    return pa.table(columns)
