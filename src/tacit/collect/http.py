"""HTTP messages: responses with protective headers, problems (RFC 9457), reading requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from tacit.collect.page import import_map, integrity
from tacit.collect.store import Outcome

Header = tuple[bytes, bytes]

HTML = "text/html; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"
TEXT = "text/plain; charset=utf-8"

UNCHANGED = 304

#: The page loads only its own files, cannot be framed, and never turns text into markup. The only
#: inline script is the import map, which holds hashes and no code.
POLICY = (
    f"default-src 'none'; script-src 'self' '{integrity(import_map().encode())}'; "
    "style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PROTECTION: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), browsing-topics=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NO_STORE: Header = (b"cache-control", b"no-store")
#: For files that may change with the program: the browser asks each time, and gets what changed.
REVALIDATED: Header = (b"cache-control", b"no-cache")
#: For files that a fingerprint names: they never change.
IMMUTABLE: Header = (b"cache-control", b"public, max-age=31536000, immutable")
#: For responses that are sent before the whole request was read.
CLOSE: Header = (b"connection", b"close")
#: ASGI extension of our protocol: sends a whole response in one write; False if it cannot.
ONE_WRITE = "tacit.one_write"


@dataclass(frozen=True)
class HttpResponse:
    """Status, headers and body; also an ASGI application that sends them."""

    status: int
    kind: str
    body: bytes
    headers: tuple[Header, ...] = (NO_STORE,)

    @cached_property
    def whole(self) -> tuple[bytes, bytes]:
        """The bytes on the wire: the status line, and everything after the server's own headers."""
        line = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n".encode()
        return line, joined(self._all) + b"\r\n" + self.body

    @cached_property
    def _all(self) -> list[Header]:
        if self.status == UNCHANGED:  # type and length would describe the body that is not sent
            return [*self.headers, *PROTECTION]
        length = str(len(self.body)).encode()
        content = ((b"content-type", self.kind.encode()), (b"content-length", length))
        return [*content, *self.headers, *PROTECTION]

    def with_headers(self, *headers: Header) -> HttpResponse:
        """The same response with more headers."""
        return HttpResponse(self.status, self.kind, self.body, (*self.headers, *headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        send_at_once = scope.get("extensions", {}).get(ONE_WRITE)
        if send_at_once is None or not send_at_once(send, self):
            head = {"type": "http.response.start", "status": self.status, "headers": self._all}
            await send(head)
            await send({"type": "http.response.body", "body": self.body})


def entity_tag(body: bytes) -> str:
    """The ETag of a file: a hash of its content, so that it says nothing about a visitor."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


class File:
    """A file that does not change while the server runs, with an ETag."""

    def __init__(self, kind: str, body: bytes, cache: Header = REVALIDATED) -> None:
        self._tag = entity_tag(body).encode()
        caching = (cache, (b"etag", self._tag))
        self._whole = HttpResponse(200, kind, body, caching)
        self._unchanged = HttpResponse(UNCHANGED, "", b"", caching)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = header(scope, b"if-none-match") or b""
        tags = [tag.strip().removeprefix(b"W/") for tag in known.split(b",")]
        response = self._unchanged if self._tag in tags else self._whole
        await response(scope, receive, send)


def joined(headers: Iterable[Header]) -> bytes:
    """Headers as bytes on the wire."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)


@dataclass(frozen=True)
class ProblemType:
    """One kind of refusal; the client may try again after `wait` seconds.

    The `type` of a problem never changes; the respondent's page has a sentence for each. No
    response repeats anything from the request.
    """

    name: str
    status: int
    title: str
    wait: int | None = None
    headers: tuple[Header, ...] = ()

    @cached_property
    def response(self) -> HttpResponse:
        """The response without a detail."""
        return self.with_detail(None)

    def content(self, detail: str | None = None) -> dict[str, str | int]:
        """The problem details."""
        about = {} if detail is None else {"detail": detail}
        return {"type": self.name, "title": self.title, "status": self.status, **about}

    def with_detail(self, detail: str | None, wait: int | None = None) -> HttpResponse:
        """The response with what is wrong in this case."""
        seconds = wait if wait is not None else self.wait
        retry = () if seconds is None else ((b"retry-after", str(seconds).encode()),)
        body = json.dumps(self.content(detail), ensure_ascii=False).encode()
        return HttpResponse(self.status, PROBLEM, body, (NO_STORE, *self.headers, *retry))


class Refused(Exception):  # noqa: N818
    """A request is refused; `early` if its body was not read, so the connection is closed."""

    def __init__(
        self,
        problem: ProblemType,
        detail: str | None = None,
        wait: int | None = None,
        early: bool = False,
    ) -> None:
        super().__init__(problem.name)
        self.problem = problem
        response = problem.with_detail(detail, wait) if detail or wait else problem.response
        self.response = response.with_headers(CLOSE) if early else response


MALFORMED = ProblemType("malformed", 400, "The request is malformed.")
LINK_USED = ProblemType("link-used", 403, "This link has been used already, or was never issued.")
NOT_YET_OPEN = ProblemType("not-yet-open", 403, "This survey is not open yet.")
CLOSED = ProblemType("closed", 403, "This survey is closed.")
FULL = ProblemType("full", 403, "This survey has all the answers it needs.")
NOT_FOUND = ProblemType("not-found", 404, "Not found.")
METHOD = ProblemType("method", 405, "Method not allowed.")
SLOW = ProblemType("slow", 408, "The request took too long to arrive.", headers=(CLOSE,))
WRONG_FINGERPRINT = ProblemType(
    "wrong-fingerprint", 409, "The record was disguised with another design."
)
CHANGED = ProblemType("changed", 409, "A different record was sent with this key before.")
TOO_LARGE = ProblemType("too-large", 413, "The request is too large.", headers=(CLOSE,))
WRONG_TYPE = ProblemType("wrong-type", 415, "The body must be application/json in UTF-8.")
NOT_ALLOWED = ProblemType(
    "not-allowed-value", 422, "The record must have one category for each attribute."
)
TOO_MANY = ProblemType("too-many", 429, "Too many requests from this address.", wait=60)
LONG_HEAD = ProblemType("too-large", 431, "The head of the request is too large.", headers=(CLOSE,))
BUSY = ProblemType("busy", 503, "Too many answers are arriving; try again soon.", wait=2)
UNAVAILABLE = ProblemType("unavailable", 503, "Answers cannot be stored right now.", wait=10)
FAULT = ProblemType("fault", 500, "Internal error; nothing was acknowledged.", headers=(CLOSE,))

#: The problem for each outcome that is not an acknowledgement.
REFUSALS: Mapping[Outcome, ProblemType] = {
    Outcome.CHANGED: CHANGED,
    Outcome.UNKNOWN_TOKEN: LINK_USED,
    Outcome.NOT_YET_OPEN: NOT_YET_OPEN,
    Outcome.CLOSED: CLOSED,
    Outcome.FULL: FULL,
    Outcome.UNKNOWN_SURVEY: NOT_FOUND,
}
#: All problems, for the documentation and its tests.
PROBLEMS = (
    *(MALFORMED, LINK_USED, NOT_YET_OPEN, CLOSED, FULL, NOT_FOUND, METHOD, SLOW),
    *(WRONG_FINGERPRINT, CHANGED, TOO_LARGE, WRONG_TYPE, NOT_ALLOWED, TOO_MANY, LONG_HEAD),
    *(BUSY, UNAVAILABLE, FAULT),
)


# Reading requests: the head as RFC 9112 requires it, the body within a limit of bytes.


#: Digits of a length: more than any length that is accepted, fewer than Python refuses to parse.
_MOST_DIGITS = 19
#: The characters of an authority without a user (RFC 3986, 3.2).
_IN_HOST = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+;=:[]"
#: An oversized body is read and dropped up to this size, so that its sender can read why.
_MOST_DROPPED = 1 << 20
_JSON = b"application/json"
_UTF8 = (b"", b"charset=utf-8", b'charset="utf-8"')


class NotHttp(Exception):  # noqa: N818
    """The head of a request is malformed or ambiguous."""


class ClientDisconnected(Exception):  # noqa: N818
    """The client left before the request was complete."""


def header(scope: Scope, name: bytes) -> bytes | None:
    """The value of a header, or None; several with the same name are joined to one list."""
    values = [value for key, value in scope["headers"] if key == name]
    return b",".join(values) if values else None


def check_framing(headers: Iterable[Header], version: str) -> None:
    """Raise NotHttp if two programs could disagree on the host or the length of a request.

    Otherwise a proxy and the service might see different requests. Names are in lower case.
    """
    hosts, chunked, wrong = 0, False, False
    for name, value in headers:
        if name == b"host":
            hosts += 1
            wrong |= bool(value.translate(None, _IN_HOST))
        elif name == b"content-length":
            wrong |= len(value) > _MOST_DIGITS
        elif name == b"transfer-encoding":
            wrong |= chunked or value.lower() != b"chunked"
            chunked = True
    if version == "1.1":
        wrong |= hosts != 1
    else:
        wrong |= version != "1.0" or hosts > 1 or chunked
    if wrong:
        raise NotHttp


def check_json(scope: Scope) -> int | None:
    """Refuse a body that is not JSON; returns the announced length, or None."""
    kind = length = None
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value if kind is None else b""
        elif name == b"content-length":
            length = value
        elif name == b"content-encoding":
            raise Refused(WRONG_TYPE, early=True)
    if kind != _JSON:
        media_type, _, parameter = (kind or b"").lower().partition(b";")
        if media_type.strip() != _JSON or parameter.strip() not in _UTF8:
            raise Refused(WRONG_TYPE, early=True)
    if length is None or len(length) > _MOST_DIGITS or not length.isdigit():
        return None
    return int(length)


async def read_body(receive: Receive, announced: int | None, limit: int) -> bytes:
    """The whole body; Refused if it has more than `limit` bytes.

    The protocol bounds how long this may take.
    """
    most = max(limit, _MOST_DROPPED)
    if announced is not None and announced > most:
        raise Refused(TOO_LARGE)
    content, size, more = bytearray(), 0, True
    while more and size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        if not more and not size and len(part) <= limit:
            return part  # nearly every body arrives in one piece
        size += len(part)
        if size <= limit:
            content += part
    if size > limit:
        raise Refused(TOO_LARGE)
    return bytes(content)
