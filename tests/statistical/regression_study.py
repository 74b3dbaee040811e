"""How often the 95 % intervals of regressions have the true coefficient.

    python -m tests.statistical.regression_study --runs 4000 --seed 1 [--only Warner] [--size 500]

Each run draws people, disguises their answers and fits the regression. Runs whose fit has a warning
(separation, no convergence) are counted apart.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.progress import track

from tacit.output.table import Table
from tests.support.regression_surveys import SURVEYS, RegressionSurvey

SIZES = (500, 2000)


def coverage(survey: RegressionSurvey, n: int, runs: int, seed: int) -> tuple[list[float], int]:
    """Coverage of each coefficient, and the number of runs with a warning."""
    rng = np.random.default_rng([seed, n])
    shown = Console(stderr=True)
    found = [survey.covered(n, rng) for _ in track(range(runs), f"n = {n}", console=shown)]
    clean = [covered for covered in found if covered is not None]
    return np.mean(clean, axis=0).tolist(), len(found) - len(clean)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=int, action="append")
    options = parser.parse_args()
    rows = []
    chosen = {name: survey for name, survey in SURVEYS.items() if options.only in name}
    for n in options.size or SIZES:
        for name, survey in chosen.items():
            covered, warned = coverage(survey, n, options.runs, options.seed)
            figures = " ".join(f"{share:.3f}" for share in covered)
            rows.append((name, n, min(covered), max(covered), warned, figures))
            Console().print(*map(str, rows[-1]), sep="  ", soft_wrap=True)
    heads = ("survey", "people", "least", "most", "warnings", "coverage of each coefficient")
    Console(width=160).print(Table(heads, rows).text(), soft_wrap=True)


if __name__ == "__main__":
    main()
