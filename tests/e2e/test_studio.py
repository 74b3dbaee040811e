"""The studio as its users meet it: a process, a browser, and no violation that axe can find."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tacit.service.store import Store
from tacit.survey import example
from tests.support.browser import PHONE, chromium
from tests.support.studio import PASSWORD, reports, send, survey

pytestmark = pytest.mark.slow


@contextmanager
def running(database: str, folder: Path) -> Iterator[tuple[str, str | None]]:
    """A studio process: its address, and the link that it prints at its first start."""
    command = [sys.executable, "-m", "tacit", "studio", "--database", database]
    with subprocess.Popen(
        [*command, "--data", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        try:
            link = None
            if not (folder / "known").exists():
                found = re.search(r"http\S+/set-up/\S+", process.stdout.readline())
                assert found is not None
                link = found[0]
            yield address, link
        finally:
            process.terminate()


def look(page: Any) -> None:
    """Nothing that axe complains of, in light and dark; no sideways scrolling on a phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(
            "async () => (await axe.run(document)).violations.map(({ id, nodes }) => "
            "[id, nodes.map(({ html }) => html)])"
        )
        assert found == [], (page.url, scheme)
    size = page.viewport_size
    page.set_viewport_size(PHONE)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"], page.url
    page.set_viewport_size(size)


def test_from_the_first_link_to_results_a_comparison_and_an_export(
    url: str, tmp_path: Path
) -> None:
    store, mine = Store(url), survey()
    store.register(mine)
    send(store, mine, reports(mine, 500))
    with running(url, tmp_path / "studio") as (address, link), chromium() as browser:
        # The policy forbids scripts on the pages, and so axe too.
        page = browser.new_context(bypass_csp=True).new_page()
        page.goto(link or "")
        look(page)
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_label("again").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        look(page)
        page.get_by_role("link", name="New survey").click()
        look(page)
        page.get_by_label("Survey file").fill(example())
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("link", name="Surveys").click()
        page.get_by_role("link", name="Work", exact=True).click()
        look(page)
        assert page.locator("svg.bars").count() == 3
        page.get_by_role("link", name="Compare groups").click()
        page.get_by_label("Answers to").select_option("stole")
        page.get_by_label("in the groups of").select_option("site")
        page.get_by_role("button", name="Compare").click()
        assert "Test of independence" in page.inner_text("main")
        look(page)
        for path in ("account", "audit", f"surveys/{mine.slug}/members", "sign-in", "nowhere/"):
            page.goto(f"{address}{path}")
            if path != "nowhere/":
                look(page)
        page.goto(f"{address}surveys/{mine.slug}")
        with page.expect_download() as wanted:
            page.get_by_role("link", name="estimates (CSV)").click()
        assert wanted.value.suggested_filename.endswith("-estimates.csv")
    store.close()


def test_the_second_start_prints_no_link_and_asks_to_sign_in(tmp_path: Path) -> None:
    database = str(tmp_path / "survey.db")
    folder = tmp_path / "studio"
    with running(database, folder) as (address, link):
        form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
        site = {"sec-fetch-site": "same-origin"}
        assert httpx.post(link or "", data=form, headers=site).status_code == 303
    (folder / "known").touch()
    with running(database, folder) as (address, link):
        assert link is None
        answer = httpx.get(address, headers={"accept": "text/html"})
        assert answer.headers["location"] == "/sign-in"
