"""What tests of the command line share, and one browser for tests that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tacit.cli.main import run
from tests.support.commands import Ran
from tests.support.shared_browser import SharedBrowser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process, which is quick."""

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        return Ran(run([str(argument) for argument in arguments]), *capsys.readouterr())

    return call


@pytest.fixture
def tacit_(tacit: Callable[..., Ran]) -> Callable[..., Ran]:
    """The same, where `tacit` is the package."""
    return tacit


_SHARED = SharedBrowser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """End the browser unless the next test of this folder uses it too; `page` has its own."""
    yield
    used = nextitem is not None and "browser" in getattr(nextitem, "fixturenames", ())
    if not used or nextitem.path.parent != Path(__file__).parent:
        _SHARED.end()


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """A browser without contexts, whose clicks end when the page that they open has loaded.

    Playwright's own end when that page has begun: a test would read half of it.
    """
    from playwright.sync_api import Locator

    click = Locator.click

    def click_and_load(locator: Locator, **options: Any) -> None:
        click(locator, **options)
        locator.page.wait_for_load_state()

    monkeypatch.setattr(Locator, "click", click_and_load)
    with _SHARED.lent() as shared:
        yield shared
