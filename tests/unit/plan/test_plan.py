"""Plans: what is solved for, what is shown, what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import (
    Coin,
    crosswise,
    forced,
    frapp,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import DataError, SingularChannelError, TacitError
from tacit.plan import SurveyPlan, plan
from tacit.survey import example, read_survey
from tacit.survey.precision import widths
from tests.support.grids import slow_but_first

HALF = ["1/2", "1/2"]
COINS: list[Coin] = [
    truthful(),
    related("0.7"),
    unrelated("0.6", ["3/4", "1/4"]),
    forced("2/3", HALF),
    crosswise("1/4"),
    uniform_perturbation("0.5"),
    frapp(3),
    matrix([["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]),
]
SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
        Attribute("sex", ["man", "woman"]),
    ]
)
DESIGN = Design(
    SCHEMA,
    [
        Group(["smokes", "income"], unrelated("0.6", {"smokes": HALF, "income": ["1/3"] * 3})),
        Group(["sex"], truthful()),
    ],
)


@pytest.mark.parametrize("coin", COINS, ids=str)
def test_the_respondents_for_a_width_are_the_fewest(coin: Coin) -> None:
    found = plan(coin, width=0.04, prevalence=0.2)
    assert found.width <= 0.04
    assert plan(coin, n=found.n - 1, prevalence=0.2).width > 0.04
    assert (found.solved, found.questions[0].respondents) == ("respondents", found.n)


@pytest.mark.parametrize("coin", slow_but_first(COINS[1:], 4), ids=str)
def test_the_respondents_for_a_power_reach_it(coin: Coin) -> None:
    for comparison in ({"null": 0.1}, {"difference": 0.15}):
        found = plan(coin, power=0.8, prevalence=0.2, **comparison)
        assert found.power is not None
        assert 0.8 <= found.power < 0.83
        fewer = plan(coin, n=round(0.9 * found.n), prevalence=0.2, **comparison)
        assert fewer.power is not None
        assert fewer.power < 0.8


@pytest.mark.parametrize("coin", COINS[:-1], ids=str)
def test_widths_of_large_surveys_are_those_of_the_normal_approximation(coin: Coin) -> None:
    """`tacit survey check` shows the latter; the exact intervals of small ones are wider."""
    n = 10**6
    found = plan(coin, n=n, prevalence=0.5)
    (expected,) = widths(found.design, n)
    half = expected.half(expected.at_half)
    assert found.width == pytest.approx(half, rel=0.003)
    small, (rough,) = plan(coin, n=100, prevalence=0.5).width, widths(found.design, 100)
    assert small > 0.95 * (rough.half(rough.at_half) or 0.0)


def test_an_open_family_gets_the_most_private_parameter() -> None:
    found = plan(related, n=1000, width=0.05, prevalence=0.2)
    theta = Fraction(found.design.groups[0].coin.to_dict()["theta"])
    assert found.solved == "privacy"
    assert found.width <= 0.05
    more_private = related(theta - Fraction(1, 10_000))
    assert plan(more_private, n=1000, prevalence=0.2).width > 0.05


@pytest.mark.parametrize(
    "family", ["related", "unrelated", "forced", "crosswise", "uniform_perturbation", "frapp"]
)
def test_a_bound_on_privacy_sets_the_parameter(family: str) -> None:
    found = plan(family, n=1000, epsilon=1.0)
    assert 0.98 < found.epsilon <= 1.0
    assert found.odds == pytest.approx(math.exp(found.epsilon))
    bounded = plan(family, n=1000, odds=3, worst_posterior=0.9)
    assert bounded.odds <= 3
    assert bounded.worst_posterior <= 0.9 + 1e-9


def test_an_optimal_channel_is_at_least_as_precise_as_a_family() -> None:
    shares = [0.6, 0.3, 0.1]
    best = plan("optimal", n=1000, epsilon=1.0, prevalence=shares)
    other = plan("related", n=1000, epsilon=1.0, prevalence=shares)
    assert best.epsilon <= 1.0
    assert best.width < other.width


def test_any_function_of_theta_is_a_family() -> None:
    found = plan(lambda theta: forced(theta, ["1/5", "4/5"]), n=2000, width=0.05)
    assert found.width <= 0.05
    assert "forced" in found.questions[0].coin


def test_the_bias_of_safe_answers_is_that_of_warner() -> None:
    """METHODS 11: 10 % of the carriers of a share of 20 % always say no."""
    points = []
    for theta in ("0.6", "0.7", "0.8", "0.9"):
        (question,) = plan(related(theta), width=0.03, prevalence=0.2).questions
        bias = next(each.bias for each in question.biases if each.carriers == 0.1)
        points.append(round(100 * bias, 1))
        assert (question.tolerated is not None and question.tolerated <= 0.1) == (bias < -0.03)
    assert points == [-6.0, -3.5, -2.7, -2.3]


@pytest.mark.parametrize("coin", COINS[1:], ids=str)
def test_the_safe_answer_lowers_the_estimate_and_the_plan_warns(coin: Coin) -> None:
    found = plan(coin, n=100_000, prevalence=0.2)
    (question,) = found.questions
    biases = [each.bias for each in question.biases]
    assert biases == sorted(biases, reverse=True)
    assert biases[0] < 0
    assert "always give the safe answer" in found.warnings[0]
    assert plan(coin, n=10, prevalence=0.2).warnings == ()


def test_a_questionnaire_is_planned_with_its_budget() -> None:
    found = plan(DESIGN, width=0.05, prevalence={"smokes": 0.3, "income": [0.5, 0.3, 0.2]})
    assert [each.attribute for each in found.questions] == ["smokes", "income", "sex"]
    needed = [each.respondents for each in found.questions]
    assert found.n == max(n for n in needed if n is not None)
    assert found["income"].category is None
    assert found["smokes"].prevalence == 0.3
    assert math.isinf(found.record_epsilon)
    assert found.disguised_epsilon == DESIGN.channel(["smokes", "income"]).epsilon
    assert found.disguised_epsilon > found.epsilon
    assert found["sex"].biases == ()
    text = str(found)
    assert "the whole record" in text
    assert "all disguised answers" in text


def test_a_plan_says_how_wide_intervals_are_among_those_who_are_asked() -> None:
    """Against the delta method by hand: p_many - r p_asked from reports of packs alone."""
    schema = Schema(
        [Attribute("smokes", ["no", "yes"]), Attribute("packs", ["few", "many", DOES_NOT_APPLY])]
    )
    groups = [Group([name], related("4/5")) for name in schema.names]
    design = Design(schema, groups, {"packs": {"smokes": ["yes"]}})
    shares, n = np.array([0.18, 0.12, 0.7]), 50_000
    found = plan(design, n=n, prevalence={"smokes": 0.3, "packs": shares.tolist()})
    M = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    weights = np.array([-0.4, 0.6, 0]) @ np.linalg.inv(M)  # r = 0.4 of those asked
    half = 1.96 * np.sqrt(weights**2 @ (M @ shares) / n) / 0.3
    (told,) = found.warnings[-1:]
    assert "packs is asked if smokes is yes" in told
    assert f"among the 30.0 % assumed to be asked it is ± {100 * half:.1f} points" in told
    assert found["packs"].width < half / 2, "of everybody"
    # Negative control: without the condition the plan says nothing of the kind.
    plain = plan(Design(schema, groups), n=n, prevalence={"smokes": 0.3, "packs": shares.tolist()})
    assert not any("asked" in text for text in plain.warnings)


def test_a_survey_and_its_file_give_the_same_plan(tmp_path: Path) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text(example(["en"], "open", None, None))
    survey = read_survey(file)
    plans = [plan(subject, n=1000) for subject in (file, str(file), survey, survey.design)]
    assert len({json.dumps(each.to_dict()) for each in plans}) == 1


def test_groups_may_be_made_by_a_disguised_attribute() -> None:
    known = plan(DESIGN, n=3000, attribute="smokes", difference=0.2, by="sex")
    hidden = plan(DESIGN, n=3000, attribute="smokes", difference=0.2, by="income", group_share=0.5)
    outside = plan(DESIGN, n=3000, attribute="smokes", difference=0.2)
    assert known.power == pytest.approx(outside.power)
    assert hidden.power is not None
    assert known.power is not None
    assert hidden.power < known.power
    assert (known["smokes"].difference_width or 0) < (hidden["smokes"].difference_width or 0)


def test_the_prevalence_of_the_attribute_that_makes_groups_is_not_ignored() -> None:
    schema = Schema([Attribute("a", ["no", "yes"]), Attribute("g", ["most", "few"])])
    design = Design(schema, [Group(["a"], related("0.8")), Group(["g"], truthful())])
    given: Any = {"n": 500, "difference": 0.25, "by": "g"}
    found = plan(design, prevalence={"a": 0.1, "g": 0.15}, **given)
    assert found.power == plan(design, prevalence={"a": 0.1}, group_share=0.15, **given).power
    equal = plan(design, prevalence={"a": 0.1}, **given)
    assert equal.power is not None
    assert found.power is not None
    assert equal.power - found.power > 0.1
    listed = plan(design, prevalence={"a": 0.1, "g": [0.85, 0.15]}, **given)
    assert listed.power == found.power
    same = plan(design, prevalence={"a": 0.1, "g": 0.15}, group_share=0.15, **given)
    assert same.power == found.power
    with pytest.raises(DataError, match=r"group_share is 0.3, but the prevalence of 'g' says 0.15"):
        plan(design, prevalence={"a": 0.1, "g": 0.15}, group_share=0.3, **given)


@pytest.mark.parametrize(
    ("few", "base", "difference"), [(400, 0.05, 0.04), (100, 0.05, 0.1), (100, 0.3, -0.15)]
)
def test_a_few_people_beside_very_many_are_compared_with_a_known_share(
    few: int, base: float, difference: float
) -> None:
    """The share of the many is hardly in doubt, so the power is that against a null prevalence.

    That one steps from count to count of people who say yes, by the probability of a count.
    """
    two = plan(
        truthful(), n=1000 * few, prevalence=base, difference=difference, group_share=0.001
    ).power
    one = plan(truthful(), n=few, prevalence=base + difference, null=base).power
    assert one is not None
    assert two is not None
    spread = math.sqrt(few * (base + difference) * (1 - base - difference))
    half_a_count = NormalDist().pdf(NormalDist().inv_cdf(one)) / spread / 2
    assert abs(two - one) <= half_a_count


def test_the_bias_of_safe_answers_is_never_larger_than_the_share() -> None:
    """Near theta 1/2 the weight of a report is huge, but an estimated share is at least 0."""
    for theta in ("0.501", "0.4999", "0.55"):
        found = plan(related(theta), n=1000, prevalence=0.1)
        assert [each.bias for each in found.questions[0].biases][-1] == pytest.approx(-0.1)
        assert "-10.00" in str(found)


def test_a_smaller_share_may_be_planned_too() -> None:
    down, up = (
        plan(related("0.7"), n=3000, prevalence=share, difference=sign)
        for share, sign in ((0.5, -0.1), (0.5, 0.1))
    )
    assert down.power == pytest.approx(up.power)


@pytest.mark.slow
def test_a_plan_can_be_written_as_a_frame_as_json_and_as_a_figure() -> None:
    found = plan(DESIGN, n=1000)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["record"]["epsilon"] is None
    assert len(found.to_frame(backend="pandas")) == 3
    assert found.plot().axes[0].get_xlabel() == "respondents"
    assert found._repr_html_().count("<table") == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give n, or what it must reach"),
        ({"width": 0}, "infinitely many respondents"),
        ({"width": 0.6}, "between 0 and 0.5"),
        ({"n": 0}, "number of respondents, must be a whole number from 1"),
        ({"n": 100, "width": 0.03}, "nothing is left to solve for"),
        ({"n": 100, "prevalence": 1.2}, "must lie between 0 and 1, got 1.2"),
        ({"n": 100, "prevalence": [0.5, 0.6]}, "2 shares that sum to 1"),
        ({"power": 0.8}, "power needs a comparison"),
        ({"power": 0.01, "null": 0.1}, "the error rate of the test"),
        ({"n": 100, "null": 0.2}, "give two different shares"),
        ({"n": 100, "null": 0.1, "difference": 0.1}, "not both"),
        ({"n": 100, "difference": 0.9}, "prevalence \\+ difference must lie between"),
        ({"n": 100, "difference": 0.1, "group_share": 1}, "share of the first group"),
        ({"n": 100, "by": "sex", "difference": 0.1}, "name attributes of a design"),
        ({"width": "wide"}, "width must be a number, got 'wide'"),
        ({"n": 100, "prevalence": "many"}, "must be a number, got 'many'"),
        ({"n": 100, "difference": None, "epsilon": "x"}, "epsilon must be a number"),
        ({"n": 100, "epsilon": -1}, "epsilon must be above 0"),
        ({"n": 100, "odds": 1}, "odds must be above 1"),
        ({"n": 100, "epsilon": 0.5}, "has epsilon 0.8473, more than the 0.5 allowed"),
        ({"n": 100, "worst_posterior": 0.7}, "at least 0.8"),
        ({"n": 100, "level": 1}, "confidence level"),
        ({"n": 100, "categories": 1}, "whole number from 2"),
        ({"width": 1e-6}, "more than 10,000,000,000 respondents"),
    ],
)
def test_impossible_wishes_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TacitError, match=message):
        plan(related("0.7"), **given)


@pytest.mark.parametrize(
    ("subject", "given", "message"),
    [
        (related, {"n": 100}, "the parameter of related is open"),
        (related, {"n": 10, "width": 0.03}, "too few, with any disguise"),
        ("relatd", {"n": 10}, "neither a family"),
        ("truthful", {"n": 10, "width": 0.1}, "unknown family"),
        (DESIGN, {"n": 10, "categories": 3}, "a design has its own"),
        (DESIGN, {"n": 10, "by": "sex"}, "by needs a difference"),
        (DESIGN, {"n": 10, "category": "yes"}, "category needs the attribute"),
        (DESIGN, {"n": 10, "by": "sex", "attribute": "sex", "difference": 0.1}, "makes the groups"),
        (DESIGN, {"n": 10, "attribute": "smoke"}, "did you mean 'smokes'"),
        (DESIGN, {"n": 10, "prevalence": {"smoke": 0.1}}, "did you mean 'smokes'"),
        (
            lambda theta: forced(theta, [0, 1]),
            {"n": 10, "epsilon": 1},
            "cannot reach epsilon 1: .* has epsilon infinite",
        ),
    ],
)
def test_subjects_that_do_not_fit_are_refused(subject: Any, given: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        plan(subject, **given)


def test_a_disguise_without_information_is_refused() -> None:
    with pytest.raises(SingularChannelError, match="cannot be told apart"):
        plan(related("1/2"), width=0.03)


def test_the_category_with_the_widest_interval_counts_for_a_distribution() -> None:
    shares = [0.6, 0.3, 0.1]
    found = plan(uniform_perturbation("0.5"), n=1000, prevalence=shares)
    each = [
        plan(uniform_perturbation("0.5"), n=1000, prevalence=shares, category=f"c{i}").width
        for i in (1, 2, 3)
    ]
    assert found.width == pytest.approx(max(each))
    assert isinstance(found, SurveyPlan)
    assert np.argmax(each) == 0


def test_a_prevalence_may_be_the_value_of_an_estimate() -> None:
    assert plan(related(0.7), width=0.03, prevalence=np.array(0.2)).n == 6365
