"""`tacit estimate`: reported records in, tables of the true answers out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from tacit.cli.arguments import Events, Tables, event, other_names, split, table_out
from tacit.cli.estimate_columns import estimate_columns
from tacit.cli.option_groups import grouped_options
from tacit.cli.output_format import FormattedOutput
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.core.design import Design
from tacit.errors import DataError, unknown
from tacit.reconstruction import METHODS, Estimate, Reconstruction, ShareBounds
from tacit.records import check_out, write_frame

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
Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds", help="For --where: bounds on the share, whatever the missing answers are."
    ),
]
Out = Annotated[Path | None, table_out("tables")]


@grouped_options
def estimate(
    *,
    table: Tables = None,
    where: Events = None,
    given: Given = None,
    method: ByMethod = "restricted",
    bounds: Bounds = False,
    out: Out = None,
    records: ReportedRecords,
    people: DrawnSample,
    output: FormattedOutput,
) -> None:
    """Estimate tables of the true answers from reported records, with their errors.

    Example: [bold]tacit estimate survey.json reported.csv --table smokes,income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --where smokes=yes,income=high[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --table smokes --given income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --weights w --clusters village[/bold]

    Example: [bold]tacit estimate published.json --database survey.db[/bold]
    """
    # All errors in the options come before a long file is counted.
    asked = _Asked.of(records.design, table or [], where or [], given)
    asked.check(records.design, method)
    if bounds and not (asked.events and given is None and out is None):
        raise DataError("--bounds goes with --where, and without --given and --out")
    check_out(out, records.data)
    found = people.reconstructed(records, asked.columns)
    if bounds:
        _show_bounds([found.bounds(own) for own in asked.events], records.design, output)
        return
    estimates = asked.estimates(found, method)
    if out is not None:
        write_frame(out, pa.table(estimate_columns(estimates, output.level)))
    output.show_estimates("estimates", records.design.fingerprint, estimates)


@dataclass(frozen=True)
class _Asked:
    """What is estimated: tables within groups, or events under a condition.

    `columns` are names in --given that the design does not have.
    """

    tables: list[list[str]]
    events: list[dict[str, list[str]]]
    groups: list[str]
    columns: list[str]
    given: str | None

    @classmethod
    def of(cls, design: Design, table: list[str], where: list[str], given: str | None) -> _Asked:
        """The options as lists."""
        tables = [split(names, design.schema.names) for names in table]
        events = [event(text, design.schema) for text in where]
        columns = other_names([given], design.schema)
        groups = _given(given, [*design.schema.names, *columns], bool(events), bool(tables))
        if not tables and not events:
            tables = [[name] for name in design.schema.names if name not in groups]
        return cls(tables, events, groups, columns, given)

    def check(self, design: Design, method: str) -> None:
        """Raise for what cannot be estimated, as far as the design says."""
        known = [name for name in self.groups if name in design.schema]
        for names in [*([*known, *names] for names in self.tables), *map(list, self.events)]:
            design.channel(design.closure(names)).require_reconstructable()
        _check_method(method, bool(self.events))
        if not self.columns:
            self._condition(design)

    def estimates(self, found: Reconstruction, method: str) -> list[Estimate]:
        """The tables, then the events."""
        groups, condition = self.groups or None, self._condition(found.design)
        tables = [found.table(names, METHODS[method], groups) for names in self.tables]
        return [*tables, *(found.probability(each, condition) for each in self.events)]

    def _condition(self, design: Design) -> dict[str, list[str]] | None:
        """The condition of events."""
        if self.given is None or not self.events:
            return None
        return event(self.given, design.schema, "--given")


def _show_bounds(found: list[ShareBounds], design: Design, output: FormattedOutput) -> None:
    own = [each.to_dict(output.level) for each in found]
    header = {"tacit": "bounds", "version": 1, "design": design.fingerprint}
    output.show(
        lambda: [each.to_table(output.level) for each in found],
        lambda: {key: [each[key] for each in own] for key in own[0]},
        lambda: header | {"bounds": own},
    )


def _check_method(method: str, events: bool) -> None:
    """An error for an unknown method, or one that events do not have."""
    if method not in METHODS:
        raise DataError(unknown("method", method, METHODS))
    if events and method not in ("inversion", "restricted"):
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
