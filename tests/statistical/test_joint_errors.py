"""Edges of trees: error rate if attributes are independent, recovery and coverage if they are not.

True records are redrawn in every run. At most 5 % of trees of independent attributes may have an
edge; a program that keeps this fails the test once in a million. The control takes reports for true
answers: the coin then makes attributes depend on each other. `joint_study` has more runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit import disguise
from tacit.mine import ChowLiuTree
from tests.statistical.joint_study import (
    QUERIES,
    SETTINGS,
    TRUE_EDGES,
    Z,
    fitted,
    found_edges,
    independent_records,
    n_edges,
    scores,
)
from tests.support.chance import FALSE_ALARM

RUNS = 5 * len(SETTINGS)
MOST = binom.ppf(1 - FALSE_ALARM, RUNS, 0.05)


@pytest.mark.slow
def test_trees_of_independent_attributes_rarely_have_an_edge() -> None:
    wrong = [n_edges(SETTINGS[run % len(SETTINGS)], 10**7 + run) > 0 for run in range(RUNS)]
    assert sum(wrong) <= MOST
    naive = [_as_if_true(10**7 + run) > 0 for run in range(RUNS)]
    assert sum(naive) > MOST


def _as_if_true(seed: int) -> int:
    """Edges if the reports of a related group are taken for true answers."""
    setting = next(s for s in SETTINGS if s.name == "one related group, .7")
    rng = np.random.default_rng([14, seed])
    reported = disguise(independent_records(setting, rng), setting.design(), rng)
    return len(ChowLiuTree().fit(reported).edges_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theta", "groups", "n"), [(1.0, 1, 5000), (0.9, 6, 20_000), (0.7, 1, 20_000)]
)
def test_a_known_tree_is_recovered(theta: float, groups: int, n: int) -> None:
    for seed in range(3):
        assert found_edges(fitted(theta, groups, n, 10**7 + seed)) == TRUE_EDGES
    strong = fitted(0.55, 6, 300, 10**7)
    assert found_edges(strong) != TRUE_EDGES, "the control: too few records for this disguise"


@pytest.mark.slow
def test_intervals_of_queries_cover_the_truth() -> None:
    """Of intervals that cover 93 %, chance goes below the bound once in a million.

    A third of the length must fail.
    """
    runs = 80
    found = [scores(0.8, 1, 20_000, 10**7 + run) for run in range(runs)]
    kept = np.abs([one for one in found if one is not None])
    assert len(kept) == runs
    least = binom.ppf(FALSE_ALARM / len(QUERIES), runs, 0.93)
    assert ((kept <= Z).sum(axis=0) >= least).all(), (kept <= Z).mean(axis=0)
    assert ((kept <= Z / 3).sum(axis=0) < least).all()
