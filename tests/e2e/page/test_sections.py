"""Sections and the logo on the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.e2e.page.test_axe import check
from tests.support.browser import Served, serving, watched
from tests.support.logos import data_address, png
from tests.support.page_surveys import IMAGE, SCRIPT, published, yes_no
from tests.support.respondent import Respondent

pytestmark = pytest.mark.slow

SECTIONED = published(
    {
        "title": "Sectioned",
        "logo": {"alt": f"The institute {IMAGE}", "data": data_address(png(2000, 100))},
        "questions": [yes_no(name) for name in "abcde"],
        "groups": [
            {"questions": ["a", "b", "c", "e"], "family": "related", "theta": "3/4",
             "throw": "each"},
            {"questions": ["d"], "family": "unrelated", "theta": "1/2",
             "personal": {"d": {"text": "Past noon?", "distribution": ["1/2", "1/2"]}}},
        ],
        "sections": [
            {"first": "d", "title": "Evening"},
            {"first": "b", "title": f"Health {SCRIPT}", "text": f"About your body.\n{IMAGE}"},
        ],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([SECTIONED], tmp_path_factory.mktemp("served")) as found:
        yield found


def looks_right(page: Page) -> None:
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_logo_is_shown_without_a_request(page: Page, served: Served) -> None:
    seen = watched(page)
    page.goto(served[SECTIONED])
    page.wait_for_selector("h1")
    logo = page.get_by_role("img", name=f"The institute {IMAGE}", exact=True)
    assert logo.evaluate("each => each.complete && each.naturalWidth") == 2000
    asked = [url for url in seen.addresses if not url.startswith("data:")]
    assert all(url.startswith(served.origin + "/") for url in asked)
    assert not any(url.endswith((".png", ".jpeg", ".webp")) for url in asked)
    assert not seen.complaints
    looks_right(page)


def test_each_question_has_its_section_and_a_text_has_a_step_of_its_own(
    page: Page, served: Served
) -> None:
    person, seen = Respondent(page), watched(page)
    person.opens(served[SECTIONED])
    assert person.goes_on() == "Question a?"
    assert page.locator(".section").count() == 0
    person.chooses("Yes")
    assert person.goes_on() == f"Health {SCRIPT}"
    assert page.evaluate("document.activeElement.tagName") == "H1"
    assert f"About your body.\n{IMAGE}" in page.locator("form").inner_text()
    looks_right(page)
    for question in "bc":
        assert person.goes_on() == f"Question {question}?"
        form = page.get_by_role("form", name=f"Health {SCRIPT}", exact=True)
        assert form.locator(".section").inner_text() == f"Health {SCRIPT}"
        looks_right(page)
        person.chooses("Yes")
    person.goes_on()
    assert page.get_by_role("form", name="Evening", exact=True).count() == 1
    person.chooses("Yes")
    assert person.goes_on() == "Question e?"
    assert page.get_by_role("form", name="Evening", exact=True).count() == 1
    for heading in ("d", "c", "b"):
        page.go_back()
        assert (
            page.locator(".where span")
            .first.inner_text()
            .startswith(str("abcde".index(heading) + 1))
        )
    page.go_back()
    assert person.heading == f"Health {SCRIPT}"
    assert not seen.complaints
    assert page.evaluate("window.harmed === undefined")


def test_a_reload_on_the_text_of_a_section_keeps_what_was_answered(
    page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[SECTIONED])
    person.goes_on()
    person.chooses("Yes")
    assert person.goes_on() == f"Health {SCRIPT}"
    person.reloads()
    person.reaches("Question b?")
    for _ in "bcde":
        person.chooses("Yes")
        heading = person.goes_on()
    assert heading == "This will be sent"
    assert len(page.locator("pre").text_content() or "") > 100
