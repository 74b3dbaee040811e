"""Answers over HTTP, made once and sent many times; each carries the same protective headers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from tacit.service.page.manifest import import_map, integrity

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

Header = tuple[bytes, bytes]

HTML = "text/html; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"
TEXT = "text/plain; charset=utf-8"

UNCHANGED = 304

#: Nothing is loaded but the page's own files, nothing may frame it, and no text becomes markup. The
#: one inline script is the import map, which holds hashes and no code.
POLICY = (
    f"default-src 'none'; script-src 'self' '{integrity(import_map().encode())}'; "
    "style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
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
NOT_KEPT: Header = (b"cache-control", b"no-store")
#: For what may change with the program: asked for each time, sent only if it changed.
REVALIDATED: Header = (b"cache-control", b"no-cache")
#: For what a fingerprint names: it never changes.
FOR_EVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
#: For answers given before the whole request was read.
HANG_UP: Header = (b"connection", b"close")
#: The ASGI extension of our server: given `send` and an answer, sends it whole; False if not.
WHOLE = "tacit.whole"


@dataclass(frozen=True)
class HttpResponse:
    """A status, headers and a body; an ASGI application of its own."""

    status: int
    kind: str
    body: bytes
    headers: tuple[Header, ...] = (NOT_KEPT,)

    @cached_property
    def start(self) -> Message:
        """What is sent first."""
        return {"type": "http.response.start", "status": self.status, "headers": self._all}

    @cached_property
    def rest(self) -> Message:
        """What is sent second."""
        return {"type": "http.response.body", "body": self.body}

    @cached_property
    def whole(self) -> tuple[bytes, bytes]:
        """As it goes over the wire: the first line, and what follows the server's own headers."""
        line = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n".encode()
        return line, joined(self._all) + b"\r\n" + self.body

    @cached_property
    def hangs_up(self) -> bool:
        """Whether the connection ends with it."""
        return HANG_UP in self.headers

    @property
    def _all(self) -> list[Header]:
        own: list[Header] = []
        if self.status != UNCHANGED:  # its length and type are those of what is not sent
            own += [(b"content-type", self.kind.encode())]
            own += [(b"content-length", str(len(self.body)).encode())]
        return [*own, *self.headers, *PROTECTION]

    def with_headers(self, *headers: Header) -> HttpResponse:
        """The same with further headers."""
        return HttpResponse(self.status, self.kind, self.body, (*self.headers, *headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = scope.get("extensions", {}).get(WHOLE)
        if whole is None or not whole(send, self):
            await send(self.start)
            await send(self.rest)


class File:
    """Bytes that stay as they are while the server runs, with an ETag to ask by."""

    def __init__(self, kind: str, body: bytes, cache: Header = REVALIDATED) -> None:
        tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
        kept = (cache, (b"etag", tag))
        self._tag = tag
        self._whole = HttpResponse(200, kind, body, kept)
        self._unchanged = HttpResponse(UNCHANGED, "", b"", kept)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = header(scope, b"if-none-match")
        tags = [tag.strip().removeprefix(b"W/") for tag in (asked or b"").split(b",")]
        answer = self._unchanged if self._tag in tags else self._whole
        await answer(scope, receive, send)


def redirect(to: str) -> HttpResponse:
    """A permanent answer that names another place; it keeps the method."""
    return HttpResponse(308, TEXT, b"", (NOT_KEPT, (b"location", to.encode("latin-1", "replace"))))


def header(scope: Scope, name: bytes) -> bytes | None:
    """The value of a request's header, or None; several of one name count as one list."""
    found = [value for own, value in scope["headers"] if own == name]
    return b",".join(found) if found else None


def wants_page(scope: Scope) -> bool:
    """Whether a person's browser asks, not a program."""
    return b"text/html" in (header(scope, b"accept") or b"")


def joined(headers: Iterable[Header]) -> bytes:
    """Headers as they go over the wire."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)
