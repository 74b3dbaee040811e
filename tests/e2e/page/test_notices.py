"""What the service itself says speaks the respondent's language, and says which survey and when."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser import Served, device, previewing
from tests.support.page_surveys import EARLY, FRENCH, LATE

PAGE = {"accept": "text/html"}
#: What each page must say, by language: the title of the survey, and its first or last day.
TOLD = {
    "en": ("Two languages", "1 March 2999", "31 March 2001"),
    "fr": ("Deux langues", "1 mars 2999", "31 mars 2001"),
}


@pytest.mark.parametrize("language", TOLD)
def test_a_survey_that_is_not_open_does_not_hide_its_title_and_its_day(
    browser: Browser, served: Served, language: str
) -> None:
    title, opens, closes = TOLD[language]
    context = device(browser, locale=language)
    page = context.new_page()
    for survey, day in ((EARLY, opens), (LATE, closes)):
        answer = page.goto(served[survey])
        assert answer is not None
        assert answer.status == 403
        told = page.locator("body").inner_text()
        assert title in told
        assert day in told
        assert page.locator("html").get_attribute("lang") == language
        assert title in page.title()
    context.close()


def test_a_page_that_is_open_over_midnight_says_the_day_too(page: Page, served: Served) -> None:
    """The device's clock says that the survey has not begun; the server took the request."""
    early = FRENCH.to_dict()
    early["survey"] |= {"opens": "2999-03-01", "access": "open"}
    page.route("**/survey.json", lambda route: route.fulfill(json=early))
    page.goto(served[FRENCH])
    page.get_by_role("heading", name="not open yet").wait_for()
    told = page.locator("body").inner_text()
    assert "Two languages" in told
    assert "1 March 2999" in told


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("en-GB,en;q=0.9", "en"),
        ("fr-CH, en;q=0.9", "fr"),
        ("en;q=0.5, fr;q=0.8", "fr"),
        ("fr;q=0, en", "en"),
        ("de", "en"),
        ("frisian, ;q=, fr", "fr"),
    ],
)
def test_a_language_that_is_liked_less_is_not_taken_first(
    served: Served, asked: str, spoken: str
) -> None:
    answer = httpx.get(served[EARLY], headers=PAGE | {"accept-language": asked})
    assert f'<html lang="{spoken}">' in answer.text


def test_the_browsers_language_is_not_behind_a_choice(browser: Browser, served: Served) -> None:
    """The page starts in it, and the others are one press away."""
    for locale, start, other, then in (
        ("fr-CH", "Commencer", "English", "Start"),
        ("en-GB", "Start", "français", "Commencer"),
        ("ja-JP", "Start", "français", "Commencer"),
    ):
        context = device(browser, locale=locale)
        page = context.new_page()
        page.goto(served.link(FRENCH))
        page.get_by_role("button", name=start, exact=True).wait_for()
        page.get_by_role("button", name=other, exact=True).click()
        page.get_by_role("button", name=then, exact=True).wait_for()
        page.locator("button[type=submit]").click()
        assert page.locator(".languages").count() == 0, "only before anything is answered"
        context.close()


def test_a_french_preview_has_no_english_banner(browser: Browser, tmp_path: Path) -> None:
    with previewing(FRENCH, tmp_path) as address:
        context = device(browser, locale="fr-FR")
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Commencer").wait_for()
        note = page.get_by_role("note")
        assert note.inner_text() == "Aperçu : rien n’est enregistré"
        assert note.get_attribute("lang") == "fr"
        sent = httpx.get(address.partition("#")[0], headers=PAGE | {"accept-language": "fr"})
        assert "Aperçu : rien n’est enregistré" in sent.text, "before any program runs"
        context.close()


def test_ranges_without_names_are_not_english_on_a_french_page(page: Page, served: Served) -> None:
    french = FRENCH.to_dict()
    french["survey"] |= {"languages": ["fr"], "access": "open"}
    number = {"name": "a", "kind": "number", "text": "Combien ?", "edges": [1, 2.5]}
    french["survey"]["questions"] = [number]
    ranges = ["up to 1", "over 1 to 2.5", "over 2.5"]
    french["design"]["attributes"] = [{"name": "a", "categories": ranges, "edges": [1, 2.5]}]
    page.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined });")
    page.route("**/survey.json", lambda route: route.fulfill(json=french))
    page.goto(served[FRENCH])
    page.get_by_role("button", name="Commencer").click()
    read = []
    for typed in ("1", "2", "3"):
        page.locator("input").fill(typed)
        read.append(page.locator(".range").inner_text())
    assert read == [
        "Cela compte comme : jusqu’à 1",
        "Cela compte comme : plus de 1, jusqu’à 2,5",
        "Cela compte comme : plus de 2,5",
    ]
