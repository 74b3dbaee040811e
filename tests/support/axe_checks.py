"""What axe finds on a page: in light everything, in the dark what depends on colours."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

_DARK = {"runOnly": ["color-contrast", "link-in-text-block"]}
_RUN = """
async (options) => (await axe.run(document, options)).violations.map(
  ({ id, nodes }) => [id, nodes.map(({ html }) => html)])
"""


def violations(page: Page, dark: bool = False) -> list[Any]:
    """Rules that are broken, and by what; axe is brought to a page once."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], **(_DARK if dark else {})}
    found: list[Any] = page.evaluate(_RUN, options)
    return found
