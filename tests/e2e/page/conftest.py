"""One server per session, one browser for the whole folder, one device per file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.shared_browser import SharedBrowser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.support.browser import Served, SharedDevice


_SHARED = SharedBrowser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """End the browser after the last test of this folder."""
    yield
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        _SHARED.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with _SHARED.lent() as found:
        yield found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A device of its own, for tests that open several tabs or change what its pages run."""
    from tests.support.browser import device

    made = device(browser)
    yield made
    made.close()


@pytest.fixture(scope="module")
def devices(browser: Browser) -> Iterator[list[SharedDevice]]:
    """The device that the tests of a file share, if it is as good as new."""
    found: list[SharedDevice] = []
    yield found
    for left in found:
        left.close()


@pytest.fixture
def page(browser: Browser, devices: list[SharedDevice]) -> Iterator[Page]:
    """A tab on a device on which nothing is stored."""
    from tests.support.browser import SharedDevice

    if not devices:
        devices.append(SharedDevice(browser))
    (shared,) = devices
    yield shared.tab()
    shared.wipe()
    if not shared.as_new:
        devices.pop().close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    from tests.support.browser import serving
    from tests.support.page_surveys import every_survey
    from tests.support.ten_questions import ten_questions

    surveys = [*every_survey(), *map(ten_questions, ("browser", "die"))]
    with serving(surveys, tmp_path_factory.mktemp("served")) as found:
        yield found
