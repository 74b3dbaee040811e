"""Chance is asked once: a second time, another tab, a reload or Back come to the same record."""

from __future__ import annotations

import hashlib
import json

from playwright.sync_api import BrowserContext, Page

from tacit.survey import Published
from tests.support.browser import Served, as_on_a_new_device, watched
from tests.support.page_surveys import (
    INVITED,
    INVITED_WAVE,
    OPEN,
    PAIR,
    REWORDED,
    THROWN,
    WAVE,
)
from tests.support.respondent import Respondent, answered, gives_last_answers, sends_form

DONE, AGAIN = "Stored. Thank you!", "This device has already answered"
REVIEW = "This will be sent"
TABS = 4


def shown(page: Page) -> str | None:
    """The very bytes that the page says it will send."""
    return page.locator("pre").text_content()


def test_a_second_submission_sends_the_same_bytes(page: Page, served: Served) -> None:
    seen = watched(page)
    before = served.stored(OPEN)
    person = answered(page, served[OPEN])
    told = page.locator("pre").text_content()
    person.presses("Send")
    person.reaches(DONE)
    for _ in range(2):
        assert person.opens(served[OPEN]) == AGAIN
        person.presses("Send the same again")
        person.reaches(DONE)
    assert seen.bodies == [told] * 3
    assert served.stored(OPEN) == before + 1


def test_somebody_else_on_this_device_starts_afresh(page: Page, served: Served) -> None:
    seen = watched(page)
    person = answered(page, served[OPEN])
    person.presses("Send")
    person.reaches(DONE)
    person.presses("Someone else is answering")
    person.reaches("Open")
    assert page.evaluate("localStorage.length") == 0
    answered(page, served[OPEN]).presses("Send")
    person.reaches(DONE)
    first, second = (json.loads(body)["key"] for body in seen.bodies)
    assert first != second


def asked_fingerprint(survey: Published) -> str:
    """SHA-256 of the rules and the questions, in canonical JSON."""
    questions = survey.to_dict()["survey"]["questions"]
    asked = {"design": survey.fingerprint, "questions": questions}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_memo_holds_what_was_sent_and_nothing_else(page: Page, served: Served) -> None:
    person = answered(page, served[OPEN])
    person.presses("Send")
    person.reaches(DONE)
    kept = page.evaluate("() => ({...localStorage})")
    assert list(kept) == [f"tacit:{asked_fingerprint(OPEN)}"]
    memo = json.loads(kept[f"tacit:{asked_fingerprint(OPEN)}"])
    assert set(memo) == {"record", "surveys"}
    assert set(memo["record"]) == {"a"}
    assert list(memo["surveys"]) == [OPEN.survey.fingerprint]
    assert set(memo["surveys"][OPEN.survey.fingerprint]) == {"key", "token", "stored"}


def test_two_waves_of_the_same_questions_cannot_be_linked_by_their_keys(
    page: Page, served: Served
) -> None:
    """The memoised record goes to both, each time with a key of its own."""
    seen = watched(page)
    before = [served.stored(survey) for survey in (OPEN, WAVE)]
    person = answered(page, served[OPEN])
    person.presses("Send")
    person.reaches(DONE)
    assert person.opens(served[WAVE]) == REVIEW
    told = shown(page)
    page.reload()
    person.reaches(REVIEW)
    assert shown(page) == told, "a reload draws no other key"
    person.presses("Send")
    person.reaches(DONE)
    for survey in (OPEN, WAVE):  # the same again is a retry, stored once
        assert person.opens(served[survey]) == AGAIN
        person.presses("Send the same again")
        person.reaches(DONE)
    first, second, *again = map(json.loads, seen.bodies)
    assert first["record"] == second["record"]
    assert first["key"] != second["key"]
    assert again == [first, second]
    assert [served.stored(survey) for survey in (OPEN, WAVE)] == [n + 1 for n in before]


def test_the_token_of_one_survey_is_never_sent_to_another(page: Page, served: Served) -> None:
    person = answered(page, f"{served[INVITED]}#{served.links[4]}")
    person.presses("Send")
    person.reaches(DONE)
    seen = watched(page)
    assert person.opens(served[INVITED_WAVE]) == "You need your personal link"
    assert seen.bodies == []


def test_a_memo_of_an_older_page_is_sent_with_its_own_key(page: Page, served: Served) -> None:
    """Older pages kept one key with the record, whatever the survey."""
    old = {"key": "0123456789abcdef" * 2, "token": None, "record": {"a": "yes"}, "stored": True}
    page.goto(served[OPEN])
    page.evaluate(
        "([name, memo]) => localStorage.setItem(name, memo)",
        [f"tacit:{asked_fingerprint(OPEN)}", json.dumps(old)],
    )
    seen = watched(page)
    person = Respondent(page)
    for survey, heading, name in ((OPEN, AGAIN, "Send the same again"), (WAVE, REVIEW, "Send")):
        assert person.opens(served[survey]) == heading
        person.presses(name)
        person.reaches(DONE)
    first, second = map(json.loads, seen.bodies)
    assert (first["key"], first["record"]) == (old["key"], old["record"])
    assert second["record"] == old["record"]
    assert second["key"] != old["key"]


def test_another_question_with_the_same_coin_is_asked(page: Page, served: Served) -> None:
    assert REWORDED.fingerprint == OPEN.fingerprint
    for survey in (OPEN, REWORDED):
        before = served.stored(survey)
        person = answered(page, served[survey])
        person.presses("Send")
        person.reaches(DONE)
        assert served.stored(survey) == before + 1


def test_without_sha_256_the_memo_is_by_the_survey(context: BrowserContext, served: Served) -> None:
    context.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined });")
    page = context.new_page()
    answered(page, served[OPEN])
    kept = page.evaluate("() => Object.keys(localStorage)")
    assert kept == [f"tacit:{OPEN.survey.fingerprint}"]


def test_several_tabs_come_to_one_record(context: BrowserContext, served: Served) -> None:
    before = served.stored(OPEN)
    people = [Respondent(context.new_page()) for _ in range(TABS)]
    for person in people:
        person.opens(served[OPEN])
        person.goes_on()
        person.chooses("Yes")
    assert [person.goes_on() for person in people] == [REVIEW] * TABS
    assert len({shown(person.page) for person in people}) == 1
    for person in people:
        person.presses("Send")
        person.reaches(DONE)
    assert served.stored(OPEN) == before + 1


def test_several_tabs_of_an_own_device_send_one_record(
    context: BrowserContext, served: Served
) -> None:
    """Each may be changed until one is sent; that one is then shown by all."""
    before = served.stored(THROWN)
    first, second = (answered(context.new_page(), served[THROWN]) for _ in range(2))
    assert shown(first.page) != shown(second.page)
    sent = shown(first.page)
    first.presses("Send")
    first.reaches(DONE)
    second.presses("Send")
    second.reaches(AGAIN)
    assert shown(second.page) == sent
    assert served.stored(THROWN) == before + 1


def test_a_reload_does_not_throw_again(page: Page, served: Served) -> None:
    person = answered(page, served[OPEN])
    told = shown(page)
    for _ in range(2):
        page.reload()
        person.reaches(REVIEW)
        assert "chance does not decide twice" in page.locator("form").inner_text()
        assert shown(page) == told
        person.presses("Do not send")
        person.reaches("Nothing was sent")
    page.reload()
    person.reaches(REVIEW)
    seen = watched(page)
    person.presses("Send")
    person.reaches(DONE)
    assert seen.bodies == [told]


def test_a_reload_asks_the_questions_that_came_up(page: Page, served: Served) -> None:
    """Thrown again twice, 5 devices would all ask the same with a chance of 1/4 each."""
    for _ in range(5):
        person = Respondent(as_on_a_new_device(page, served.origin))
        asked = []
        for _ in range(3):
            if person.opens(served[PAIR]) == "Pair":
                sends_form(page)
            asked.append(page.locator("fieldset h2").all_inner_texts())
        assert asked[0] == asked[1] == asked[2]
        gives_last_answers(page)
        sends_form(page)
        assert person.heading == REVIEW
        assert page.evaluate("sessionStorage.length") == 0, "nobody can tell afterwards"


def test_two_people_with_links_of_their_own_can_share_a_tab(page: Page, served: Served) -> None:
    seen = watched(page)
    before = served.stored(INVITED)
    person = Respondent(page)
    for number, token in enumerate(served.links[2:4]):
        page.goto(f"{served[INVITED]}#{token}")
        if number:
            person.reaches(AGAIN)
            person.presses("Someone else is answering")
        person.reaches("Invited")
        assert page.url == served[INVITED]
        person.goes_on()
        person.chooses("Yes")
        person.goes_on()
        person.presses("Send")
        person.reaches(DONE)
    first, second = map(json.loads, seen.bodies)
    assert (first["token"], second["token"]) == served.links[2:4]
    assert first["key"] != second["key"]
    assert served.stored(INVITED) == before + 2


def test_back_leaves_the_page_when_its_steps_are_over(page: Page, served: Served) -> None:
    page.goto(served[PAIR])
    page.wait_for_selector("h1")
    person = answered(page, served[OPEN])
    page.reload()
    person.reaches(REVIEW)
    person.presses("Send")
    person.reaches(DONE)
    page.evaluate("history.back()")
    person.reaches("Pair")
    assert page.url == served[PAIR]


def test_a_page_that_the_browser_kept_shows_no_answer(page: Page, served: Served) -> None:
    """As when somebody else presses Back on a shared device."""
    person = Respondent(page)
    person.opens(served[OPEN])
    person.goes_on()
    person.chooses("Yes")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    page.get_by_text("You are back where you left off.").wait_for()
    assert page.locator("input:checked").count() == 0
    person.presses("Someone else is answering")
    person.reaches("Open")
