"""axe finds no violation: on any step, of any device, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.support.browser import Served, device, serving
from tests.support.page_surveys import DEVICES, every_kind, own_device, published, yes_no

_LABELS = {"no": {"en": "No", "fr": "Non"}, "yes": {"en": "Yes", "fr": "Oui"}}
FRENCH = published(
    {
        "title": {"en": "Two languages", "fr": "Deux langues"},
        "languages": ["en", "fr"],
        "access": "invited",
        "labels": _LABELS,
        "questions": [yes_no("a", text={"en": "Do you smoke?", "fr": "Fumez-vous ?"})],
        "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
    }
)
MANY = [f"Place {i}" for i in range(1000)]
WIDE = published(
    {
        "title": "Wide",
        "questions": [
            {"name": "place", "kind": "choice", "text": "Which?", "categories": MANY},
            {"name": "been", "kind": "multiple", "text": "Where?", "categories": MANY[:30]},
        ],
        "groups": [
            {"questions": ["place"], "family": "uniform_perturbation", "q": "1/2"},
            {"questions": ["been"], "family": "related", "theta": "3/4", "throw": "each"},
        ],
    }
)  # fmt: skip
DARK_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    surveys = [every_kind(), FRENCH, WIDE, *map(own_device, DEVICES)]
    with serving(surveys, tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = device(browser)
    yield context.new_page()
    context.close()


def check(page: Page) -> None:
    """No violation as it is, nor with everything unfolded, nor in the dark."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    for scheme, options in (("light", None), ("dark", DARK_RULES)):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=options)
        told = [(v["id"], [n["html"] for n in v["nodes"]]) for v in found.response["violations"]]
        assert told == [], (page.locator("h1").inner_text(), scheme)
    page.emulate_media(color_scheme="light")


def walk(page: Page, address: str, look: Callable[[Page], Any]) -> list[str]:
    """Every step to the end, looking at each, also while something is amiss."""
    page.goto(address)
    headings = []
    while True:
        page.wait_for_selector("h1")
        heading = page.locator("h1").inner_text()
        headings.append(heading)
        look(page)
        if page.locator("pre").count():
            return headings
        if page.locator(".choice").count():
            page.locator(".choice").last.click()
            continue
        answer(page)
        page.locator("button[type=submit]").click()
        if page.locator(".outcome-box:not(:empty)").count():
            more = page.get_by_role("button", name="Throw 100 times")
            if more.count():
                more.click()
            look(page)
            answer(page)
            page.locator("button[type=submit]").click()
            if page.locator("h1").inner_text() == heading:
                page.locator("button[type=submit]").click()


def answer(page: Page) -> None:
    for fieldset in page.locator("fieldset").all():
        radios = fieldset.locator("input[type=radio]")
        if radios.count():
            radios.last.check()
        if fieldset.locator("select").count():
            fieldset.locator("select").select_option(index=3)
    number = page.locator("input[type=text]")
    if number.count():
        number.fill("3")


def test_axe_finds_what_it_is_for(page: Page, served: Served) -> None:
    """Negative control: a picture without a text is a violation."""
    page.goto(served[every_kind()])
    page.wait_for_selector("h1")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    assert Axe().run(page).violations_count > 0


@pytest.mark.parametrize("survey", [every_kind(), FRENCH, WIDE], ids=["all", "french", "wide"])
def test_no_step_has_a_violation(page: Page, served: Served, survey: Any) -> None:
    token = "#token" if survey is FRENCH else ""
    walk(page, served[survey] + token, check)
    page.locator("button.primary").click()
    page.wait_for_selector("form:not(:has(pre, [role=status]))")
    check(page)
    page.reload()
    if page.locator(".choice").count():
        page.locator(".choice").last.click()
    page.wait_for_selector("h1")
    check(page)


@pytest.mark.parametrize("name", DEVICES)
def test_no_step_of_an_own_device_has_a_violation(page: Page, served: Served, name: str) -> None:
    assert walk(page, served[own_device(name)], check)[-1] == "This will be sent"


def test_what_goes_wrong_has_no_violation(page: Page, served: Served) -> None:
    page.goto(served[FRENCH])
    page.locator(".choice").first.click()
    page.get_by_role("heading", name="You need your personal link").wait_for()
    check(page)
    page.goto(served[every_kind()])
    page.locator("button[type=submit]").click()
    page.locator("button[type=submit]").click()
    page.get_by_text("Please choose an answer.").wait_for()
    check(page)
