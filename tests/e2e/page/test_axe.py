"""axe finds no violation: on any step, of any device, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.support.axe_checks import new_violations
from tests.support.browser import Served
from tests.support.page_surveys import DEVICES, FRENCH, PAIR, WIDE, every_kind, own_device
from tests.support.respondent import Respondent, gives_last_answers, sends_form


def check(page: Page) -> None:
    """No violation with everything unfolded, nor in the dark; of many answers some are enough."""
    if page.get_by_label("Search").count():
        page.get_by_label("Search").fill("99")
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert new_violations(page) == [], page.locator("h1").inner_text()


#: The heading, whether this is the last step, and whether the step shows what came of an answer.
STEP = """
() => [
  document.querySelector("h1").textContent,
  document.querySelector("pre") !== null,
  document.querySelector(".outcome-box:not(:empty)") !== null,
]
"""


def walk(page: Page, address: str, look: Callable[[Page], Any]) -> list[str]:
    """Every step to the end, looking at each, also while something is amiss."""
    page.goto(address)
    page.wait_for_selector("h1")
    if page.locator(".languages").count():
        look(page)
        page.locator(".languages button").last.click()
    headings = []
    while True:
        page.wait_for_selector("h1")
        heading, last, _ = page.evaluate(STEP)
        headings.append(heading)
        look(page)
        if last:
            return headings
        gives_last_answers(page)
        sends_form(page)
        _, _, outcome = page.evaluate(STEP)
        if outcome:
            more = page.get_by_role("button", name="Throw 100 times")
            if more.count():
                more.click()
            look(page)
            gives_last_answers(page)
            sends_form(page)
            if page.evaluate(STEP)[0] == heading:
                sends_form(page)


#: Changes of the shape of a page and of its colours, by the rule that each breaks.
WRONG = {
    "image-alt": "document.querySelector('main').append(document.createElement('img'))",
    "color-contrast": "document.querySelector('h1').style.color = '#ccc'",
}


def test_axe_finds_what_it_is_for(page: Page, served: Served) -> None:
    """Negative control: on a page that was right before, what is wrong now is found."""
    for rule, change in WRONG.items():
        page.goto(served[every_kind()])
        page.wait_for_selector("h1")
        check(page)
        page.evaluate(change)
        assert [found for found, _ in new_violations(page)] == [rule]


def reloaded(page: Page) -> None:
    page.reload()
    page.wait_for_selector("h1")


SURVEYS = {"all": every_kind(), "french": FRENCH, "wide": WIDE, "pair": PAIR}


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_no_step_has_a_violation(page: Page, served: Served, survey: Any) -> None:
    walk(page, served.link(survey) if survey is FRENCH else served[survey], check)
    reloaded(page)
    check(page)
    Respondent(page).is_still_there()
    page.wait_for_selector("pre", state="attached")
    check(page)
    page.locator("button.primary").click()
    page.wait_for_selector("form:not(:has(pre, [role=status]))")
    check(page)
    reloaded(page)
    check(page)


@pytest.mark.parametrize("name", DEVICES)
def test_no_step_of_an_own_device_has_a_violation(page: Page, served: Served, name: str) -> None:
    assert walk(page, served[own_device(name)], check)[-1] == "This will be sent"


def test_what_goes_wrong_has_no_violation(page: Page, served: Served) -> None:
    page.goto(served[FRENCH])
    page.get_by_role("heading", name="You need your personal link").wait_for()
    check(page)
    page.goto(served[every_kind()])
    page.locator("button[type=submit]").click()
    page.locator("button[type=submit]").click()
    page.get_by_text("Please choose an answer.").wait_for()
    check(page)
