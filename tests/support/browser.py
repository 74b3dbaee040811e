"""A real Chromium for tests of the respondent's page, and a real server for it to talk to."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tacit.collect.store import Store
from tacit.survey import Published
from tests.support import warm_start
from tests.support.warm_start import Process

#: The shell, a package of its own, has no windows; tests take half as long in it.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Fewer processes: to start them and to pass messages between them takes more CPU time than
    # what the tests do with a page. One runs all pages of a device, one does the rest.
    "--in-process-gpu",
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
    # The first two are those that Playwright asks for; the last such option counts.
    "--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies,"
    "NetworkServiceInProcess2",
)
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 800}
#: A step that is not there after this many milliseconds will not come.
PATIENCE = 15_000


def executable() -> str | None:
    """The Chromium of the tests: the one that TACIT_TEST_BROWSER names, else one that is installed.

    `none` stands for a machine without a browser. A browser that is named and missing is an error.
    """
    name = os.environ.get("TACIT_TEST_BROWSER", "")
    if name == "none":
        return None
    path = next((path for path in map(shutil.which, [name] if name else _NAMES) if path), None)
    if name and path is None:
        pytest.fail(f"TACIT_TEST_BROWSER={name}: there is no such command")
    return path


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; where none is installed the test is skipped, but not in CI."""
    path = executable()
    if path is None:
        if os.environ.get("TACIT_REQUIRE_ALL") == "1":
            pytest.fail("there is no Chromium, and TACIT_REQUIRE_ALL=1")
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()


@dataclass
class Seen:
    """What a page asked for, sent and complained of."""

    requests: list[Any]
    complaints: list[str]

    @property
    def bodies(self) -> list[str]:
        """What was submitted, in order."""
        return [r.post_data for r in self.requests if r.url.endswith("/responses")]

    @property
    def addresses(self) -> list[str]:
        return [request.url for request in self.requests]


def watched(page: Page) -> Seen:
    """Everything that the page does from now on."""
    seen = Seen([], [])
    page.on("request", lambda request: seen.requests.extend([request]))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda told: told.type == "error" and seen.complaints.append(told.text))
    return seen


def device(browser: Browser, **options: Any) -> BrowserContext:
    """A device of its own: a phone whose owner does not like motion, unless told otherwise."""
    known: dict[str, Any] = {"viewport": PHONE, "reduced_motion": "reduce", "locale": "en-GB"}
    context = browser.new_context(**(known | options))
    context.set_default_timeout(PATIENCE)
    return context


def as_on_a_new_device(page: Page, origin: str) -> Page:
    """The same tab, with nothing stored in it or on its device."""
    page.goto(f"{origin}/health/live")
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    return page


class SharedDevice:
    """A device that tests use one after the other: each gets a new tab, nothing else is kept.

    The process of its pages lives on in a blank tab, and so do the files that it has read.
    """

    def __init__(self, browser: Browser) -> None:
        self._context = device(browser)
        self._blank = self._context.new_page()
        self._commands = self._context.new_cdp_session(self._blank)

    def tab(self) -> Page:
        """A new one."""
        return self._context.new_page()

    def wipe(self) -> None:
        """Close all tabs and forget what pages have stored: local storage, cookies, databases."""
        for tab in self._context.pages:
            if tab is not self._blank:
                tab.close()
        everything = {"origin": "*", "storageTypes": "all"}
        self._commands.send("Storage.clearDataForOrigin", everything)

    @property
    def as_new(self) -> bool:
        """Whether its clock is the real one: Playwright sets it for a whole device, for good."""
        return bool(self._blank.evaluate("Date.toString().includes('[native code]')"))

    def close(self) -> None:
        self._context.close()


@dataclass(frozen=True)
class Served:
    """A running server: where each survey is, and the database."""

    addresses: dict[str, str]
    database: Path

    def __getitem__(self, published: Published) -> str:
        return self.addresses[published.survey.fingerprint]

    def stored(self, published: Published) -> int:
        """Responses to a survey in the database."""
        read_only = f"file:{self.database}?mode=ro"
        with contextlib.closing(sqlite3.connect(read_only, uri=True)) as database:
            found = database.execute(
                "SELECT count(*) FROM responses JOIN surveys ON survey = number "
                "WHERE fingerprint = ?",
                [published.survey.fingerprint],
            )
            return int(found.fetchone()[0])

    def link(self, published: Published) -> str:
        """A new personal link to an invited survey."""
        with contextlib.closing(Store(str(self.database))) as store:
            (token,) = store.invite(published.survey.fingerprint, 1)
        return f"{self[published]}#{token}"

    @property
    def origin(self) -> str:
        return next(iter(self.addresses.values())).split("/s/")[0]


@contextlib.contextmanager
def serving(surveys: Sequence[Published], folder: Path) -> Iterator[Served]:
    """`tacit serve` as a process of its own, on a free port."""
    files = [folder / f"survey{i}.json" for i in range(len(surveys))]
    for file, survey in zip(files, surveys, strict=True):
        file.write_text(survey.to_json(), encoding="utf-8")
    database = folder / "survey.db"
    options = ["--port", "0", "--database", str(database), "--rate", "off"]
    with _running(["serve", *map(str, files), *options], folder) as server:
        yield Served(_addresses(server, surveys), database)


@contextlib.contextmanager
def previewing(survey: Published, folder: Path) -> Iterator[str]:
    """`tacit survey preview` as a process of its own: the address to open."""
    file = folder / "preview.json"
    file.write_text(survey.survey.to_json(), encoding="utf-8")
    with _running(["survey", "preview", str(file)], folder) as server:
        assert server.stdout is not None
        yield next(word for word in server.stdout.readline().split() if word.startswith("http"))


@contextlib.contextmanager
def _running(arguments: list[str], folder: Path) -> Iterator[Process]:
    """A command of tacit that runs until it is ended."""
    with (folder / "log").open("w") as log:
        server = warm_start.start(arguments, stderr=log)
        assert server.stdout is not None
        try:
            yield server
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()


def _addresses(server: Process, surveys: Sequence[Published]) -> dict[str, str]:
    """Where each survey is served; the address holds the beginning of its fingerprint."""
    assert server.stdout is not None
    told = [server.stdout.readline().split()[1] for _ in surveys]
    return {
        survey.survey.fingerprint: next(
            address for address in told if f"/s/{survey.slug}/" in address
        )
        for survey in surveys
    }
