"""Uploads that no browser sends: their work is bounded, and only for those with the right."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tacit.errors import DataError
from tacit.studio import draft_pages
from tacit.studio.accounts import Role
from tacit.studio.draft_pages import LONGEST_UPLOAD, MOST_PARTS, uploaded
from tests.support.drafts import draft_in
from tests.support.studio import Browser, Tried

KIND = "multipart/form-data; boundary=b0"
SIZE = 50_000


def nested(depth: int) -> bytes:
    """Each part contains the next one."""
    opened = b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n"
    return b"".join(opened % (level, level + 1) for level in range(depth))


def part(headers: bytes, content: bytes = b"") -> bytes:
    return b"--b0\r\n" + headers + b"\r\n\r\n" + content + b"\r\n"


FIELD = b'Content-Disposition: form-data; name="a"'
FILE = FIELD + b'; filename="f"'
VALID = part(FIELD, b"text") + part(FILE, bytes(SIZE)) + b"--b0--\r\n"
#: Bodies of about so many bytes.
HOSTILE: dict[str, Callable[[int], bytes]] = {
    "nested parts": lambda size: nested(size // 100) + b"x\r\n" * (size // 6),
    "many parts": lambda size: part(FIELD) * (size // len(part(FIELD))),
    "many files": lambda size: part(FILE) * (size // len(part(FILE))),
    "many headers": lambda size: part(b"a: b\r\n" * (size // 6)),
    "one long header": lambda size: part(b"a: " + b"x" * size),
    "one long name of a header": lambda size: part(b"x" * size),
    "many parameters": lambda size: part(FIELD + b"; a=b" * (size // 5)),
    "quotes that never end": lambda size: part(FIELD + b';"\\' * (size // 3)),
    "spaces": lambda size: part(b"a:" + b" " * size),
    "almost boundaries": lambda size: part(FIELD, b"\r\n--b1" * (size // 6)),
    "boundaries without an end": lambda size: part(FIELD, b"\r\n--b0-x" * (size // 8)),
    "empty lines": lambda size: b"\r\n" * (size // 2),
    "nothing but dashes": lambda size: b"-" * size,
}


def work(body: bytes) -> tuple[int, str | None]:
    """How many functions are called to parse a body, and what is said of it."""
    calls, said = 0, None

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        uploaded(KIND, body)
    except DataError as error:
        said = str(error)
    finally:
        sys.setprofile(None)
    return calls, said


@pytest.mark.parametrize("shape", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_work_for_an_upload_grows_no_faster_than_its_bytes(
    shape: Callable[[int], bytes],
) -> None:
    small, large = shape(SIZE), shape(4 * SIZE)
    assert work(small)[0] <= len(small)
    assert work(large)[0] <= 4 * work(small)[0]


def test_an_upload_with_too_many_parts_is_refused_at_once() -> None:
    for most, says in ((MOST_PARTS, "no end"), (MOST_PARTS + 1, "more than 100 parts")):
        calls, said = work(part(FIELD) * most)
        assert says in str(said)
        assert work(part(FIELD) * 10 * most)[0] <= 2 * calls


@pytest.mark.parametrize("depth", [1, 2000])
def test_nested_parts_are_a_wrong_request_and_no_fault(
    depth: int, studio: Tried, root: Browser
) -> None:
    path = f"/drafts/{draft_in(studio, root)}/logo"
    answer = root.post(path, content=nested(depth), headers={"content-type": KIND})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "kind",
    ["multipart/form-data", f"{KIND}{'x' * 300}", "multipart/form-data; boundary=", "text/plain"],
)
def test_an_upload_without_a_usable_boundary_is_a_wrong_request(kind: str) -> None:
    with pytest.raises(DataError):
        uploaded(kind, VALID)


@pytest.mark.parametrize("cut", [3, 7, 9, len(VALID) // 2])
def test_an_upload_that_ends_early_is_a_wrong_request(cut: int) -> None:
    with pytest.raises(DataError):
        uploaded(KIND, VALID[:-cut])


def asked(app: Any, path: str, headers: dict[str, str]) -> tuple[int, int]:
    """Send the head of an upload: the status, and how often its body was asked for."""
    status, asked_for = 0, 0

    async def receive() -> dict[str, Any]:
        nonlocal asked_for
        asked_for += 1
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = dict(type="http", http_version="1.1", method="POST", path=path, query_string=b"")
    whole = scope | dict(headers=raw, scheme="http", root_path="", client=("127.0.0.1", 1))
    asyncio.run(app({**whole, "server": ("testserver", 80)}, receive, send))
    return status, asked_for


VISITORS = {"anonymous": 401, "viewer": 404, "other site": 403, "owner": 400}


@pytest.fixture(params=VISITORS)
def visitor(request: pytest.FixtureRequest, studio: Tried) -> tuple[str, Browser, str]:
    """Somebody, the browser, and the path of a draft of the owner."""
    owner = studio.client(studio.account("owner", Role.OWNER))
    path = f"/drafts/{draft_in(studio, owner)}/logo"
    browser = {
        "anonymous": studio.client(),
        "viewer": studio.client(studio.account("viewer", Role.VIEWER)),
    }.get(request.param, owner)
    if request.param == "other site":
        browser.headers["sec-fetch-site"] = "cross-site"
    browser.headers["content-type"] = KIND
    return request.param, browser, path


def test_an_upload_is_parsed_only_for_those_who_may_send_it(
    visitor: tuple[str, Browser, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, browser, path = visitor
    parsed: list[int] = []
    monkeypatch.setattr(
        draft_pages, "uploaded", lambda kind, body: parsed.append(len(body)) or uploaded(kind, body)
    )
    assert browser.post(path, content=nested(10)).status_code == VISITORS[name]
    assert parsed == ([len(nested(10))] if name == "owner" else [])


def test_a_large_upload_is_not_even_read(visitor: tuple[str, Browser, str]) -> None:
    name, browser, path = visitor
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = browser.headers | {"cookie": cookies, "content-length": str(LONGEST_UPLOAD + 1)}
    assert asked(browser.app, path, headers) == (413 if name == "owner" else VISITORS[name], 0)
