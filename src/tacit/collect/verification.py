"""Compare the page that a server sends with the page of this version of tacit."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from html.parser import HTMLParser
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from tacit.collect import http
from tacit.collect.page import BASE, FILES, HTML, integrity, manifest
from tacit.errors import ServiceError, TacitError
from tacit.survey import Published
from tacit.survey.disclosure_bound import understates
from tacit.survey.published import SLUG_LETTERS

_ADDRESS = re.compile(
    rf"(https?://[^/?#]+(?:/[^?#]*)?/s/)([0-9a-f]{{{SLUG_LETTERS}}})/?", re.IGNORECASE
)
_SURVEY = "survey.json"
_SECONDS = 30
_MOST_BYTES = 50 << 20
#: Where the page sends something: an answer, and the token of a link.
_POSTED = ("responses", "link")
_PRINTABLE = r"[ -~]{0,200}"
#: Headers that proxies and caches add, each with the values that it may have. With these a
#: browser sends nothing to anybody, loads and stores nothing, and does not know its visitor again.
_OF_PROXIES = {
    "age": r"\d{1,10}",
    "connection": "keep-alive|close",
    "date": r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT",
    "keep-alive": r"timeout=\d+(, ?max=\d+)?",
    "server": _PRINTABLE,
    "strict-transport-security": r"max-age=\d+(; ?includeSubDomains)?(; ?preload)?",
    "vary": "accept-encoding",
    "via": _PRINTABLE,
}
_PROTECTIVE = {name.decode(): value.decode() for name, value in http.PROTECTION}
#: Headers of ours besides the protective ones; with a retry, a server that is busy answers.
_OF_FILES = ("content-type", "content-length", "cache-control", "etag", "retry-after")
ALLOWED_HEADERS = sorted([*_PROTECTIVE, *_OF_FILES, *_OF_PROXIES])


@dataclass(frozen=True)
class Finding:
    """What was found of one file, header or reference."""

    name: str
    right: bool
    told: str


class _Received(NamedTuple):
    status: int
    headers: Message
    body: bytes


def verify(address: str) -> list[Finding]:
    """Fetch what a survey's page loads, with all headers; what is right and what is not.

    The page also sends answers and tokens of links: empty ones, which are refused and not stored,
    show what comes back.
    """
    url, slug = _split(address)
    files = {name: _fetch(urljoin(url, BASE + name)) for name in manifest() if name != HTML}
    page, survey = _fetch(url), _fetch(urljoin(url, _SURVEY))
    refusals = {name: _fetch(urljoin(url, name), b"{}") for name in _POSTED}
    files[HTML] = page
    findings = [
        _finding(name, _difference(files[name], expected), "as released")
        for name, expected in manifest().items()
    ]
    findings += [*_headers({**files, _SURVEY: survey, **refusals}), *_strangers(page.body)]
    findings.append(_finding(_SURVEY, _survey_problem(survey, slug), "as published"))
    for name, received in refusals.items():
        refused = _is_expected(name, received.status)
        problem = None if refused else f"status {received.status} for what is empty"
        findings.append(_finding(name, problem, "refuses what is empty"))
    return findings


def _split(address: str) -> tuple[str, str]:
    """The address of the page, without what follows it, and its slug."""
    match = _ADDRESS.fullmatch(urlsplit(address)._replace(query="", fragment="").geturl())
    if match is None:
        like = "https://HOST/s/0123456789abcdef/"
        raise ServiceError(f"{address}: not the address of a survey; it looks like {like}")
    return f"{match[1]}{match[2]}/", match[2]


def _finding(name: str, problem: str | None, right: str) -> Finding:
    return Finding(name, problem is None, problem or right)


def _difference(received: _Received, expected: bytes) -> str | None:
    """How a file differs from the released one; None if it does not."""
    if received.status != 200:
        return f"not sent: status {received.status}"
    return None if received.body == expected else f"differs: {integrity(received.body)}"


def _headers(received: Mapping[str, _Received]) -> Iterator[Finding]:
    """A finding for each protective header and for each header that is wrong in some file."""
    problems: dict[str, dict[str, list[str]]] = {name: {} for name in _PROTECTIVE}
    released = manifest()
    for file, answer in received.items():
        for name, problem in _header_problems(file, answer, released.get(file, answer.body)):
            problems.setdefault(name, {}).setdefault(problem, []).append(file)
    for name, files_by_problem in problems.items():
        text = "; ".join(f"{what}: {', '.join(file)}" for what, file in files_by_problem.items())
        yield _finding(f"header {name}", text or None, "as released")


def _header_problems(file: str, answer: _Received, released: bytes) -> Iterator[tuple[str, str]]:
    """What is wrong with the headers of one file: pairs of a name and a problem."""
    if answer.headers.defects or answer.headers.get_payload():
        yield "lines", "not all of them are headers"
    values: dict[str, list[str]] = {}
    for name, value in answer.headers.items():
        values.setdefault(name.lower(), []).append(value)
    required = dict(_PROTECTIVE)
    if _is_expected(file, answer.status):
        others = (http.PROBLEM, http.NO_STORE) if file in _POSTED else (http.JSON, http.IMMUTABLE)
        kind, (_, cache) = (FILES[file], http.REVALIDATED) if file in FILES else others
        required |= {"content-type": kind, "cache-control": cache.decode()}
        required["content-length"] = str(len(answer.body))
    optional = dict.fromkeys(_OF_FILES, _PRINTABLE) | _OF_PROXIES
    optional["etag"] = f"(W/)?{re.escape(http.entity_tag(released))}"
    for name in sorted({*required, *values}):
        problem = _value_problem(values.get(name, []), required.get(name), optional.get(name))
        if problem is not None:
            yield name, problem


def _value_problem(values: list[str], exact: str | None, pattern: str | None) -> str | None:
    """What is wrong with a header that must have one value, or may have one of a pattern."""
    if exact is None and pattern is None:
        return "not allowed"
    if len(values) != 1:
        return "sent more than once" if values else f"missing, must be {exact!r}"
    (value,) = values
    if exact is not None:
        return None if value == exact else f"{value!r} instead of {exact!r}"
    fits = re.fullmatch(pattern or "", value, re.IGNORECASE)
    return None if fits else f"{value!r} does not match {pattern!r}"


def _is_expected(file: str, status: int) -> bool:
    """Whether a file was sent, or what was sent to the server was refused."""
    return 400 <= status < 500 if file in _POSTED else status == 200


def _strangers(html: bytes) -> Iterator[Finding]:
    """What the HTML refers to or runs beside the page's own files."""
    known = {BASE + name for name in manifest()}
    parser = _References()
    parser.feed(html.decode(errors="replace"))
    for reference in sorted(set(parser.found) - known):
        yield Finding(reference, False, "not part of the page")


class _References(HTMLParser):
    """Everything that an HTML page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loaded = [given.get(name) for name in ("src", "href", "srcset", "data")]
        self.found += [value for value in loaded if value]
        if tag == "script" and not given.get("src") and given.get("type") != "importmap":
            self.found.append("an inline script")


def _survey_problem(received: _Received, slug: str) -> str | None:
    """What is wrong with the published survey; None if nothing is."""
    if received.status != 200:
        return f"not sent: status {received.status}"
    try:
        published = Published.from_json(received.body.decode())
    except (TacitError, UnicodeDecodeError) as error:
        return str(error).splitlines()[0]
    if not published.survey.fingerprint.startswith(slug):
        return f"another survey: {published.survey.fingerprint}"
    waves = published.survey.waves or 1
    if understates(published.disclosure_bound, published.design, waves):
        return "disclosure_bound says less than answers may reveal"
    return None


class _EveryStatus(urllib.request.HTTPErrorProcessor):
    """Every status is a finding, also a redirect: the page would not load another address."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


_OPENER = urllib.request.build_opener(_EveryStatus)


def _fetch(url: str, sent: bytes | None = None) -> _Received:
    """What a server answers to GET, or to what is sent to it.

    Every status is a finding, no answer an error.
    """
    headers = {"Accept": "text/html,*/*;q=0.8"} if sent is None else {"Content-Type": http.JSON}
    try:
        with _OPENER.open(urllib.request.Request(url, sent, headers), timeout=_SECONDS) as answer:
            return _Received(answer.status, answer.headers, answer.read(_MOST_BYTES))
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise ServiceError(f"{url} cannot be fetched: {reason}") from None
