"""One server per session, one browser per module, one device per test.

Playwright's loop must be gone before tests of other modules run theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.support.browser import Served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.support.browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A respondent's device."""
    from tests.support.browser import device

    made = device(browser)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    from tests.support.browser import serving
    from tests.support.page_surveys import every_survey
    from tests.support.ten_questions import ten_questions

    surveys = [*every_survey(), *map(ten_questions, ("browser", "die"))]
    with serving(surveys, tmp_path_factory.mktemp("served")) as found:
        yield found
