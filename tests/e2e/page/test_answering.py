"""A survey is answered from its first page to "stored": on a phone, by keyboard, by any device."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from tacit.survey import Published
from tests.support.browser import PHONE, Seen, Served, watched
from tests.support.page_surveys import DEVICES, HALF, OPPOSITE, SPLIT, every_kind, own_device
from tests.support.respondent import Respondent

TYPED = "6.125"  # a number that is nowhere else


def left_behind(page: Page) -> str:
    """Everything that the page keeps on the device, and its address."""
    return str(
        page.evaluate(
            "() => JSON.stringify([localStorage, sessionStorage, location.href, history.state, "
            "document.cookie, document.body.innerText, "
            "[...document.querySelectorAll('input, select')].map((field) => field.value)])"
        )
    )


def check_body(body: str, survey: Published) -> dict[str, str]:
    """Only the fields of the protocol, and only values that the channel can report."""
    sent = json.loads(body)
    assert list(sent) == ["fingerprint", "key", "record", "padding"]
    assert sent["fingerprint"] == survey.fingerprint
    assert len(bytes.fromhex(sent["key"])) == 16
    assert tuple(sent["record"]) == survey.design.reported.names
    for name, label in sent["record"].items():
        assert survey.design.reported[name].categories[survey.design.reported[name].code(label)]
    return dict(sent["record"])


#: The width of the page, what has the focus, and whether the page says what it does meanwhile.
SCREEN = """() => [
  document.documentElement.scrollWidth,
  document.activeElement.tagName,
  document.querySelector("[role=status]") !== null,
]"""


def fits_the_screen(page: Page) -> Any:
    """Asserts at every step that nothing is wider than the phone."""

    def check(heading: str) -> None:
        width, focused, waits = page.evaluate(SCREEN)
        assert width <= PHONE["width"], heading
        assert focused == "H1" or waits, heading

    return check


def answers_every_kind(person: Respondent, address: str) -> None:
    """Every kind of question and family, to what will be sent."""
    page = person.page
    assert person.opens(address) == "Work and health"
    assert "chance decides what is sent" in page.locator(".path").inner_text()
    assert person.goes_on() == "Do you like chocolate?"
    person.chooses("Yes")
    person.goes_on()
    assert "This would be sent" in page.locator("form").inner_text()
    assert person.goes_on() == "Who can see your true answers?"
    person.chooses("Those who run the survey")
    person.goes_on()
    assert "That is not right." in page.locator("form").inner_text()
    assert "disguised on your device" in page.locator("form").inner_text()
    person.chooses("Only I")
    person.goes_on()
    assert person.goes_on() == "Do you smoke?"
    told = page.locator(".odds").first.inner_text()
    assert "Of 100 people, 16 send the opposite of their true answer." in told
    person.chooses("Yes")
    assert person.goes_on() == "What do you earn in a month?"
    person.chooses("More than 4000")
    person.goes_on()
    person.types(TYPED)
    assert "This counts as: 1 to 7" in page.locator("form").inner_text()
    assert person.goes_on() == "Which of these keep you awake at night?"
    person.ticks("My pay")
    person.ticks("My health")
    asked = person.goes_on()
    personal = asked.startswith("Is your mother's birthday")
    person.chooses("January to June" if personal else "Yes")
    assert person.goes_on() == "Are your two answers the same?"
    person.chooses("The same: twice Yes, or twice No")
    assert person.goes_on() == "Which of these have you tried?"
    person.chooses("One or both")
    assert person.goes_on() == "Have you called in sick without being ill?"
    person.chooses("Yes")
    assert person.goes_on() == "Have you left work early without saying so?"
    person.chooses("No")
    assert person.goes_on() == "Where do you live?"
    person.chooses("east")
    assert person.goes_on() == "How old are you?"
    person.types("33,5")
    assert person.goes_on() == "This will be sent"


def test_every_kind_of_question_is_answered_on_a_phone_by_keyboard(
    page: Page, served: Served
) -> None:
    survey = every_kind()
    person = Respondent(page, fits_the_screen(page))
    seen = watched(page)
    before = served.stored(survey)
    answers_every_kind(person, served[survey])
    assert seen.bodies == []
    page.locator("summary").last.click()
    shown = page.locator(".sent").last.inner_text()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], survey)
    assert len(seen.bodies) == 1
    assert served.stored(survey) == before + 1
    assert seen.complaints == []
    # Told before it was sent, and what needs no disguise is as it was given.
    assert record["taxes"] == "yes"
    assert record["stolen"] == "yes", "the second answer, whichever question was asked"
    assert "The same" in shown
    assert {"p": "Report P", "q": "Report Q", "r": "Report R"}[record["drug"]] in shown
    assert (record["region"], record["age"]) == ("east", "over 20 to 40")
    assert (record["ill"] == "yes") != (record["late"] == "yes"), "one throw decides for both"
    nothing_true_is_left(page, seen)


def nothing_true_is_left(page: Page, seen: Seen) -> None:
    """Neither on the device nor in what was sent; only whole answers can be looked for."""
    traces = [left_behind(page), *seen.bodies, *seen.addresses]
    for trace in traces:
        for truth in (TYPED, "33,5", "One or both", "chocolate"):
            assert truth not in trace


def test_what_is_sent_is_what_the_coin_made_of_the_answers(page: Page, served: Served) -> None:
    """At theta = 0 nothing that was answered may be sent."""
    person = Respondent(page)
    seen = watched(page)
    person.opens(served[OPPOSITE])
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    person.ticks("v")
    person.goes_on()
    person.types("11")
    person.goes_on()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], OPPOSITE)
    assert record == {"a": "no", "b.u": "yes", "b.v": "no", "c": "up to 10"}


@pytest.mark.parametrize("name", DEVICES)
def test_with_an_own_device_the_answer_given_is_what_is_sent(
    page: Page, served: Served, name: str
) -> None:
    survey = own_device(name)
    person = Respondent(page, fits_the_screen(page))
    seen = watched(page)
    before = served.stored(survey)
    person.opens(served[survey])
    person.goes_on()  # practice
    person.chooses("Yes")
    person.goes_on()
    given: dict[str, str] = {}
    heading = person.goes_on()
    while heading != "This will be sent":
        if page.locator("input[type=text]").count():
            person.types("2")
        for fieldset in page.locator("fieldset").all():
            last = fieldset.locator("label").last.inner_text()
            person.chooses(last, fieldset)
            given[f"{heading} {len(given)}"] = last
        heading = person.goes_on()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], survey)
    assert record.pop("open") == "over 1 to 2.5"
    # The last answer everywhere; of the two answers that are compared, "different" is the last.
    last = {a.name: str(a.categories[-1]) for a in survey.design.reported if a.name != "open"}
    assert record == last | {"c": "no"}
    assert served.stored(survey) == before + 1


def test_an_answer_that_is_missing_is_asked_for(page: Page, served: Served) -> None:
    person = Respondent(page)
    person.opens(served[OPPOSITE])
    person.goes_on()
    assert person.goes_on() == "Question a?"
    assert page.get_by_role("alert").inner_text() == "Please choose an answer."
    person.chooses("Yes")
    person.goes_on()
    assert person.goes_on() == "C?", "to tick nothing is an answer"
    person.types("ten")
    person.goes_on()
    assert page.get_by_role("alert").inner_text().startswith("Please enter a number")


def test_going_back_keeps_what_was_answered_until_it_is_disguised(
    page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[OPPOSITE])
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    person.presses("Back")
    person.reaches("Question a?")
    assert page.get_by_role("radio", name="Yes").is_checked()
    person.goes_on()
    page.go_back()
    person.reaches("Question a?")
    person.goes_on()
    person.goes_on()
    person.types("3")
    assert person.goes_on() == "This will be sent"
    assert page.get_by_role("button", name="Back").count() == 0


def test_nothing_is_sent_if_the_respondent_does_not_want_to(page: Page, served: Served) -> None:
    person = Respondent(page)
    seen = watched(page)
    person.opens(served[OPPOSITE])
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    person.goes_on()
    person.types("3")
    person.goes_on()
    before = served.stored(OPPOSITE)
    person.presses("Do not send")
    assert person.heading == "Nothing was sent"
    assert seen.bodies == []
    assert served.stored(OPPOSITE) == before
    assert "keeps the disguised answers" in page.locator("form").inner_text()
    person.presses("Delete them from this device")
    page.get_by_text("Your answers were discarded.").wait_for()
    assert page.evaluate("localStorage.length") == 0


def test_answers_with_other_odds_are_asked_apart(page: Page, served: Served) -> None:
    """A multiple choice of which a part is disguised: what is sent as it is says so."""
    person = Respondent(page)
    seen = watched(page)
    person.opens(served[HALF])
    person.goes_on()
    assert page.locator(".badge").inner_text() == "Disguised"
    assert page.get_by_role("checkbox").count() == 2
    person.ticks("hidden")
    person.goes_on()
    assert page.locator(".badge").inner_text() == "Sent as it is"
    person.ticks("shown")
    person.goes_on()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    record = check_body(seen.bodies[0], HALF)
    assert record == {"a.hidden": "no", "a.shown": "yes", "a.other": "yes"}


def test_practice_without_a_coin_to_practise_promises_nothing(page: Page, served: Served) -> None:
    person = Respondent(page)
    person.opens(served[SPLIT])
    assert person.goes_on() == "Try?"
    person.chooses("Yes")
    person.goes_on()
    told = page.locator("form").inner_text()
    assert "only a trial" in told
    assert "cannot be sure" not in told
    assert "Throw 100 times" not in told
