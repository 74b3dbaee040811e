"""Known classes are recovered: intervals cover the truth, and errors are near the Fisher bound.

True records are redrawn in every run. Per cell, the number of intervals that cover is binomial;
of intervals that cover 93 %, chance goes below the bound once in a million for all cells together.
Mean squared errors over 80 runs are chi-squared about their expectation, which may be a fifth
above the Fisher bound in samples of this size. Standard errors of two fifths must fail, and so must
errors twice as large. `latent_study` has more runs and more settings.
"""

from __future__ import annotations

import pytest
from scipy.stats import binom, chi2

from tests.statistical.latent_study import SETTINGS, recover

RUNS, SEED, FALSE_ALARM = 80, 88, 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["undisguised", "two related groups"])
def test_intervals_cover_and_errors_are_near_the_bound(name: str) -> None:
    found = recover(SETTINGS[name], RUNS, SEED)
    assert found.converged == RUNS
    covered, cells = found.coverage(), found.values.shape[1]
    least = binom.ppf(FALSE_ALARM / cells, RUNS, 0.93) / RUNS
    assert (covered >= least).all(), covered
    control = found.coverage(0.4)
    assert (control < least).all(), control
    most = 1.2 * chi2.isf(FALSE_ALARM / cells, RUNS) / RUNS
    assert (found.spread() <= most).all(), found.spread()
    assert (4 * found.spread() > most).all(), "errors twice as large must fail"
