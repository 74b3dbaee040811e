"""The pictures of docs/studio-guide.md, taken by a walk through the guide with 500 respondents.

    python -m tests.support.guide_pictures     writes docs/screenshots/studio-*.png

Chance, times and ports are fixed in the pictures, so that one changes only when its page does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from tests.support.browser import chromium, device
from tests.support.guide_walk import GuideWalk, answer, people
from tests.support.one_process import both
from tests.support.screenshots import FOLDER, small

PEOPLE = 500
#: Bytes of all pictures of the guide.
LARGEST = 600_000
_COLOURS = 32
#: Pixels of a picture; the end of a longer page is cut off.
_TALLEST = 1000
#: The ports of the guide, and one time instead of now.
_STEADY = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data
      .replace(/127\\.0\\.0\\.1:\\d+/g, "127.0.0.1:8000")
      .replace(/20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d/g, "2027-03-01 09:00:00")
      .replace(/20\\d\\d-\\d\\d-\\d\\d/g, "2027-03-01");
  }
  document.activeElement.blur();
}"""


def take(page: Page, name: str, folder: Path = FOLDER) -> None:
    """Write one picture."""
    page.evaluate(_STEADY)
    whole = page.evaluate("document.documentElement.getBoundingClientRect().height")
    seen = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": min(whole, _TALLEST)}
    picture = page.screenshot(full_page=True, clip=seen)
    (folder / f"{name}.png").write_bytes(small(picture, _COLOURS))


def walk(browser: Browser, folder: Path) -> None:
    """Follow the guide, with people who answer, and take its pictures."""
    rng = np.random.default_rng(PEOPLE)

    def wait(address: str) -> None:
        answer(device(browser).new_page(), address, people(PEOPLE - 1, rng), rng)

    with both(str(folder / "survey.db"), folder / "studio", TACIT_RATE="off") as running:
        GuideWalk(browser, running, take, wait).follow()


def main() -> None:
    """Take all pictures of the guide."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        walk(browser, Path(folder))
    total = sum(file.stat().st_size for file in FOLDER.glob("studio-*.png"))
    sys.stdout.write(f"{FOLDER}: {total:,} bytes for the guide\n")


if __name__ == "__main__":
    main()
