"""From nothing to a published survey in the browser, with forms, a preview and one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser import PHONE, watched
from tests.support.one_process import Both, both
from tests.support.respondent import answered
from tests.support.studio import PASSWORD

pytestmark = pytest.mark.slow


def signed_in(page: Page, running: Both) -> None:
    page.goto(running.link)
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password, at least").fill(PASSWORD)
    page.get_by_label("again").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()


def written(page: Page) -> None:
    """A survey with one question, made with forms."""
    page.get_by_role("link", name="New survey").click()
    page.get_by_label("Title").fill("Sleep <b>")
    page.get_by_role("button", name="Start with this title").click()
    page.get_by_label("Kind of question").select_option("yes_no")
    page.get_by_role("button", name="Add a question").click()
    page.get_by_label("Name").fill("naps")
    page.get_by_label("Text", exact=True).fill("Do you nap at work?")
    page.get_by_label("no", exact=True).fill("No")
    page.get_by_label("yes", exact=True).fill("Yes")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Add a group").click()
    assert page.get_by_label("naps").is_checked()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Texts and settings").click()
    page.get_by_label("Introduction").fill("Please answer.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Survey file").click()
    assert "naps" in page.get_by_label("Survey file").input_value()
    page.get_by_role("button", name="Check").click()
    page.get_by_role("link", name="Questions").click()


def publish(page: Page) -> None:
    """Review a draft and publish it."""
    page.get_by_role("link", name="Review and publish", exact=True).click()
    page.get_by_label("I have tried the preview").check()
    page.get_by_role("button", name="Publish for good").click()


def sent(page: Page, address: str) -> None:
    """Answers the survey to its end."""
    answered(page, address).presses("Send")
    page.get_by_role("heading", name="Thank you").wait_for()


@pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.complete)], indirect=True
)
def test_a_survey_is_written_tried_published_and_answered(
    url: str, tmp_path: Path, browser: Browser
) -> None:
    """Drafts and previews are not in the database; test_one_process.py publishes, collects and
    shows on PostgreSQL too.
    """
    with both(url, tmp_path / "studio") as running:
        page = browser.new_context().new_page()
        signed_in(page, running)
        written(page)
        with page.expect_popup() as opened:
            page.get_by_role("button", name="Preview").click()
        secret = opened.value.url
        # In a browser without the account, on a phone.
        plain = browser.new_context(viewport=PHONE).new_page()
        seen = watched(plain)
        sent(plain, secret)
        assert "preview" in plain.inner_text("[role=note]").lower()
        assert seen.complaints == []
        publish(page)
        assert "No answers yet" in page.inner_text("main")
        page.get_by_role("link", name="People and links").click()
        address = page.get_by_role("link", name="/s/").inner_text()
        page.get_by_role("link", name="Overview").click()
        seen = watched(plain)
        sent(plain, address)
        assert seen.complaints == []
        page.reload()
        assert "1 record" in page.inner_text("main")
        page.get_by_role("link", name="Settings").click()
        page.get_by_role("button", name="Duplicate as a draft").click()
        publish(page)
        assert "published already" in page.inner_text("main")


def test_a_text_is_checked_while_it_is_written_and_without_script_by_a_button(
    tmp_path: Path, browser: Browser
) -> None:
    with both(str(tmp_path / "survey.db"), tmp_path / "studio") as running:
        context = browser.new_context()  # with the policy
        page = context.new_page()
        seen = watched(page)
        signed_in(page, running)
        page.goto(f"{running.studio}new")
        page.get_by_role("button", name="Start from the example").click()
        page.get_by_role("link", name="Survey file").click()
        area = page.get_by_label("Survey file")
        whole = area.input_value()
        area.fill("title: <img src=x onerror=alert(1)>\nquota: many\n")
        page.get_by_text("Line 2: quota").wait_for()
        area.fill(whole)
        page.get_by_text("The text is correct.").wait_for()
        assert seen.complaints == []
        state = context.storage_state()
        plain = browser.new_context(java_script_enabled=False, storage_state=state).new_page()
        plain.goto(page.url)
        plain.get_by_label("Survey file").fill("title: X")
        plain.get_by_role("button", name="Check").click()
        assert "the key 'questions' is missing" in plain.inner_text("main")
