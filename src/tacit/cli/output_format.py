"""The format of what a command prints: text for people, or what another program reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tacit.cli import show
from tacit.errors import DataError
from tacit.table import Table, latex_of, markdown_of, table_of


class OutputFormat(StrEnum):
    """How results are printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    JSON = "json"


AsFormat = Annotated[
    OutputFormat,
    typer.Option(
        "--format", help="text for people; markdown, latex (booktabs) or csv; json is --json."
    ),
]


@dataclass(frozen=True, eq=False)
class Results:
    """What a command found: tables for people, columns for CSV, content for JSON."""

    tables: Callable[[], Sequence[Table]]
    columns: Callable[[], Mapping[str, Sequence[Any]]]
    content: Callable[[], dict[str, Any]]

    def show(self, chosen: OutputFormat) -> None:
        """Print in this format."""
        match chosen:
            case OutputFormat.JSON:
                typer.echo(show.json_text(self.content()))
            case OutputFormat.CSV:
                typer.echo(table_of(self.columns()).csv(), nl=False)
            case OutputFormat.MARKDOWN:
                typer.echo(markdown_of(self.tables()))
            case OutputFormat.LATEX:
                typer.echo(latex_of(self.tables()))
            case _:
                for table in self.tables():
                    _print(table)


def chosen_format(as_format: OutputFormat, as_json: bool) -> OutputFormat:
    """The format of --format and --json."""
    if not as_json:
        return as_format
    if as_format not in (OutputFormat.TEXT, OutputFormat.JSON):
        raise DataError(f"give --json or --format {as_format.value}, not both")
    return OutputFormat.JSON


def _print(table: Table) -> None:
    """A table with its note below."""
    show.print_table(table)
    if table.note:
        show.console().print(table.note, "", sep="\n", soft_wrap=True)
