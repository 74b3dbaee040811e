"""What axe finds on a page: in light everything, in the dark what depends on colours."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

_COLOUR_RULES = ["color-contrast", "link-in-text-block"]
#: All that axe may judge a page by but colours: elements, their attributes and states, and which
#: texts are the same, empty or one letter long. What texts and names say does not matter to it.
_SHAPE = """
() => {
  const numbers = new Map();
  const number = (text) => {
    if (!numbers.has(text)) numbers.set(text, `${numbers.size}${text.length < 2 ? "short" : ""}`);
    return numbers.get(text);
  };
  const said = ["alt", "aria-label", "content", "href", "placeholder", "src", "title", "value"];
  const named = ["id", "for", "name", "aria-controls", "aria-describedby", "aria-labelledby"];
  const attribute = ({ name, value }) => {
    if (said.includes(name)) return [name, number(value)];
    return [name, named.includes(name) ? value.split(" ").map(number) : value];
  };
  const states = (element) => [
    element.checked,
    element.disabled,
    element === document.activeElement,
    element.scrollWidth > element.clientWidth,
    element.scrollHeight > element.clientHeight,
  ].map(Number);
  const shape = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return number(node.data.trim());
    if (node.nodeType !== Node.ELEMENT_NODE) return 0;
    const children = [...node.childNodes].map(shape);
    return [node.localName, [...node.attributes].map(attribute), states(node), children];
  };
  return JSON.stringify([innerWidth, shape(document.documentElement)]);
}
"""
#: All that the contrast of a text follows from: its own colour and size, and what is behind it.
_COLOURS = """
() => {
  const behind = (element) => {
    if (element === null) return "";
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
    const own = `${backgroundColor} ${backgroundImage} ${opacity} / `;
    return (own === "rgba(0, 0, 0, 0) none 1 / " ? "" : own) + behind(element.parentElement);
  };
  const written = (element) =>
    element.matches("input, select, textarea") ||
    [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim());
  const colours = (element) => {
    const style = getComputedStyle(element);
    const { color, fontSize, fontWeight, textDecorationLine, textShadow, visibility } = style;
    const own = [color, fontSize, fontWeight, textDecorationLine, textShadow, visibility];
    const around = [element.localName === "a", getComputedStyle(element.parentElement).color];
    return [...own, ...around, element.disabled, behind(element)].join(" ");
  };
  const all = [...document.querySelectorAll("body, body *")].filter(written);
  return [...new Set(all.map(colours))];
}
"""
_RUN = """
async (options) => (await axe.run(document, options)).violations.map(
  ({ id, nodes }) => [id, nodes.map(({ html }) => html)])
"""
#: Shapes of pages, and colours in light and in the dark, in which axe found nothing.
_RIGHT_SHAPES: set[str] = set()
_RIGHT_COLOURS: dict[bool, set[str]] = {False: set(), True: set()}


def violations(page: Page, dark: bool = False, colours: bool = True) -> list[Any]:
    """Rules that are broken, and by what; axe is brought to a page once.

    A click ends when the new page is committed, which may have no element yet: wait for it.
    """
    page.wait_for_load_state()
    page.emulate_media(color_scheme="dark" if dark else "light")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options: dict[str, Any] = {"preload": False, "resultTypes": ["violations"]}
    if dark:
        options["runOnly"] = _COLOUR_RULES
    elif not colours:
        options["rules"] = {rule: {"enabled": False} for rule in _COLOUR_RULES}
    found: list[Any] = page.evaluate(_RUN, options)
    return found


def new_violations(page: Page) -> list[Any]:
    """In the dark and in light; not looked for on a page like one that was right.

    Of the same shape all pages have the same violations but those of colours, which follow from
    the colours of each text and of what is behind it.
    """
    page.wait_for_load_state()
    shape = page.evaluate(_SHAPE)
    for dark in (True, False):
        page.emulate_media(color_scheme="dark" if dark else "light")
        colours = set(page.evaluate(_COLOURS)) - _RIGHT_COLOURS[dark]
        if not colours and (dark or shape in _RIGHT_SHAPES):
            continue
        found = violations(page, dark, bool(colours))
        if found:
            return found
        _RIGHT_COLOURS[dark] |= colours
    _RIGHT_SHAPES.add(shape)
    return []
