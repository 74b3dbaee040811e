"""Output: console, tables, numbers, progress."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.table
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tacit.output.rounding import finite
from tacit.output.table import Table, cell_text
from tacit.records import Progress as Tell
from tacit.records import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of output that goes to a file or another program.
PLAIN_WIDTH = 160
#: Seconds of work before a bar is shown.
PATIENCE = 1.0


def console() -> Console:
    """Standard output; labels are shown as they are, never read as markup."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Console(width=wide, markup=False, highlight=False, emoji=False)


def table(shown: Table) -> rich.table.Table:
    """A light table; labels wrap where a terminal is narrow, numbers do not."""
    made = rich.table.Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for head, side in zip(shown.heads, shown.align, strict=True):
        if side == "l":
            made.add_column(head, overflow="fold")
        else:
            made.add_column(head, justify="right", no_wrap=True)
    for row in shown.rows:
        made.add_row(*(cell if isinstance(cell, Text) else cell_text(cell) for cell in row))
    return made


def print_table(shown: Table) -> None:
    """A table under its title, and an empty line."""
    out = console()
    if shown.title:
        out.print(shown.title, soft_wrap=True)
    out.print(table(shown), "")


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure to an .svg, .png or .pdf file."""
    from tacit.privacy.page import content  # matplotlib is slow to start

    write_bytes(path, content(figure, path.suffix))


def json_text(content: dict[str, Any]) -> str:
    """JSON to read; a number that is not finite is null."""
    return json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)


def condition(value: float) -> str:
    """A condition number with four digits."""
    return "infinite" if math.isinf(value) else f"{value:.4g}"


def percent(level: float) -> str:
    """A confidence level in percent."""
    return f"{100 * level:g} %"


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """A progress bar on standard error, on a terminal and after a second of work."""
    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=errors, transient=True)
    task = bar.add_task(what, total=None)  # a pulse, until the share that is done is known
    start = time.monotonic()

    def tell(done: float) -> None:
        if not math.isnan(done):
            bar.update(task, completed=done, total=1.0)
        if errors.is_terminal and not bar.live.is_started and time.monotonic() - start > PATIENCE:
            bar.start()

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
