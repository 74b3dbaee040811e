"""Intervals on the page cover the true shares, in surveys that the real service collected."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binom

from tests.support.chance import FALSE_ALARM
from tests.support.served_surveys import simulated

pytestmark = pytest.mark.slow

SURVEYS, RESPONDENTS = 12, 120


def test_the_intervals_of_the_studio_cover_the_true_shares(tmp_path: Path) -> None:
    """One category per question, since the others depend on it; 95 % of them are covered."""
    found = [one for one in simulated(tmp_path, SURVEYS, RESPONDENTS, seed=11) if one.category == 0]
    assert len(found) == 8 * SURVEYS
    fewest = binom.ppf(FALSE_ALARM, len(found), 0.95)
    assert sum(one.covers for one in found) >= fewest
    # The control: intervals of the reported share, as if nothing were disguised.
    naive = [
        abs(one.true - one.reported)
        <= 1.96 * (one.reported * (1 - one.reported) / RESPONDENTS) ** 0.5
        for one in found
        if one.reported is not None
    ]
    assert sum(naive) < binom.ppf(FALSE_ALARM, len(naive), 0.95)
