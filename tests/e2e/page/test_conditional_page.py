"""Conditional questions on the page: who was asked shows in no request, record, history or time.

The negative control is a program that leaves out what was not asked and does not wait: the same
comparison tells its respondents apart.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tacit.collect.page import content
from tests.support.browser import Served, as_on_a_new_device, device, serving, watched
from tests.support.chance import looks_like
from tests.support.conditional_surveys import DISGUISED, PUBLIC, READABLE, leaking_server
from tests.support.respondent import Respondent

#: Answers to all questions that are asked: nobody, one or both of the conditional ones.
PATHS = {
    "none": ["No", "Yes"],
    "one": ["Yes", "One or two", "Yes"],
    "both": ["Yes", "Three or more", "blue", "Yes"],
}
BLANK = "does not apply"
TRUTHS = {
    "none": {"smokes": "no", "packs": BLANK, "brand": BLANK, "home": "yes"},
    "one": {"smokes": "yes", "packs": "few", "brand": BLANK, "home": "yes"},
    "both": {"smokes": "yes", "packs": "many", "brand": "blue", "home": "yes"},
}
FIELDS = ("fingerprint", "key", "record", "padding", *DISGUISED.design.reported.names)
REVIEW, SECONDS_EACH = "This will be sent", 5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([DISGUISED, READABLE, PUBLIC], tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with leaking_server(tmp_path_factory.mktemp("leaking")) as found:
        yield found


@dataclass(frozen=True)
class Trace:
    """What others can see of a respondent, and what the browser keeps of where she was."""

    requests: tuple[tuple[str, str], ...]
    fields: tuple[str, ...]
    length: int
    history: int
    seconds: int
    record: dict[str, str]

    @property
    def visible(self) -> tuple[Any, ...]:
        """All but the record's content."""
        return self.requests, self.fields, self.length, self.history, self.seconds


ANSWER = """
(answers) => answers.forEach((name) => {
  const options = [...document.querySelectorAll(".option")];
  options.find(({ textContent }) => textContent === name).querySelector("input").click();
  document.querySelector("button[type=submit]").click();
})
"""


def answers_all(page: Page, answers: Sequence[str]) -> None:
    """Question after question."""
    page.evaluate(ANSWER, list(answers))


def trace(browser: Browser, address: str, answers: Sequence[str]) -> Trace:
    """Answer every question after the same time by the page's clock, then send."""
    context = device(browser)
    page = context.new_page()
    page.clock.install(time=0)
    seen = watched(page)
    page.goto(address)
    page.clock.pause_at(60_000)  # from here on time passes only where it says so
    page.locator("button[type=submit]").click()
    for answer in answers:
        page.clock.run_for(1000 * SECONDS_EACH)
        answers_all(page, [answer])
    length = page.evaluate("history.length")
    seconds = SECONDS_EACH * len(answers)
    with page.expect_response("**/responses") as sent:
        page.get_by_role("button", name="Send", exact=True).click()
        while page.get_by_text("Your answers will be sent in").count():
            page.clock.run_for(1000)
            seconds += 1
    body = sent.value.request.post_data
    assert body is not None
    content = json.loads(body)
    requests = tuple(sorted((r.method, r.url) for r in seen.requests))
    context.close()
    fields = (*content, *content["record"])
    return Trace(requests, fields, len(body.encode()), length, seconds, content["record"])


@pytest.fixture(scope="module")
def traces(browser: Browser, served: Served) -> dict[str, Trace]:
    return {name: trace(browser, served[DISGUISED], path) for name, path in PATHS.items()}


def test_what_others_see_does_not_tell_who_was_asked(traces: dict[str, Trace]) -> None:
    assert len({each.visible for each in traces.values()}) == 1
    assert traces["none"].fields == FIELDS


def test_the_same_comparison_detects_a_page_that_leaks(browser: Browser, leaking: Served) -> None:
    """Negative control: fields, and time, tell who was asked; only the length does not."""
    none, both = (trace(browser, leaking[DISGUISED], PATHS[name]) for name in ("none", "both"))
    assert none.seconds < both.seconds
    read = trace(browser, leaking[READABLE], PATHS["none"])
    assert set(FIELDS) - set(read.fields) == {"packs", "brand"}
    assert read.length == trace(browser, leaking[READABLE], PATHS["both"]).length


@pytest.mark.parametrize("path", PATHS)
def test_what_does_not_apply_is_the_true_answer(
    browser: Browser, served: Served, path: str
) -> None:
    assert trace(browser, served[READABLE], PATHS[path]).record == TRUTHS[path]


def test_stored_records_have_the_same_shape(served: Served, traces: dict[str, Trace]) -> None:
    file = f"file:{served.database}?mode=ro"
    with contextlib.closing(sqlite3.connect(file, uri=True)) as database:
        rows = database.execute("SELECT length(codes), length(id), day FROM responses").fetchall()
    assert len(rows) >= len(traces)
    assert len(set(rows)) == 1


# Going back ---------------------------------------------------------------------------------


def answered(page: Page, address: str, *answers: str) -> Respondent:
    person = Respondent(page)
    person.opens(address)
    person.goes_on()
    answers_all(page, answers)
    return person


def goes_back(person: Respondent, *headings: str) -> None:
    for heading in headings:
        person.presses("Back")
        person.reaches(heading)


def sent_record(person: Respondent) -> dict[str, str]:
    """What the page shows as exactly what is sent."""
    person.reaches(REVIEW)
    text = person.page.locator("pre").text_content()
    assert text is not None
    found: dict[str, str] = json.loads(text)["record"]
    return found


def test_a_changed_answer_closes_the_questions_that_depend_on_it(
    page: Page, served: Served
) -> None:
    seen = watched(page)
    person = answered(page, served[READABLE], "Yes", "Three or more", "blue")
    person.reaches("Do you live alone?")
    goes_back(person, "Which brand?", "How many packs a week?", "Do you smoke?")
    person.chooses("No")
    person.goes_on()
    person.reaches("Do you live alone?")
    goes_back(person, "Do you smoke?")
    person.goes_on()
    person.reaches("Do you live alone?")
    person.chooses("Yes")
    person.goes_on()
    assert sent_record(person) == TRUTHS["none"], "what was answered before is forgotten"
    assert seen.complaints == []


def test_a_changed_answer_opens_the_questions_that_depend_on_it(page: Page, served: Served) -> None:
    person = answered(page, served[READABLE], "No")
    person.reaches("Do you live alone?")
    person.chooses("Yes")
    goes_back(person, "Do you smoke?")
    person.chooses("Yes")
    page.go_forward()
    person.reaches("How many packs a week?")
    page.go_forward()
    person.reaches("How many packs a week?")
    person.chooses("One or two")
    person.goes_on()
    person.reaches("Do you live alone?")
    person.goes_on()
    assert sent_record(person) == TRUTHS["one"]


def test_a_jump_over_an_opened_question_leads_to_it(page: Page, served: Served) -> None:
    person = answered(page, served[READABLE], "No")
    person.reaches("Do you live alone?")
    goes_back(person, "Do you smoke?")
    person.chooses("Yes")
    page.evaluate("history.go(3)")
    person.reaches("How many packs a week?")


# Reload -------------------------------------------------------------------------------------


def kept(page: Page) -> dict[str, Any]:
    """What is in the tab's storage while no page of the survey is open."""
    page.goto(page.url.split("/s/")[0] + "/health/live")
    (found,) = page.evaluate("() => Object.values({...sessionStorage})")
    made: dict[str, Any] = json.loads(found)
    return made


def test_a_page_left_on_a_conditional_question_keeps_nothing_that_tells(
    page: Page, served: Served
) -> None:
    found = []
    for answers in ([], ["Yes"], ["Yes", "Three or more"]):
        answered(as_on_a_new_device(page, served.origin), served[READABLE], *answers)
        found.append(kept(page))
    assert found[0] == found[1] == found[2]
    assert found[0]["reports"] == {}


def test_a_reload_on_a_conditional_question_asks_what_it_depends_on_again(
    page: Page, served: Served
) -> None:
    person = answered(page, served[READABLE], "Yes")
    person.reaches("How many packs a week?")
    person.reloads()
    person.reaches("Do you smoke?")
    person.chooses("No")
    person.goes_on()
    person.reaches("Do you live alone?")
    person.chooses("Yes")
    person.goes_on()
    assert sent_record(person) == TRUTHS["none"]


@pytest.mark.parametrize("path", PATHS)
def test_a_reload_after_the_conditional_questions_keeps_them_all(
    page: Page, served: Served, path: str
) -> None:
    person = answered(page, served[READABLE], *PATHS[path][:-1])
    person.reaches("Do you live alone?")
    person.reloads()
    person.reaches("Do you live alone?")
    person.chooses("Yes")
    person.goes_on()
    assert sent_record(person) == TRUTHS[path]


# Words --------------------------------------------------------------------------------------


def test_the_page_says_what_does_not_apply_in_words(page: Page, served: Served) -> None:
    person = answered(page, served[READABLE], "Yes")
    told = page.locator("form").inner_text()
    assert "Not everybody is asked this" in told
    options = page.locator(".options").inner_text()
    assert "Does not apply" not in options, "nobody chooses it"
    person.chooses("One or two")
    person.goes_on()
    person.chooses("Yes")
    person.goes_on()
    page.get_by_text("Show exactly what is sent").click()
    assert "Does not apply" in page.locator("dl.sent").last.inner_text()


def test_nothing_is_hidden_where_everybody_may_know_who_is_asked(
    page: Page, served: Served
) -> None:
    answered(page, served[PUBLIC], "Yes")
    assert "Not everybody is asked this" not in page.locator("form").inner_text()
    page.go_back()
    page.get_by_role("heading", name="Do you work?").wait_for()
    answers_all(page, ["No"])
    with page.expect_response("**/responses") as sent:
        page.get_by_role("button", name="Send", exact=True).click()
        assert page.get_by_text("Your answers will be sent in").count() == 0
    assert sent.value.ok


# The coin -----------------------------------------------------------------------------------

EACH = 20_000
COUNT = """
async ({ published, each }) => {
  const [{ readDesign, disguiseGroup }, { readConditions, truthOf }, { itemsOf }] =
    await Promise.all(
      ["disguise", "conditions", "questions"].map((name) => import(`/page/${name}.js`)),
    );
  const design = readDesign(published.design);
  const items = itemsOf(published.survey, design);
  const conditions = readConditions(published.design);
  const { group } = items.get("packs");
  // Asked: few or many; not asked, with an answer from before the condition failed.
  return [[1, 0], [1, 1], [0, 1]].map(([smokes, packs]) => {
    const page = { items, conditions, answers: new Map([["smokes", smokes], ["packs", packs]]) };
    const counts = [0, 0, 0];
    for (let i = 0; i < each; i += 1) {
      counts[disguiseGroup(group, [truthOf(page, "packs")])[0]] += 1;
    }
    return counts;
  });
}
"""
STALE = ("asked ? answers.get(name)", "true ? answers.get(name)")


@pytest.mark.parametrize("stale", [False, True], ids=["right", "stale"])
def test_every_pair_of_true_and_reported_occurs_as_often_as_the_channel_says(
    context: BrowserContext, served: Served, stale: bool
) -> None:
    """Negative control: a page that sends the answer from before the condition failed."""
    page = context.new_page()
    if stale:
        source = content("conditions.js").decode()
        assert source.count(STALE[0]) == 1
        changed = source.replace(*STALE)
        page.route(
            "**/page/conditions.js",
            lambda route: route.fulfill(body=changed, content_type="text/javascript"),
        )
    page.goto(f"{served.origin}/openapi.json")  # the page itself would refuse the changed file
    given = {"published": DISGUISED.to_dict(), "each": EACH}
    counts = np.array(page.evaluate(COUNT, given)).T
    expected = DISGUISED.design.channel(["packs"]).matrix
    assert looks_like(counts, EACH, expected) == (not stale)
