"""Coverage of the 95 % intervals of the studio, over surveys that the real service collected.

python -m tests.statistical.studio_study --surveys 500 --respondents 300 --seed 1

Each survey has its own true shares, drawn from all distributions alike. Responses are sent over
HTTP to `tacit serve`; intervals are those that `tacit studio` shows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.support.served_surveys import ShownInterval, simulated


def line(name: str, found: list[ShownInterval]) -> str:
    """A line of the table: how many intervals cover, and the error of the simulation.

    The intervals of one question depend on each other: for the error they count as one.
    """
    covered = np.mean([one.covers for one in found])
    width = np.mean([one.high - one.low for one in found])
    error = np.sqrt(covered * (1 - covered) / sum(one.category == 0 for one in found))
    cells = (f"{len(found):,}", f"{100 * covered:.1f} %", f"{100 * error:.1f}")
    return f"| {name} | {' | '.join(cells)} | ± {50 * width:.1f} |\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--surveys", type=int, default=500)
    parser.add_argument("--respondents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(simulated(Path(folder), given.surveys, given.respondents, given.seed))
    write = sys.stdout.write
    write("| question | intervals | cover | error, points | half width, points |\n")
    write("|---|---|---|---|---|\n")
    for name in dict.fromkeys(one.question for one in found):
        write(line(name, [one for one in found if one.question == name]))
    write(line("all", found))


if __name__ == "__main__":
    main()
