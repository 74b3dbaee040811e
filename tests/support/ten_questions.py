"""A survey of ten questions, and what it costs a respondent: words to read, things to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from playwright.sync_api import Page

from tacit.survey import Published
from tests.support.page_surveys import published
from tests.support.respondent import sends_form

_TOPICS = {
    "late": "Have you come late to work this month?",
    "ill": "Have you called in sick without being ill?",
    "taken": "Have you taken home something that belongs to work?",
    "smokes": "Do you smoke?",
    "tax": "Have you left out income in a tax return?",
    "phone": "Have you used your phone while driving?",
    "fare": "Have you travelled without a ticket?",
    "copied": "Have you copied from somebody in an exam?",
}
_THETA = {"browser": "3/4", "die": "5/6"}


@cache
def ten_questions(device: str) -> Published:
    """Eight yes/no questions, a choice of four, and one that is not disguised."""
    return published(
        {
            "title": "Work and everyday life",
            "introduction": "Ten questions about things that people would rather not say.",
            "device": device,
            "questions": [
                *({"name": n, "kind": "yes_no", "text": t} for n, t in _TOPICS.items()),
                {"name": "drinks", "kind": "ordered", "text": "How often do you drink alcohol?",
                 "categories": ["never", "monthly", "weekly", "daily"]},
                {"name": "age", "kind": "choice", "text": "How old are you?", "sensitive": False,
                 "categories": ["under 40", "40 or older"]},
            ],
            "groups": [
                {"questions": [*_TOPICS], "family": "related", "theta": _THETA[device],
                 "throw": "each"},
                {"questions": ["drinks"], "family": "forced", "theta": "1/3",
                 "forced": ["1/4", "1/4", "1/4", "1/4"]},
            ],
            "practice": {"text": "Do you like chocolate?", "answers": ["No", "Yes"]},
            "comprehension": [
                {"text": "Who can see your true answers?",
                 "answers": ["Those who run the survey", "Only I"], "correct": 2}
            ],
        }
    )  # fmt: skip


@dataclass
class Effort:
    """What one pass through a survey took."""

    words: int = 0
    interactions: int = 0
    steps: list[str] = field(default_factory=list)


def effort_of(page: Page, address: str) -> Effort:
    """From the first page to "stored" by the shortest way; a visible word counts once a step."""
    page.goto(address)
    page.wait_for_selector("h1")
    found, read = Effort(), 0
    while True:
        heading, words = page.locator("h1").inner_text(), len(_visible(page))
        again = bool(found.steps) and found.steps[-1] == heading
        found.words += max(0, words - read) if again else words
        found.steps += [] if again else [heading]
        read = words
        if page.locator("button[type=submit]").count() == 0:
            return _sent(page, found)
        found.interactions += _answered(page) + 1
        sends_form(page)


def _visible(page: Page) -> list[str]:
    """Words that can be read without unfolding anything."""
    text: str = page.locator("body").inner_text()
    return [word for word in text.split() if any(letter.isalnum() for letter in word)]


_LAST = """() => {
  const open = [...document.querySelectorAll("fieldset:not(:has(input:checked))")];
  const last = open.map((each) => [...each.querySelectorAll("input[type=radio]")].at(-1));
  return last.filter((each) => each).map((each) => each.click()).length;
}"""


def _answered(page: Page) -> int:
    """Gives the last answer to everything that has none; how many it took."""
    given: int = page.evaluate(_LAST)
    return given


def _sent(page: Page, found: Effort) -> Effort:
    page.locator("button.primary").click()
    page.locator("form:has-text('Thank you')").wait_for()
    found.words += len(_visible(page))
    found.interactions += 1
    return found
