"""Optional questions: both choices by keyboard on a phone, what is sent, when one may choose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Page

from tacit.collect.store import Store
from tests.e2e.page.test_axe import check
from tests.e2e.page.test_reload import kept
from tests.support.browser import Seen, Served, as_on_a_new_device, serving, watched
from tests.support.optional_surveys import OPTIONAL, OPTIONAL_COIN
from tests.support.page_surveys import published, yes_no
from tests.support.respondent import Respondent

pytestmark = pytest.mark.slow

DECLINE, ANSWER = "Prefer not to say", "Answer this question"
VISIBLE = (
    "“Prefer not to say” is not disguised: the people who run the survey see that you did not "
    "answer this question."
)
LANGUAGES = ("en", "de", "fr", "es")
#: In each language: the choice, and a word that says that it is not disguised.
WORDS = {
    "en": (DECLINE, "not disguised"),
    "de": ("Keine Angabe", "nicht verschleiert"),
    "fr": ("Je préfère ne pas répondre", "n’est pas déguisé"),
    "es": ("Prefiero no responder", "no se disfraza"),
}
FOUR = published(
    {
        "title": dict.fromkeys(LANGUAGES, "Four"),
        "languages": LANGUAGES,
        "questions": [yes_no("a", text=dict.fromkeys(LANGUAGES, "?"), optional=True)],
        "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
    }
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    surveys = [OPTIONAL, OPTIONAL_COIN, FOUR]
    with serving(surveys, tmp_path_factory.mktemp("served")) as found:
        yield found


def looks_right(page: Page) -> None:
    """axe finds nothing, and nothing is wider than a phone."""
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def sent(person: Respondent, seen: Seen) -> dict[str, Any]:
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record: dict[str, Any] = json.loads(seen.bodies[-1])["record"]
    return record


def last_stored(served: Served) -> list[int]:
    with closing(Store(served.database, must_exist=True)) as store:
        found: list[int] = store.codes(OPTIONAL.survey.fingerprint)[-1].tolist()
        return found


def test_who_declines_everything_sends_nothing_but_missing_answers(
    page: Page, served: Served
) -> None:
    person, seen = Respondent(page), watched(page)
    person.opens(served[OPTIONAL])
    assert "Some questions can be left unanswered." in page.locator("form").inner_text()
    assert person.goes_on() == "Question a?"
    for heading in ("How many?", "Which?", "Where?", "Question e?", "Question f?", "Side?"):
        boxes = page.get_by_role("checkbox", name=DECLINE, exact=True)
        choice = boxes if boxes.count() else page.get_by_role("radio", name=DECLINE, exact=True)
        assert VISIBLE in page.locator("form").inner_text()
        looks_right(page)
        if boxes.count():
            person.ticks(DECLINE)
        else:
            person.chooses(DECLINE)
        assert choice.is_checked()
        assert person.goes_on() == heading
    person.chooses(DECLINE)
    assert person.goes_on() == "Question h?"
    assert page.get_by_text(DECLINE).count() == 0, "not every question is optional"
    person.chooses("Yes")
    assert person.goes_on() == "This will be sent"
    shown = page.locator("form > dl.sent").inner_text()
    assert shown.count(DECLINE) == shown.count("Sent as it is") == 8
    looks_right(page)
    record = sent(person, seen)
    assert record == dict.fromkeys(["a", "b", "c.u", "c.v", "d", "e", "f", "g"]) | {"h": "no"}
    assert not seen.complaints
    sizes = OPTIONAL.design.reported.sizes
    assert last_stored(served) == [*sizes[:8], 0]


def test_who_answers_everything_sends_what_the_design_makes_of_it(
    page: Page, served: Served
) -> None:
    person, seen = Respondent(page), watched(page)
    person.opens(served[OPTIONAL])
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    person.types("3")
    person.goes_on()
    person.ticks("u")
    person.goes_on()
    page.get_by_label("Answers").select_option(index=0)
    for question in ("Question e?", "Question f?"):
        assert person.goes_on() == question, "asked first, before chance decides"
        assert page.locator("form").inner_text().count("Choose before chance decides.") == 1
        assert "Is it past noon?" not in page.locator("form").inner_text()
        assert "Born in spring?" not in page.locator("form").inner_text()
        person.chooses(ANSWER)
        assert person.goes_on() != question or question == "Question e?"
        assert page.get_by_text(DECLINE).count() == 0, "chance has decided"
        looks_right(page)
        page.locator("input[type=radio]").first.check()
    assert person.goes_on() == "Side?"
    person.chooses("left")
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    record = sent(person, seen)
    plain = {key: record[key] for key in ("a", "b", "c.u", "c.v", "g", "h")}
    assert plain == {
        "a": "no", "b": "over 10", "c.u": "no", "c.v": "yes", "g": "left", "h": "no",
    }  # fmt: skip
    assert None not in record.values()


def test_both_choices_have_bodies_of_the_same_length(page: Page, served: Served) -> None:
    lengths = set()
    for choice in (DECLINE, "Yes", "No"):
        person = Respondent(as_on_a_new_device(page, served.origin))
        person.opens(served[FOUR])
        person.goes_on()
        person.chooses(choice)
        person.goes_on()
        lengths.add(len(page.locator("pre").text_content() or ""))
    assert len(lengths) == 1


def test_screen_readers_get_the_choice_in_the_group_of_answers_with_its_warning(
    page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[OPTIONAL])
    person.goes_on()
    group = page.get_by_role("group", name="Question a?")
    choice = group.get_by_role("radio", name=DECLINE, exact=True)
    note = choice.get_attribute("aria-describedby")
    assert page.locator(f"#{note}").inner_text() == VISIBLE
    names = {each.get_attribute("name") for each in group.get_by_role("radio").all()}
    assert len(names) == 1, "one group for the arrow keys"


def test_the_box_and_an_answer_exclude_each_other(page: Page, served: Served) -> None:
    person = Respondent(page)
    person.opens(served[OPTIONAL])
    person.goes_on()
    person.chooses(DECLINE)
    person.goes_on()
    box = page.get_by_role("checkbox", name=DECLINE, exact=True)
    person.types("3")
    assert page.locator(".range").inner_text() == "This counts as: up to 10"
    person.ticks(DECLINE)
    assert page.locator("input[type=text]").input_value() == ""
    assert page.locator(".range").inner_text() == ""
    person.types("30")
    assert not box.is_checked()
    person.goes_on()
    person.ticks("u")
    person.ticks(DECLINE)
    assert not page.get_by_role("checkbox", name="u", exact=True).is_checked()
    person.ticks("v")
    assert not box.is_checked()
    person.goes_on()
    page.get_by_label("Answers").select_option(index=3)
    person.ticks(DECLINE)
    page.get_by_label("Search").fill("Place 1")
    assert page.locator("select").evaluate("each => each.selectedIndex") == -1
    assert box.is_checked()
    page.get_by_label("Answers").select_option(index=0)
    assert not box.is_checked()
    person.ticks(DECLINE)
    person.goes_on()
    page.go_back()
    assert page.get_by_role("checkbox", name=DECLINE, exact=True).is_checked()
    page.go_back()
    assert page.get_by_role("checkbox", name="v", exact=True).is_checked()


def test_nobody_can_decline_once_chance_has_decided(page: Page, served: Served) -> None:
    """Not by Back, and not by a reload: who declined then would reveal what came up."""
    person = Respondent(page)
    person.opens(served[OPTIONAL])
    person.goes_on()
    for decline in (person.chooses, person.ticks, person.ticks, person.ticks):
        decline(DECLINE)
        person.goes_on()
    person.chooses(ANSWER)
    person.goes_on()
    asked = page.locator("h1").inner_text()
    person.presses("Back")
    assert person.heading == "Where?"
    person.goes_on()
    assert page.locator("h1").inner_text() == asked
    assert page.get_by_text(DECLINE).count() == 0
    found = kept(page)
    assert len(found["throws"]) == 1
    person.opens(served[OPTIONAL])
    person.is_still_there()
    assert page.get_by_text(DECLINE).count() == 0
    assert page.locator("h1").inner_text() == asked


def test_a_reload_keeps_what_was_declined_and_does_not_ask_again(
    page: Page, served: Served
) -> None:
    person, seen = Respondent(page), watched(page)
    person.opens(served[OPTIONAL])
    person.goes_on()
    person.chooses(DECLINE)
    person.goes_on()
    person.types("3")
    person.goes_on()
    found = kept(page)
    assert found["reports"] == {"a": None, "b": [1]}
    person.opens(served[OPTIONAL])
    person.is_still_there()
    assert person.heading == "Which?"
    for decline in (person.ticks, person.ticks, person.chooses, person.chooses, person.chooses):
        decline(DECLINE)
        person.goes_on()
    person.chooses("Yes")
    assert person.goes_on() == "This will be sent"
    record = sent(person, seen)
    assert (record["a"], record["b"], record["h"]) == (None, "over 10", "no")


def test_an_own_device_is_thrown_only_by_those_who_want_to_answer(
    page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[OPTIONAL_COIN])
    person.goes_on()
    assert "Toss a coin" not in page.locator("form").inner_text()
    looks_right(page)
    person.goes_on()
    assert "Please choose an answer." in page.get_by_role("alert").inner_text()
    person.chooses(DECLINE)
    assert person.goes_on() == "Question b?"
    assert "Toss a coin" in page.locator("form").inner_text()
    person.presses("Back")
    assert page.get_by_role("radio", name=DECLINE).is_checked()
    person.chooses(ANSWER)
    person.goes_on()
    assert "Toss a coin" in page.locator("form").inner_text()
    person.chooses("No")
    assert person.goes_on() == "Question b?"
    person.chooses("Yes")
    person.goes_on()
    page.get_by_text("Show exactly").click()
    assert json.loads(page.locator("pre").inner_text())["record"] == {"a": "no", "b": "yes"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_choice_and_its_warning_are_in_every_language(
    page: Page, served: Served, language: str
) -> None:
    page.goto(served[FOUR])
    page.locator(f".languages button[lang={language}]").click()
    page.locator("button[type=submit]").click()
    choice, warning = WORDS[language]
    assert page.get_by_role("radio", name=choice, exact=True).count() == 1
    assert warning in page.locator(".declined").inner_text()
    looks_right(page)
