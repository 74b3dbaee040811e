"""Intervals of stratified clustered samples hold; those that ignore the clusters do not.

`sample_study` measures this with 4,000 samples per design. Here a correct program fails an
assertion once in a million: coverage is at least 93 % in truth, and hits are binomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tacit import reconstruct
from tacit.reconstruction import pearson
from tests.statistical.inference_study import DESIGNS
from tests.statistical.sample_study import YES, intervals, surveys, true_table
from tests.support.chance import FALSE_ALARM

FLOOR, SIZE = 0.93, 0.07


def _hits(clustered: bool, name: str, runs: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    truth = float(true_table()[1].sum())
    found = [
        reconstruct(reported, DESIGNS[name], **sample.arguments(clustered)).probability(YES)
        for reported, sample in surveys(DESIGNS[name], runs, rng)
    ]
    lower, upper = intervals(found)
    return int(np.sum((lower <= truth) & (truth <= upper)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truthful", "related, two groups", "mixed"])
def test_shares_are_covered_in_clustered_samples(name: str) -> None:
    runs = 400
    assert _hits(True, name, runs, 31) >= binom.ppf(FALSE_ALARM, runs, FLOOR)


@pytest.mark.slow
def test_ignoring_clusters_does_not_cover() -> None:
    """The negative control: with 1,000 samples, 95 % coverage is refuted."""
    runs = 1000
    assert binom.cdf(_hits(False, "truthful", runs, 32), runs, 0.95) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [True, False])
def test_a_corrected_test_keeps_its_size_and_an_uncorrected_one_does_not(clustered: bool) -> None:
    runs, rejected = 400, 0
    shares = true_table().sum(axis=1)
    given: Any = surveys(DESIGNS["truthful"], runs, np.random.default_rng(33))
    for reported, sample in given:
        rec = reconstruct(reported, DESIGNS["truthful"], **sample.arguments(clustered))
        rejected += rec.goodness_of_fit(["a0"], shares, method=pearson).pvalue < 0.05
    if clustered:
        assert rejected <= binom.isf(FALSE_ALARM, runs, SIZE)
    else:
        assert binom.sf(rejected - 1, runs, 0.05) < FALSE_ALARM
