"""What is shown beside an estimate: effective respondents, possible shares, warnings."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import disguise, reconstruct, related
from tacit.plan import plan
from tacit.reconstruction import simplex
from tacit.records import count_reported
from tacit.studio.release import Release
from tacit.studio.results import (
    effective_respondents,
    group_warnings,
    question_results,
)
from tacit.survey import Published, survey_from_dict
from tests.support.studio import reports, survey


def released(codes: np.ndarray, published: Published | None = None) -> Release:
    published = published or survey()
    return Release(published, count_reported(codes, published.design))


def test_effective_respondents_would_have_the_same_error_without_disguise() -> None:
    release = released(reports(survey(), 2000))
    for result in question_results(release):
        share = release.reconstruction.table([result.name])
        if result.name == "site":  # it is not disguised
            assert result.effective == pytest.approx(2000, rel=1e-3)
            continue
        if len(share.value) == 2:
            p = share.value[1]
            assert np.sqrt(p * (1 - p) / result.effective) == pytest.approx(share.stderr[1])
        assert 1 < result.effective < 1000


def test_the_effective_number_is_the_published_ratio_of_variances() -> None:
    """Warner: n p (1 - p) / (p (1 - p) + theta (1 - theta) / (2 theta - 1)^2)."""
    n, p, theta = 10_000, 0.3, 0.8
    counts = np.array([n * (theta * (1 - p) + (1 - theta) * p)] * 2)
    counts[1] = n - counts[0]
    codes = np.repeat([0, 1], counts.round().astype(int))[:, None].astype(np.uint8)
    design = plan(related("0.8"), n=n).design
    found = effective_respondents(reconstruct(codes, design).table(["answer"]))
    noise = theta * (1 - theta) / (2 * theta - 1) ** 2
    assert found == pytest.approx(n * p * (1 - p) / (p * (1 - p) + noise), rel=1e-3)


def test_an_estimate_outside_has_possible_shares_beside_it() -> None:
    codes = reports(survey(), 400)
    codes[:, 0] = np.arange(400) < 60  # fewer than the 80 that chance alone would make
    release = released(codes)
    result = question_results(release)[0]
    assert result.outside
    nearest = release.reconstruction.table(["stole"], simplex).value
    np.testing.assert_allclose(result.possible, nearest)
    assert result.possible[1] == pytest.approx(0)
    assert result.effective == 0
    assert not question_results(released(reports(survey(), 400)))[0].possible


def test_safe_answers_are_a_warning_with_the_bias_of_the_planner() -> None:
    release = released(reports(survey(), 20_000))
    stole, often, site = question_results(release)
    assert stole.safe_answers is not None
    share = float(release.reconstruction.table(["stole"]).value[1])
    bias = plan(related("4/5"), n=20_000, prevalence=share).questions[0].biases[0].bias
    assert f"{100 * abs(bias):.1f} points too low" in stole.safe_answers
    assert "5 % of the people" in stole.safe_answers
    assert often.safe_answers is None  # more than two answers
    assert site.safe_answers is None  # not disguised
    few = question_results(released(reports(survey(), 120)))[0]
    assert few.safe_answers is None  # the interval is wider than the bias


def test_answers_that_fit_alone_may_not_fit_together() -> None:
    published = Published(
        survey_from_dict(
            {
                "title": "Both",
                "questions": [
                    {"name": name, "kind": "yes_no", "text": f"{name}?"} for name in ("a", "b")
                ],
                "groups": [{"questions": ["a", "b"], "family": "related", "theta": "4/5"}],
            },
            "survey",
        )
    )
    rng = np.random.default_rng(3)
    true = np.zeros((2000, 2), np.uint8)
    good = released(disguise(true, published.design, rng), published)
    assert group_warnings(good) == []
    pairs = np.array([[0, 0], [0, 0], [0, 1], [1, 0]], np.uint8)
    bad = released(np.tile(pairs, (500, 1)), published)  # who reports no, no has yes, yes by chance
    alone = [result.misfit for result in question_results(bad)]
    (text,) = group_warnings(bad) or [""]
    assert alone == [None, None]
    assert "taken together, hardly fit the design" in text
