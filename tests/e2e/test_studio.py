"""The studio as its users meet it: a process and a browser."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from tacit.collect.store import Store
from tacit.survey import example
from tests.support.studio import PASSWORD, reports, send, survey
from tests.support.studio_process import running

pytestmark = pytest.mark.slow


def test_from_the_first_link_to_results_a_comparison_and_an_export(
    url: str, tmp_path: Path, browser: Browser
) -> None:
    store, mine = Store(url), survey()
    store.register(mine)
    send(store, mine, reports(mine, 500))
    store.close_survey(mine.survey.fingerprint)
    with running(url, tmp_path / "studio") as (address, link):
        page = browser.new_context().new_page()
        page.goto(link or "")
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_label("again").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        page.get_by_role("link", name="New survey", exact=True).click()
        page.get_by_label("Survey file").fill(example())
        page.get_by_role("button", name="Make a draft of it").click()
        page.get_by_role("link", name="Review and publish", exact=True).click()
        page.get_by_label("I have tried the preview").check()
        page.get_by_role("button", name="Publish for good").click()
        page.get_by_role("link", name="Surveys", exact=True).click()
        page.get_by_role("link", name="Work", exact=True).click()
        for tab, charts in (("Questions", 0), ("Results", 3), ("Export", 0), ("Settings", 0)):
            tabs = page.get_by_role("navigation", name="Survey")
            tabs.get_by_role("link", name=tab, exact=True).click()
            assert page.locator("table.chart").count() == charts
        page.get_by_role("link", name="Compare", exact=True).click()
        page.get_by_label("Answers to").select_option("stole")
        page.get_by_label("In the groups of").select_option("site")
        page.get_by_role("button", name="Show the comparison").click()
        assert "Test of independence" in page.inner_text("main")
        page.get_by_role("link", name="Regression", exact=True).click()
        page.get_by_label("Outcome", exact=True).select_option("stole")
        page.get_by_label("site", exact=True).check()
        page.get_by_role("button", name="Fit the model").click()
        assert "Odds ratios for stole: yes" in page.inner_text("main")
        page.get_by_role("link", name="People and links").click()
        page.get_by_role("button", name="Invite a colleague").click()
        page.get_by_role("button", name="Make an invitation").click()
        assert "Open invitations" in page.inner_text("main")
        page.goto(f"{address}surveys/{mine.slug}/export")
        with page.expect_download() as wanted:
            page.get_by_role("link", name="Estimates (CSV)").click()
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
