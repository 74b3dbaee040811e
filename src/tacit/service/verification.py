"""Compare the page that a server sends with the page of this version of tacit."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from tacit.errors import ServiceError, TacitError
from tacit.service.collect.http_responses import PROTECTION
from tacit.service.page import BASE, HTML, integrity, manifest
from tacit.survey import Published
from tacit.survey.disclosure_bound import understates
from tacit.survey.published import SLUG_LETTERS

_ADDRESS = re.compile(
    rf"(https?://[^/?#]+(?:/[^?#]*)?/s/)([0-9a-f]{{{SLUG_LETTERS}}})/?", re.IGNORECASE
)
_SURVEY = "survey.json"
_SECONDS = 30
_MOST_BYTES = 50 << 20
#: Headers by which a server could load, keep or show something else, or have visits reported.
_UNWANTED = ("set-cookie", "refresh", "link", "nel", "report-to", "reporting-endpoints")
_OUR_HEADERS = {"Accept": "text/html,*/*;q=0.8"}


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
    """Fetch a survey's page and all its files; what is right and what is not."""
    url, slug = _split(address)
    sent = {name: _fetch(urljoin(url, BASE + name)) for name in manifest() if name != HTML}
    page, survey = _fetch(url), _fetch(urljoin(url, _SURVEY))
    sent[HTML] = page
    found = [_compared(name, sent[name], expected) for name, expected in manifest().items()]
    found += [*_protection(page.headers), *_strangers(page.body)]
    return [*found, *_unwanted({HTML: page, _SURVEY: survey} | sent), _survey(survey, slug)]


def _split(address: str) -> tuple[str, str]:
    """The address of the page, without what follows it, and its slug."""
    found = _ADDRESS.fullmatch(urlsplit(address)._replace(query="", fragment="").geturl())
    if found is None:
        raise ServiceError(
            f"{address}: not the address of a survey; it looks like https://HOST/s/0123456789abcdef/"
        )
    return f"{found[1]}{found[2]}/", found[2]


def _compared(name: str, received: _Received, expected: bytes) -> Finding:
    if received.status != 200:
        return Finding(name, False, f"not sent: status {received.status}")
    if received.body != expected:
        return Finding(name, False, f"differs: {integrity(received.body)}")
    return Finding(name, True, "as released")


def _protection(headers: Message) -> Iterator[Finding]:
    """Each protective header exactly once and as it is here."""
    for raw, value in PROTECTION:
        name = raw.decode()
        sent = headers.get_all(name, [])
        right = sent == [value.decode()]
        yield Finding(f"header {name}", right, "as released" if right else f"differs: {sent}")


def _unwanted(sent: Mapping[str, _Received]) -> Iterator[Finding]:
    """Headers that undermine the page, whatever they come with."""
    for name in _UNWANTED:
        files = [file for file, received in sent.items() if name in received.headers]
        if files:
            yield Finding(f"header {name}", False, f"not part of the page: {', '.join(files)}")


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


def _survey(received: _Received, slug: str) -> Finding:
    if received.status != 200:
        return Finding(_SURVEY, False, f"not sent: status {received.status}")
    try:
        published = Published.from_json(received.body.decode())
    except (TacitError, UnicodeDecodeError) as error:
        return Finding(_SURVEY, False, str(error).splitlines()[0])
    if not published.survey.fingerprint.startswith(slug):
        return Finding(_SURVEY, False, f"another survey: {published.survey.fingerprint}")
    if understates(published.disclosure_bound, published.design):
        return Finding(_SURVEY, False, "disclosure_bound says less than answers may reveal")
    return Finding(_SURVEY, True, "as published")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is sent from another address is not what the page would load."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _fetch(url: str) -> _Received:
    """What a server sends; every status is a finding, no answer an error."""
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(urllib.request.Request(url, headers=_OUR_HEADERS), timeout=_SECONDS) as it:
            return _Received(it.status, it.headers, it.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            return _Received(error.code, error.headers, b"")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ServiceError(f"{url} cannot be fetched: {reason}") from None
