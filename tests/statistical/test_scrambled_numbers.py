"""Scrambled numbers: frequencies of every (true, reported) pair, and coverage of intervals.

False-alarm rate 1e-6 per assertion (tests/support/chance.py); a negative control beside each.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit.core.arrays import Array
from tacit.quantitative import mean, multiplicative, scramble, variance
from tacit.quantitative.families import Scrambling
from tests.support.chance import FALSE_ALARM, looks_like
from tests.support.scramblings import SCRAMBLINGS, TRUE, law

EACH = 30_000
SURVEYS = 2_500
OFF = 0.03
every = pytest.mark.parametrize("name", SCRAMBLINGS)


def pairs(scrambling: Scrambling, seed: int | None) -> tuple[Array, Array]:
    """Counts of reports and their probabilities, a row per true number."""
    laws = [law(scrambling, x) for x in TRUE]
    reports = sorted({y for each in laws for y in each})
    places = np.array([float(y) for y in reports])
    rng = None if seed is None else np.random.default_rng(seed)
    counts = np.zeros((len(TRUE), len(reports)))
    for row, x in enumerate(TRUE):
        drawn = scramble(np.full(EACH, float(x)), scrambling, rng)
        nearest = np.abs(drawn[:, None] - places).argmin(axis=1)
        np.testing.assert_allclose(drawn, places[nearest], atol=1e-9)
        counts[row] = np.bincount(nearest, minlength=len(reports))
    expected = np.array([[float(each.get(y, 0)) for y in reports] for each in laws])
    return counts, expected


@pytest.mark.parametrize("seed", [20_240_607, None], ids=["generator", "entropy"])
@every
def test_pairs_occur_as_often_as_the_scrambling_says(name: str, seed: int | None) -> None:
    counts, expected = pairs(SCRAMBLINGS[name], seed)
    assert looks_like(counts, EACH, expected)
    wrong, rows = expected.copy(), np.arange(len(expected))
    wrong[rows, expected.argmax(axis=1)] -= OFF
    wrong[rows, expected.argmin(axis=1)] += OFF
    assert not looks_like(counts, EACH, wrong)


def population(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Whole numbers between 0 and 40, most of them small; a fifth is 40."""
    return np.asarray(rng.choice([0.0, 10.0, 20.0, 40.0], size=shape, p=[0.4, 0.3, 0.1, 0.2]))


MEAN, VARIANCE = 13.0, 221.0  # of that population


def covered(name: str, n: int, surveys: int, truth: float, what: str) -> int:
    """In how many surveys the 95 % interval holds the truth; true numbers are drawn again."""
    rng = np.random.default_rng(len(name) * 1000 + n)
    scrambling = SCRAMBLINGS[name]
    estimate = {"mean": mean, "variance": variance}[what]
    true = population(rng, (surveys, n))
    reported = scramble(true.ravel(), scrambling, rng).reshape(surveys, n)
    intervals = (estimate(row, scrambling).interval() for row in reported)
    return sum(bool(low <= truth <= high) for low, high in intervals)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["mean", "variance"])
@every
def test_intervals_cover_in_95_of_100_surveys(name: str, what: str) -> None:
    """At 500 reports between 94 and 96 %, tested with the false-alarm rate above."""
    truth = MEAN if what == "mean" else VARIANCE
    hits = covered(name, 500, SURVEYS, truth, what)
    assert looks_like(np.array([hits]), SURVEYS, np.array([0.95]))
    assert not looks_like(np.array([hits]), SURVEYS, np.array([0.91]))


@every
def test_a_wrong_truth_is_not_covered(name: str) -> None:
    """Negative control: half a standard deviation away."""
    assert covered(name, 500, 200, MEAN + 7.5, "mean") < 180


@every
def test_a_hundred_reports_are_covered_in_nearly_as_many_surveys(name: str) -> None:
    """Numbers are skewed, and more so after a multiplication: 93 % is what to expect here."""
    least = binom.ppf(FALSE_ALARM, 1_000, 0.93)
    assert covered(name, 100, 1_000, MEAN, "mean") >= least
    assert covered(name, 100, 1_000, MEAN + 7.5, "mean") < least


def test_the_variance_of_skewed_numbers_is_covered_better_than_by_students_t() -> None:
    """Incomes times a factor, 100 reports: about 92 % instead of 84 %."""
    surveys, n, rng = 2_000, 100, np.random.default_rng(16)
    factors = multiplicative(["1/2", 1, "3/2"])
    reported = scramble(rng.gamma(2, 1.0, surveys * n), factors, rng).reshape(surveys, n)
    estimates = [variance(row, factors) for row in reported]
    limits = np.array([each.interval() for each in estimates])
    value, stderr = (
        np.array([float(getattr(e, k)) for e in estimates]) for k in ("value", "stderr")
    )
    least = binom.ppf(FALSE_ALARM, surveys, 0.91)
    assert ((limits[:, 0] <= 2.0) & (limits[:, 1] >= 2.0)).sum() >= least
    assert (np.abs(value - 2.0) <= 1.984 * stderr).sum() < least
