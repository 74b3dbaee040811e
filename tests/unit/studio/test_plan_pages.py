"""The planner's page has the numbers of the library, for everything that can be solved for."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tacit import related, unrelated
from tacit.errors import DataError
from tacit.plan import SurveyPlan, plan, tradeoff
from tacit.studio.accounts import Role
from tacit.studio.page_templates import sentence
from tacit.studio.plan_pages import MOST_CATEGORIES, PlanForm
from tests.support.studio import MARKUP, Browser, Tried, tried

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    made = tried(tmp_path_factory.mktemp("studio"), records=0)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def viewer(studio: Tried) -> Browser:
    return studio.client(studio.account("Ada", Role.VIEWER))


def cells(found: SurveyPlan) -> list[str]:
    """Every cell of the tables of a plan, as it is shown."""
    return [str(cell) for table in found.tables() for row in table.rows for cell in row if cell]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            {"subject": "related", "theta": "0.7", "width": "3 %"},
            lambda: plan(related("0.7"), width=0.03),
        ),
        (
            {"subject": "related", "theta": "7/10", "n": "2,000", "null": "0.1"},
            lambda: plan(related("0.7"), n=2000, null=0.1),
        ),
        (
            {"subject": "related", "epsilon": "1", "power": "0.8", "difference": "0.1"},
            lambda: plan("related", epsilon=1, power=0.8, difference=0.1),
        ),
        (
            {"subject": "related", "n": "2000", "width": "0.05"},
            lambda: plan("related", n=2000, width=0.05),
        ),
        (
            {"subject": "frapp", "n": "2000", "odds": "3", "prevalence": "0.5,0.3,0.2"},
            lambda: plan("frapp", n=2000, odds=3, prevalence=[0.5, 0.3, 0.2]),
        ),
        (
            {"subject": "optimal", "n": "1000", "worst_posterior": "0.9", "level": "0.9"},
            lambda: plan("optimal", n=1000, worst_posterior=0.9, level=0.9),
        ),
    ],
)
def test_the_page_and_the_json_have_the_numbers_of_the_library(
    viewer: Browser, asked: dict[str, str], expected: Any
) -> None:
    found: SurveyPlan = expected()
    page = viewer.get(f"/plan?{urlencode(asked)}")
    assert page.status_code == 200
    text = unescape(page.text)
    for cell in cells(found):
        assert f">{cell}<" in text
    for warning in found.warnings:
        assert sentence(warning) in text
    content = viewer.get(f"/api/plan?{urlencode(asked)}").json()
    del content["tradeoff"]
    assert content == found.to_dict()


def test_families_are_compared_in_a_table_and_a_figure(viewer: Browser) -> None:
    asked = [("subject", "related"), ("theta", "0.7"), ("n", "1000")]
    asked += [("compare", "unrelated"), ("compare", "crosswise")]
    content = viewer.get(f"/api/plan?{urlencode(asked)}").json()["tradeoff"]
    candidates = {"this plan": related("0.7"), "unrelated": "unrelated", "crosswise": "crosswise"}
    expected = tradeoff(candidates, n=1000)
    assert content == expected.to_dict()
    page = unescape(viewer.get(f"/plan?{urlencode(asked)}").text)
    for point in expected.points:
        assert f">± {100 * point.width:.2f}<" in page
    figure = page[page.index('<svg class="lines"') :]
    assert figure.count("<circle") == len(expected.points) + 3  # and one per line of the legend
    several = [*asked, ("questions", "4")]
    page = viewer.get(f"/plan?{urlencode(several)}").text
    assert "unrelated, 4 groups" in page
    assert '<svg class="lines"' not in viewer.get(f"/plan?{urlencode(asked[:3])}").text


def test_a_whole_survey_is_planned_with_the_budget_of_a_record(
    studio: Tried, viewer: Browser
) -> None:
    asked = {"subject": f"survey:{studio.mine.slug}", "n": "1000", "prevalence": "stole=0.3"}
    page = viewer.get(f"/plan?{urlencode(asked)}")
    found = plan(studio.mine, n=1000, prevalence={"stole": 0.3})
    text = unescape(page.text)
    for cell in cells(found):
        assert f">{cell}<" in text
    assert "Privacy budget of a record" in text
    assert MARKUP not in page.text
    by = asked | {"difference": "0.1", "by": "site", "attribute": "stole"}
    content = viewer.get(f"/api/plan?{urlencode(by)}").json()
    own = plan(
        studio.mine, 1000, prevalence={"stole": 0.3}, difference=0.1, by="site", attribute="stole"
    )
    assert content["power"] == own.power


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"subject": "related"}, "give n"),
        ({"subject": "related", "theta": "0.7", "n": "10", "width": "0.1"}, "nothing is left"),
        ({"subject": "nothing"}, "unknown family"),
        ({"subject": "related", "theta": "x", "n": "10"}, "x"),
        ({"subject": "related", "theta": "1/2", "n": "10"}, ""),
        ({"subject": "related", "theta": "0.7", "n": "1e3"}, "whole number"),
        ({"subject": "related", "theta": "0.7", "n": "9" * 40}, "whole number"),
        ({"subject": "related", "theta": "0.7", "width": "1/0"}, "half the width"),
        ({"subject": "related", "theta": "0.7", "width": "nan"}, "half the width"),
        ({"subject": "related", "theta": "0.7", "width": "1e-999999999"}, "too many digits"),
        ({"subject": "related", "theta": "1e-999999999", "n": "10"}, "too many digits"),
        ({"subject": "related", "theta": "0.7", "n": "10", "prevalence": "1E999999999"}, "digits"),
        ({"subject": "related", "theta": "0." + "7" * 600, "n": "10"}, "too long"),
        ({"subject": "related", "theta": "0.7", "n": "10", "prevalence": "2"}, "between 0 and 1"),
        ({"subject": "related", "theta": "0.7", "n": "10", "prevalence": MARKUP}, "prevalence"),
        ({"subject": "related", "theta": "0.7", "n": "10", "categories": "99"}, "from 2 to 12"),
        ({"subject": "related", "n": "10", "prevalence": "1/13" + ",1/13" * 12}, "from 2 to 12"),
        ({"subject": "optimal", "n": "10", "epsilon": "1", "categories": "9"}, "from 2 to 8"),
        ({"subject": "related", "n": "10", "compare": "optimal", "categories": "9"}, "from 2 to 8"),
        ({"subject": "related", "theta": "0.7", "n": "10", "questions": "99"}, "at most 8"),
        ({"subject": "related", "theta": "0.7", "n": "10", "compare": "x"}, "unknown family"),
        ({"subject": "related", "theta": "0.7", "n": "10", "level": "2"}, ""),
        ({"subject": "survey:nothing", "n": "10"}, "no such survey"),
        ({"subject": "optimal", "theta": "0.7", "n": "10"}, "no theta"),
    ],
)
def test_a_wrong_wish_is_said_on_the_page(
    viewer: Browser, asked: dict[str, str], said: str
) -> None:
    query = urlencode({"compare": "related"} | asked)
    page = viewer.get(f"/plan?{query}")
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert said.lower() in unescape(page.text).lower()
    assert MARKUP not in page.text
    assert viewer.get(f"/api/plan?{query}").status_code == 400


def test_a_survey_of_others_is_not_planned(studio: Tried, viewer: Browser) -> None:
    asked = {"subject": f"survey:{studio.other.slug}", "n": "1000"}
    assert viewer.get(f"/plan?{urlencode(asked)}").status_code == 400
    assert studio.other.title not in viewer.get("/plan").text


def test_the_empty_form_has_no_problem(viewer: Browser, tmp_path: Path) -> None:
    page = viewer.get("/plan")
    assert page.status_code == 200
    assert 'role="alert"' not in page.text
    assert page.text.count(" checked>") == 2


def test_the_page_plans_up_to_the_most_answers() -> None:
    fields = {"subject": "uniform_perturbation", "theta": "1/2", "n": "1000"}
    for most in (2, MOST_CATEGORIES):
        found, _ = PlanForm(fields | {"categories": str(most)}, ()).page([])
        assert found.design.schema.sizes == (most,)
    for wrong in (1, MOST_CATEGORIES + 1):
        with pytest.raises(DataError, match=f"from 2 to {MOST_CATEGORIES}"):
            PlanForm(fields | {"categories": str(wrong)}, ()).page([])


def test_every_number_of_the_page_may_be_a_percentage(viewer: Browser) -> None:
    """The page says that numbers may be written as 3 %."""
    asked = {"subject": "unrelated", "theta": "60 %", "drawn": "25 %, 75%", "n": "1000"}
    asked |= {"prevalence": "10 %", "level": "90 %", "difference": "10%", "group_share": "20 %"}
    page = unescape(viewer.get(f"/plan?{urlencode(asked)}").text)
    coin = unrelated("0.6", ["1/4", "3/4"])
    expected = plan(coin, n=1000, prevalence=0.1, level=0.9, difference=0.1, group_share=0.2)
    for cell in cells(expected):
        assert cell in page
    with pytest.raises(DataError, match=r"'10 percent' is not a number such as 0.2, 1/5 or 20 %"):
        PlanForm({"subject": "related", "prevalence": "10 percent"}).page([])
