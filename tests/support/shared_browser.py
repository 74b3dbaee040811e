"""SharedBrowser: one browser for tests that follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser


class SharedBrowser:
    """Starts at the first use. End it before tests without it: Playwright's loop must be gone."""

    def __init__(self) -> None:
        self._found: Browser | None = None
        self._open = ExitStack()

    @contextmanager
    def lent(self) -> Iterator[Browser]:
        """The browser, without contexts before and after."""
        from tests.support.browser import chromium

        if self._found is not None and not self._found.is_connected():
            self.end()  # it crashed
        if self._found is None:
            self._found = self._open.enter_context(chromium())
        found = self._found
        yield found
        for left in found.contexts:
            left.close()

    def end(self) -> None:
        """Close the browser, if there is one."""
        self._found = None
        self._open.close()
