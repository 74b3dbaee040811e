"""Cells and groups of undisguised attributes are covered, however few records they have.

Coverage is summed over all outcomes, without chance, or simulated with redrawn true records.
`margin_study` has more settings. Negative controls: the counted share of a group taken as its share
of the population, and the intervals of groups whose size is estimated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit.core.arrays import Array
from tacit.core.channel import Coin, related, truthful
from tacit.reconstruction import inversion
from tacit.reconstruction.events import conditional_shares
from tacit.reconstruction.interval import Interval
from tacit.reconstruction.tables import TableProblem
from tests.statistical.margin_study import (
    BINARY,
    Outcomes,
    all_outcomes,
    cell_outcomes,
    drawn_coverage,
    drawn_designs,
    exact_coverage,
    exact_intervals,
    intervals,
    reported_share,
    settings,
    yes_design,
)
from tests.support.chance import FALSE_ALARM

LEVEL, FLOOR, FLOOR_OF_FEW, FEW = 0.95, 0.94, 0.93, 20
WIDER = 1.3
GROUPS = (1, 3, 5, 10, 30, 100)
SHARES = np.r_[0, np.geomspace(1e-3, 0.3, 12), np.linspace(0.3, 1, 15)].tolist()


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("n", [50, *(pytest.param(n, marks=pytest.mark.slow) for n in (200, 1000))])
def test_a_joint_cell_is_covered_for_every_share_of_its_undisguised_margin(
    name: str, n: int
) -> None:
    coin = BINARY[name]
    for cell, share in settings(n):
        outcomes = cell_outcomes(n, cell / share, reported_share(coin, share))
        covered = exact_coverage(coin, outcomes, n, cell)
        assert covered >= LEVEL - 1e-6, (cell, share)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.8, 1.0])
def test_a_joint_cell_is_covered_where_nearly_everybody_is_in_its_group(
    name: str, share: float
) -> None:
    coin, n = BINARY[name], 50
    for inside in (0.9, 0.97, 0.99, 0.998, 1.0):
        outcomes = cell_outcomes(n, inside, reported_share(coin, share))
        covered = exact_coverage(coin, outcomes, n, inside * share)
        assert covered >= LEVEL - 1e-6, inside


def test_taking_the_share_of_a_small_group_as_known_would_miss_its_cells() -> None:
    coin, n, cell, share = BINARY["triangular 1/4"], 200, 0.003, 0.3
    outcomes = cell_outcomes(n, cell / share, reported_share(coin, share))
    lower, upper = intervals(coin, outcomes, n, given=True)
    counted = outcomes.inside / n
    control = outcomes.chance @ ((lower * counted <= cell) & (cell <= upper * counted))
    assert control < FLOOR_OF_FEW


def group_outcomes(coin: Coin, size: int, share: float) -> Outcomes:
    yes = np.arange(size + 1.0)
    chance = binom.pmf(yes, size, reported_share(coin, share))
    return Outcomes(np.full(size + 1, float(size)), yes, chance)


@pytest.mark.parametrize("name", BINARY)
def test_shares_are_covered_in_groups_of_one_person_and_of_a_hundred(name: str) -> None:
    coin = BINARY[name]
    for size in GROUPS:
        lower, upper = intervals(coin, group_outcomes(coin, size, 0.5), 5000, given=True)
        for share in SHARES:
            inside = (lower <= share + 1e-9) & (share <= upper + 1e-9)
            covered = group_outcomes(coin, size, share).chance @ inside
            assert covered >= LEVEL - 1e-6, (size, share)


def test_intervals_for_groups_of_an_estimated_size_would_miss_shares_of_small_groups() -> None:
    """As the audit measured: .735, .827 and .880 in groups of 1, 3 and 5 at a share of .02."""
    coin, share = BINARY["triangular 1/4"], 0.02
    expected = {1: 0.735, 3: 0.827, 5: 0.880}
    for size, coverage in expected.items():
        outcomes = group_outcomes(coin, size, share)
        counts = np.stack([outcomes.inside - outcomes.yes, outcomes.yes], axis=1)
        channel = yes_design(coin, size + 1).channel(["b", "a"])
        joint = inversion(TableProblem(counts, channel, 2, 5000))
        lower, upper = (limit[:, 1] for limit in conditional_shares(joint, 1, "").interval())
        control = outcomes.chance @ ((lower <= share) & (share <= upper))
        assert control == pytest.approx(coverage, abs=5e-4)


def mean_widths(found: Interval, chances: Array) -> Array:
    return np.asarray(chances @ (found.upper - found.lower))


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY)
def test_a_joint_cell_is_at_most_a_third_wider_than_its_exact_interval(name: str) -> None:
    coin, n = BINARY[name], 50
    outcomes = all_outcomes(n)
    chances = np.array(
        [
            binom.pmf(outcomes.inside, n, inside)
            * binom.pmf(outcomes.yes, outcomes.inside, reported_share(coin, share))
            for inside in (0.02, 0.1, 0.3, 0.6, 0.95)
            for share in (0.002, 0.1, 0.5, 0.9, 1.0)
        ]
    )
    ours, exact = intervals(coin, outcomes, n), exact_intervals(coin, outcomes, n)
    assert (mean_widths(ours, chances) <= WIDER * mean_widths(exact, chances)).all()


def test_with_hardly_any_disguise_no_joint_cell_is_much_wider_than_without() -> None:
    for n in (50, 200):
        outcomes = all_outcomes(n)
        ours = intervals(related("0.9999999"), outcomes, n)
        exact = intervals(truthful(), outcomes, n)
        widths, exact_widths = (limits.upper - limits.lower for limits in (ours, exact))
        assert (widths <= WIDER * exact_widths).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn_designs())
@pytest.mark.parametrize("inside", [10, 30])
def test_cells_and_shares_are_covered_for_numbers_and_for_groups_of_questions(
    name: str, inside: int
) -> None:
    n, runs = 200, 400
    floor = FLOOR_OF_FEW if inside < FEW else FLOOR
    least = binom.ppf(FALSE_ALARM / 16, runs, floor) / runs  # at most 16 cells and shares
    rng = np.random.default_rng(25)
    for share in (0.01, 0.3):
        found = drawn_coverage(name, n, inside / n, share, runs, rng)
        assert min(found) >= least, found
