"""How often 95 % intervals of scrambled numbers cover: python -m tests.statistical.number_study.

Prints the tables of docs/quantitative.md. Populations are drawn again in every survey.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.stats import beta, gamma

from tacit.core.arrays import Array
from tacit.quantitative import (
    additive,
    bar_lev,
    distribution,
    eriksson,
    mean,
    multiplicative,
    scramble,
    square_wave,
    variance,
)

SURVEYS, OF_RANGES = 1_000, 60
SIZES = (20, 100, 500, 2_000)
#: Right-skewed, like incomes; cut at 1, which one person in 10^6 exceeds.
INCOMES = gamma(2, scale=1 / 16)
FACTORS = {"1/2": "1/3", 1: "1/3", "3/2": "1/3"}
SCRAMBLINGS = {
    "additive, +-1/4": additive({"-1/4": "1/2", "1/4": "1/2"}),
    "multiplicative, 1/2 to 3/2": multiplicative(FACTORS),
    "bar_lev, p = 1/2": bar_lev("1/2", FACTORS),
    "eriksson, p = 2/3": eriksson("2/3", [f"{i}/16" for i in range(8)]),
    "square_wave, epsilon 1": square_wave(1, 0, 1),
    "square_wave, epsilon 3": square_wave(3, 0, 1),
}
#: Smooth, with a peak at a border, with two such peaks, and flat.
SHAPES = {
    "gamma(2, 1/16)": INCOMES,
    "beta(2, 5)": beta(2, 5),
    "beta(1/2, 1/2)": beta(0.5, 0.5),
    "uniform": beta(1, 1),
}


def numbers(law: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return np.clip(law.rvs(shape, random_state=rng), 0, 1)


def moment_coverage(name: str, n: int, surveys: int, seed: int = 1) -> tuple[float, float]:
    """Shares of surveys whose intervals of mean and variance cover."""
    rng = np.random.default_rng([seed, n, len(name)])
    scrambling, hits = SCRAMBLINGS[name], np.zeros(2)
    for _ in range(surveys):
        reported = scramble(numbers(INCOMES, (n,), rng), scrambling, rng)
        for place, (estimate, truth) in enumerate(
            ((mean, INCOMES.mean()), (variance, INCOMES.var()))
        ):
            low, high = estimate(reported, scrambling).interval()
            hits[place] += low <= truth <= high
    of_mean, of_variance = hits / surveys
    return float(of_mean), float(of_variance)


def range_coverage(
    shape: str, epsilon: float, n: int, surveys: int, seed: int = 1
) -> tuple[float, float]:
    """Coverage of the shares of eight ranges: the mean over ranges, and the worst range."""
    rng = np.random.default_rng([seed, n, len(shape)])
    law, wave = SHAPES[shape], square_wave(epsilon, 0, 1, 64)
    truth = np.diff(law.cdf(np.linspace(0, 1, 9)))
    hits = np.zeros(8)
    for _ in range(surveys):
        reported = scramble(numbers(law, (n,), rng), wave, rng)
        low, high = distribution(reported, wave, bins=8).interval()
        hits += (low <= truth) & (truth <= high)
    return float(hits.mean() / surveys), float(hits.min() / surveys)


def row(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def main() -> None:
    row("mean, variance", *(f"{n:,} reports" for n in SIZES))
    for name in SCRAMBLINGS:
        found = (moment_coverage(name, n, SURVEYS) for n in SIZES)
        row(name, *(f"{of_mean:.3f}, {of_variance:.3f}" for of_mean, of_variance in found))
    settings = [(epsilon, n) for epsilon in (1, 2, 4) for n in (1_000, 10_000)]
    row("ranges", *(f"epsilon {epsilon}, {n:,} reports" for epsilon, n in settings))
    for shape in SHAPES:
        found = (range_coverage(shape, *setting, OF_RANGES) for setting in settings)
        row(shape, *(f"{average:.2f}, {worst:.2f}" for average, worst in found))


if __name__ == "__main__":
    main()
