"""The body of a request, read within a limit of bytes."""

from __future__ import annotations

from starlette.types import Receive, Scope

from tacit.service.collect.heads import MOST_DIGITS
from tacit.service.collect.problem_details import TOO_LARGE, WRONG_TYPE, Refused

#: Bytes that are read and dropped so that a sender of too much reads why; beyond, it is cut off.
_PATIENCE = 1 << 20
_JSON = b"application/json"
_UTF8 = (b"charset=utf-8", b'charset="utf-8"')


class ClientDisconnected(Exception):  # noqa: N818
    """The sender left before the request was complete."""


def check_head(scope: Scope) -> int | None:
    """Refuse what is not JSON; the length that is announced, None if none is."""
    kind = length = None
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value if kind is None else b""
        elif name == b"content-length":
            length = value
        elif name == b"content-encoding":
            raise Refused(WRONG_TYPE, early=True)
    if kind != _JSON and not _is_json(kind):
        raise Refused(WRONG_TYPE, early=True)
    readable = length is not None and len(length) <= MOST_DIGITS and length.isdigit()
    return int(length) if length is not None and readable else None


def _is_json(kind: bytes | None) -> bool:
    if kind is None:
        return False
    name, _, parameter = kind.lower().partition(b";")
    return name.strip() == _JSON and parameter.strip() in (b"", *_UTF8)


async def read_body(receive: Receive, announced: int | None, limit: int) -> bytes:
    """All of the body; Refused if it has more than `limit` bytes. How long it may take is bounded
    by the protocol.
    """
    most = max(limit, _PATIENCE)
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
            return part  # nearly always all of it comes at once
        size += len(part)
        if size <= limit:
            kept += part
    if size > limit:
        raise Refused(TOO_LARGE)
    return bytes(kept)
