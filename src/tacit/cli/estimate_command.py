"""`tacit estimate`: reported records in, tables of the true answers out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from tacit.attribute import text
from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Events, Level, Tables, event, other_names, split
from tacit.cli.sources import FromDatabase, OptionalData, counted_with, needed_source
from tacit.design import Design
from tacit.errors import DataError, unknown
from tacit.files import check_out, read_design, write_frame
from tacit.reconstruction import METHODS, Estimate, reconstruct
from tacit.reconstruction.estimate import free_names
from tacit.reconstruction.interval import check_level

NUMBERS = ("estimate", "stderr", "lower", "upper")

Given = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES|EVENT",
        help="Within groups: attributes or other columns of DATA, separated by commas, for "
        "tables; a condition such as income=high for --where.",
    ),
]
ByMethod = Annotated[
    str,
    typer.Option(
        metavar="|".join(METHODS),
        help=" ".join(f"{name}: {method.__doc__}" for name, method in METHODS.items()),
    ),
]
Out = Annotated[Path | None, typer.Option(help="Also write the tables: .csv, .csv.gz or .parquet.")]


def estimate(
    design_file: DesignFile,
    data: OptionalData = None,
    table: Tables = None,
    where: Events = None,
    given: Given = None,
    method: ByMethod = "inversion",
    level: Level = 0.95,
    as_json: AsJson = False,
    out: Out = None,
    database: FromDatabase = None,
) -> None:
    """Estimate tables of the true answers from reported records, with their errors.

    Example: [bold]tacit estimate survey.json reported.csv --table smokes,income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --where smokes=yes,income=high[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --table smokes --given income[/bold]

    Example: [bold]tacit estimate published.json --database survey.db[/bold]
    """
    design = read_design(design_file)
    records = needed_source(data, database)
    tables = [split(names, design.schema.names) for names in table or []]
    events = [event(given, design.schema) for given in where or []]
    asked = bool(events), bool(tables)
    columns = other_names([given], design.schema)
    groups = _given(given, [*design.schema.names, *columns], *asked)
    if not tables and not events:
        tables = [[name] for name in design.schema.names if name not in groups]
    # All errors in the options come before a long file is counted.
    check_level(level)
    _check_channels(
        design, [*([*_known(groups, design), *names] for names in tables), *map(list, events)]
    )
    _check_method(method, bool(events))
    check_out(out, data)
    if events and given is not None and not columns:
        event(given, design.schema, "--given")
    found = reconstruct(*counted_with(design_file, design, records, columns))
    group = event(given, found.design.schema, "--given") if given and events else None
    estimates = [found.table(names, METHODS[method], groups or None) for names in tables]
    estimates += [found.probability(allowed, group) for allowed in events]
    if out is not None:
        write_frame(out, _frame(estimates, level))
    if as_json:
        header = {"tacit": "estimates", "version": 1, "design": design.fingerprint}
        content = header | {"estimates": [each.to_dict(level) for each in estimates]}
        typer.echo(show.json_text(content))
    else:
        for each in estimates:
            show.print_table(each.to_table(level))


def _known(names: list[str], design: Design) -> list[str]:
    return [name for name in names if name in design.schema]


def _check_channels(design: Design, tables: list[list[str]]) -> None:
    """An error if a table cannot be reconstructed."""
    for names in tables:
        design.channel(design.closure(names)).require_reconstructable()


def _check_method(method: str, events: bool) -> None:
    """An error for an unknown method, or one that events do not have."""
    if method not in METHODS:
        raise DataError(unknown("method", method, METHODS))
    if events and method != "inversion":
        raise DataError(
            f"--where is estimated by inversion; leave out --method {method} or ask for a --table"
        )


def _given(text: str | None, known: list[str], events: bool, tables: bool) -> list[str]:
    """The attributes and columns of --given that group tables; none for events."""
    if text is None:
        return []
    if events and tables:
        raise DataError("--given goes with --table or with --where, not with both; ask one by one")
    if events:
        return []
    names = split(text, known)
    for name in names:
        if "=" in text and name not in known:
            raise DataError(f"--given: {name!r} is a condition, which goes with --where")
    return names


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
