"""Nothing foreign runs, nothing is asked of anybody else, and hostile texts are only texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tacit.errors import SurveyError
from tacit.survey import survey_from_text
from tests.support.browser import PHONE, Served, device, watched
from tests.support.page_surveys import (
    EMOJI,
    HOSTILE,
    IMAGE,
    LONG,
    MANY,
    RIGHT_TO_LEFT,
    SCRIPT,
    WIDE,
    every_kind,
)
from tests.support.respondent import Respondent

WALK = """
() => {
  const headings = [];
  while (!document.querySelector("pre") && headings.length < 500) {
    headings.push(document.querySelector("h1").innerText);
    for (const fieldset of document.querySelectorAll("fieldset")) {
      [...fieldset.querySelectorAll("input[type=radio]")].at(-1)?.click();
    }
    document.querySelector("button[type=submit]").click();
  }
  return headings;
}
"""


def walked(page: Page, address: str) -> list[str]:
    """All headings from the beginning to what will be sent; any answer will do."""
    page.goto(address)
    page.wait_for_selector("h1")
    headings: list[str] = page.evaluate(WALK)
    return headings


def finished(page: Page) -> None:
    page.locator("button.primary").click()
    page.get_by_text("What was sent", exact=True).wait_for()


def test_a_hostile_survey_is_only_text(page: Page, served: Served) -> None:
    seen = watched(page)
    headings = walked(page, served[HOSTILE])
    assert headings[0] == f"{SCRIPT} {IMAGE}"
    assert RIGHT_TO_LEFT in headings
    assert EMOJI in headings
    finished(page)
    record = json.loads(seen.bodies[0])["record"]
    assert tuple(record) == HOSTILE.design.reported.names
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, script:not([src], [type=importmap]), b, i").count() == 0
    assert seen.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.title() == f"{SCRIPT} {IMAGE}"


def test_texts_run_in_their_own_direction_and_the_page_in_its_own(
    page: Page, served: Served
) -> None:
    person = Respondent(page)
    person.opens(served[HOSTILE])
    assert page.locator("html").get_attribute("lang") == "en"
    text = page.locator("h1 bdi")
    assert text.get_attribute("lang") == "ar"
    walked_to = page.evaluate(
        "text => { const made = document.createElement('bdi'); made.textContent = text; "
        "document.body.append(made); const found = getComputedStyle(made).direction; "
        "made.remove(); return found; }",
        RIGHT_TO_LEFT,
    )
    assert walked_to == "rtl"


def test_two_hundred_questions_are_asked_one_by_one(page: Page, served: Served) -> None:
    seen = watched(page)
    headings = walked(page, served[LONG])
    assert headings[1:] == [f"Question q{i}?" for i in range(200)]
    finished(page)
    assert len(json.loads(seen.bodies[0])["record"]) == 200
    assert served.stored(LONG) == 1


def test_a_thousand_categories_are_searched(page: Page, served: Served) -> None:
    person = Respondent(page)
    seen = watched(page)
    before = served.stored(WIDE)
    person.opens(served[WIDE])
    assert person.goes_on() == "Which place?"
    assert person.goes_on() == "Which place?", "an answer is needed"
    assert page.locator("input[type=radio]").count() == 0
    person.tabs_to(page.get_by_label("Search"))
    page.keyboard.type("zur")
    assert page.locator(".searched [role=status]").inner_text() == "1 of 1000 answers"
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert page.locator("select").input_value() == str(MANY.index("Zürich"))
    assert person.goes_on() == "Where have you been?"
    person.tabs_to(page.get_by_label("Search"))
    page.keyboard.type("place 59")
    person.ticks("Place 59")
    assert person.goes_on() == "This will be sent"
    finished(page)
    assert json.loads(seen.bodies[0])["record"]["place"] in MANY
    assert served.stored(WIDE) == before + 1


REFUSED = {
    "a control character": 'title: A\nquestions:\n- {name: a, kind: yes_no, text: "B\\u0007"}',
    "a change of direction": 'title: A\nquestions:\n- {name: a, kind: yes_no, text: "B\\u202e"}',
    "too many categories": "title: A\nquestions:\n- {name: a, kind: choice, text: B, categories: "
    + json.dumps([str(i) for i in range(1001)])
    + "}",
    "too long a text": f"title: A\nquestions:\n- {{name: a, kind: yes_no, text: {'x' * 10_001}}}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shown_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(SurveyError, match=r"survey\.yaml:3: "):
        survey_from_text(REFUSED[name], "survey.yaml")


def violations(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.violations")
    return found


WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
"""


#: Texts that would become markup or script.
PARSED = (
    'document.body.innerHTML = "<p>x</p>"',
    'document.body.setAttribute("onclick", "window.harmed = 1")',
    'document.createElement("script").text = "window.harmed = 1"',
)


def test_foreign_script_does_not_run(browser: Browser, served: Served) -> None:
    """Negative controls: the policy is there and does block."""
    context = device(browser)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(served[every_kind()])
    page.wait_for_selector("h1")
    assert violations(page) == []
    for parsed in PARSED:
        found = page.evaluate(
            f"() => {{ try {{ {parsed} }} catch (error) {{ return error.name; }} }}"
        )
        assert found == "TypeError", f"Trusted Types: {parsed}"
    page.evaluate(
        """() => {
          const style = document.createElement("style");
          style.textContent = "body { display: none }";
          document.head.append(style);
          const image = document.createElement("img");
          image.src = "https://elsewhere.invalid/x.png";
          document.body.append(image);
        }"""
    )
    assert page.evaluate("fetch('https://elsewhere.invalid/').catch(() => 'no')") == "no"
    assert page.evaluate("window.harmed") is None
    assert page.locator("main").is_visible()
    expected = {"require-trusted-types-for", "style-src-elem", "img-src", "connect-src"}
    assert expected <= set(violations(page))
    context.close()


def test_an_inline_script_in_the_html_is_blocked(browser: Browser, served: Served) -> None:
    context = device(browser)
    page = context.new_page()

    def tamper(route: Any) -> None:
        answer = route.fetch()
        body = answer.text().replace("<body>", f"<body>{SCRIPT}")
        route.fulfill(response=answer, body=body)

    page.route(served[every_kind()], tamper)
    page.goto(served[every_kind()])
    page.wait_for_selector("h1")
    assert SCRIPT in page.content()
    assert page.evaluate("window.harmed") is None
    context.close()


def test_nobody_else_is_asked_and_no_cookie_is_set(browser: Browser, served: Served) -> None:
    context = device(browser)
    page = context.new_page()
    seen = watched(page)
    page.goto(served[every_kind()])
    page.wait_for_selector("h1")
    assert len(seen.addresses) > 10
    assert [a for a in seen.addresses if not a.startswith(served.origin + "/")] == []
    assert context.cookies() == []
    for request in seen.requests:
        headers = request.response().headers
        assert "set-cookie" not in headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert not request.headers.get("referer")
    context.close()


@pytest.mark.parametrize("theta", ["7/6", "4/6"], ids=["impossible", "not the published one"])
def test_a_design_that_was_changed_is_refused_before_anything_is_asked(
    page: Page, served: Served, theta: str
) -> None:
    survey = every_kind().to_dict()
    survey["design"]["groups"][0]["coin"]["theta"] = theta
    page.route("**/survey.json", lambda route: route.fulfill(json=survey))
    page.goto(served[every_kind()])
    page.get_by_role("heading", name="The survey cannot be displayed").wait_for()
    assert page.locator("input").count() == 0


def test_a_step_that_fails_says_so_instead_of_doing_nothing(page: Page, served: Served) -> None:
    survey = every_kind().to_dict()
    del survey["survey"]["practice"]["text"]
    page.route("**/survey.json", lambda route: route.fulfill(json=survey))
    page.goto(served[every_kind()])
    page.locator("button[type=submit]").click()
    page.get_by_role("heading", name="The survey cannot be displayed").wait_for()
