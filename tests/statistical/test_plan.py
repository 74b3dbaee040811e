"""Plans against simulated surveys; `plan_study` has more designs and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tacit.plan import plan
from tests.statistical.inference_study import surveys
from tests.support.chance import FALSE_ALARM
from tests.support.planned_surveys import (
    CASES,
    difference_limits,
    question,
    simulated_group_power,
    simulated_null_power,
    simulated_width,
)

pytestmark = pytest.mark.slow

SEED = 17
NAMES = [
    "related(.7)",
    "unrelated(.6)",
    "forced(2/3)",
    "crosswise(1/4)",
    "uniform_perturbation(.5), k = 5",
    "unrelated(.6), four questions",
]


def agrees(found: float, planned: float, runs: int) -> bool:
    """Whether simulated power is within three points of the planned one, but for chance."""
    low = binom.ppf(FALSE_ALARM / 2, runs, planned - 0.03)
    high = binom.isf(FALSE_ALARM / 2, runs, planned + 0.03)
    return bool(low <= round(found * runs) <= high)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_as_wide_as_planned(name: str) -> None:
    """2.5 % of the width are 5 % of the respondents; the mean of 60 widths varies by under 0.5 %.

    The negative control has 20 % fewer respondents.
    """
    case, rng = CASES[name], np.random.default_rng(SEED)
    n = case.wishes(width=case.width).n
    assert simulated_width(case, n, 60, rng) == pytest.approx(case.width, rel=0.025)
    fewer = simulated_width(case, round(0.8 * n), 60, rng)
    assert fewer != pytest.approx(case.width, rel=0.025)


@pytest.mark.parametrize("name", NAMES)
def test_a_null_prevalence_is_rejected_as_often_as_planned(name: str) -> None:
    """The negative control has half of the respondents."""
    case, rng, runs = CASES[name], np.random.default_rng(SEED), 300
    found = case.wishes(power=0.8, null=case.null)
    assert found.power is not None
    assert agrees(simulated_null_power(case, found.n, runs, rng), found.power, runs)
    fewer = simulated_null_power(case, found.n // 2, runs, rng)
    assert not agrees(fewer, found.power, runs)


@pytest.mark.parametrize("name", NAMES)
def test_a_difference_is_found_as_often_as_planned(name: str) -> None:
    """The negative control has half of the respondents."""
    case, rng, runs = CASES[name], np.random.default_rng(SEED), 300
    found = case.wishes(power=0.8, difference=case.difference, by="sex")
    assert found.power is not None
    assert agrees(simulated_group_power(case, found.n, runs, rng), found.power, runs)
    fewer = simulated_group_power(case, found.n // 2, runs, rng)
    assert not agrees(fewer, found.power, runs)


def test_a_difference_between_unequal_groups_is_found_as_often_as_planned() -> None:
    """15 % are women. The negative control is a plan for equal groups."""
    case, rng, runs = CASES["related(.7)"], np.random.default_rng(SEED), 300
    given: Any = {"power": 0.8, "difference": case.difference, "by": "sex", "attribute": "q"}
    found = plan(case.design, prevalence=case.shares | {"sex": 0.15}, **given)
    assert found.power is not None
    table = case.table(case.difference) * np.array([0.85, 0.15]) / 0.5
    recs = surveys(case.design, table, found.n, runs, rng)
    lower, upper = difference_limits([rec._compared(*question(case)) for rec in recs])
    power = float(np.mean((lower > 0) | (upper < 0)))
    assert agrees(power, found.power, runs)
    equal = plan(case.design, prevalence=case.shares, **(given | {"power": None}), n=found.n)
    assert equal.power is not None
    assert not agrees(power, equal.power, runs)


def test_the_simulation_uses_the_intervals_that_are_printed() -> None:
    case, rng = CASES["forced(2/3)"], np.random.default_rng(SEED)
    recs = list(surveys(case.design, case.table(case.difference), 500, 3, rng))
    event, between = question(case)
    printed = [rec.difference(event, between=between).interval() for rec in recs]
    lower, upper = difference_limits([rec._compared(event, between) for rec in recs])
    np.testing.assert_allclose(lower, [float(each.lower) for each in printed], atol=1e-9)
    np.testing.assert_allclose(upper, [float(each.upper) for each in printed], atol=1e-9)
