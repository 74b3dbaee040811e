"""What tests of the command line share, and one browser for tests that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tacit.cli.main import run
from tests.support.commands import Ran

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


#: The browser while there is one, and what ends it.
_BROWSERS: list[Browser] = []
_OPEN = ExitStack()


def _end() -> None:
    _BROWSERS.clear()
    _OPEN.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """End the browser unless the next test of this folder uses it too.

    Playwright's loop must be gone before other tests run theirs; the folder `page` has its own.
    """
    yield
    used = nextitem is not None and "browser" in getattr(nextitem, "fixturenames", ())
    if not used or nextitem.path.parent != Path(__file__).parent:
        _end()


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser without contexts."""
    from tests.support.browser import chromium

    if _BROWSERS and not _BROWSERS[0].is_connected():
        _end()  # it crashed
    if not _BROWSERS:
        _BROWSERS.append(_OPEN.enter_context(chromium()))
    (found,) = _BROWSERS
    yield found
    for left in found.contexts:
        left.close()
