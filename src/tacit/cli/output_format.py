"""The format of what a command prints: text for people, or what another program reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli import show
from tacit.cli.estimate_columns import estimate_columns
from tacit.cli.option_groups import Output, option
from tacit.errors import DataError
from tacit.output.table import Table, latex_of, markdown_of, table_of

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate


class OutputFormat(StrEnum):
    """How results are printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True)
class Formatted:
    """The format of what is printed."""

    as_format: OutputFormat = option(
        OutputFormat.TEXT,
        "--format",
        help="text for people; markdown, latex (booktabs) or csv; json is --json.",
    )
    as_json: bool = option(False, "--json", help="Print JSON.")

    def __post_init__(self) -> None:
        """Raise if two formats are given."""
        if self.as_json and self.as_format not in (OutputFormat.TEXT, OutputFormat.JSON):
            raise DataError(f"give --json or --format {self.as_format.value}, not both")

    def show(
        self,
        tables: Callable[[], Sequence[Table]],
        columns: Callable[[], Mapping[str, Sequence[Any]]],
        content: Callable[[], dict[str, Any]],
        *,
        text: Callable[[], None] | None = None,
        above: Sequence[str] = (),
        below: Sequence[str] = (),
    ) -> None:
        """Print tables for people, columns as CSV or content as JSON.

        `text` prints what people read, where that is more than the tables; `above` and `below` are
        sentences around them in Markdown and LaTeX.
        """
        around = "\n".join(above), "\n".join(below)
        match OutputFormat.JSON if self.as_json else self.as_format:
            case OutputFormat.JSON:
                typer.echo(show.json_text(content()))
            case OutputFormat.CSV:
                typer.echo(table_of(columns()).csv(), nl=False)
            case OutputFormat.MARKDOWN:
                typer.echo(markdown_of(tables(), *around))
            case OutputFormat.LATEX:
                typer.echo(latex_of(tables(), *around))
            case _ if text is not None:
                text()
            case _:
                for table in tables():
                    _print(table)


@dataclass(frozen=True)
class FormattedOutput(Output, Formatted):
    """The same, with the confidence of intervals."""

    def show_estimates(
        self, kind: str, design: str, estimates: Sequence[Estimate], **others: Any
    ) -> None:
        """A table for each estimate, or all in one document; `design` is a fingerprint."""
        self.show(
            lambda: [each.to_table(self.level) for each in estimates],
            lambda: estimate_columns(estimates, self.level),
            lambda: self.content(kind, design, estimates, **others),
        )


def _print(table: Table) -> None:
    """A table with its note below."""
    show.print_table(table)
    if table.note:
        show.console().print(table.note, "", sep="\n", soft_wrap=True)
