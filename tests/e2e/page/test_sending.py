"""What is sent is sent again byte for byte, with patience; every refusal is a clear sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Route

from tacit.collect.http import PROBLEMS
from tacit.collect.page import FILES, content
from tests.support.browser import Served, device, previewing, watched
from tests.support.page_surveys import FULL, GERMAN, INVITED, OPEN
from tests.support.respondent import Respondent, answered

LANGUAGES = ("en", "de", "fr", "es")
DONE = "Stored. Thank you!"


def test_the_page_works_where_nothing_can_be_kept(context: BrowserContext, served: Served) -> None:
    context.add_init_script(
        "const get = () => { throw new DOMException('blocked', 'SecurityError'); };"
        "for (const name of ['localStorage', 'sessionStorage']) "
        "Object.defineProperty(window, name, { get });"
    )
    page = context.new_page()
    before = served.stored(OPEN)
    person = answered(page, served[OPEN])
    person.presses("Send")
    person.reaches(DONE)
    assert served.stored(OPEN) == before + 1


def test_a_link_works_once_and_leaves_the_address(
    page: Page, served: Served, browser: Browser
) -> None:
    address = served.link(INVITED)
    link = address.partition("#")[2]
    before = served.stored(INVITED)
    seen = watched(page)
    assert Respondent(page).opens(served[INVITED]) == "You need your personal link"
    page.goto("about:blank")
    person = answered(page, address)
    assert page.url == served[INVITED]
    person.presses("Send")
    person.reaches(DONE)
    assert json.loads(seen.bodies[0])["token"] == link
    assert not [address for address in seen.addresses if link in address]
    assert not [r for r in seen.requests if link in json.dumps(r.headers)]
    page.reload()
    person.reaches("You need your personal link")
    # Another device with the same link, whose check did not get through.
    other = device(browser)
    tab = other.new_page()
    tab.route("**/link", lambda route: route.abort())
    stranger = answered(tab, address)
    stranger.presses("Send")
    stranger.reaches("This link cannot be used")
    other.close()
    assert served.stored(INVITED) == before + 1


def test_a_link_survives_a_reload_before_it_is_used(page: Page, served: Served) -> None:
    person = Respondent(page)
    person.opens(served.link(INVITED))
    person.reloads()
    person.reaches("Invited")


def test_a_survey_that_is_full_says_so(page: Page, browser: Browser, served: Served) -> None:
    late = device(browser)
    latecomer = answered(late.new_page(), served[FULL])
    person = answered(page, served[FULL])
    person.presses("Send")
    person.reaches(DONE)
    latecomer.presses("Send")
    latecomer.reaches("The survey is complete")
    late.close()


def failing(page: Page, answers: list[str | tuple[int, str, str]]) -> list[str | None]:
    """Let submissions fail in these ways, one after the other, and then get through."""
    bodies: list[str | None] = []

    def handle(route: Route) -> None:
        bodies.append(route.request.post_data)
        match answers.pop(0) if answers else None:
            case None:
                route.continue_()
            case str():
                route.abort()
            case (status, problem, wait):
                route.fulfill(
                    status=status,
                    content_type="application/problem+json",
                    headers={"Retry-After": wait} if wait else {},
                    body=json.dumps({"type": problem, "status": status}),
                )

    page.route("**/responses", handle)
    return bodies


def test_a_failed_submission_is_sent_again_byte_for_byte(page: Page, served: Served) -> None:
    before = served.stored(OPEN)
    bodies = failing(page, ["offline", (503, "busy", "1"), (429, "too-many", "1")])
    person = answered(page, served[OPEN])
    page.clock.install()
    person.presses("Send")
    for told in ("Is this device online?", "Very many people", "from your network"):
        page.get_by_text(told).wait_for()
        assert "tries again in" in page.locator("form").inner_text()
        page.clock.fast_forward(5_000)
    person.reaches(DONE)
    assert len(bodies) == 4
    assert len(set(bodies)) == 1
    assert served.stored(OPEN) == before + 1


def test_only_the_servers_own_word_counts_as_stored(page: Page, served: Served) -> None:
    """A network that wants a login first answers anything with 200 and a page."""
    bodies: list[str | None] = []

    def portal(route: Route) -> None:
        bodies.append(route.request.post_data)
        route.fulfill(status=200, content_type="text/html", body="<h1>Please log in</h1>")

    page.route("**/responses", portal)
    person = answered(page, served[OPEN])
    page.clock.install()
    person.presses("Send")
    page.get_by_text("Is this device online?").wait_for()
    page.unroute("**/responses")
    page.clock.fast_forward(2_000)
    person.reaches(DONE)
    assert len(bodies) == 1


def test_nobody_is_kept_waiting_for_hours(page: Page, served: Served) -> None:
    failing(page, [(503, "unavailable", "7200")])
    person = answered(page, served[OPEN])
    person.presses("Send")
    person.reaches("Not stored yet")


def test_the_time_that_the_server_asks_for_is_kept(page: Page, served: Served) -> None:
    bodies = failing(page, [(503, "unavailable", "30")])
    person = answered(page, served[OPEN])
    page.clock.install()
    person.presses("Send")
    page.get_by_text("tries again in 30 seconds").wait_for()
    page.clock.fast_forward(29_000)
    assert len(bodies) == 1
    page.clock.fast_forward(2_000)
    person.reaches(DONE)


def test_patience_ends_and_what_waits_is_sent_later(page: Page, served: Served) -> None:
    bodies = failing(page, [(503, "unavailable", "")] * 8)
    person = answered(page, served[OPEN])
    page.clock.install()
    person.presses("Send")
    for number in range(1, 8):
        wait_until(page, bodies, number)
        page.clock.fast_forward(121_000)
    person.reaches("Not stored yet")
    person.reloads()
    person.reaches("Your answers have not arrived yet")
    person.presses("Send the same again")
    person.reaches(DONE)
    assert len(bodies) == 9
    assert len(set(bodies)) == 1


def wait_until(page: Page, bodies: list[str | None], number: int) -> None:
    """So many submissions have failed, and the page says that it waits."""
    while len(bodies) < number:
        page.wait_for_timeout(20)
    page.get_by_text("tries again in").wait_for()


def test_every_problem_is_a_sentence_in_the_respondents_language(
    page: Page, served: Served
) -> None:
    """In German here; that all languages have the same texts is tested below."""
    words = json.loads(content("words/de.json"))
    page.goto(served[GERMAN])
    page.get_by_role("button", name="Beginnen").click()
    page.get_by_role("radio", name="Ja").check()
    page.get_by_role("button", name="Weiter").click()
    button = "Senden"
    for problem in PROBLEMS:
        failing(page, [(problem.status, problem.name, "9")])
        page.get_by_role("button", name=button, exact=True).click()
        wanted = words[told_by(problem.name)]
        page.locator("form").get_by_text(wanted, exact=False).first.wait_for()
        page.unroute("**/responses")
        page.reload()
        page.get_by_role("button", name=words["mine"], exact=True).click()
        button = "Dasselbe noch einmal senden"


def told_by(name: str) -> str:
    """The words that tell a problem: to wait, to go, or that the program is to blame."""
    if name == "fault":
        return "waiting.unavailable"
    if name in ("too-many", "busy", "unavailable", "slow"):
        return f"waiting.{name}"
    program = ("malformed", "too-large", "wrong-type", "not-allowed-value", "method")
    return "program.text" if name in program else f"{name}.text"


def test_every_language_has_every_text() -> None:
    every = {language: json.loads(content(f"words/{language}.json")) for language in LANGUAGES}
    for words in every.values():
        assert set(words) == set(every["en"])
        for key, text in words.items():
            forms = text.values() if isinstance(text, dict) else [text]
            english = every["en"][key]
            sample = english["other"] if isinstance(english, dict) else english
            for form in forms:
                assert places(form) <= places(sample), key


def places(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_the_files_of_the_page_are_in_the_package() -> None:
    folder = Path(__file__).parents[3] / "src" / "tacit" / "collect" / "page"
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there == set(FILES)
    assert all(content(name) for name in FILES)


def test_a_preview_says_so_needs_no_link_and_keeps_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    with previewing(INVITED, tmp_path) as address:
        context = device(browser)
        page = context.new_page()
        person = answered(page, address)
        assert "Preview: nothing is stored" in page.locator("body").inner_text()
        person.presses("Send")
        person.reaches(DONE)
        assert page.evaluate("localStorage.length") == 0
        page.reload()
        person.reaches("Invited")
        context.close()
