"""Uvicorn's HTTP protocol with bounds that it leaves to a proxy: connections, head, patience.

Uvicorn waits for any head and any body as long as it takes, and reads a head of any length; here
all are bounded, and what is not HTTP is answered by problem details too.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.service.collect.answers import HANG_UP, Answer, joined
from tacit.service.collect.corking import Corked
from tacit.service.collect.problems import BUSY, LONG_HEAD, MALFORMED, SLOW, TOO_LARGE
from tacit.service.collect.rendered import Cycle

#: Bytes of the request line and the headers together.
MOST_HEAD = 32 << 10
#: Bytes of a message beside its body: lengths of chunks, trailers, what is read to be dropped.
MOST_BESIDE = 4 << 20


class Guarded(HttpToolsProtocol):
    """One connection; what it may take is set by `protocol`."""

    most_connections = 2000
    most_body = MOST_BESIDE
    _taken = 0
    _since = 0.0
    _begun = _head_done = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Corked(transport, self.loop))  # type: ignore[arg-type]
        self._since = self.loop.time()
        if len(self.connections) > self.most_connections:
            self._refuse(_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        # What came before this piece is bounded, and a piece is small.
        if self._taken > (self.most_body if self._head_done else MOST_HEAD):
            self._refuse(_TOO_LARGE if self._head_done else _LONG_HEAD)
            return
        self._taken += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun, self._head_done = True, False
        self._taken, self._since = 0, self.loop.time()

    def on_headers_complete(self) -> None:
        self._taken, self._head_done = 0, True
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.__class__ = Cycle  # uvicorn makes its own, with the same fields
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def hurry(self, begun_before: float) -> None:
        """Refuse a request that began before this time and is not complete.

        A connection on which nothing came is closed without a word: browsers open some in advance.
        """
        if self._since < begun_before and self._incomplete():
            self._refuse(_SLOW if self._begun else b"")

    def _incomplete(self) -> bool:
        cycle = self.cycle
        return not self._head_done or (cycle.more_body and not cycle.response_complete)

    def _refuse(self, raw: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(raw)
            self.transport.close()


def protocol(connections: int, largest_body: int) -> type[Guarded]:
    """The protocol for at most so many connections at a time and bodies of up to so many bytes."""
    bounds = {"most_connections": connections, "most_body": largest_body + MOST_BESIDE}
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
