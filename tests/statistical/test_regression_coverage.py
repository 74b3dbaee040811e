"""95 % intervals of coefficients cover about 95 %; intervals that ignore the disguise do not.

400 surveys per setting. A coverage between 94 and 96 % fails an assertion less than once in 10^6.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Design, Group, truthful
from tests.support.chance import FALSE_ALARM
from tests.support.regression_surveys import SURVEYS

RUNS, PEOPLE = 400, 1000
CHECKED = [
    "two categories, forced response",
    "two groups, disguised predictor",
    "linear, both disguised",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_intervals_of_coefficients_cover_about_95_percent(name: str) -> None:
    survey, rng = SURVEYS[name], np.random.default_rng(77)
    found = [survey.covered(PEOPLE, rng) for _ in range(RUNS)]
    clean = np.array([covered for covered in found if covered is not None])
    assert len(clean) > 0.98 * RUNS
    counts, n = clean.sum(axis=0), len(clean)
    assert (binom.cdf(counts, n, 0.94) * counts.size >= FALSE_ALARM).all(), counts / n
    assert (binom.sf(counts - 1, n, 0.96) * counts.size >= FALSE_ALARM).all(), counts / n


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_intervals_that_ignore_the_disguise_are_found_out(name: str) -> None:
    """The negative control: reports are taken for the truth."""
    survey, rng = SURVEYS[name], np.random.default_rng(78)
    naive = Design(survey.design.schema, [Group(survey.design.schema.names, truthful())])
    found = np.array([survey.covered(PEOPLE, rng, naive) for _ in range(40)])
    counts = found.sum(axis=0)
    assert (binom.cdf(counts, 40, 0.94) * counts.size < FALSE_ALARM).any(), counts
