"""What the page says in each of its languages, and how it fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tacit.service.page import content
from tests.support.browser import DESKTOP, PHONE, Served, device, serving
from tests.support.page_surveys import OPEN, own_device, published
from tests.support.respondent import Respondent

LANGUAGES = ("en", "de", "fr", "es")
#: What is said of a question whose answer is true with this probability.
FEW = {
    "99/100": "Of 100 people, 1 sends the opposite of the true answer.",
    "999/1000": "Of 100 people, fewer than 1 sends the opposite of the true answer.",
    "49/50": "Of 100 people, 2 send the opposite of their true answer.",
}
ONE = {
    "de": "Von 100 Personen sendet 1 das Gegenteil der wahren Antwort.",
    "fr": "Sur 100 personnes, 1 envoie le contraire de sa vraie réponse.",
    "es": "De 100 personas, 1 envía lo contrario de su respuesta verdadera.",
}
TWO_LINES = """
(all) => all.filter((mark) => {
  const range = document.createRange();
  range.selectNodeContents(mark);
  return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
}).map((mark) => mark.innerText)
"""
NAMES = {theta: f"q{number}" for number, theta in enumerate(FEW)}
#: Yes/no questions without labels, in every language of the page.
SURVEY = published(
    {
        "title": dict.fromkeys(LANGUAGES, "Title"),
        "languages": list(LANGUAGES),
        "questions": [
            {"name": name, "kind": "yes_no", "text": dict.fromkeys(LANGUAGES, f"{name}?")}
            for name in NAMES.values()
        ],
        "groups": [
            {"questions": [name], "family": "related", "theta": theta}
            for theta, name in NAMES.items()
        ],
    }
)


@pytest.fixture(scope="module")
def rarely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of questions that chance rarely decides."""
    with serving([SURVEY], tmp_path_factory.mktemp("rarely")) as found:
        yield found


def opened(browser: Browser, served: Served, language: str, viewport: Any = PHONE) -> Page:
    """The page at its first question."""
    page = device(browser, viewport=viewport, locale=language).new_page()
    person = Respondent(page)
    person.opens(served[SURVEY])
    page.locator("button[type=submit]").click()
    return page


def answer(page: Page) -> None:
    page.locator("input[type=radio]").last.check()
    page.locator("button[type=submit]").click()


def test_one_person_does_not_get_a_plural_verb(browser: Browser, rarely: Served) -> None:
    page = opened(browser, rarely, "en")
    for name, told in zip(NAMES.values(), FEW.values(), strict=True):
        page.get_by_role("heading", name=f"{name}?").wait_for()
        assert page.locator(".odds p").first.inner_text() == told
        answer(page)
    for language, told in ONE.items():
        assert opened(browser, rarely, language).locator(".odds p").first.inner_text() == told


def test_yes_and_no_without_labels_are_not_left_untranslated(
    browser: Browser, rarely: Served
) -> None:
    assert opened(browser, rarely, "es").locator(".option").all_inner_texts() == ["No", "Sí"]
    assert opened(browser, rarely, "de").locator(".option").all_inner_texts() == ["Nein", "Ja"]


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_marks_on_the_review_page_are_not_broken_into_two_lines(
    browser: Browser, rarely: Served, viewport: Any, language: str
) -> None:
    page = opened(browser, rarely, language, viewport)
    for name in NAMES.values():
        page.get_by_role("heading", name=f"{name}?").wait_for()
        answer(page)
    words = json.loads(content(f"words/{language}.json"))
    page.get_by_text(words["exactly"]).click()
    marks = page.locator(".sent .badge", has_text=words["byChance"])
    assert marks.count() == len(FEW)
    assert marks.evaluate_all(TWO_LINES) == []
    marks.first.evaluate("mark => mark.style.width = '4rem'")
    assert len(marks.evaluate_all(TWO_LINES)) == 1, "negative control"


def test_a_page_that_disguises_nothing_itself_does_not_say_that_it_does(
    page: Page, served: Served
) -> None:
    said = json.loads(content("words/en.json"))["checkProgram"].partition("{")[0]
    for survey, here in ((own_device("die"), False), (OPEN, True)):
        Respondent(page).opens(served[survey])
        page.locator("details summary").click()
        assert (said in page.locator("details").inner_text()) == here
