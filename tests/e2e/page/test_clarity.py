"""What a respondent needs to see is there, whole, and says what it means."""

from __future__ import annotations

import json
import math

from playwright.sync_api import Page, ViewportSize

from tests.support.browser import Served, as_on_a_new_device, watched
from tests.support.page_surveys import (
    HALF,
    LIMITS,
    NUMBERS,
    OPEN,
    WIDE,
    every_kind,
    own_device,
)
from tests.support.respondent import Respondent, gives_last_answers, sends_form
from tests.support.ten_questions import ten_questions

SMALL: ViewportSize = {"width": 360, "height": 640}
LARGE: ViewportSize = {"width": 1280, "height": 800}
CUT_OFF = """
() => {
  const right = (each) => each.getBoundingClientRect().right;
  const edge = right(document.querySelector("form"));
  return [...document.querySelectorAll("table, th, td")]
    .filter((each) => each.scrollWidth > each.clientWidth || right(each) > edge)
    .map((each) => each.innerText);
}
"""
IN_VIEW = """
() => {
  const inside = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight && bottom > top;
  };
  const panel = document.querySelector(".panel");
  const shown = ["h1", ".rules > div"].flatMap((each) => [...panel.querySelectorAll(each)]);
  return [...document.querySelectorAll(".option")].every((option) => {
    option.scrollIntoView({ block: "nearest" });
    return inside(option) && shown.every(inside);
  });
}
"""


def to_question(page: Page, address: str, heading: str) -> Respondent:
    """A respondent who gives the last answer to everything before this question."""
    person = Respondent(page)
    person.opens(address)
    goes_to(person, heading)
    return person


def goes_to(person: Respondent, heading: str) -> None:
    """Give the last answer to everything from here to this question."""
    while person.heading != heading:
        gives_last_answers(person.page)
        sends_form(person.page)


def test_the_odds_of_four_answers_are_not_cut_off_on_a_phone(page: Page, served: Served) -> None:
    to_question(page, served[ten_questions("browser")], "How often do you drink alcohol?")
    page.locator("summary").last.click()
    page.wait_for_selector("table")
    assert page.locator("tbody td").count() == 16
    assert page.evaluate(CUT_OFF) == []
    page.evaluate("document.querySelector('table').style.width = '30rem'")
    assert page.evaluate(CUT_OFF) != [], "negative control"


def test_the_odds_of_a_multiple_choice_do_not_leave_open_which_box(
    page: Page, served: Served
) -> None:
    to_question(page, served[every_kind()], "Which of these keep you awake at night?")
    told = page.locator(".odds").inner_text()
    assert told.startswith("My pay, Losing my job, and My health:")


#: Questions that a throw decides, in the order in which they are asked.
THROWN = [
    (
        ten_questions("die"),
        [
            "Do you like chocolate?",
            "Have you come late to work this month?",
            "How often do you drink alcohol?",
        ],
    ),
    (own_device("coin"), ["Question a?"]),
    (own_device("birth_month"), ["Question a?"]),
]


def test_question_and_rules_are_not_out_of_view_when_a_throw_is_answered(
    page: Page, served: Served
) -> None:
    for survey, headings in THROWN:
        person = Respondent(page)
        person.opens(served[survey])
        for heading in headings:
            goes_to(person, heading)
            for viewport in (SMALL, LARGE):
                page.set_viewport_size(viewport)
                assert page.evaluate(IN_VIEW), (heading, viewport)


def test_nobody_is_left_to_use_one_month_of_birth_for_all_questions(
    page: Page, served: Served
) -> None:
    """One person for two pages would tie their disguises together."""
    for heading in ("Question a?", "Question b?"):
        as_on_a_new_device(page, served.origin)
        to_question(page, served[own_device("birth_month")], heading)
        assert "a different person on each page" in page.locator(".panel").inner_text()


#: By question of NUMBERS: what is typed, and what the page says if it cannot be.
TYPED: list[dict[str, str | None]] = [
    {
        "-3": "Please enter a number of 0 or more.",
        "many": "Please enter a number, such as 12 or 3.5.",
        "3": None,
    },
    {"15": "Please enter a number of 16 or more.", "16": None},
    {
        "-3": "Please enter a number from 0 to 120.",
        "121": "Please enter a number from 0 to 120.",
        "3": None,
    },
    {"121": "Please enter a number of 120 or less.", "-6": None},
    {"-30": None},
    {"120": None},
]


def test_a_number_that_cannot_be_is_not_taken(page: Page, served: Served) -> None:
    to_question(page, served[NUMBERS], "Number 0?")
    headings = [*(f"Number {i}?" for i in range(1, len(LIMITS))), "Question a?"]
    for own, heading in zip(TYPED, headings, strict=True):
        for typed, told in own.items():
            page.locator("input[type=text]").fill(typed)
            page.locator("button[type=submit]").click()
            if told is None:
                assert page.locator("h1").inner_text() == heading
            else:
                assert page.get_by_role("alert").inner_text() == told
                assert page.locator(".range").inner_text() == "", "it counts as nothing"


def test_a_yes_that_chance_has_set_does_not_alarm_an_innocent_person(
    page: Page, served: Served
) -> None:
    """Nothing disguised is in the open; what is unfolded is marked, line by line."""
    seen = watched(page)
    person = to_question(page, served[HALF], "This will be sent")
    lines = page.locator(".sent > div")
    shown = [line.inner_text() for line in lines.all() if line.is_visible()]
    assert [text.splitlines()[-1] for text in shown] == ["Sent as it is"]
    assert page.locator("pre").is_hidden()
    page.get_by_text("Show exactly what is sent").click()
    assert "Chance may have decided any of these answers" in page.locator("details").inner_text()
    marks = [line.locator(".badge").inner_text() for line in lines.all()]
    assert marks == ["Sent as it is", *["Chance may have decided this"] * 2]
    exact = page.locator("pre").inner_text()
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    assert seen.bodies[0].rstrip() == exact.rstrip()
    assert "Chance may have decided this" in page.locator(".sent").text_content()


def test_the_page_does_not_hide_what_all_answers_together_may_reveal(
    page: Page, served: Served
) -> None:
    survey = ten_questions("browser")
    bound = json.loads(survey.to_json())["disclosure_bound"]["attributes"]
    worst = max(each["disguised"]["guess"] for each in bound.values() if each["disguised"])
    Respondent(page).opens(served[survey])
    page.locator(".guess summary").click()
    told = page.locator(".guess").inner_text()
    cases = f"it is right in at most {math.ceil(100 * worst)} of 100 cases. That is the worst case"
    assert cases in told
    assert "Undisguised answers may show that they are yours, and may reveal more." in told
    to_question(page, served[survey], "Do you smoke?")
    page.locator("summary").click()
    own = math.ceil(100 * bound["smokes"]["disguised"]["guess"])
    here = f"can guess this true answer correctly in at most {own} of 100 cases"
    assert here in page.locator(".odds").inner_text()


def test_a_bound_of_one_is_not_said_as_a_number(page: Page, served: Served) -> None:
    """One throw of the opposite for three questions: knowing one answer means knowing them all."""
    survey = OPEN.to_dict()
    survey["disclosure_bound"]["attributes"]["a"]["disguised"]["guess"] = 0.9991
    page.route("**/survey.json", lambda route: route.fulfill(json=survey))
    Respondent(page).opens(served[OPEN])
    assert "all your answers together may reveal the truth" in page.locator("form").inner_text()
    page.locator(".guess summary").click()
    told = page.locator(".guess").inner_text()
    assert "All your disguised answers together may reveal a true one if answers" in told
    assert "100 of 100 cases" not in told


def test_many_answers_are_listed_instead_of_a_wide_table(page: Page, served: Served) -> None:
    survey = WIDE.to_dict()
    survey["design"]["attributes"][0]["categories"] = [*"abcdef"]
    survey["survey"]["questions"][0]["categories"] = [*"abcdef"]
    page.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined });")
    page.route("**/survey.json", lambda route: route.fulfill(json=survey))
    to_question(page, served[WIDE], "Which place?")
    page.locator("summary").click()
    assert page.locator("table").count() == 0
    assert page.locator(".odds dd").first.inner_text().startswith("a 59, b 8, c 8")
