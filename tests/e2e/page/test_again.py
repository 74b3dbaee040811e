"""Chance is asked once: a second time, another tab, a reload or Back come to the same record."""

from __future__ import annotations

import hashlib
import json

from playwright.sync_api import BrowserContext, Page

from tacit.survey import Published
from tests.support.browser import Served, as_on_a_new_device, watched
from tests.support.page_surveys import FRENCH, INVITED, OPEN, PAIR, THROWN
from tests.support.respondent import Respondent, answered, gives_last_answers, sends_form

DONE, REVIEW = "Stored. Thank you!", "This will be sent"
USED, STORED = "This device has been used to answer this survey", "Your answers are stored"
TABS = 4


def shown(page: Page) -> str | None:
    """The very bytes that the page says it will send."""
    return page.locator("pre").text_content()


def test_the_memo_holds_what_will_be_sent_and_nothing_else(page: Page, served: Served) -> None:
    address = served.link(INVITED)
    answered(page, address)
    told = json.loads(shown(page) or "")
    kept = page.evaluate("() => ({...localStorage})")
    person = person_of(INVITED, told["token"])
    assert list(kept) == [f"tacit:memo:{INVITED.survey.fingerprint}:{person}"]
    waiting = {"key": told["key"], "record": told["record"], "sent": False}
    assert json.loads(*kept.values()) == {"answered": False, "waiting": [waiting]}


def person_of(survey: Published, token: str) -> str:
    """SHA-256 of the survey and the token, in canonical JSON."""
    named = {"survey": survey.survey.fingerprint, "token": token}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_token_of_one_survey_is_never_sent_to_another(page: Page, served: Served) -> None:
    person = answered(page, served.link(INVITED))
    person.presses("Send")
    person.reaches(DONE)
    seen = watched(page)
    assert person.opens(served[FRENCH]) == "You need your personal link"
    assert seen.bodies == []


def test_without_sha_256_a_person_is_not_known_by_a_token_that_can_be_used(
    context: BrowserContext, served: Served
) -> None:
    context.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined });")
    page = context.new_page()
    address = served.link(INVITED)
    answered(page, address)
    (name,) = page.evaluate("() => Object.keys(localStorage)")
    assert name == f"tacit:memo:{INVITED.survey.fingerprint}:{address[-8:]}"


def test_several_tabs_come_to_one_record(context: BrowserContext, served: Served) -> None:
    before = served.stored(OPEN)
    people = [Respondent(context.new_page()) for _ in range(TABS)]
    for person in people:
        person.opens(served[OPEN])
        person.goes_on()
        person.chooses("Yes")
    assert [person.goes_on() for person in people] == [REVIEW, *[USED] * (TABS - 1)]
    for person in people[1:]:
        person.is_still_there()
        person.reaches(REVIEW)
    assert len({shown(person.page) for person in people}) == 1
    first, *others = people
    first.presses("Send")
    first.reaches(DONE)
    for person in others:
        person.presses("Send")
        person.reaches(USED)
        person.is_still_there()
        person.reaches(STORED)
    assert served.stored(OPEN) == before + 1


def test_several_tabs_of_an_own_device_send_one_record(
    context: BrowserContext, served: Served
) -> None:
    """Each may be changed until one is sent."""
    before = served.stored(THROWN)
    first, second = (answered(context.new_page(), served[THROWN]) for _ in range(2))
    assert shown(first.page) != shown(second.page)
    first.presses("Send")
    first.reaches(DONE)
    second.presses("Send")
    second.reaches(USED)
    second.is_still_there()
    second.reaches(STORED)
    assert served.stored(THROWN) == before + 1


def test_a_reload_does_not_throw_again(page: Page, served: Served) -> None:
    person = answered(page, served[OPEN])
    told = shown(page)
    for _ in range(2):
        person.reloads()
        person.reaches(REVIEW)
        assert "chance does not decide twice" in page.locator("form").inner_text()
        assert shown(page) == told
        person.presses("Do not send")
        person.reaches("Nothing was sent")
    person.reloads()
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
            else:
                person.is_still_there()
            asked.append(page.locator("fieldset h2").all_inner_texts())
        assert asked[0] == asked[1] == asked[2]
        gives_last_answers(page)
        sends_form(page)
        assert person.heading == REVIEW
        assert page.evaluate("sessionStorage.length") == 0, "nobody can tell afterwards"


def test_back_leaves_the_page_when_its_steps_are_over(page: Page, served: Served) -> None:
    page.goto(served[PAIR])
    page.wait_for_selector("h1")
    person = answered(page, served[OPEN])
    person.reloads()
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
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert page.locator("main").inner_text() == ""  # it is seen until the page is loaded again
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    person.reaches("Are you still the same person?")
    assert page.locator("input").count() == 0
    person.presses("Someone else is answering")
    person.reaches("Open")
