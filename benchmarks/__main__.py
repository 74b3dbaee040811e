"""`make bench`: run every comparison, print the table and write it to docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import (
    counting,
    disguising,
    mining,
    optimizing,
    peers,
    probabilities,
    serving,
    trees,
    wide,
)
from benchmarks.measure import Row

HEADER = ["what", "measured", "target", "verdict", "detail"]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
SUITES: dict[str, Callable[[], Iterator[Row]]] = {
    "disguising": disguising.rows,
    "counting": counting.rows,
    "peers": peers.rows,
    "wide": wide.rows,
    "probabilities": probabilities.rows,
    "mining": mining.rows,
    "trees": trees.rows,
    "optimizing": optimizing.rows,
    "serving": serving.rows,
}


def main(chosen: list[str]) -> int:
    console = Console(width=160)
    found: list[Row] = []
    for name in chosen or SUITES:
        with console.status(f"measuring: {name}"):
            found += SUITES[name]()
    table = Table(*HEADER)
    for row in found:
        table.add_row(*row.cells())
    console.print(table)
    if not chosen:
        PAGE.write_text(_page(found))
    missed = [row.claim for row in found if not row.met]
    console.print(f"{len(found) - len(missed)} of {len(found)} targets met")
    return 1 if missed else 0


def _page(found: list[Row]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in found]
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    return (
        "# Benchmarks\n\n"
        "Written by `make bench`. Every figure is a ratio against a peer or the memory limit, "
        f"measured in the same run; here on {machine}.\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
