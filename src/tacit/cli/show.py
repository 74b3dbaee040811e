"""Output: the console, results in every format with the options for it, progress."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import rich.table
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from typer import Option, echo

from tacit.errors import DataError
from tacit.output.rounding import finite
from tacit.output.table import Table, cell_text, latex_of, markdown_of, table_of
from tacit.reconstruction.estimate import estimate_columns
from tacit.reconstruction.interval import check_level
from tacit.records import files

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate

#: Width of output that goes to a file or another program.
PLAIN_WIDTH = 160
#: Seconds of work before a bar is shown.
PATIENCE = 1.0
#: Least room for a column of labels before intervals go below their numbers.
LABEL_ROOM = 20


#: How results are printed.
OutputFormat = Literal["text", "markdown", "latex", "csv", "json"]


@dataclass(frozen=True)
class Printout:
    """A result of several parts, for `Format.show`.

    `values` are the columns of CSV; those of the first table if left out. Notes of the content are
    shown below the tables.
    """

    content: dict[str, Any]
    parts: Sequence[Table]
    values: Mapping[str, Sequence[Any]] | None = None
    below: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return self.content

    def tables(self) -> Sequence[Table]:
        """The tables."""
        return self.parts

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The columns of CSV."""
        if self.values is not None:
            return self.values
        first = self.parts[0]
        return {head: [row[i] for row in first.rows] for i, head in enumerate(first.heads)}

    def notes(self) -> Sequence[str]:
        """Sentences below the tables."""
        return [*self.below, *(f"note: {note}" for note in self.content.get("notes", ()))]


@dataclass(frozen=True)
class Several:
    """Results of one kind as one: a table each, and a list under a key of the JSON document."""

    results: Sequence[Any]
    key: str

    def tables(self, *arguments: Any) -> list[Table]:
        """A table per result."""
        return [result.to_table(*arguments) for result in self.results]

    def to_dict(self, *arguments: Any) -> dict[str, Any]:
        """The results as plain values."""
        return {self.key: [result.to_dict(*arguments) for result in self.results]}

    def columns(self, *arguments: Any) -> dict[str, list[Any]]:
        """The columns of all, one below the other."""
        parts = [columns_of(result, *arguments) for result in self.results]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def columns_of(result: Any, *arguments: Any) -> Mapping[str, Sequence[Any]]:
    """The columns of a result; one row of all its values if it has none."""
    if hasattr(result, "columns"):
        columns: Mapping[str, Sequence[Any]] = result.columns(*arguments)
        return columns
    return {name: [value] for name, value in result.to_dict(*arguments).items()}


@dataclass(frozen=True)
class Format:
    """The format of what is printed.

    Parameters
    ----------
    as_format
        text for people; markdown, latex (booktabs) or csv; json is --json.
    as_json
        Print JSON.
    """

    as_format: OutputFormat = Option("text", "--format")
    as_json: bool = Option(False, "--json")

    def __post_init__(self) -> None:
        """Raise if two formats are given."""
        if self.as_json and self.as_format not in ("text", "json"):
            raise DataError(f"give --json or --format {self.as_format}, not both")

    def say(self, *lines: str) -> None:
        """Print lines that are for people only."""
        if self.as_format == "text" and not self.as_json:
            console().print(*lines, sep="\n", soft_wrap=True)

    def show(self, result: Any, *arguments: Any, **header: Any) -> None:
        """Print a result.

        It has `to_table` or `tables`, `to_dict` and perhaps `columns`, which take the arguments,
        and perhaps `lead` and `notes`: sentences around the tables. The header comes first in JSON.
        """
        as_format = "json" if self.as_json else self.as_format
        if as_format == "json":
            echo(json_text({**header, **result.to_dict(*arguments)}))
            return
        if as_format == "csv":
            echo(table_of(columns_of(result, *arguments)).csv(), nl=False)
            return
        several = hasattr(result, "tables")
        tables = result.tables(*arguments) if several else [result.to_table(*arguments)]
        above = result.lead() if hasattr(result, "lead") else ()
        below = result.notes() if hasattr(result, "notes") else ()
        if as_format == "text":
            out = console()
            if above:
                out.print(*above, "", sep="\n")
            for part in tables:
                print_table(part)
            if below:
                out.print(*below, sep="\n")
            return
        document = markdown_of if as_format == "markdown" else latex_of
        echo(document(tables, "\n".join(above), "\n".join(below)))


@dataclass(frozen=True)
class Output(Format):
    """The format, and the confidence of intervals.

    Parameters
    ----------
    level
        Confidence of the intervals.
    """

    level: float = Option(0.95, callback=check_level)

    def show_estimates(
        self, kind: str, design: str, estimates: Sequence[Estimate], **others: Any
    ) -> None:
        """A table for each estimate, or all in one document; `design` is a fingerprint."""
        header = {"tacit": kind, "version": 1, "design": design, **others}
        self.show(Estimates(estimates, "estimates"), self.level, **header)


class Estimates(Several):
    """Several estimates as one result."""

    def columns(self, level: float) -> dict[str, list[Any]]:
        """All tables in one."""
        return estimate_columns(self.results, level)


def console() -> Console:
    """Standard output; labels are shown as they are, never read as markup."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Console(width=wide, markup=False, highlight=False, emoji=False)


def print_table(shown: Table) -> None:
    """A light table under its title, an empty line, and its note.

    Labels wrap where a terminal is narrow, numbers do not.
    """
    out = console()
    if shown.title:
        out.print(shown.title, soft_wrap=True)
    narrowed = _narrowed(shown, out.width)
    grid = rich.table.Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for head, side in zip(narrowed.heads, narrowed.align, strict=True):
        if side == "l":
            grid.add_column(head, overflow="fold")
        else:
            grid.add_column(head, justify="right", no_wrap=True)
    for row in narrowed.rows:
        grid.add_row(*(cell if isinstance(cell, Text) else cell_text(cell) for cell in row))
    out.print(grid, "")
    if shown.note:
        out.print(shown.note, "", sep="\n", soft_wrap=True)


def _narrowed(shown: Table, width: int) -> Table:
    """A table that is too wide with its heads on several lines, and intervals below numbers."""
    cells = [[cell_text(cell) for cell in row] for row in shown.rows]
    widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
    widths = widths or [0] * len(shown.heads)

    def total(heads: Sequence[str], most_labels: float = math.inf) -> float:
        columns = zip(heads, widths, shown.align, strict=True)
        return sum(
            2 + min(max(len(head), size), math.inf if side == "r" else most_labels)
            for head, size, side in columns
        )

    if total(shown.heads) - 2 <= width:
        return shown
    heads = [
        head.replace(" ", "\n") if column and len(head) > size else head
        for column, (head, size) in enumerate(zip(shown.heads, widths, strict=True))
    ]
    lines = [max(head.split("\n"), key=len) for head in heads]
    intervals = {i for i, head in enumerate(shown.heads) if i and head.endswith(" interval")}
    if total(lines, LABEL_ROOM) - 2 <= width or not intervals:
        return replace(shown, heads=heads)
    shown_columns = [i for i in range(len(heads)) if i not in intervals]

    def stacked(row: Sequence[str]) -> list[str]:
        return [f"{row[i]}\n{row[i + 1]}" if i + 1 in intervals else row[i] for i in shown_columns]

    return replace(
        shown,
        heads=stacked(shown.heads),
        rows=list(map(stacked, cells)),
        align="".join(shown.align[i] for i in shown_columns),
    )


def write_also(result: Any, figure: Path | None, table: Path | None = None) -> None:
    """Draw a result, and write its table, to those files that are given."""
    if figure is not None:
        from tacit.output.plot_style import figure_bytes  # matplotlib is slow to start

        files.write_bytes(figure, figure_bytes(result.plot(), figure.suffix))
    if table is not None:
        files.write_frame(table, result.to_frame(backend="pyarrow"))


def json_text(content: dict[str, Any]) -> str:
    """JSON to read; a number that is not finite is null."""
    return json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """A progress bar on standard error, on a terminal and after a second of work.

    Yields a function of the share that is done and, if it changes, of what is shown beside it.
    """
    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=errors, transient=True)
    task = bar.add_task(what, total=None)  # a pulse, until the share that is done is known
    start = time.monotonic()

    def tell(done: float, what: str = what) -> None:
        if not math.isnan(done):
            bar.update(task, completed=done, total=1.0, description=what)
        if errors.is_terminal and not bar.live.is_started and time.monotonic() - start > PATIENCE:
            bar.start()

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
