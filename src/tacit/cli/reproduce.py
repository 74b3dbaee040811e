"""`tacit reproduce`: run the experiments of the papers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from tacit.cli import show

if TYPE_CHECKING:
    from tacit.papers.runner import Progress as Done
    from tacit.papers.runner import Watch


Paper = Literal["du-zhan", "zhan-matwin", "soni-shrivastva", "huang-du", "all"]


def reproduce(
    *,
    paper: Paper = Argument("all", help="The paper, or all."),
    repeats: int | None = Option(
        None, min=1, help="Repeats of each setting; as in the papers if left out."
    ),
    quick: bool = Option(False, "--quick", help="A small part of the repeats."),
    out: Path = Option(
        Path("reproduced"), metavar="DIR", help="The folder for report and finished settings."
    ),
    processes: int | None = Option(
        None, min=1, help="Number of processes; one per core if left out."
    ),
    seed: int = Option(0, min=0, help="Seed of all random numbers."),
) -> None:
    """Run the papers' experiments as described, beside tacit's own answer, and write a report.

    Ctrl-C keeps the finished settings; the same command continues from them.

    Example: [bold]tacit reproduce all --quick --out reproduced[/bold]
    """
    from tacit.papers import STUDIES, Plan  # SciPy and scikit-learn are slow to start
    from tacit.papers import reproduce as run
    from tacit.papers.report import signed, summary_table

    start = time.perf_counter()
    names = list(STUDIES) if paper == "all" else [paper]
    plan = Plan(repeats, quick, seed)
    with _bar() as watch:
        sections = run(names, plan, out, processes or os.cpu_count() or 1, watch)
    table = summary_table(sections)
    rows = [(*counts, signed(largest), where) for *counts, largest, where in table.rows]
    show.print_table(replace(table, rows=rows))
    seconds = time.perf_counter() - start
    show.console().print(f"wrote {out / 'report.html'} in {seconds:.1f} s", soft_wrap=True)


@contextmanager
def _bar() -> Iterator[Watch]:
    """Finished settings and repeats and the time left, on standard error of a terminal."""
    errors = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[settings]} settings, {task.fields[repeats]} repeats"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}"),
    )
    bar = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
    task = bar.add_task("", total=1.0, settings="", repeats="", name="")

    def watch(done: Done) -> None:
        bar.update(
            task,
            total=done.work,
            completed=done.work_done,
            settings=f"{done.settings_done}/{done.settings}",
            repeats=f"{done.repeats_done:,}/{done.repeats:,}",
            name=done.name,
        )

    with bar:
        yield watch
