"""`tacit estimate`, `compare` and `test`: reported records in, estimates and tests out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from tacit.cli import show
from tacit.cli.arguments import Events, Tables, event, event_option, other_names, split, table_out
from tacit.cli.options import Estimates, Format, Output, grouped_options, typed
from tacit.cli.sources import DrawnSample, ReportedRecords
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table
from tacit.reconstruction import (
    METHODS,
    TEST_METHODS,
    HypothesisTest,
    Reconstruction,
)
from tacit.reconstruction.estimate import NO_UPPER_LIMIT, estimate_columns
from tacit.reconstruction.hypothesis_test import misfit
from tacit.records import check_out, write_frame


@grouped_options
def estimate(
    *,
    table: Tables = None,
    where: Events = None,
    given: str | None = typer.Option(
        None,
        metavar="NAMES|EVENT",
        help="Within groups: attributes or other columns of DATA, separated by commas, for "
        "tables; a condition such as income=high for --where.",
    ),
    method: str = typer.Option(
        "restricted",
        metavar="|".join(METHODS),
        help=" ".join(
            f"{name}: {str(method.__doc__).splitlines()[0]}" for name, method in METHODS.items()
        ),
    ),
    bounds: bool = typer.Option(
        False,
        "--bounds",
        help="For --where: bounds on the share, whatever the missing answers are.",
    ),
    out: Path | None = table_out("tables"),
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
    design, schema = records.design, records.design.schema
    tables = [split(names, schema.names) for names in table or []]
    events = [event(text, schema) for text in where or []]
    columns = other_names([given], schema)
    groups = _given(given, [*schema.names, *columns], bool(events), bool(tables))
    if not tables and not events:
        tables = [[name] for name in schema.names if name not in groups]
    # All errors in the options come before a long file is counted.
    within = [name for name in groups if name in schema]
    for names in [*([*within, *names] for names in tables), *map(list, events)]:
        design.channel(design.jointly_reported(names)).require_reconstructable()
    if method not in METHODS:
        raise DataError(unknown("method", method, METHODS))
    if events and method not in ("inversion", "restricted"):
        raise DataError(
            f"--where is estimated by inversion; leave out --method {method} or ask for a --table"
        )
    conditional = given is not None and bool(events)
    if conditional and not columns:
        event(given or "", schema, "--given")
    if bounds and not (events and given is None and out is None):
        raise DataError("--bounds goes with --where, and without --given and --out")
    check_out(out, records.data)
    rec = people.reconstructed(records, columns)
    if bounds:
        bounded = show.Several([rec.bounds(allowed) for allowed in events], "bounds")
        output.show(bounded, output.level, tacit="bounds", version=1, design=design.fingerprint)
        return
    condition = event(given or "", rec.design.schema, "--given") if conditional else None
    estimates = [rec.table(names, METHODS[method], groups or None) for names in tables]
    estimates += [rec.probability(allowed, condition) for allowed in events]
    if out is not None:
        write_frame(out, pa.table(estimate_columns(estimates, output.level)))
    output.show_estimates("estimates", design.fingerprint, estimates)


def _given(text: str | None, columns: list[str], events: bool, tables: bool) -> list[str]:
    """The attributes and columns of --given that group tables; none for events."""
    if text is None:
        return []
    if events and tables:
        raise DataError("--given goes with --table or with --where, not with both; ask one by one")
    if events:
        return []
    names = split(text, columns)
    for name in names:
        if "=" in text and name not in columns:
            raise DataError(f"--given: {name!r} is a condition, which goes with --where")
    return names


# `tacit compare`: the share of an event in two groups, with difference, ratio and odds ratio.


_KINDS = ("first group", "second group", "difference", "ratio", "odds ratio")


@grouped_options
def compare(
    *,
    where: str = event_option("The event"),
    between: list[str] = typer.Option(
        metavar="CONDITION",
        help="A group, written like an event, also of other columns of DATA. Give this option "
        "twice.",
    ),
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
    columns = other_names(between, design.schema)
    if not columns:  # errors in the groups come before a long file is counted
        _groups(between, design.schema)
    rec = people.reconstructed(records, columns)
    groups = _groups(between, rec.design.schema)
    shares = [rec.probability(chosen, given=group) for group in groups]
    contrasts = [
        contrast(chosen, between=groups) for contrast in (rec.difference, rec.ratio, rec.odds_ratio)
    ]
    header = {"tacit": "comparison", "version": 1, "design": design.fingerprint}
    output.show(_GroupComparison([*shares, *contrasts], "estimates"), output.level, **header)


def _groups(between: list[str], schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conditions of both groups."""
    first, second = (event(text, schema, "--between") for text in between)
    return first, second


class _GroupComparison(Estimates):
    """Two shares, their difference, ratio and odds ratio, as one table."""

    def tables(self, level: float) -> list[Table]:
        """A row per quantity."""
        rows: list[tuple[Any, ...]] = []
        for kind, estimate in zip(_KINDS, self.results, strict=True):
            lower, upper = (float(limit) for limit in estimate.interval(level))
            value, stderr = float(estimate.value), float(estimate.stderr)
            shown = estimate.value_text(value, stderr, lower, upper)
            rows.append((kind, shown, decimals(stderr), span(lower, upper)))
        first, second = self.results[:2]
        people = number_of(first.n_records, "reported record")
        if first.n_left_out:
            people += f" ({first.n_left_out:,} without an answer left out)"
        endless = any(np.isinf(estimate.interval(level).upper) for estimate in self.results)
        lines = [
            misfit(first.fit),
            f"{first.name} and {second.name} from {people}",
            NO_UPPER_LIMIT if endless else "",
        ]
        heads = ("", "estimate", "std. error", f"{show.percent(level)} interval")
        return [Table(heads, rows, "\n".join(filter(None, lines)), "lrrr")]

    def columns(self, level: float) -> dict[str, list[Any]]:
        """A row per quantity, all digits."""
        columns = super().columns(level)
        return {"quantity": list(_KINDS), "name": columns.pop("quantity")} | columns


# `tacit test`: tests of hypotheses about the true answers, from reported records.


#: Options that belong to a test, and whether it needs them.
_COMPANIONS = {
    "independence": {"given": False},
    "homogeneity": {"across": True},
    "goodness_of_fit": {"expected": True},
    "trend": {"given": False},
}


def _names(text: str) -> Any:
    """An option that names attributes."""
    return typer.Option(None, metavar="NAMES", help=text)


@dataclass(frozen=True)
class TestOptions:
    """What is tested, with its options as text."""

    independence: str | None = _names("Are these answers independent of each other?")
    homogeneity: str | None = _names("Are these distributed alike in all groups of --across?")
    across: str | None = _names("The groups of --homogeneity: attributes or columns of DATA.")
    goodness_of_fit: str | None = typer.Option(
        None, metavar="NAME", help="Is the distribution of this attribute the one of --expected?"
    )
    expected: str | None = typer.Option(
        None, metavar="SHARES", help="The shares of --goodness-of-fit: 0.5,0.3,0.2."
    )
    trend: str | None = _names("Is there a trend between these two ordered attributes?")
    given: str | None = _names("Test --independence or --trend within these groups.")
    method: str | None = typer.Option(
        None, metavar="|".join(TEST_METHODS), help="pearson by default."
    )

    @cached_property
    def kind(self) -> str:
        """The test; an error unless one is asked for with all that it needs, and no more."""
        chosen = [kind for kind in _COMPANIONS if getattr(self, kind) is not None]
        if len(chosen) != 1:
            raise DataError(f"give one of {', '.join(map(typed, _COMPANIONS))}; got {len(chosen)}")
        for name in ("across", "expected", "given"):
            text, needed = getattr(self, name), _COMPANIONS[chosen[0]].get(name)
            if text is not None and needed is None:
                raise DataError(f"{typed(name)} does not go with {typed(chosen[0])}; leave it out")
            if text is None and needed:
                raise DataError(f"{typed(chosen[0])} needs {typed(name)}")
        return chosen[0]

    def columns(self, schema: Schema) -> list[str]:
        """The groups that are no attributes: columns of the records."""
        return other_names([self.across, self.given], schema)

    def check(self, schema: Schema) -> None:
        """An error in the options before a long file is counted."""
        for name in split(getattr(self, self.kind), [*schema.names, *self.columns(schema)]):
            schema.index(name)
        if self.method is not None and self.method not in TEST_METHODS:
            raise DataError(unknown("method", self.method, TEST_METHODS))

    def run(self, rec: Reconstruction) -> HypothesisTest:
        """Run the test."""
        attributes = rec.design.schema.names
        names = split(getattr(self, self.kind), attributes)
        method: dict[str, Any] = {"method": TEST_METHODS[self.method]} if self.method else {}
        groups = split(self.given, attributes) if self.given else None
        match self.kind:
            case "independence":
                return rec.independence(names, given=groups, **method)
            case "homogeneity":
                return rec.homogeneity(names, split(self.across or "", attributes), **method)
            case "trend":
                return rec.trend(names, given=groups, **method)
            case _:
                return rec.goodness_of_fit(names, _shares(self.expected or ""), **method)


@grouped_options
def hypothesis(
    *, question: TestOptions, output: Format, records: ReportedRecords, people: DrawnSample
) -> None:
    """Test a hypothesis about the true answers from reported records.

    Example: [bold]tacit test survey.json reported.csv --independence smokes,income[/bold]

    Example: [bold]tacit test survey.json reported.csv --goodness-of-fit smokes
    --expected 0.8,0.2[/bold]
    """
    schema = records.design.schema
    question.check(schema)
    test = question.run(people.reconstructed(records, question.columns(schema)))
    output.show(test, tacit="test", version=1, design=records.design.fingerprint)


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise DataError(
            f"--expected: {text!r} is not a list of numbers with commas between"
        ) from None
