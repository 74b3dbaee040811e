"""Uvicorn's HTTP protocol with bounds that it leaves to a proxy: connections, head, patience.

Uvicorn reads a head of any length for any time; here both are bounded, and what is not HTTP is
answered by problem details too.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.service.collect.answers import HANG_UP, Answer, joined
from tacit.service.collect.problems import BUSY, LONG_HEAD, MALFORMED, SLOW, TOO_LARGE

#: Bytes of the request line and the headers together.
MOST_HEAD = 32 << 10
#: Bytes of a message beside its body: lengths of chunks, trailers, what is read to be dropped.
MOST_BESIDE = 4 << 20
#: Seconds for a head to arrive.
HEAD_SECONDS = 10.0


class Guarded(HttpToolsProtocol):
    """One connection; what it may take is set by `protocol`."""

    most_connections = 2000
    most_body = MOST_BESIDE
    head_seconds = HEAD_SECONDS
    _taken = 0
    _head_done = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._refuse(_TOO_MANY)
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # What came before this piece is bounded, and a piece is small.
        if self._taken > (self.most_body if self._head_done else MOST_HEAD):
            self._refuse(_TOO_LARGE if self._head_done else _LONG_HEAD)
            return
        self._taken += len(data)
        super().data_received(data)
        if not self._head_done and self._timer is None:
            self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._taken, self._head_done = 0, False

    def on_headers_complete(self) -> None:
        self._taken, self._head_done = 0, True
        if self._timer is not None:
            self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._refuse, _SLOW)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, raw: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(raw)
            self.transport.close()


def protocol(
    connections: int, largest_body: int, head_seconds: float = HEAD_SECONDS
) -> type[Guarded]:
    """The protocol for at most so many connections at a time and bodies of up to so many bytes."""
    bounds = {
        "most_connections": connections,
        "most_body": largest_body + MOST_BESIDE,
        "head_seconds": head_seconds,
    }
    return type("Bounded", (Guarded,), bounds)


def _raw(answer: Answer) -> bytes:
    """An answer as it goes over the wire, for requests that no application sees."""
    line = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n".encode()
    return line + joined(answer.start["headers"]) + b"\r\n" + answer.body


_NOT_HTTP = _raw(MALFORMED.saying("this is not HTTP").with_headers(HANG_UP))
_TOO_MANY = _raw(BUSY.answer.with_headers(HANG_UP))
_LONG_HEAD = _raw(LONG_HEAD.answer)
_SLOW = _raw(SLOW.answer)
_TOO_LARGE = _raw(TOO_LARGE.answer)
