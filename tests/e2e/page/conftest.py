"""One browser a module: Playwright's loop must be gone before other tests run theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.support.browser import chromium

    with chromium() as found:
        yield found
