"""`tacit estimate`, `compare` and `test`: reported records in, estimates and tests out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from typer import Option

from tacit.cli import show
from tacit.cli.arguments import Events, Tables, event, event_option, other_names, split
from tacit.cli.commands import typed
from tacit.cli.sources import DrawnSample, ReportedRecords
from tacit.errors import DataError, unknown
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.reconstruction import METHODS, TEST_METHODS, HypothesisTest
from tacit.reconstruction.estimate import NO_UPPER_LIMIT, estimate_columns
from tacit.reconstruction.hypothesis_test import misfit
from tacit.records import check_out, write_frame

_METHODS_HELP = " ".join(
    f"{name}: {str(method.__doc__).splitlines()[0]}" for name, method in METHODS.items()
)


def estimate(
    *,
    table: Tables = None,
    where: Events = None,
    given: str | None = Option(None, metavar="NAMES|EVENT"),
    method: str = Option("restricted", metavar="|".join(METHODS), help=_METHODS_HELP),
    bounds: bool = False,
    out: Path | None = None,
    records: ReportedRecords,
    people: DrawnSample,
    output: show.Output,
) -> None:
    """Estimate tables of the true answers from reported records, with their errors.

    Example: [bold]tacit estimate survey.json reported.csv --table smokes,income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --where smokes=yes,income=high[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --table smokes --given income[/bold]

    Example: [bold]tacit estimate survey.json reported.csv --weights w --clusters village[/bold]

    Example: [bold]tacit estimate published.json --database survey.db[/bold]

    Parameters
    ----------
    given
        Within groups: attributes or other columns of DATA, separated by commas, for tables; a
        condition such as income=high for --where.
    bounds
        For --where: bounds on the share, whatever the missing answers are.
    out
        Also write the tables: .csv, .csv.gz or .parquet.
    """
    design, schema = records.design, records.design.schema
    tables = [split(names, schema.names) for names in table or []]
    events = [event(text, schema) for text in where or []]
    columns = other_names([given], schema)
    if given is not None and events and tables:
        raise DataError("--given goes with --table or with --where, not with both; ask one by one")
    group_names, condition = (None, given) if events else (given, None)
    known = [*schema.names, *columns]
    groups = [] if group_names is None else split(group_names, known)
    for name in groups:
        if "=" in (group_names or "") and name not in known:
            raise DataError(f"--given: {name!r} is a condition, which goes with --where")
    if not tables and not events:
        tables = [[name] for name in schema.names if name not in groups]
    # All errors in the options come before a long file is counted.
    disguised = [name for name in groups if name in schema]
    for names in [*([*disguised, *names] for names in tables), *map(list, events)]:
        design.channel(design.jointly_reported(names)).require_reconstructable()
    if method not in METHODS:
        raise DataError(unknown("method", method, METHODS))
    if events and method not in ("inversion", "restricted"):
        raise DataError(
            f"--where is estimated by inversion; leave out --method {method} or ask for a --table"
        )
    if condition is not None and not columns:
        event(condition, schema, "--given")
    if bounds and not (events and given is None and out is None):
        raise DataError("--bounds goes with --where, and without --given and --out")
    check_out(out, records.data)
    rec = people.reconstructed(records, columns)
    if bounds:
        bounded = show.Several([rec.bounds(allowed) for allowed in events], "bounds")
        output.show(bounded, output.level, tacit="bounds", version=1, design=design.fingerprint)
        return
    within = None if condition is None else event(condition, rec.design.schema, "--given")
    estimates = [rec.table(names, METHODS[method], groups or None) for names in tables]
    estimates += [rec.probability(allowed, within) for allowed in events]
    if out is not None:
        write_frame(out, pa.table(estimate_columns(estimates, output.level)))
    output.show_estimates("estimates", design.fingerprint, estimates)


# `tacit compare`: the share of an event in two groups, with difference, ratio and odds ratio.


_KINDS = ("first group", "second group", "difference", "ratio", "odds ratio")


def compare(
    *,
    where: str = event_option("The event"),
    between: list[str] = Option(metavar="CONDITION"),
    records: ReportedRecords,
    people: DrawnSample,
    output: show.Output,
) -> None:
    """Compare the share of an event between two groups of records, with errors.

    Example: [bold]tacit compare survey.json reported.csv --where smokes=yes
    --between income=high --between income=low[/bold]

    Parameters
    ----------
    between
        A group, written like an event, also of other columns of DATA. Give this option twice.
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
        _ = [event(group, design.schema, "--between") for group in between]
    rec = people.reconstructed(records, columns)
    first, second = (event(group, rec.design.schema, "--between") for group in between)
    shares = [rec.probability(chosen, given=group) for group in (first, second)]
    contrasts = (rec.difference, rec.ratio, rec.odds_ratio)
    estimates = [*shares, *(contrast(chosen, (first, second)) for contrast in contrasts)]
    header = {"tacit": "comparison", "version": 1, "design": design.fingerprint}
    output.show(_GroupComparison(estimates, "estimates"), output.level, **header)


class _GroupComparison(show.Estimates):
    """Two shares, their difference, ratio and odds ratio, as one table."""

    def tables(self, level: float) -> list[Table]:
        """A row per quantity."""
        tables = [estimate.to_table(level) for estimate in self.results]
        rows = [(kind, *table.rows[0]) for kind, table in zip(_KINDS, tables, strict=True)]
        first, second = self.results[:2]
        people = number_of(first.n_records, "reported record")
        if first.n_left_out:
            people += f" ({first.n_left_out:,} without an answer left out)"
        lines = [misfit(first.fit), f"{first.name} and {second.name} from {people}"]
        if any(NO_UPPER_LIMIT in table.title for table in tables):
            lines.append(NO_UPPER_LIMIT)
        title = "\n".join(filter(None, lines))
        return [Table(("", *tables[0].heads), rows, title, "lrrr")]

    def columns(self, level: float) -> dict[str, list[Any]]:
        """A row per quantity, all digits."""
        columns = super().columns(level)
        return {"quantity": list(_KINDS), "name": columns.pop("quantity")} | columns


# `tacit test`: tests of hypotheses about the true answers, from reported records.


#: The option that goes with each test.
_COMPANIONS = {
    "independence": "given",
    "homogeneity": "across",
    "goodness_of_fit": "expected",
    "trend": "given",
}


@dataclass(frozen=True)
class TestOptions:
    """What is tested, with its options as text.

    Parameters
    ----------
    independence
        Are these answers independent of each other?
    homogeneity
        Are these distributed alike in all groups of --across?
    across
        The groups of --homogeneity: attributes or columns of DATA.
    goodness_of_fit
        Is the distribution of this attribute the one of --expected?
    expected
        The shares of --goodness-of-fit: 0.5,0.3,0.2.
    trend
        Is there a trend between these two ordered attributes?
    given
        Test --independence or --trend within these groups.
    method
        pearson by default.
    """

    independence: str | None = Option(None, metavar="NAMES")
    homogeneity: str | None = Option(None, metavar="NAMES")
    across: str | None = Option(None, metavar="NAMES")
    goodness_of_fit: str | None = Option(None, metavar="NAME")
    expected: str | None = Option(None, metavar="SHARES")
    trend: str | None = Option(None, metavar="NAMES")
    given: str | None = Option(None, metavar="NAMES")
    method: str | None = Option(None, metavar="|".join(TEST_METHODS))

    @property
    def kind(self) -> str:
        """The test; an error unless one is asked for with all that it needs, and no more."""
        chosen = [kind for kind in _COMPANIONS if getattr(self, kind) is not None]
        if len(chosen) != 1:
            raise DataError(f"give one of {', '.join(map(typed, _COMPANIONS))}; got {len(chosen)}")
        companion = _COMPANIONS[chosen[0]]
        for name in ("across", "expected", "given"):
            if name != companion and getattr(self, name) is not None:
                raise DataError(f"{typed(name)} does not go with {typed(chosen[0])}; leave it out")
        if companion != "given" and getattr(self, companion) is None:
            raise DataError(f"{typed(chosen[0])} needs {typed(companion)}")
        return chosen[0]

    def run(self, records: ReportedRecords, people: DrawnSample) -> HypothesisTest:
        """Run the test; errors in its options come before a long file is counted."""
        kind, schema = self.kind, records.design.schema
        columns = other_names([self.across, self.given], schema)
        known = [*schema.names, *columns]
        names = split(getattr(self, kind), known)
        for name in names:
            schema.index(name)
        arguments: dict[str, Any] = {}
        if self.method is not None:
            if self.method not in TEST_METHODS:
                raise DataError(unknown("method", self.method, TEST_METHODS))
            arguments["method"] = self.method
        if self.expected is not None:
            arguments["expected"] = _shares(self.expected)
        for option in ("across", "given"):
            if getattr(self, option) is not None:
                arguments[option] = split(getattr(self, option), known)
        test: HypothesisTest = getattr(people.reconstructed(records, columns), kind)(
            names, **arguments
        )
        return test


def hypothesis(
    *, question: TestOptions, output: show.Format, records: ReportedRecords, people: DrawnSample
) -> None:
    """Test a hypothesis about the true answers from reported records.

    Example: [bold]tacit test survey.json reported.csv --independence smokes,income[/bold]

    Example: [bold]tacit test survey.json reported.csv --goodness-of-fit smokes
    --expected 0.8,0.2[/bold]
    """
    test = question.run(records, people)
    output.show(test, tacit="test", version=1, design=records.design.fingerprint)


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise DataError(
            f"--expected: {text!r} is not a list of numbers with commas between"
        ) from None
