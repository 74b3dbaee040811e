"""Passkeys in Chromium with its virtual authenticator; passwords keep working without script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.browser import watched
from tests.support.studio import PASSWORD
from tests.support.studio_process import running

pytestmark = pytest.mark.slow


def device_with_keys(context: BrowserContext, page: Page) -> Any:
    """Makes the page's device one with a fingerprint reader that always agrees."""
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, made["authenticatorId"]


def sign_up(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password, at least").fill(PASSWORD)
    page.get_by_label("again").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()


def sign_out(page: Page) -> None:
    page.locator("button.menu").click()
    page.get_by_role("button", name="Sign out").click()


def test_a_passkey_is_added_used_and_removed(tmp_path: Path, browser: Browser) -> None:
    with running(str(tmp_path / "survey.db"), tmp_path / "studio") as (address, link):
        base = address.replace("127.0.0.1", "localhost")  # passkeys need a name
        context = browser.new_context()
        page = context.new_page()
        seen = watched(page)
        session, authenticator = device_with_keys(context, page)
        sign_up(page, (link or "").replace("127.0.0.1", "localhost"))
        page.goto(f"{base}account")
        page.get_by_label("Name of the passkey").fill("My <b>laptop</b>")
        page.get_by_label("Your password").fill("wrong password")
        page.get_by_role("button", name="Add a passkey").click()
        page.get_by_text("The password is wrong.").wait_for()
        page.get_by_label("Your password").fill(PASSWORD)
        page.get_by_role("button", name="Add a passkey").click()
        page.get_by_role("button", name="Remove My <b>laptop</b>").wait_for()
        sign_out(page)
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.get_by_role("heading", name="Surveys").wait_for()
        _at_another_port(page, tmp_path)
        page.goto(base)
        page.get_by_role("link", name="Audit log").click()
        assert "passkey" in page.inner_text("table")
        page.goto(f"{base}account")
        page.get_by_role("button", name="Remove My <b>laptop</b>").click()
        page.get_by_role("button", name="Remove the passkey").click()
        sign_out(page)
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.get_by_text("This passkey is not known here").wait_for()
        session.send("WebAuthn.clearCredentials", {"authenticatorId": authenticator})
        assert [one for one in seen.complaints if "status of 40" not in one] == []
        _without_script(browser, base)


def _at_another_port(page: Page, folder: Path) -> None:
    """The device offers the passkey for every port of the host; the studio refuses it."""
    with running(str(folder / "survey.db"), folder / "studio", known=True) as (address, _):
        other = address.replace("127.0.0.1", "localhost")
        page.goto(f"{other}sign-in")
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.get_by_text("This passkey is not known here").wait_for()


def _without_script(browser: Browser, base: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{base}sign-in")
    assert not page.get_by_role("button", name="Sign in with a passkey").is_visible()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    assert page.get_by_role("heading", name="Surveys").is_visible()
    page.goto(f"{base}account")
    assert not page.get_by_label("Name of the passkey").is_visible()
