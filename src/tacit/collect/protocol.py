"""Uvicorn's HTTP protocol with the limits that it leaves to a proxy.

Uvicorn waits for a request without a time limit, reads a head of any length, queues any number of
requests and does not check all of RFC 9112. Here all of this is limited, and malformed requests
get problem details too. Uvicorn also checks and joins the headers of every response and writes head
and body separately. An ASGI extension sends an `HttpResponse` with one write instead (decision
0028). Only names of uvicorn without a leading underscore are used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tacit.collect.connections import Connections, Waiting
from tacit.collect.http_requests import NotHttp, check_framing
from tacit.collect.http_responses import CLOSE, ONE_WRITE, Header, HttpResponse, joined
from tacit.collect.problem_details import (
    BUSY,
    LONG_HEAD,
    MALFORMED,
    SLOW,
    TOO_LARGE,
    TOO_MANY,
)

#: Bytes of the request line and the headers.
MOST_HEAD = 32 << 10
#: Bytes of a message besides its body: chunk lengths, trailers, what is read to be dropped.
MOST_BESIDE = 4 << 20
#: Pipelined requests on one connection; browsers and proxies send none.
MOST_AHEAD = 16
#: Bytes per second that a client must read on average.
SLOWEST = 2 << 10
#: Responses with more bytes than this are not copied per client.
_LARGE = 4 << 10
#: Answered even on connections above the limit.
HEALTH = frozenset({"/health/live", "/health/ready", "/metrics"})


class _Unread(NamedTuple):
    """Bytes that a client has left unread, since when, and when it must have read all."""

    left: int
    since: float
    end: float


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `protocol` sets which others are open, and how large a body may be."""

    open_connections: Connections
    most_body: int
    #: Whether the server is shutting down: each response then closes its connection.
    draining = False
    since = 0.0
    _taken = 0
    _unread: _Unread | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.since = self.loop.time()
        self._open_cycles: list[RequestResponseCycle] = []
        problem = self.open_connections.admit(self, self.client[0] if self.client else "")
        if problem is not None:
            refusal = _REFUSALS[problem.name]
            self.app = _health_only(self.app, refusal)
            if self not in self.open_connections:
                self._refuse(_raw(refusal))

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_connections.leave(self)
        super().connection_lost(exc)
        # Uvicorn marks only the newest request as disconnected.
        for cycle in self._open_cycles:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        # The bytes before this piece are limited, and a piece is small.
        if self._taken > MOST_HEAD and not self._head_done:
            self._refuse(_LONG_HEAD)
        elif self._taken > MOST_HEAD + self.most_body:
            self._refuse(_TOO_LARGE)
        else:
            self._taken += len(data)
            super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._taken, self.since = 0, self.loop.time()
        self.scope["extensions"] = _EXTENSIONS

    def on_headers_complete(self) -> None:
        # An exception here stops the parser, and uvicorn calls send_400_response.
        check_framing(self.headers, self.parser.get_http_version())
        if len(self.pipeline) >= MOST_AHEAD:
            raise NotHttp
        super().on_headers_complete()
        still_open = [cycle for cycle in self._open_cycles if not cycle.response_complete]
        self._open_cycles = [*still_open, self.cycle]
        if self.draining:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def finish(self, close: bool) -> None:
        """Close the connection after its newest request.

        An idle one is closed at once if `close` is true; else a request may still be on its way.
        """
        if not self._answered:
            self.cycle.keep_alive = False
        elif close and self.waiting is Waiting.TO_ASK:
            self.transport.close()

    def drop(self) -> None:
        """Abort the connection: another one needs its place."""
        self.transport.abort()

    @property
    def waiting(self) -> Waiting | None:
        """What the server waits for; None while it works on a request."""
        if self.transport.get_write_buffer_size():
            return Waiting.TO_READ
        if self._incomplete():
            return Waiting.TO_ASK if self.scope is None else Waiting.TO_FINISH
        return Waiting.TO_ASK if self._answered else None

    def enforce_timeouts(self, now: float, patience: float) -> None:
        """Refuse a request that takes too long to arrive; abort if the client reads too slowly.

        A connection without a request is closed silently: browsers open some in advance.
        """
        if self._unread_too_long(now, patience):
            self.transport.abort()
            return
        if now - self.since > patience and self._incomplete():
            self._refuse(b"" if self.scope is None else _SLOW)

    def _unread_too_long(self, now: float, patience: float) -> bool:
        """Whether the client has read nothing for too long, or too little on average."""
        left = self.transport.get_write_buffer_size()
        if not left:
            self._unread = None
        elif self._unread is None:
            self._unread = _Unread(left, now, now + patience + left / SLOWEST)
        elif left != self._unread.left:
            self._unread = _Unread(left, now, self._unread.end)
        unread = self._unread
        return unread is not None and now > min(unread.since + patience, unread.end)

    def _incomplete(self) -> bool:
        cycle = self.cycle
        return not self._head_done or (cycle.more_body and not cycle.response_complete)

    @property
    def _head_done(self) -> bool:
        """Whether the head of the newest request is complete: uvicorn then creates a cycle."""
        return self.cycle is not None and self.cycle.scope is self.scope

    @property
    def _answered(self) -> bool:
        """Whether every complete head has its response."""
        return self.cycle is None or self.cycle.response_complete

    def _refuse(self, raw: bytes) -> None:
        """Send this response and close; if earlier requests are pending, close after theirs."""
        if self.transport.is_closing():
            return
        if self.pipeline or not (self._head_done or self._answered):
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(raw)
        self.transport.close()


def protocol(connections: Connections, largest_body: int) -> type[BoundedProtocol]:
    """The protocol class for these connections and this size of bodies."""
    own = {"open_connections": connections, "most_body": largest_body + MOST_BESIDE}
    return type("Bounded", (BoundedProtocol,), own)


def _health_only(app: ASGIApp, refusal: HttpResponse) -> Any:
    """Answers health checks, and refuses everything else."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope["path"] in HEALTH else refusal)(scope, receive, send)

    return limited


def _send_in_one_write(send: Any, response: HttpResponse) -> bool:
    """Send a response with one write; False if it must go through uvicorn."""
    cycle = getattr(send, "__self__", None)
    if (
        not isinstance(cycle, RequestResponseCycle)
        or CLOSE in response.headers
        or not cycle.keep_alive
        or cycle.disconnected
        or cycle.response_started
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    line, rest = response.whole
    first = line + _server_headers(tuple(cycle.default_headers))
    if len(rest) > _LARGE:  # shared by all slow readers instead of copied
        cycle.transport.writelines((first, rest))
    else:
        cycle.transport.write(first + rest)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    cycle.on_response()
    return True


_EXTENSIONS: dict[str, Any] = {ONE_WRITE: _send_in_one_write}


@lru_cache(maxsize=1)
def _server_headers(headers: tuple[Header, ...]) -> bytes:
    """The server's own headers; the date changes once per second."""
    return joined(headers)


def _raw(response: HttpResponse) -> bytes:
    """A response as bytes, for requests that no application sees."""
    return b"".join(response.whole)


_NOT_HTTP = _raw(MALFORMED.with_detail("this is not HTTP").with_headers(CLOSE))
_LONG_HEAD = _raw(LONG_HEAD.response)
_SLOW = _raw(SLOW.response)
_TOO_LARGE = _raw(TOO_LARGE.response)
#: The response on a connection above the limit, by the name of the problem.
_REFUSALS = {problem.name: problem.response.with_headers(CLOSE) for problem in (BUSY, TOO_MANY)}
