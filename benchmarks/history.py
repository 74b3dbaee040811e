"""Every full run as rows of docs/benchmarks.csv, and the page that shows them."""

from __future__ import annotations

import csv
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.measure import HEADER, Row

ROOT = Path(__file__).resolve().parents[1]
PAGE, HISTORY = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmarks.csv"
COLUMNS = ("date", "commit", "claim", "figure", "unit", "target")
#: How many runs the page shows; the CSV file keeps all of them.
SHOWN = 6
LEAD = """# Benchmarks

`make bench` measures every figure as a ratio against a peer, or against the memory limit, in the
same run, and adds a line per figure to [benchmarks.csv](benchmarks.csv). A suite that misses a
target runs twice more; the median of the three runs counts.
"""


def keep(rows: Sequence[Row]) -> None:
    """Add a full run to the history and write the page again."""
    date, commit = datetime.now(UTC).date().isoformat(), _commit()
    with HISTORY.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(
            (date, commit, row.claim, f"{row.figure:.3g}", row.unit, row.target) for row in rows
        )
    PAGE.write_text(page(rows, read_history()), encoding="utf-8")


def read_history() -> list[dict[str, str]]:
    """One entry per run and figure, in the order of the runs."""
    with HISTORY.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page(rows: Sequence[Row], history: Sequence[dict[str, str]]) -> str:
    """The latest run in full, and its figures in the latest runs."""
    runs = list(dict.fromkeys((entry["date"], entry["commit"]) for entry in history))[-SHOWN:]
    found = {(e["date"], e["commit"], e["claim"]): e["figure"] for e in history}
    past = [
        [row.claim, *(found.get((*run, row.claim), "") for run in runs), row.unit] for row in rows
    ]
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    return "\n".join(
        [
            LEAD,
            f"## Latest run\n\nOn {machine}.\n",
            *_table(HEADER, [row.cells() for row in rows]),
            "\n## History\n",
            *_table(["what", *(f"{date} {commit}" for date, commit in runs), "unit"], past),
            "",
        ]
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _commit() -> str:
    """The commit that was measured; a plus sign if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=7", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
