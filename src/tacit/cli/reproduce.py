"""`tacit reproduce`: run the experiments of the papers."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

from typer import Argument, Option

from tacit.cli import show

Paper = Literal["du-zhan", "zhan-matwin", "soni-shrivastva", "huang-du", "all"]


def reproduce(
    *,
    paper: Paper = Argument("all"),
    repeats: int | None = Option(None, min=1),
    quick: bool = False,
    out: Path = Option(Path("reproduced"), metavar="DIR"),
    processes: int | None = Option(None, min=1),
    seed: int = Option(0, min=0),
) -> None:
    """Run the papers' experiments as described, beside tacit's own answer, and write a report.

    Ctrl-C keeps the finished settings; the same command continues from them.

    Example: [bold]tacit reproduce all --quick --out reproduced[/bold]

    Parameters
    ----------
    paper
        The paper, or all.
    repeats
        Repeats of each setting; as in the papers if left out.
    quick
        A small part of the repeats.
    out
        The folder for report and finished settings.
    processes
        Number of processes; one per core if left out.
    seed
        Seed of all random numbers.
    """
    from tacit import papers  # needs the extra `plot`
    from tacit.papers import report

    start = time.perf_counter()
    names = list(papers.STUDIES) if paper == "all" else [paper]
    plan = papers.Plan(repeats, quick, seed)
    with show.progress("") as tell:

        def watch(done: papers.runner.Progress) -> None:
            settings = f"{done.settings_done}/{done.settings} settings"
            counted = f"{settings}, {done.repeats_done:,}/{done.repeats:,} repeats"
            tell(done.work_done / done.work, f"{counted}, {done.name}")

        cores = processes or os.cpu_count() or 1
        sections = papers.reproduce(names, plan, out, cores, watch)
    table = report.summary_table(sections)
    rows = [(*counts, report.signed(largest), where) for *counts, largest, where in table.rows]
    show.print_table(replace(table, rows=rows))
    seconds = time.perf_counter() - start
    show.console().print(f"wrote {out / 'report.html'} in {seconds:.1f} s", soft_wrap=True)
