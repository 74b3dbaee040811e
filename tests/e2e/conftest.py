"""What tests of the command line share, and one browser for tests that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
def browser() -> Iterator[Browser]:
    """A browser without contexts."""
    with _SHARED.lent() as found:
        yield found
