"""A page that is not the released one: the browser does not run it, and every check reports it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

import tacit
from tacit.collect.page import FILES, HTML, integrity, manifest
from tacit.collect.verification import verify
from tacit.errors import ServiceError
from tests.support.browser import PATIENCE, Served, device, serving, watched
from tests.support.commands import Ran
from tests.support.page_surveys import OPEN, TEAM, TEAM_OPEN
from tests.support.respondent import Respondent
from tests.support.tampering import LEAKS, Change, answering, leaking, tampering

SCRIPTS = [name for name in FILES if name.endswith(".js")]
#: Files that read or send answers. In a browser the others are changed with --complete only; the
#: command is tried with every one.
READING = {"controls.js", "disguise.js", "page.js", "questions.js", "send.js", "words/en.json"}
TOLD = "a file of this page was changed"
#: The page says so after five seconds without a start; tests need not wait.
AT_ONCE = "document.getAnimations().forEach((each) => each.finish())"
PLACE = f"/s/{OPEN.slug}/"
DOCS = Path(__file__).parents[3] / "docs" / "respondents-page.md"


def in_a_browser(names: Iterable[str]) -> list[Any]:
    complete = pytest.mark.complete
    return [pytest.param(name, marks=() if name in READING else complete) for name in names]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving([OPEN, TEAM_OPEN, TEAM], tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """On a device of its own: no file of another server is in its cache."""
    return context.new_page()


@pytest.fixture(scope="module")
def dishonest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a server whose program was changed: its hashes fit its files."""
    folder = tmp_path_factory.mktemp("program")
    shutil.copytree(Path(tacit.__file__).parent, folder / "tacit")
    with (folder / "tacit/collect/page/questions.js").open("ab") as file:
        file.write(LEAKS["js"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        with serving([OPEN], tmp_path_factory.mktemp("dishonest")) as found:
            yield found.origin


# The browser ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", in_a_browser([*SCRIPTS, "words/en.json"]))
def test_a_file_that_was_changed_on_the_way_does_not_run(
    browser: Browser, served: Served, name: str
) -> None:
    with tampering(served.origin, leaking(name)) as origin:
        context = device(browser)
        page = context.new_page()
        seen = watched(page)
        page.goto(origin + PLACE)
        for _ in range(PATIENCE // 20):
            if any("integrity" in told for told in seen.complaints):
                break
            page.wait_for_timeout(20)
        else:
            pytest.fail(f"the browser does not complain: {seen.complaints}")
        page.evaluate(AT_ONCE)
        page.get_by_text(TOLD).wait_for()
        assert page.evaluate("window.leaked") is None
        assert page.locator("h1").count() == 0, "nothing is asked"
        context.close()


def test_a_style_sheet_that_was_changed_on_the_way_is_not_used(page: Page, served: Served) -> None:
    with tampering(served.origin, leaking("style.css")) as origin:
        seen = watched(page)
        Respondent(page).opens(origin + PLACE)
        assert any("integrity" in told and "style.css" in told for told in seen.complaints)
        (left,) = page.evaluate("[...document.styleSheets].map((sheet) => sheet.href)")
        assert left.endswith("/tokens.css")


def test_the_page_that_was_released_runs(page: Page, served: Served) -> None:
    """Negative control: the same way to the same page, nothing changed."""
    with tampering(served.origin, lambda path, body, headers: body) as origin:
        seen = watched(page)
        assert Respondent(page).opens(origin + PLACE) == "Open"
        assert page.get_by_text(TOLD).count() == 0
        assert page.evaluate("document.styleSheets.length") == 2
        assert seen.complaints == []


# tacit page verify ----------------------------------------------------------------------------


def wrong(address: str) -> set[str]:
    """What `tacit page verify` finds wrong."""
    return {finding.name for finding in verify(address) if not finding.right}


@pytest.mark.parametrize("name", FILES)
def test_a_leak_in_any_file_is_found(served: Served, name: str) -> None:
    with tampering(served.origin, leaking(name)) as origin:
        expected = {HTML, "../../page/leak.js"} if name == HTML else {name}
        assert wrong(origin + PLACE) == expected


def without_policy(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    headers[:] = [(k, v) for k, v in headers if k != "content-security-policy"]
    return body


def with_cookie(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    headers.append(("Set-Cookie", "id=7"))
    return body


def with_cookie_of_the_style(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    return with_cookie(path, body, headers) if path.endswith("style.css") else body


def reported(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    if path.endswith("survey.json"):
        headers.append(("NEL", '{"report_to": "other", "max_age": 86400, "success_fraction": 1}'))
    return body


def inline(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    return body.replace(b"<body>", b"<body><script>window.leaked = true</script>")


def other_rules(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    return body.replace(b'"3/4"', b'"1/1"') if path.endswith("survey.json") else body


def other_survey(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    return TEAM_OPEN.to_json().encode() if path.endswith("survey.json") else body


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (without_policy, {"header content-security-policy"}),
        (with_cookie, {"header set-cookie"}),
        (with_cookie_of_the_style, {"header set-cookie"}),
        (reported, {"header nel"}),
        (inline, {HTML, "an inline script"}),
        (other_rules, {"survey.json", "header etag"}),
        (other_survey, {"survey.json", "header etag"}),
    ],
)
def test_what_surrounds_the_files_is_checked_too(
    served: Served, change: Change, expected: set[str]
) -> None:
    with tampering(served.origin, change) as origin:
        assert wrong(origin + PLACE) == expected


#: What a server may add to have visits reported, more told, something else loaded or kept; and
#: what no server of ours sends. The first ones were accepted once.
ADDED = {
    "Content-Security-Policy-Report-Only": "default-src 'none'; report-uri https://third.example",
    "Clear-Site-Data": '"storage"',
    "Speculation-Rules": '"https://third.example/rules.json"',
    "Accept-CH": "Sec-CH-UA-Model, Sec-CH-UA-Full-Version-List",
    "Alt-Svc": 'h3="third.example:443"; ma=86400',
    "Reporting-Endpoints": 'default="https://third.example/"',
    "Report-To": '{"endpoints": [{"url": "https://third.example/"}], "max_age": 86400}',
    "NEL": '{"report_to": "default", "max_age": 86400, "success_fraction": 1}',
    "Link": "<https://third.example/>; rel=preconnect",
    "Refresh": "5; url=https://third.example/",
    "Set-Cookie": "id=7",
    "Service-Worker-Allowed": "/",
    "SourceMap": "https://third.example/page.js.map",
    "X-SourceMap": "https://third.example/page.js.map",
    "Critical-CH": "Sec-CH-UA-Model",
    "Supports-Loading-Mode": "credentialed-prerender",
    "Document-Policy": "js-profiling",
    "Origin-Agent-Cluster": "?0",
    "Access-Control-Allow-Origin": "*",
    "Timing-Allow-Origin": "*",
    "Server-Timing": "visitor;desc=7",
    "Content-Location": "https://third.example/",
    "Content-Encoding": "identity",
    "Last-Modified": "Wed, 18 Nov 2026 03:00:07 GMT",
    "Transfer-Encoding": "identity",
    "Trailer": "Clear-Site-Data",
    "Use-As-Dictionary": 'match="/*"',
    "X-DNS-Prefetch-Control": "on",
    "X-Whatever": "7",
}
#: Sent by honest servers too, with other values.
CHANGED = {
    "Vary": "Cookie",
    "Strict-Transport-Security": "max-age=0; id=7",
    "Age": "-1",
    "Keep-Alive": "visitor=7",
    "Connection": "upgrade",
    "Server": "x\r\n this goes on",
    "Date": "x",
}
#: As nginx and Caddy, with the examples of the documentation, and caches send them.
OF_PROXIES = {
    "Server": "nginx/1.26.3 (Debian)",
    "Via": "1.1 Caddy",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    "Vary": "Accept-Encoding",
    "Connection": "keep-alive",
    "Keep-Alive": "timeout=5, max=100",
    "Age": "7",
}
#: Where a header may be: the page, a file of it, the survey, and what answers a submission.
PLACES = ("/", "style.css", "words/fr.json", "survey.json", "responses", "link")


def with_headers(place: str, headers: Mapping[str, str]) -> Change:
    def change(path: str, body: bytes, told: list[tuple[str, str]]) -> bytes:
        if path.endswith(place):
            told.extend(headers.items())
        return body

    return change


@pytest.mark.parametrize(("name", "place"), [*zip([*ADDED, *CHANGED], cycle(PLACES), strict=False)])
def test_a_header_that_we_do_not_send_is_found_and_named(
    served: Served, command: Callable[..., Ran], name: str, place: str
) -> None:
    given = {name: (ADDED | CHANGED)[name]}
    with tampering(served.origin, with_headers(place, given)) as origin:
        ran = command("verify", origin + PLACE, "--json")
    assert ran.status == 1
    content = json.loads(ran.out)
    findings = [one for one in content["findings"] if not one["right"]]
    assert [one["name"] for one in findings] == [f"header {name.lower()}"]
    assert (HTML if place == "/" else place) in findings[0]["told"]
    assert findings[0]["told"].startswith("not allowed") == (name in ADDED)
    assert (name.lower() in content["allowed_headers"]) == (name in CHANGED)


@pytest.mark.parametrize("place", PLACES)
def test_headers_that_we_do_not_send_are_found_wherever_they_are(
    served: Served, place: str
) -> None:
    with tampering(served.origin, with_headers(place, ADDED)) as origin:
        assert {f"header {name.lower()}" for name in ADDED} <= wrong(origin + PLACE)


@pytest.mark.parametrize("line", ["no header", "Clear-Site-Data : *", ": x", "\x00: x"])
def test_no_header_hides_behind_a_line_that_is_none(served: Served, line: str) -> None:
    """Browsers skip such a line and use those after it."""
    broken = with_headers("/", {"Via": f"x\r\n{line}\r\nClear-Site-Data: *"})
    with tampering(served.origin, broken) as origin:
        assert wrong(origin + PLACE) != set()


def test_what_honest_proxies_add_is_allowed(served: Served) -> None:
    """Negative control: the same ways, with headers that tell a browser nothing to do."""
    for place in PLACES:
        with tampering(served.origin, with_headers(place, OF_PROXIES)) as origin:
            assert wrong(origin + PLACE) == set()


@pytest.mark.parametrize("name", ["content-type", "cache-control", "etag", "referrer-policy"])
@pytest.mark.parametrize("place", PLACES)
def test_a_header_of_ours_with_another_value_or_twice_is_found(
    served: Served, place: str, name: str
) -> None:
    def other(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
        if path.endswith(place):
            headers[:] = [(k, "text/plain" if k == name else v) for k, v in headers]
        return body

    def twice(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
        if path.endswith(place):
            headers += [(k, v) for k, v in headers if k == name]
        return body

    if (place, name) in (("responses", "etag"), ("link", "etag")):
        return  # a refusal has none
    for change in (other, twice):
        with tampering(served.origin, change) as origin:
            assert wrong(origin + PLACE) == {f"header {name}"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("status", [103, 206, 302, 500])
def test_another_status_is_found(served: Served, place: str, status: int) -> None:
    change = with_headers(place, {})
    with tampering(served.origin, change, {place: status}) as origin:
        assert (HTML if place == "/" else place) in wrong(origin + PLACE)


def test_every_address_that_the_page_asks_for_is_checked(served: Served) -> None:
    """Those of a survey by invitation, which also checks links."""
    asked: set[str] = set()
    place = f"/s/{TEAM.slug}/"

    def note(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
        asked.add(path.removeprefix(place))
        return body

    with tampering(served.origin, note) as origin:
        assert wrong(origin + place) == set()
    with tampering(served.origin, with_headers("/link", ADDED)) as origin:
        assert {f"header {name.lower()}" for name in ADDED} <= wrong(origin + place)
    scripts = "".join(manifest()[name].decode() for name in SCRIPTS)
    fetched = set(re.findall(r'(?:fetch|post)\(\s*"([^"]+)"', scripts))
    assert {"survey.json", "responses", "link"} <= fetched
    assert fetched | {"", *(f"/page/{name}" for name in FILES if name != HTML)} == asked
    assert served.stored(TEAM) == 0, "nothing was stored"


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 101]
)
def test_what_is_no_answer_is_an_error(command: Callable[..., Ran], answer: bytes) -> None:
    with answering(answer) as origin:
        ran = command("verify", origin + PLACE)
    assert (ran.status, "cannot be fetched" in ran.err) == (2, True)


def test_a_shortened_address_is_not_taken_for_that_of_a_survey(served: Served) -> None:
    """If any number of letters counted, another survey could be made that begins with them."""
    with pytest.raises(ServiceError, match="not the address of a survey"):
        verify(served.origin + PLACE[:6] + "/")


@pytest.fixture
def command(tacit_: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """`tacit page` on a wide screen."""
    monkeypatch.setenv("COLUMNS", "160")
    return partial(tacit_, "page")


def test_the_command_says_what_differs_by_its_exit_status(
    command: Callable[..., Ran], served: Served
) -> None:
    right = command("verify", served[OPEN] + "#token")
    assert (right.status, right.err) == (0, "")
    assert right.out.count(" ok ") == len(verify(served[OPEN]))
    assert "WRONG" not in right.out
    with tampering(served.origin, leaking("page.js")) as origin:
        line = [sys.executable, "-m", "tacit", "page", "verify", origin + PLACE]
        changed = subprocess.run(line, capture_output=True, text=True, check=False)
        assert changed.returncode == 1
        assert re.search(r"page\.js +WRONG +differs: sha256-", changed.stdout)
        assert "1 difference from the page" in changed.stdout
        found = json.loads(command("verify", origin + PLACE, "--json").out)
        assert not found["right"]
    gone = command("verify", origin + PLACE)
    assert gone.status == 2
    assert "cannot be fetched" in gone.err
    nowhere = command("verify", f"{served.origin}/s/{'0' * 16}/")
    assert nowhere.status == 1
    assert "not sent: status 404" in nowhere.out
    assert command("verify", "survey.example.org").status == 2


def test_the_manifest_names_what_is_served(command: Callable[..., Ran]) -> None:
    text, data = command("manifest").out, json.loads(command("manifest", "--json").out)
    assert set(data["files"]) == set(FILES)
    for name, hashes in data["files"].items():
        assert hashes["integrity"] == integrity(manifest()[name])
        assert f"{name} " in text
        assert hashes["integrity"] in text


# Without tacit --------------------------------------------------------------------------------


def printed(page: Page, origin: str) -> dict[str, str]:
    """What the check of the documentation prints, by file."""
    found = re.search(r"```js\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    check = re.sub(r"https://[^\"]+", origin + PLACE, found[1], count=1)
    lines: list[str] = []
    page.on("console", lambda told: lines.append(told.text))
    page.goto(f"{origin}/openapi.json")
    page.evaluate(f"async () => {{ {check} }}")
    hashes = dict(line.split(" ") for line in lines if re.fullmatch(r"\S+ sha256-\S+", line))
    hashes[HTML] = hashes.pop(origin + PLACE)
    return {name.removeprefix("../../page/"): found for name, found in hashes.items()}


RELEASED = {name: integrity(data) for name, data in manifest().items()}


def test_the_check_in_a_browser_finds_the_released_page(page: Page, served: Served) -> None:
    assert printed(page, served.origin) == RELEASED


@pytest.mark.parametrize("name", in_a_browser(FILES))
def test_the_check_in_a_browser_finds_a_leak_in_any_file(
    page: Page, served: Served, name: str
) -> None:
    with tampering(served.origin, leaking(name)) as origin:
        found = printed(page, origin)
        assert [file for file in RELEASED if found.get(file) != RELEASED[file]] == [name]


def test_a_program_that_was_changed_is_found_although_its_hashes_fit(
    page: Page, dishonest: str
) -> None:
    """The browser cannot know better: the checks against the released manifest must find it."""
    Respondent(page).opens(dishonest + PLACE)
    assert page.evaluate("window.leaked") is True
    named = re.search(r'questions\.js": "([^"]+)"', page.content())
    assert named is not None
    assert named[1] != RELEASED["questions.js"], "as one reads in the network tab"
    assert {HTML, "questions.js"} <= wrong(dishonest + PLACE)
    found = printed(page, dishonest)
    assert {file for file in RELEASED if found.get(file) != RELEASED[file]} == {
        HTML,
        "questions.js",
    }
