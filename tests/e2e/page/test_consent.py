"""Consent and links on the first step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.e2e.page.test_axe import check
from tests.support.browser import Served, serving, watched
from tests.support.page_surveys import IMAGE, SCRIPT, published

pytestmark = pytest.mark.slow

ASKING = published(
    {
        "title": "Consent",
        "consent": f"I am 18 or older and take part of my own free will. {SCRIPT}",
        "thanks": f"The results will be in the June issue. {SCRIPT}",
        "links": [
            {"text": f"Imprint {IMAGE}", "address": "https://survey.example.org/imprint"},
            {"text": "Ask us", "address": "mailto:survey@example.org"},
        ],
        "questions": [{"name": "smokes", "kind": "yes_no", "text": "Do you smoke?"}],
        "groups": [{"questions": ["smokes"], "family": "related", "theta": "5/6"}],
    }
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([ASKING], tmp_path_factory.mktemp("served")) as found:
        yield found


def test_nobody_is_asked_before_the_box_is_ticked_and_the_tick_is_not_sent(
    page: Page, served: Served
) -> None:
    seen = watched(page)
    page.goto(served[ASKING])
    start = page.locator("button[type=submit]")
    start.click()
    assert "tick the box" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.activeElement.type") == "checkbox"
    check(page)
    page.get_by_role("checkbox").check()
    start.click()
    page.wait_for_selector("input[type=radio]")
    page.go_back()
    assert page.get_by_role("checkbox").is_checked()
    start.click()
    page.wait_for_selector("input[type=radio]")
    page.locator("input[type=radio]").last.check()
    start.click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_selector("text=Stored. Thank you!")
    assert page.get_by_text("The results will be in the June issue.").is_visible()
    check(page)
    assert served.stored(ASKING) == 1
    assert len(seen.bodies) == 1
    assert "consent" not in seen.bodies[0]
    assert page.evaluate("window.harmed === undefined")


def test_links_lead_to_their_addresses_and_markup_is_text(page: Page, served: Served) -> None:
    page.goto(served[ASKING])
    page.wait_for_selector(".links")
    found = [each.get_attribute("href") for each in page.locator(".links a").all()]
    assert found == ["https://survey.example.org/imprint", "mailto:survey@example.org"]
    assert IMAGE in page.locator(".links").inner_text()
    assert SCRIPT in page.locator(".consent").inner_text()
