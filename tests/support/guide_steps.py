"""A guide in Markdown as steps that a browser can do, so that the guide and the pages agree.

The vocabulary, in sentences with bold words, which are the words on the page:

    Click **button or link**            Download **link**
    Fill **label** with `text`          several texts are lines: `one`, `two`
    Choose **option** in **label**      Choose **answer** of a radio button
    Tick **label**, Untick **label**    You see **text**
    Unfold **text**

Bold words in other sentences must be on the page as well. Sentences that begin with Open, Wait,
Close or Run are left to the walk (guide_walk.py). A picture is taken where the guide shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page

_BOLD = r"\*\*(?P<{}>[^*]+)\*\*"
_TEXTS = r"with (?P<texts>`[^`]+`(?:, `[^`]+`)*)"
#: What a sentence may say, in the order in which it is tried; the last one is any bold word.
_WAYS = {
    "press": rf"[Cc]lick {_BOLD.format('label')}",
    "unfold": rf"[Uu]nfold {_BOLD.format('label')}",
    "download": rf"[Dd]ownload {_BOLD.format('label')}",
    "fill": rf"{_BOLD.format('label')} {_TEXTS}",
    "select": rf"{_BOLD.format('option')} in {_BOLD.format('label')}",
    "choose": rf"[Cc]hoose {_BOLD.format('label')}(?! in \*\*)",
    "untick": rf"[Uu]ntick {_BOLD.format('label')}",
    "tick": rf"[Tt]ick {_BOLD.format('label')}",
    "see": _BOLD.format("label"),
    "picture": r"!\[[^\]]*\]\(screenshots/(?P<label>[\w-]+)\.png\)",
    "outside": r"(?:^|(?<=\. ))(?P<label>(?:Open|Wait|Close|Run) [^.,`*]*)",
}


@dataclass(frozen=True)
class GuideStep:
    """One thing to do: how, with what, and what is entered or chosen."""

    way: str
    label: str
    value: str = ""


def steps(page: Path) -> Iterator[GuideStep]:
    """What a guide says, in its order; blocks of code are left to the test."""
    text = re.sub(
        r"```.*?```|^#.*?$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for line in re.sub(r"^ *(\d+\.|-) ", "", text, flags=re.MULTILINE).splitlines():
        yield from _steps_of(line)


def _steps_of(line: str) -> Iterator[GuideStep]:
    at = 0
    while at < len(line):
        found = [
            (match.start(), -len(match[0]), way, match)
            for way, pattern in _WAYS.items()
            if (match := re.compile(pattern).search(line, at)) is not None
        ]
        if not found:
            return
        _, _, way, match = min(found, key=lambda one: one[:2])
        at = match.end()
        parts = match.groupdict()
        texts = "\n".join(re.findall(r"`([^`]+)`", parts.get("texts", "")))
        yield GuideStep(way, parts["label"], texts or parts.get("option", ""))


def do(page: Page, step: GuideStep) -> None:
    """Do what one sentence says, in a browser."""
    match step.way:
        case "press":
            target(page, step.label).click()
        case "unfold":
            page.locator("summary", has_text=step.label).click()
        case "fill":
            box = page.get_by_role("textbox", name=step.label, exact=True)
            box.or_(page.get_by_label(step.label, exact=True)).fill(step.value)  # a password
        case "select":
            menu = page.get_by_role("combobox", name=step.label, exact=True)
            menu.select_option(label=step.value)
        case "choose":
            page.get_by_role("radio", name=step.label, exact=True).check()
        case "untick" | "tick":
            box = page.get_by_role("checkbox", name=step.label, exact=True)
            box.set_checked(step.way == "tick")
        case "see":
            page.get_by_text(step.label).first.wait_for()
        case _:
            raise AssertionError(f"the guide says something else: {step}")


def target(page: Page, label: str) -> Locator:
    """The button or link with these words."""
    button = page.get_by_role("button", name=label, exact=True)
    return button.or_(page.get_by_role("link", name=label, exact=True))
