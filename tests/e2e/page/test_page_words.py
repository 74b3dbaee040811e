"""What the page says in each of its languages, and how it fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page

from tacit.collect.page import content
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
YES_NO = {"en": ["No", "Yes"], "de": ["Nein", "Ja"], "fr": ["Non", "Oui"], "es": ["No", "Sí"]}
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


@dataclass
class Walk:
    """What was read of the odds and the answers in a language, and the page that will be sent."""

    language: str
    odds: list[str]
    options: list[list[str]]
    page: Page


@pytest.fixture(scope="module", params=LANGUAGES)
def walked(request: pytest.FixtureRequest, browser: Browser, rarely: Served) -> Iterator[Walk]:
    """All questions, on a phone."""
    context = device(browser, locale=request.param)
    page = context.new_page()
    walk = Walk(request.param, [], [], page)
    Respondent(page).opens(rarely[SURVEY])
    page.locator("button[type=submit]").click()
    for name in NAMES.values():
        page.get_by_role("heading", name=f"{name}?").wait_for()
        walk.odds.append(page.locator(".odds p").first.text_content() or "")
        walk.options.append(page.locator(".option").all_inner_texts())
        page.locator("input[type=radio]").last.check()
        page.locator("button[type=submit]").click()
    yield walk
    context.close()


def test_one_person_does_not_get_a_plural_verb(walked: Walk) -> None:
    if walked.language == "en":
        assert walked.odds == [*FEW.values()]
    else:
        assert walked.odds[0] == ONE[walked.language]


def test_yes_and_no_without_labels_are_not_left_untranslated(walked: Walk) -> None:
    assert walked.options == [YES_NO[walked.language]] * len(NAMES)


def test_the_marks_on_the_review_page_are_not_broken_into_two_lines(walked: Walk) -> None:
    page, words = walked.page, json.loads(content(f"words/{walked.language}.json"))
    page.get_by_text(words["exactly"]).click()
    marks = page.locator(".sent .badge", has_text=words["byChance"])
    assert marks.count() == len(FEW)
    for viewport in (PHONE, DESKTOP):
        page.set_viewport_size(viewport)
        assert marks.evaluate_all(TWO_LINES) == []
    marks.first.evaluate("mark => mark.style.width = '4rem'")
    assert len(marks.evaluate_all(TWO_LINES)) == 1, "negative control"


def test_a_page_that_disguises_nothing_itself_does_not_say_that_it_does(
    page: Page, served: Served
) -> None:
    said = json.loads(content("words/en.json"))["checkProgram"].partition("{")[0]
    for survey, here in ((own_device("die"), False), (OPEN, True)):
        Respondent(page).opens(served[survey])
        page.locator("details summary").last.click()
        assert (said in page.locator("details").last.inner_text()) == here
