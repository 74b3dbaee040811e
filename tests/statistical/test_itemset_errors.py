"""Claims about itemsets and rules are wrong as rarely as stated; intervals contain the truth.

True records are drawn and disguised anew in every run. Each assertion fails a correct program once
in a million; beside it stands a control that must fail: thresholds that ignore noise, and intervals
from the records that selected the rule. `itemset_study` measures the same with more runs.
"""

from __future__ import annotations

import pytest
from scipy.stats import binom

from tacit.mine import FalseDiscovery, FamilyWise, PlainThreshold
from tests.statistical.itemset_study import (
    CROWDS,
    DESIGNS,
    ERROR,
    Wrong,
    coverage,
    error_rates,
    wrong_itemsets,
    wrong_rules,
)
from tests.support.chance import FALSE_ALARM

RUNS, SURVEYS = 60, 80
CASES = [
    ("MASK, theta .9", "single", wrong_itemsets),
    ("one related group, .7", "bundle", wrong_itemsets),
    ("matrix and uniform", "pairs", wrong_itemsets),
    ("truthful", "pairs", wrong_rules),
    ("two unrelated groups", "single", wrong_rules),
]


@pytest.mark.slow
@pytest.mark.parametrize(("design", "crowd", "wrong"), CASES)
def test_claims_are_wrong_as_rarely_as_stated(design: str, crowd: str, wrong: Wrong) -> None:
    """If nothing true is found, a wrong claim has share 1: at most `error` of all runs have one."""
    controls = [FamilyWise(ERROR), FalseDiscovery(ERROR), PlainThreshold()]
    rates = error_rates(design, CROWDS[crowd](), wrong, controls, RUNS, seed=5)
    most = binom.ppf(1 - FALSE_ALARM, RUNS, ERROR)
    familywise, discovery, plain = (rates > 0).sum(axis=0)
    assert familywise <= most
    assert (rates[:, 1]).sum() <= most
    assert discovery < plain
    assert plain > most


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_from_other_records_contain_the_truth_of_the_strongest_rule(design: str) -> None:
    same, other = coverage(design, CROWDS["pairs"](), SURVEYS, seed=6).sum(axis=0)
    least = binom.ppf(FALSE_ALARM, SURVEYS, 0.95)
    assert (other >= least).all(), other / SURVEYS
    assert same[1] < least, same / SURVEYS
