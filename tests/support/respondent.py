"""A respondent who uses nothing but the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

#: More presses of the tab key than any step needs.
_PRESSES = 60
_FOCUSED = "element => element === document.activeElement"


class Respondent:
    """Reads headings, moves by Tab and arrows, answers by space and sends forms by Enter."""

    def __init__(self, page: Page, seen: Callable[[str], Any] = lambda heading: None) -> None:
        self.page = page
        self._seen = seen

    @property
    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    def opens(self, address: str) -> str:
        self.page.goto(address)
        self.page.wait_for_selector("h1")
        self._seen(self.heading)
        return self.heading

    def tabs_to(self, target: Locator) -> None:
        """Press Tab until the target has the focus, and see that one can see it."""
        for _ in range(_PRESSES):
            if target.evaluate(_FOCUSED):
                break
            self.page.keyboard.press("Tab")
        assert target.evaluate(_FOCUSED), f"no way to {target} by keyboard"
        assert target.evaluate(_OUTLINED), f"{target} has the focus, but nobody can see it"

    def chooses(self, label: str, within: Locator | None = None) -> None:
        """A radio button: Tab into the group, arrows within it."""
        place = within or self.page.locator("form")
        radios = place.locator("input[type=radio]")
        wanted = place.get_by_role("radio", name=label, exact=True)
        checked = place.locator("input[type=radio]:checked")
        self.tabs_to(checked if checked.count() else radios.first)
        for _ in range(radios.count()):
            if wanted.evaluate(_FOCUSED):
                break
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
        return self.heading

    def presses(self, name: str) -> None:
        self._presses(self.page.get_by_role("button", name=name, exact=True))

    def _presses(self, button: Locator) -> None:
        self.tabs_to(button)
        self.page.keyboard.press("Enter")
        self._seen(self.heading)

    def reaches(self, heading: str) -> None:
        self.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
        self._seen(heading)


def answered(page: Page, address: str) -> Respondent:
    """A respondent who has said Yes to the only question and come to what will be sent."""
    person = Respondent(page)
    person.opens(address)
    person.goes_on()
    person.chooses("Yes")
    assert person.goes_on() == "This will be sent"
    return person


_OUTLINED = """element => {
  const framed = element.closest(".option") ?? element;
  return getComputedStyle(framed).outlineStyle !== "none";
}"""
