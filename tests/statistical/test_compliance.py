"""Profile-likelihood intervals cover; tests of compliance and agreement keep their size.

`compliance_study` measures more settings with 4,000 surveys each. Here a correct program fails an
assertion once in a million, given a coverage of at least 93 % and a size of at most 6.5 %.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit.compliance.mixture import ReportMixture, profile_intervals, share_of_all
from tacit.compliance.noncompliance import compliance_tests
from tests.statistical.compliance_study import SETTINGS, Setting, measured
from tests.support.chance import FALSE_ALARM

SURVEYS, SEED = 400, 7
FLOOR, SIZE = 0.93, 0.065
BY_NAME = {setting.name: setting for setting in SETTINGS}
CHOSEN = ["pool, related .7 + truthful", "cheaters, none", "lying carriers", "careless"]


def least(rate: float) -> float:
    """Fewer successes than this share happen once in a million."""
    return float(binom.ppf(FALSE_ALARM, SURVEYS, rate)) / SURVEYS


def most(rate: float) -> float:
    return float(binom.isf(FALSE_ALARM, SURVEYS, rate)) / SURVEYS


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_intervals_cover_and_tests_keep_their_size(name: str) -> None:
    setting = BY_NAME[name]
    found = measured(setting, SURVEYS, np.random.default_rng(SEED))
    rejected = found.pop("rejected")
    assert all(coverage >= least(FLOOR) for coverage in found.values()), found
    if setting.model is None or setting.shares[-1] == 0:
        assert rejected <= most(SIZE)


@pytest.mark.slow
def test_the_check_finds_intervals_that_are_too_short_and_cheaters_who_are_ignored() -> None:
    """Negative control: the naive estimate from reports with 15 % cheaters rarely covers."""
    cheaters = BY_NAME["cheaters"]
    rng = np.random.default_rng(SEED)
    covered = 0
    (naive,) = (q for name, q in cheaters.quantities().items() if name == "yes")
    for mixture in cheaters.surveys(SURVEYS, rng):
        ignored = ReportMixture(mixture.counts, tuple(m[:, :2] for m in mixture.matrices))
        lower, upper = profile_intervals(ignored, [share_of_all(np.array([0.0, 1.0]))], 0.95)
        covered += bool(lower[0] <= naive.value(np.array(cheaters.shares)) <= upper[0])
    assert covered / SURVEYS < least(FLOOR)


@pytest.mark.slow
def test_the_test_of_compliance_finds_cheaters() -> None:
    """Negative control of its size: 15 % cheaters among 3,000 are found more often than 6.5 %."""
    setting = BY_NAME["cheaters"]
    larger = Setting(setting.name, setting.designs, setting.model, setting.shares, 3000)
    tests = (compliance_tests(m)[0] for m in larger.surveys(100, np.random.default_rng(SEED)))
    assert sum(test.pvalue <= 0.05 for test in tests) > binom.isf(FALSE_ALARM, 100, SIZE)
