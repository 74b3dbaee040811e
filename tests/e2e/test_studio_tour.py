"""Every page of the studio, in all its states: accessible, readable on any screen and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.axe_checks import new_violations
from tests.support.studio_tour import WIDTHS, tour

pytestmark = pytest.mark.slow

#: 1280 pixels at 200 % are as wide as 640.
ZOOMED = 640
#: A page of A4 less its margins.
PAPER = 672
_WIDTH = "document.documentElement.scrollWidth"
#: What Tab must reach, in this order: a radio button per name; a popover's parts while it is open.
_STOPS = """() => {
  const open = document.querySelector(":popover-open:not(.aside)");
  const all = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
  const groups = new Set();
  window.stops = all.filter((element) => {
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.type !== "radio") return true;
    const group = [...document.getElementsByName(element.name)];
    if (group.some((one) => one.checked) && !element.checked) return false;
    return !groups.has(element.name) && groups.add(element.name);
  });
  document.body.tabIndex = -1;
  document.body.focus(); // Tab begins at the top, not where a click was
  const shape = window.stops.map((one) => `${one.localName} ${one.type} ${one.className}`);
  return open ? [0, ""] : [window.stops.length, shape.join()];
}"""
#: The number of the element with the focus, or why it cannot be seen that it has the focus.
_FOCUSED = """() => {
  const element = document.activeElement;
  const seen = [element, element.closest("label")].filter(Boolean);
  const marked = seen.some((one) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  });
  return marked ? window.stops.indexOf(element) : element.outerHTML;
}"""


def fits(page: Page, width: int) -> bool:
    """Whether nothing is wider than the screen."""
    page.set_viewport_size({"width": width, "height": 800})
    return bool(page.evaluate(_WIDTH) <= width)


def tab_stops(page: Page, known: set[str]) -> tuple[list[Any], list[int]]:
    """The controls that Tab reaches, in its order, and all controls in the order of the page.

    Both are empty on pages whose controls are like those of one that is known.
    """
    n, shape = page.evaluate(_STOPS)
    reached: list[Any] = []
    while shape not in known and len(reached) < n:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(_FOCUSED))
    known.add(shape)
    return reached, list(range(len(reached)))


def opens_by_keyboard(page: Page) -> None:
    """The account menu and what is in it, and back to its button."""
    button, account = (page.locator(part) for part in (".menu", ".menu-list a:visible >> nth=0"))
    button.focus()
    page.keyboard.press("Enter")
    account.wait_for()
    page.keyboard.press("Tab")
    assert account.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("Escape")
    assert not account.is_visible()
    assert button.evaluate("(button) => button === document.activeElement")


def test_every_page_is_accessible_and_fits_all_screens_paper_and_directions(
    tmp_path: Path, browser: Browser
) -> None:
    walked, tabbed = set(), set[str]()
    for name, page in tour(browser, tmp_path):
        assert name not in walked
        walked.add(name)
        for width in (*WIDTHS[:2], ZOOMED, WIDTHS[-1]):
            assert fits(page, width), (name, width)
        for width in (WIDTHS[0], WIDTHS[-1]):
            page.set_viewport_size({"width": width, "height": 800})
            assert new_violations(page) == [], (name, width)
        if name == "surveys-empty":
            opens_by_keyboard(page)
        reached, expected = tab_stops(page, tabbed)
        assert reached == expected, name
        page.emulate_media(media="print")
        assert fits(page, PAPER), name
        assert page.locator("form:visible").count() == 0, name
        page.emulate_media(media="screen", forced_colors="active")
        page.evaluate("document.documentElement.dir = 'rtl'")
        assert fits(page, WIDTHS[0]), name
        page.evaluate("document.documentElement.dir = ''")
        page.emulate_media(forced_colors="none")
        page.set_viewport_size({"width": WIDTHS[-1], "height": 800})
    assert len(walked) > 70
