"""Intervals of two samples of 50 people: their exact coverage, over all reports that may come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from tacit import Attribute, Design, Group, Schema, forced, mangat
from tacit.compliance import LyingCarriers
from tacit.compliance.mixture import ReportMixture, excess, profile
from tacit.compliance.pool import read_sample

N, LEVEL = 50, 0.95
#: Reports that are less likely are left out; together they are this share at most.
_RARE, _LEFT_OUT = 2e-6, 0.005
ANSWER = Attribute("cheats", ["no", "yes"])
COINS = {
    "mangat": [mangat("1/2"), mangat("4/5")],
    "dice": [forced("2/3", ["3/4", "1/4"]), forced("2/3", ["1/4", "3/4"])],
}


def _coverage(name: str, prevalence: float) -> tuple[float, float]:
    """Exact coverage if nobody denies; the same with the quantile of chi-squared."""
    designs = [Design(Schema([ANSWER]), [Group(["cheats"], coin)]) for coin in COINS[name]]
    record = np.zeros((1, 1), dtype=int)
    model = LyingCarriers()
    samples = [read_sample(record, design, ["cheats"], "sample") for design in designs]
    matrices = tuple(np.column_stack(model.matrices(each, ANSWER)) for each in samples)
    quantity = model.distribution(ANSWER)[1]
    shares = np.array([1 - prevalence, prevalence, 0.0])
    chances = [binom.pmf(np.arange(N + 1), N, (matrix @ shares)[1]) for matrix in matrices]
    weights = np.multiply.outer(*chances)
    covered, naive = 0.0, 0.0
    for yes in np.argwhere(weights > _RARE):
        reports = tuple(np.array([N - k, k], float) for k in yes)
        mixture = ReportMixture(reports, matrices)
        statistic = 2 * (mixture.maximum[1] - profile(mixture, quantity, prevalence)[1])
        covered += weights[tuple(yes)] * (excess(mixture, quantity, prevalence, LEVEL) <= 0)
        naive += weights[tuple(yes)] * (statistic <= chi2.ppf(LEVEL, 1))
    assert weights[weights > _RARE].sum() > 1 - _LEFT_OUT
    return covered, naive


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("name", COINS)
def test_intervals_of_small_samples_cover_where_nobody_denies(name: str, prevalence: float) -> None:
    covered, _ = _coverage(name, prevalence)
    assert covered >= 0.94


@pytest.mark.slow
def test_the_quantile_of_chi_squared_covers_too_little() -> None:
    """Negative control."""
    assert _coverage("mangat", 0.02)[1] < 0.94
