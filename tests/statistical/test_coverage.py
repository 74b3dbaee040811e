"""95 % intervals cover between 94 % and 96 %, as far as simulated surveys can tell.

Chance moves a coverage of 95 % in 10,000 surveys (`--complete`) by less than 1 % in all but 5 of
10^6 seeds, and in 2,000 surveys by less than 2.55 % in all but one. With two categories outcomes
are few and the true coverage is not 95 % exactly (94.5 % for the forced response): there 400,000
surveys are simulated, and the coverage is also computed without chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import Coin, forced, matrix, related, truthful, uniform_perturbation
from tacit.reconstruction import Estimate, em, inversion, simplex
from tacit.reconstruction.interval import Interval, ScoreTest, normal_interval, score_interval
from tacit.reconstruction.tables import TableProblem, expectation
from tests.support.chance import FALSE_ALARM
from tests.support.families import attributes_of

SEED, LEVEL = 314, 0.95
#: How far the coverage in so many surveys may be from 95 %.
BAND = {2_000: 0.0255, 10_000: 0.01, 400_000: 0.01}
LEAST, MOST = 0.94, 0.96

FIVE = [
    [0.60, 0.10, 0.10, 0.05, 0.10],
    [0.10, 0.60, 0.10, 0.10, 0.10],
    [0.10, 0.10, 0.60, 0.15, 0.10],
    [0.10, 0.10, 0.10, 0.60, 0.20],
    [0.10, 0.10, 0.10, 0.10, 0.50],
]
TALL = [[0.5, 0.1, 0.1], [0.1, 0.5, 0.1], [0.1, 0.1, 0.5], [0.2, 0.2, 0.05], [0.1, 0.1, 0.25]]
UNSURE = [["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]
SIXTHS = forced("4/6", ["1/2", "1/2"])  # a die: 1 says yes, 6 says no, else the truth


def one(coin: Coin, k: int = 2) -> Design:
    return Design(Schema(attributes_of((k,))), [Group(["a0"], coin)])


TWO_GROUPS = Design(
    Schema(attributes_of((2, 3))),
    [Group(["a0"], related(0.75)), Group(["a1"], uniform_perturbation(0.6))],
)
TABLE = [[0.40, 0.20, 0.15], [0.15, 0.07, 0.03]]
EVENT = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
SCORES = np.array([[0.0, 1.0, 2.0], [-3.0, 4.0, 50.0]])


@dataclass(frozen=True)
class Setting:
    """A survey of n people with this true table, and what is asked of it."""

    design: Design
    true: Any
    n: int
    ask: Callable[[TableProblem], Estimate] = inversion
    of: Any = None

    @property
    def target(self) -> Array:
        table = np.array(self.true)
        return table if self.of is None else np.sum(table * self.of)


REQUIRED = {
    "Warner": Setting(one(related(0.7)), [0.95, 0.05], 1000),
    "forced response with sixths": Setting(one(SIXTHS), [0.98, 0.02], 500),
    "five categories": Setting(one(matrix(FIVE), 5), [0.4, 0.3, 0.2, 0.08, 0.02], 2000),
    "two groups": Setting(TWO_GROUPS, TABLE, 2000),
    "an event": Setting(
        TWO_GROUPS, TABLE, 1000, partial(expectation, h=EVENT, name="P"), EVENT
    ),
    "an expectation": Setting(
        TWO_GROUPS, TABLE, 1000, partial(expectation, h=SCORES, name="E"), SCORES
    ),
    "more reported than true": Setting(one(matrix(TALL), 3), [0.7, 0.25, 0.05], 1000),
}  # fmt: skip
#: Others of the same kind take a second.
LONG = {"two groups", "an event"}
#: Outcomes are few, so the coverage jumps; it must not fall short.
AT_LEAST = {
    "truthful": Setting(one(truthful()), [0.98, 0.02], 500),
    "Warner, nobody": Setting(one(related(0.7)), [1.0, 0.0], 500),
    "forced, nobody": Setting(one(SIXTHS), [1.0, 0.0], 500),
    "truthful, nobody": Setting(one(truthful()), [1.0, 0.0], 500),
    "five categories, two empty": Setting(one(matrix(FIVE), 5), [0.5, 0.3, 0.2, 0, 0], 500),
    "more reported than true, nobody": Setting(one(matrix(UNSURE)), [1.0, 0.0], 300),
}


def stacked(estimates: list[Estimate], n: Any) -> Interval:
    """The intervals of many surveys at once."""
    if estimates[0].score is None:
        value, stderr = (np.stack([getattr(e, k) for e in estimates]) for k in ("value", "stderr"))
        return normal_interval(value, stderr, LEVEL)
    scores = [e.score for e in estimates if e.score is not None]
    center = np.stack([score.center for score in scores])
    noise, skew = (
        np.stack([getattr(score, k) for score in scores], axis=1) for k in ("noise", "skew")
    )
    return score_interval(ScoreTest(center, noise, skew, n), LEVEL)


@pytest.fixture
def surveys(pytestconfig: pytest.Config) -> int:
    return 10_000 if pytestconfig.getoption("--complete") else 2_000


def simulated(setting: Setting, surveys: int) -> tuple[list[Estimate], Any]:
    """Estimates of the distinct surveys, and which of them each survey is."""
    channel = setting.design.channel(setting.design.schema.names)
    expected = channel.disguised(np.array(setting.true))
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(setting.n, expected.ravel() / expected.sum(), size=surveys)
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    shaped = distinct.reshape(-1, *expected.shape).astype(np.float64)
    axes = len(channel.true)
    return [setting.ask(TableProblem(c, channel, axes, setting.n)) for c in shaped], which.ravel()


def coverage(interval: Interval, target: Array, which: Any) -> Array:
    inside = (interval.lower <= target) & (target <= interval.upper)
    return np.asarray(np.mean(inside[which], axis=0))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.complete if name in LONG else ()) for name in REQUIRED],
)
def test_95_percent_intervals_cover_94_to_96_percent(name: str, surveys: int) -> None:
    setting = REQUIRED[name]
    surveys = 400_000 if np.size(setting.true) == 2 else surveys
    estimates, which = simulated(setting, surveys)
    covered = coverage(stacked(estimates, setting.n), setting.target, which)
    assert (np.abs(covered - LEVEL) <= BAND[surveys]).all(), covered
    control = coverage(too_short(estimates, setting.n), setting.target, which)
    assert (control < LEVEL - BAND[surveys]).all(), control


def too_short(estimates: list[Estimate], n: int) -> Interval:
    """The negative control: standard errors that are 15 % too small."""
    if estimates[0].score is None:
        return stacked([replace(e, stderr=0.85 * e.stderr) for e in estimates], n)
    return stacked(estimates, n / 0.85**2)


@pytest.mark.parametrize("name", AT_LEAST)
def test_95_percent_intervals_near_the_border_never_cover_less(name: str, surveys: int) -> None:
    setting = AT_LEAST[name]
    estimates, which = simulated(setting, surveys)
    lower, upper = stacked(estimates, setting.n)
    covered = coverage(Interval(lower, upper), setting.target, which)
    unlucky = binom.cdf(np.round(covered * surveys), surveys, LEAST)
    assert (unlucky * covered.size >= FALSE_ALARM).all(), covered
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    assert (upper > lower).all()


@cache
def every_outcome(coin: Coin, n: int) -> list[Estimate]:
    channel = one(coin).channel(["a0"])
    counts = np.array([[n - i, i] for i in range(n + 1)], float)
    return [inversion(TableProblem(c, channel, 1, n)) for c in counts]


def exact_coverage(coin: Coin, p: float, n: int, scale: float = 1.0) -> float:
    """Coverage of P(second category), summed over all n + 1 outcomes."""
    interval = stacked(every_outcome(coin, n), n / scale**2)
    reported = one(coin).channel(["a0"]).disguised(np.array([1 - p, p]))
    chances = binom.pmf(np.arange(n + 1), n, reported[1])
    return float(chances @ ((interval.lower[:, 1] <= p) & (p <= interval.upper[:, 1])))


@pytest.mark.parametrize(
    ("coin", "n"), [(related(0.7), 1000), (SIXTHS, 500), (related("1/5"), 1000)], ids=str
)
def test_the_exact_coverage_of_two_categories_lies_in_the_band(coin: Coin, n: int) -> None:
    for p in (0.02, 0.05, 0.3, 0.97):
        assert LEAST <= exact_coverage(coin, p, n) <= MOST
        assert exact_coverage(coin, p, n, scale=0.9) < LEAST


def test_stacked_intervals_are_those_of_the_estimates() -> None:
    for name in ("two groups", "an event", "an expectation"):
        setting = REQUIRED[name]
        estimates, _ = simulated(setting, surveys=5)
        together = stacked(estimates, setting.n)
        for i, estimate in enumerate(estimates):
            np.testing.assert_array_equal(estimate.interval(LEVEL).lower, together.lower[i])
            np.testing.assert_array_equal(estimate.interval(LEVEL).upper, together.upper[i])


def test_every_method_gives_the_intervals_of_the_unbiased_estimate() -> None:
    channel = TWO_GROUPS.channel(["a0", "a1"])
    problem = TableProblem(np.array([[90.0, 60, 50], [40, 30, 30]]), channel, 2, 300)
    for method in (simplex, em):
        np.testing.assert_array_equal(method(problem).interval(), inversion(problem).interval())
