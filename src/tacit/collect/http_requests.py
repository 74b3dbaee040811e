"""Reading requests: the head as RFC 9112 requires it, the body within a limit of bytes."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Receive, Scope

from tacit.collect.http_responses import Header
from tacit.collect.problem_details import TOO_LARGE, WRONG_TYPE, Refused

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
    found = [value for own, value in scope["headers"] if own == name]
    return b",".join(found) if found else None


def wants_page(scope: Scope) -> bool:
    """Whether the request comes from a person's browser, not from a program."""
    return b"text/html" in (header(scope, b"accept") or b"")


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
    kept, size, more = bytearray(), 0, True
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
            kept += part
    if size > limit:
        raise Refused(TOO_LARGE)
    return bytes(kept)
