"""HTTP responses, built once and sent many times, all with the same protective headers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from tacit.collect.page import import_map, integrity

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

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
        own = ((b"content-type", self.kind.encode()), (b"content-length", length))
        return [*own, *self.headers, *PROTECTION]

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
        tag = entity_tag(body).encode()
        kept = (cache, (b"etag", tag))
        self._tag = tag
        self._whole = HttpResponse(200, kind, body, kept)
        self._unchanged = HttpResponse(UNCHANGED, "", b"", kept)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = [value for name, value in scope["headers"] if name == b"if-none-match"]
        tags = [tag.strip().removeprefix(b"W/") for tag in b",".join(known).split(b",")]
        response = self._unchanged if self._tag in tags else self._whole
        await response(scope, receive, send)


def redirect(to: str) -> HttpResponse:
    """A permanent redirect that keeps the method."""
    return HttpResponse(308, TEXT, b"", (NO_STORE, (b"location", to.encode("latin-1", "replace"))))


def joined(headers: Iterable[Header]) -> bytes:
    """Headers as bytes on the wire."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)
