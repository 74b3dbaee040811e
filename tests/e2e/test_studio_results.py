"""Results over time, tables of three questions, the planner and reports in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tacit.collect.store import Store
from tests.support.browser import PHONE
from tests.support.studio import PASSWORD, reports, send, survey
from tests.support.studio_process import running

pytestmark = pytest.mark.slow


def test_results_over_time_layers_the_planner_and_reports(tmp_path: Path, browser: Browser) -> None:
    database = str(tmp_path / "survey.db")
    store, mine = Store(database), survey()
    store.register(mine)
    send(store, mine, reports(mine, 150))
    with running(database, tmp_path / "studio") as (address, link):
        page = browser.new_context().new_page()
        page.goto(link or "")
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_label("again").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        page.goto(f"{address}surveys/{mine.slug}/results")
        assert page.locator("svg.lines").count() == 0  # one release is no history
        send(store, mine, reports(mine, 2000, seed=2))
        page.reload()
        assert page.locator("svg.lines").count() == 2
        assert "are as exact as" in page.inner_text("main")
        page.get_by_role("link", name="Compare", exact=True).click()
        assert "once the survey is closed" in page.inner_text("main")
        page.get_by_role("link", name="freeze a snapshot").click()
        page.get_by_label("Freeze a snapshot").check()
        page.get_by_role("button", name="Compare groups now").click()
        page.get_by_label("Answers to").select_option("stole")
        page.get_by_label("In the groups of").select_option("site")
        page.get_by_label("Within the layers of").select_option("often")
        page.get_by_role("button", name="Show the comparison").click()
        assert "Differences between groups" in page.inner_text("main")
        assert "within the layers of often" in page.inner_text("main")
        with page.expect_download() as wanted:
            page.get_by_role("link", name="Numbers (CSV)").click()
        assert wanted.value.suggested_filename.endswith("-comparison.csv")
        page.get_by_role("button", name="Add to the report").click()
        page.get_by_role("link", name="Regression", exact=True).click()
        page.get_by_label("Outcome").select_option("often")
        page.get_by_label("site", exact=True).check()
        page.get_by_role("button", name="Fit the model").click()
        page.get_by_text("The same in R").click()
        assert "disguised_logit(" in page.inner_text("main")
        page.get_by_role("button", name="Add to the report").click()
        assert page.get_by_role("button", name="Remove from the report").count() == 2
        page.get_by_role("link", name="Planner").click()
        page.get_by_label("Family or survey").select_option("related")
        page.get_by_label("Number of respondents").fill("2000")
        page.get_by_label("Half the width").fill("0.05")
        page.get_by_role("button", name="Plan", exact=True).click()
        assert "related(theta=0.7141)" in page.inner_text("main")  # as docs/planning.md
        assert page.locator("svg.lines").count() == 1
        page.goto(f"{address}surveys/{mine.slug}/export")
        for name, suffix in (("Report (HTML)", "html"), ("Report (PDF)", "pdf")):
            with page.expect_download() as wanted:
                page.get_by_role("link", name=name).click()
            wanted.value.save_as(tmp_path / f"report.{suffix}")
        page.goto((tmp_path / "report.html").as_uri())
        assert "Comparisons and regressions" in page.inner_text("main")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    store.close()
