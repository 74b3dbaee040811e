"""Plans against simulated surveys: respondents needed, and power.

python -m tests.statistical.plan_study --runs 2400 --seed 1 [--case NAME]

For each design: the respondents that a plan asks for a width, beside those at which the mean half
width of simulated intervals reaches it (log-linear between .9 and 1.1 of the planned number, from a
tenth of the runs each); and the power that is planned, beside how often simulated surveys reject:
a null prevalence, and no difference between two groups, at the numbers planned for 80 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from tests.support.planned_surveys import (
    CASES,
    PlannedCase,
    simulated_group_power,
    simulated_null_power,
    simulated_width,
)

POWER = 0.8


def needed(case: PlannedCase, planned: int, runs: int, rng: Any) -> float:
    """The respondents at which simulated intervals have the planned width."""
    numbers = [round(planned * factor) for factor in (0.9, 1.0, 1.1)]
    widths = [simulated_width(case, n, runs, rng) for n in numbers]
    slope, constant = np.polyfit(np.log(widths), np.log(numbers), 1)
    return float(np.exp(constant + slope * np.log(case.width)))


def row(name: str, case: PlannedCase, runs: int, rng: Any) -> tuple[str, float, float]:
    """A line of the table, by how much respondents are off, and by how many points power is."""
    planned = case.wishes(width=case.width).n
    found = needed(case, planned, max(runs // 10, 10), rng)
    null = case.wishes(power=POWER, null=case.null)
    groups = case.wishes(power=POWER, difference=case.difference, by="sex")
    powers = [
        (null.power or 0.0, simulated_null_power(case, null.n, runs, rng)),
        (groups.power or 0.0, simulated_group_power(case, groups.n, runs, rng)),
    ]
    cells = [name, f"± {100 * case.width:g}", f"{planned:,}", f"{found:,.0f}"]
    cells.append(f"{planned / found:.3f}")
    for n, (expected, seen) in zip((null.n, groups.n), powers, strict=True):
        cells += [f"{n:,}", f"{100 * expected:.1f} %", f"{100 * seen:.1f} %"]
    off = max(abs(expected - seen) for expected, seen in powers)
    return f"| {' | '.join(cells)} |", abs(planned / found - 1), 100 * off


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES, action="append")
    given = parser.parse_args()
    rng, start = np.random.default_rng(given.seed), time.process_time()
    heads = ["design", "width", "respondents planned", "simulated", "ratio"]
    heads += ["null: respondents", "power planned", "simulated"]
    heads += ["groups: respondents", "power planned", "simulated"]
    write = sys.stdout.write
    write(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|\n")
    misses: list[tuple[float, float]] = []
    for name in given.case or CASES:
        line, *off = row(name, CASES[name], given.runs, rng)
        misses.append((off[0], off[1]))
        write(line + "\n")
        sys.stdout.flush()
    shares, points = (max(column) for column in zip(*misses, strict=True))
    write(f"\nrespondents: at most {100 * shares:.1f} % off; power: at most {points:.1f} points\n")
    write(f"{time.process_time() - start:.0f} s of CPU time\n")


if __name__ == "__main__":
    main()
