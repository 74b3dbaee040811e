"""Intervals of the named families cover, summed over all outcomes: without chance.

The negative control is the normal interval, which misses rare shares.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial

from tacit import Design, Group, Schema, christofides, kuk, mangat, mangat_singh, triangular
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.reconstruction import Estimate, inversion
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.reconstruction.tables import TableProblem
from tests.statistical.inference_study import stacked
from tests.support.families import attributes_of

LEVEL, FLOOR = 0.95, 0.93
SHARES = np.r_[0, np.geomspace(1e-4, 0.02, 12), np.linspace(0.02, 0.5, 25)]
BINOMIAL = {
    "mangat": mangat("0.7"),
    "mangat, little noise": mangat("0.99"),
    "triangular": triangular("1/4"),
    "mangat_singh": mangat_singh("0.3", "0.8"),
    "kuk, one card": kuk("0.8", "0.3"),
    "christofides, two numbers": christofides(["3/4", "1/4"]),
}
NUMBERED = {
    "kuk": kuk("0.8", "0.3", 2),
    "kuk, little noise": kuk("0.97", "0.05", 2),
    "christofides": christofides(["1/2", "1/3", "1/6"]),
}


def outcomes(coin: Coin, n: int) -> tuple[list[Estimate], Array]:
    """The estimates of all outcomes of n reports, and their chances for each share."""
    channel = Design(Schema(attributes_of((2,))), [Group(["a0"], coin)]).channel(["a0"])
    size = len(channel.matrix)
    grid = np.indices((n + 1,) * (size - 1)).reshape(size - 1, -1).T
    grid = grid[grid.sum(axis=1) <= n]
    counts = np.column_stack([n - grid.sum(axis=1), grid])
    chances = np.array([multinomial.pmf(counts, n, channel.matrix @ [1 - p, p]) for p in SHARES])
    found = [inversion(TableProblem(c.astype(float), channel, 1, n)) for c in counts]
    return found, chances


def coverage(interval: Interval, chances: Array) -> Array:
    lower, upper = interval.lower[:, 1, None], interval.upper[:, 1, None]
    inside = (lower <= SHARES + 1e-9) & (upper + 1e-9 >= SHARES)
    return np.asarray(np.sum(chances.T * inside, axis=0))


@pytest.mark.parametrize("name", BINOMIAL)
@pytest.mark.parametrize("n", [20, 50, 200])
def test_two_reports_are_covered_for_every_share(name: str, n: int) -> None:
    estimates, chances = outcomes(BINOMIAL[name], n)
    assert coverage(stacked(estimates), chances).min() >= LEVEL - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("n", [20, 50])
def test_three_numbers_are_covered_for_every_share(name: str, n: int) -> None:
    estimates, chances = outcomes(NUMBERED[name], n)
    assert coverage(stacked(estimates), chances).min() >= FLOOR


@pytest.mark.parametrize("name", ["mangat, little noise", "triangular"])
def test_normal_intervals_would_miss_rare_shares(name: str) -> None:
    estimates, chances = outcomes(BINOMIAL[name], 50)
    value, stderr = (np.stack([getattr(e, k) for e in estimates]) for k in ("value", "stderr"))
    plain = Interval(*(np.clip(limit, 0, 1) for limit in normal_interval(value, stderr, LEVEL)))
    assert coverage(plain, chances).min() < FLOOR
