"""A reload keeps the place, writes no true answer down, and draws nothing a second time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from playwright.sync_api import BrowserContext, Page

from tests.support.browser import Served, as_on_a_new_device, watched
from tests.support.chance import looks_like
from tests.support.page_surveys import FORTY, FRENCH, PAIR, RELOADED, THROWN
from tests.support.respondent import Respondent

SAME, AGAIN = "Are you still the same person?", "Asked again"
THETA = 0.75
#: Answers Yes until the question with this number is shown.
YES_UNTIL = """
(number) => {
  const place = () => document.querySelector(".where span")?.textContent ?? "";
  while (!place().startsWith(`${number} /`) && !document.querySelector("pre")) {
    document.querySelector("input[value='1']")?.click();
    document.querySelector("button[type=submit]").click();
  }
}
"""


def kept(page: Page) -> dict[str, Any]:
    """What is in the tab's storage while no page of the survey is open."""
    page.goto(page.url.split("/s/")[0] + "/health/live")
    (found,) = page.evaluate("() => Object.values({...sessionStorage})")
    made: dict[str, Any] = json.loads(found)
    return made


def answers(person: Respondent, label: str = "Yes") -> str:
    person.chooses(label)
    return person.goes_on()


def test_a_reload_does_not_lose_the_place(page: Page, served: Served) -> None:
    person = Respondent(page)
    seen = watched(page)
    person.opens(served[RELOADED])
    assert person.goes_on() == "Try?"
    page.reload()
    person.reaches("Try?")
    answers(person)
    assert person.goes_on() == "Where?"
    assert answers(person, "south") == "Question a?"
    assert answers(person) == "Question b?"
    assert answers(person) == "Question c?"
    person.reloads()
    person.reaches("Question c?")
    assert page.get_by_role("button", name="Back").count() == 0, "what is disguised is over"
    assert answers(person) == "Question d?"
    assert answers(person) == "Where?"
    assert AGAIN in page.locator("form").inner_text()
    assert answers(person, "south") == "Question b?"
    assert answers(person, "No") == "This will be sent"
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = json.loads(seen.bodies[0])["record"]
    assert record == {"place": "south", "a": "no", "b": "yes", "c": "no", "d": "no"}


def test_a_reload_writes_no_true_answer_to_the_disk(page: Page, served: Served) -> None:
    """At theta 0 what may be kept is the opposite of the answer; the rest must not be there."""
    person = Respondent(page)
    address = served[RELOADED]
    person.opens(address)
    person.goes_on()
    answers(person)
    person.goes_on()
    answers(person, "south")
    answers(person)
    answers(person)
    person.chooses("Yes")
    found = kept(page)
    assert found["reports"] == {"a": [0]}, "neither south, nor b, which shares its throw with c"
    assert set(found) == {"language", "step", "number", "reports", "throws"}
    assert (found["number"], found["throws"]) == (4, [])
    person.opens(address)
    person.is_still_there()
    assert person.heading == "Question c?"
    assert page.locator("input:checked").count() == 0


def test_the_answer_is_never_kept_with_which_question_came_up(page: Page, served: Served) -> None:
    """Both together would be the truth, or say that there is none."""
    person = Respondent(page)
    person.opens(served[PAIR])
    person.goes_on()
    asked = page.locator("fieldset h2").all_inner_texts()
    found = kept(page)
    assert (found["reports"], len(found["throws"])) == ({}, 1)
    person.opens(served[PAIR])
    person.is_still_there()
    assert page.locator("fieldset h2").all_inner_texts() == asked
    for fieldset in page.locator("fieldset").all():
        person.chooses("Yes", fieldset)
    person.goes_on()
    assert page.evaluate("sessionStorage.length") == 0


def test_an_own_device_keeps_what_was_given(page: Page, served: Served) -> None:
    person = Respondent(page)
    person.opens(served[THROWN])
    person.goes_on()
    assert answers(person) == "This will be sent"
    shown = page.locator("pre").text_content()
    person.reloads()
    person.reaches("This will be sent")
    assert json.loads(shown or "")["record"] == record_shown(page)


def record_shown(page: Page) -> dict[str, str]:
    shown: dict[str, str] = json.loads(page.locator("pre").text_content() or "")["record"]
    return shown


def test_the_language_chosen_survives_a_reload(page: Page, served: Served) -> None:
    page.goto(served.link(FRENCH))
    page.get_by_role("button", name="français").click()
    page.locator("button[type=submit]").click()
    page.reload()
    page.get_by_role("button", name="Yes, go on").click()
    page.get_by_role("heading", name="Fumez-vous ?").wait_for()


def test_a_new_tab_starts_anew_and_finds_nothing_of_an_unfinished_survey(
    context: BrowserContext, served: Served
) -> None:
    """On a shared device the next person must not see where somebody stopped."""
    page = context.new_page()
    person = Respondent(page)
    person.opens(served[RELOADED])
    person.goes_on()
    answers(person)
    person.goes_on()
    answers(person, "south")
    assert answers(person) == "Question b?"
    page.close(run_before_unload=True)
    other = context.new_page()
    other.goto(served.origin + "/health/live")
    assert other.evaluate(
        "async () => [localStorage.length, sessionStorage.length, document.cookie, "
        "(await indexedDB.databases()).length, (await caches?.keys?.())?.length ?? 0]"
    ) == [0, 0, "", 0, 0]
    next_person = Respondent(other)
    assert next_person.opens(served[RELOADED]) == "Reloaded"


def test_a_reload_does_not_draw_again(page: Page, served: Served) -> None:
    """Of 200 answers Yes three quarters are sent as Yes, however often the page is reloaded.

    A second draw that a respondent or a server could choose from would show: negative control.
    """
    stops = [(15, 40), (8,), (15,), (25,), (40,)]
    records = [answered_with_reloads(page, served, each) for each in stops]
    said = np.array([sum(label == "yes" for record in records for label in record.values())])
    assert looks_like(said, 200, np.array([THETA]))
    better_of_two = np.array([round(200 * (1 - (1 - THETA) ** 2))])
    assert not looks_like(better_of_two, 200, np.array([THETA]))


def answered_with_reloads(page: Page, served: Served, stops: Sequence[int]) -> dict[str, str]:
    """Forty times Yes, reloaded at these questions; what was drawn before is what is sent."""
    as_on_a_new_device(page, served.origin)
    page.goto(served[FORTY])
    page.wait_for_selector("h1")
    reports: dict[str, list[int]] = {}
    for number in stops:
        page.evaluate(YES_UNTIL, number)
        found = kept(page)["reports"]
        assert len(found) == number - 1
        assert found.items() >= reports.items(), "what was drawn before is as it was"
        reports = found
        assert Respondent(page).opens(served[FORTY]) == SAME
        Respondent(page).is_still_there()
    page.evaluate(YES_UNTIL, 41)
    record = record_shown(page)
    assert {name: [int(record[name] == "yes")] for name in reports} == reports
    return record
