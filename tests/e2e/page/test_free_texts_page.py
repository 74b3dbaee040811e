"""Free texts on the page: a warning, nothing on the device's disk, and stored apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page

from tacit.collect.store import Store
from tests.e2e.page.test_axe import check
from tests.support.browser import Served, serving, watched
from tests.support.free_text_surveys import FREE
from tests.support.page_surveys import IMAGE, SCRIPT
from tests.support.respondent import Respondent

pytestmark = pytest.mark.slow

WARNING = "This text is not disguised. Do not write anything that identifies you or others."
STORAGE = "() => JSON.stringify([{...localStorage}, {...sessionStorage}])"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([FREE], tmp_path_factory.mktemp("served")) as found:
        yield found


def texts(served: Served) -> list[tuple[str, str]]:
    with closing(Store(served.database, must_exist=True)) as store:
        return store.texts(FREE.survey.fingerprint)


def reaches_the_field(page: Page, served: Served) -> Respondent:
    person = Respondent(page)
    person.opens(served[FREE])
    person.goes_on()
    for _ in "ab":
        person.chooses("Yes")
        heading = person.goes_on()
    assert heading == f"What else? {IMAGE}"
    return person


def test_a_text_is_sent_and_stored_apart(page: Page, served: Served) -> None:
    seen = watched(page)
    person = reaches_the_field(page, served)
    assert WARNING in page.locator("form").inner_text()
    field = page.get_by_role("textbox", name=f"What else? {IMAGE}", exact=True)
    described = (field.get_attribute("aria-describedby") or "").split()
    assert WARNING in page.locator(f"#{described[0]}").inner_text()
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    person.tabs_to(field)
    page.keyboard.type(f"{SCRIPT}\nsecond line")
    assert person.goes_on() == "And?"
    page.get_by_role("textbox").fill("xxxxxx")
    assert page.get_by_role("textbox").input_value() == "xxx", "as long as the survey allows"
    page.get_by_role("textbox").fill("")
    assert person.goes_on() == "This will be sent"
    shown = page.locator("dl.texts").inner_text()
    assert f"{SCRIPT}\nsecond line" in shown
    assert "And?" not in shown, "nothing was written there"
    check(page)
    kept = page.evaluate(STORAGE)
    assert "second line" not in kept
    assert "record" in kept
    person.presses("Send")
    person.reaches("Stored. Thank you!")
    assert "second line" not in page.evaluate(STORAGE)
    body = json.loads(seen.bodies[0])
    assert body["texts"] == {"more": f"{SCRIPT}\nsecond line", "__proto__": ""}
    assert body["text_key"] != body["key"]
    assert texts(served) == [("more", f"{SCRIPT}\nsecond line")]
    assert not seen.complaints
    assert page.evaluate("window.harmed === undefined")


def test_a_text_is_lost_with_a_reload_and_the_field_is_asked_again(
    page: Page, served: Served
) -> None:
    person = reaches_the_field(page, served)
    page.get_by_role("textbox").fill("private words")
    person.reloads()
    person.reaches(f"What else? {IMAGE}")
    assert page.get_by_role("textbox").input_value() == ""
    assert "private words" not in page.evaluate(STORAGE)
    page.get_by_role("textbox").fill("other words")
    assert person.goes_on() == "And?"
    assert person.goes_on() == "This will be sent"
    person.reloads()
    page.wait_for_selector("pre", state="attached")
    body = json.loads(page.locator("pre").text_content() or "")
    assert body["texts"] == {"more": "", "__proto__": ""}
    assert "other words" not in page.evaluate(STORAGE)


def test_what_is_written_does_not_change_the_length(page: Page, served: Served) -> None:
    page.goto(served[FREE])
    lengths = set()
    for written in ("", "x", "\u2028" * 200, "😀" * 100, '"' * 200):
        body = page.evaluate(
            """async (written) => {
              const [{ bodyOf }, { readDesign }] = await Promise.all(
                ["send", "disguise"].map((name) => import(`/page/${name}.js`)),
              );
              const published = await (await fetch("survey.json")).json();
              const design = readDesign(published.design);
              const texts = { key: "1".repeat(32), values: new Map([["more", written]]) };
              const record = { a: "no", b: null };
              return bodyOf({ published, design }, { key: "0".repeat(32), record, texts });
            }""",
            written,
        )
        lengths.add(len(body.encode()))
    assert len(lengths) == 1
