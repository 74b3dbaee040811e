"""Options that several commands share, or that belong together, as dataclasses.

A command takes such a group as one argument; on the command line every field is an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from tacit.cli import show
from tacit.core.schema import text
from tacit.errors import DataError
from tacit.output.table import Table, latex_of, markdown_of, table_of
from tacit.reconstruction.estimate import free_names
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate


Value = TypeVar("Value")


def option(default: Value, *names: str, **settings: Any) -> Value:
    """A field of a group; the settings are those of `typer.Option`."""
    made: Any = field(default=default, metadata={"option": typer.Option(*names, **settings)})
    found: Value = made
    return found


def typed(name: str) -> str:
    """The option of a field as it is typed."""
    return "--" + name.replace("_", "-")


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its dataclasses."""
    own = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in own if is_dataclass(each.annotation)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    parameters = [
        new.replace(kind=Parameter.KEYWORD_ONLY)
        for each in own
        for new in (_parameters(each.annotation) if each.name in groups else [each])
    ]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _parameters(group: type) -> list[Parameter]:
    types: dict[str, Any] = get_type_hints(group, include_extras=True)
    for each in fields(group):
        if "option" in each.metadata:
            types[each.name] = Annotated[types[each.name], each.metadata["option"]]
    found = signature(group).parameters.values()
    return [each.replace(annotation=types[each.name]) for each in found]


def _checked_level(level: float) -> float:
    check_level(level)
    return level


@dataclass(frozen=True)
class Output:
    """How results are printed."""

    level: float = option(0.95, help="Confidence of the intervals.", callback=_checked_level)
    as_json: bool = option(False, "--json", help="Print JSON.")

    def print(self, content: Callable[[], dict[str, Any]], render: Callable[[], None]) -> None:
        """Print the content as JSON if that is wanted; else call what prints tables."""
        typer.echo(show.json_text(content())) if self.as_json else render()

    def content(
        self, kind: str, design: str, estimates: Sequence[Estimate], **others: Any
    ) -> dict[str, Any]:
        """A JSON document of estimates; `design` is a fingerprint."""
        header = {"tacit": kind, "version": 1, "design": design, **others}
        return header | {"estimates": [each.to_dict(self.level) for each in estimates]}


# Output: several estimates as one table, and the format of what a command prints.


NUMBERS = ("estimate", "stderr", "lower", "upper")


def estimate_columns(
    estimates: Sequence[Estimate], level: float, taken: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """All tables in one: the quantity, a column per attribute, the numbers.

    No column gets one of the names that are `taken`.
    """
    names = list(dict.fromkeys(a.name for found in estimates for a in found.attributes))
    shown = free_names(names, ["quantity", *NUMBERS, *taken])
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
    return columns


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
