"""A respondent who uses nothing but the keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

#: More presses of the tab key than any step needs.
_PRESSES = 60
#: Whether an element has the focus, and whether one can see it.
_FOCUSED = """element => {
  const framed = element.closest(".option") ?? element;
  const seen = getComputedStyle(framed).outlineStyle !== "none";
  return [element === document.activeElement, seen];
}"""
#: How many presses of the tab key should lead to an element. Only where they lead counts; to know
#: their number saves a question to the browser after each press.
_AWAY = """element => {
  const now = document.activeElement;
  if (element === now) return 0;
  const stops = "a[href], button, input, select, textarea, summary";
  const after = [...document.querySelectorAll(stops)].filter((each) => {
    const radios = each.type === "radio" ? [...document.getElementsByName(each.name)] : [each];
    const stop = radios.find(({ checked }) => checked) ?? radios[0];
    const follows = now.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING;
    return each === stop && follows && !each.disabled && each.checkVisibility();
  });
  return after.indexOf(element) + 1;
}"""
#: The group of a radio button, its place there, where the focus enters, and the group's size.
_PLACE = """element => {
  const group = [...document.getElementsByName(element.name)];
  const checked = group.findIndex((each) => each.checked);
  return [element.name, group.indexOf(element), Math.max(0, checked), group.length];
}"""


class Respondent:
    """Reads headings, moves by Tab and arrows, answers by space and sends forms by Enter."""

    def __init__(self, page: Page, seen: Callable[[str], Any] | None = None) -> None:
        self.page = page
        self._seen = seen

    @property
    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    def opens(self, address: str) -> str:
        self.page.goto(address)
        return self._read()

    def _read(self) -> str:
        heading = self.heading
        if self._seen is not None:
            self._seen(heading)
        return heading

    def tabs_to(self, target: Locator) -> None:
        """Press Tab until the target has the focus, and see that one can see it."""
        for _ in range(target.evaluate(_AWAY)):
            self.page.keyboard.press("Tab")
        for _ in range(_PRESSES):
            focused, outlined = target.evaluate(_FOCUSED)
            if focused:
                break
            self.page.keyboard.press("Tab")
        assert focused, f"no way to {target} by keyboard"
        assert outlined, f"{target} has the focus, but nobody can see it"

    def chooses(self, label: str, within: Locator | None = None) -> None:
        """A radio button: Tab into the group, arrows within it."""
        place = within or self.page.locator("form")
        wanted = place.get_by_role("radio", name=label, exact=True)
        name, own, entered, size = wanted.evaluate(_PLACE)
        self.tabs_to(place.locator(f"input[type=radio][name='{name}']").nth(entered))
        for _ in range((own - entered) % size):
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Space")
        assert wanted.is_checked()

    def ticks(self, label: str) -> None:
        box = self.page.get_by_role("checkbox", name=label, exact=True)
        self.tabs_to(box)
        self.page.keyboard.press("Space")
        assert box.is_checked()

    def types(self, text: str) -> None:
        self.tabs_to(self.page.locator("input[type=text]"))
        self.page.keyboard.type(text)

    def goes_on(self) -> str:
        """Enter in the form, or on its button; the heading of what comes next."""
        self._presses(self.page.locator("button[type=submit]"))
        return self._read()

    def presses(self, name: str) -> None:
        self._presses(self.page.get_by_role("button", name=name, exact=True))
        if self._seen is not None:
            self._read()

    def _presses(self, button: Locator) -> None:
        self.tabs_to(button)
        self.page.keyboard.press("Enter")

    def is_still_there(self) -> None:
        """Say that she is the one who began, or who answered; the page asks after a reload."""
        said = re.compile("^(Yes, go on|I am the one who answered)$")
        self._presses(self.page.get_by_role("button", name=said))

    def reloads(self) -> None:
        """Load the page again, and say who she is."""
        self.page.reload()
        self.is_still_there()

    def reaches(self, heading: str) -> None:
        self.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
        if self._seen is not None:
            self._seen(heading)


#: From the first step to the end, with an answer of this name to the only question.
_TO_THE_END = """name => {
  const on = () => document.querySelector("button[type=submit]").click();
  on();
  const options = [...document.querySelectorAll(".option")];
  options.find(({ textContent }) => textContent === name).querySelector("input").click();
  on();
}"""
#: The last answer to each question of a step.
_LAST = """() => {
  const set = (field, key, value) => {
    field[key] = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  for (const fieldset of document.querySelectorAll("fieldset")) {
    [...fieldset.querySelectorAll("input[type=radio]")].at(-1)?.click();
    fieldset.querySelectorAll("select").forEach((each) => set(each, "selectedIndex", 3));
  }
  document.querySelectorAll("input[type=text]").forEach((each) => set(each, "value", "3"));
}"""
_ON = "() => document.querySelector('button[type=submit]').click()"


def answered(page: Page, address: str) -> Respondent:
    """A respondent who has said Yes to the only question and come to what will be sent."""
    person = Respondent(page)
    person.opens(address)
    page.evaluate(_TO_THE_END, "Yes")
    assert person.heading == "This will be sent"
    return person


def gives_last_answers(page: Page) -> None:
    """By program, for tests of something else."""
    page.evaluate(_LAST)


def sends_form(page: Page) -> None:
    """By program, for tests of something else."""
    page.evaluate(_ON)
