"""Two groups under forced response, against a logistic regression of the same reports.

Truth with probability 2/3, forced yes and forced no 1/6 each; men 815 no, 497 yes; women 789 no,
334 yes. Maximum likelihood of logit P(yes) = a + b woman, with standard errors from the observed
information: a = -.761980 (.092593), b = -.648696 (.159425), converged to five digits. Tests of
b = 0 by different methods differ by some percent at this distance from the hypothesis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, forced, reconstruct, truthful
from tacit.reconstruction import Reconstruction, wald

SCHEMA = Schema([Attribute("cheated", ["no", "yes"]), Attribute("sex", ["man", "woman"])])
DESIGN = Design(
    SCHEMA, [Group(["cheated"], forced("2/3", ["1/2", "1/2"])), Group(["sex"], truthful())]
)
REPORTS = [([0, 0], 815), ([1, 0], 497), ([0, 1], 789), ([1, 1], 334)]
INTERCEPT, WOMAN, INTERCEPT_ERROR, WOMAN_ERROR = -0.761980, -0.648696, 0.092593, 0.159425
YES: dict[str, Any] = {"cheated": "yes"}
WOMEN, MEN = {"sex": "woman"}, {"sex": "man"}


@pytest.fixture(scope="module")
def rec() -> Reconstruction:
    codes = [np.tile(np.array(cell, np.uint8), (n, 1)) for cell, n in REPORTS]
    return reconstruct(np.concatenate(codes), DESIGN)


def test_the_share_of_each_group_is_that_of_the_regression(rec: Reconstruction) -> None:
    men, women = (rec.probability(YES, given=group) for group in (MEN, WOMEN))
    odds = [float(p) / (1 - float(p)) for p in (men, women)]
    assert math.log(odds[0]) == pytest.approx(INTERCEPT, abs=1e-6)
    assert math.log(odds[1]) == pytest.approx(INTERCEPT + WOMAN, abs=1e-5)
    slope = float(men) * (1 - float(men))
    assert float(men.stderr) / slope == pytest.approx(INTERCEPT_ERROR, abs=1e-6)


def test_the_odds_ratio_and_its_error_are_those_of_the_regression(rec: Reconstruction) -> None:
    found = rec.odds_ratio(YES, between=(WOMEN, MEN))
    assert math.log(float(found)) == pytest.approx(WOMAN, abs=1e-5)
    assert float(found.stderr) / float(found) == pytest.approx(WOMAN_ERROR, abs=1e-5)
    normal = [math.exp(WOMAN + z * 1.96 * WOMAN_ERROR) for z in (-1, 1)]
    np.testing.assert_allclose(found.interval(), normal, rtol=0.03)


def test_the_groups_differ_as_clearly_as_in_the_regression(rec: Reconstruction) -> None:
    expected = (WOMAN / WOMAN_ERROR) ** 2
    assert rec.homogeneity(["cheated"], ["sex"]).statistic == pytest.approx(expected, rel=0.1)
    found = rec.homogeneity(["cheated"], ["sex"], method=wald)
    assert found.statistic == pytest.approx(expected, rel=0.1)
    assert found.pvalue < 1e-4
