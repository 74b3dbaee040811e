"""Uvicorn's HTTP protocol with bounds that it leaves to a proxy: connections, head, patience.

Uvicorn waits for any head and any body as long as it takes, reads a head of any length, queues any
number of requests and leaves parts of RFC 9112 to others. Here all of it is bounded, and what is
not HTTP is answered by problem details too. Uvicorn also checks, lowers and joins every header of
every answer and writes head and body apart, which costs as much as all that the application does:
an `Answer` is sent whole, by an extension of ASGI.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tacit.service.collect.connections import Connections, Waiting
from tacit.service.collect.heads import Head, NotHttp
from tacit.service.collect.http_responses import HANG_UP, WHOLE, Header, HttpResponse, joined
from tacit.service.collect.problem_details import (
    BUSY,
    LONG_HEAD,
    MALFORMED,
    SLOW,
    TOO_LARGE,
    TOO_MANY,
)

#: Bytes of the request line and the headers together.
MOST_HEAD = 32 << 10
#: Bytes of a message beside its body: lengths of chunks, trailers, what is read to be dropped.
MOST_BESIDE = 4 << 20
#: Requests that may wait for their turn on one connection; browsers and proxies send none ahead.
MOST_AHEAD = 16
#: Bytes a second that a reader must take on the whole.
SLOWEST = 2 << 10
#: Bytes of an answer that is not copied for each who asks.
_LARGE = 4 << 10
#: What is answered on connections that have no place of their own.
HEALTH = frozenset({"/health/live", "/health/ready", "/metrics"})


@dataclass(frozen=True)
class Bounds:
    """What connections may take; one value for all of a server."""

    connections: Connections
    most_body: int = MOST_BESIDE


class _Unread(NamedTuple):
    """Bytes that a client has left unread, since when it took none, and when it must have all."""

    left: int
    since: float
    end: float


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `bounds` is set by `protocol`."""

    bounds: Bounds
    #: Whether the server is about to end: each answer then ends its connection.
    draining = False
    since = 0.0
    _taken = 0
    _running: RequestResponseCycle | None = None
    _refusal: HttpResponse | None = None
    _unread: _Unread | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.since = self.loop.time()
        self._head = Head()
        problem = self.bounds.connections.admit(self, self.client[0] if self.client else "")
        if problem is not None:
            self._refusal = _REFUSALS[problem.name]
            if self not in self.bounds.connections:
                self._refuse(_raw(self._refusal))

    def connection_lost(self, exc: Exception | None) -> None:
        self.bounds.connections.leave(self)
        super().connection_lost(exc)
        # Uvicorn tells only the newest request that its client has left.
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        # What came before this piece is bounded, and a piece is small.
        if self._taken > MOST_HEAD and self._too_much():
            return
        self._taken += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._taken, self.since = 0, self.loop.time()
        self._head = Head()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head.see(self.headers[-1][0], value)

    def on_headers_complete(self) -> None:
        # What is raised here stops the parser, and comes back as send_400_response.
        self._head.check(self.parser.get_http_version())
        if len(self.pipeline) >= MOST_AHEAD:
            raise NotHttp
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        cycle.scope["extensions"] = _EXTENSIONS
        if self.draining and cycle is self.cycle:
            cycle.keep_alive = False
        if self._refusal is not None and cycle.scope["path"] not in HEALTH:
            app = self._refusal
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def finish(self, close: bool) -> None:
        """End the connection after the newest request that is known; at once if it is idle.

        An idle one stays if `close` is false, since a request may be on its way.
        """
        if not self._answered:
            self.cycle.keep_alive = False
        elif close and self.waiting is Waiting.TO_ASK:
            self.transport.close()

    def drop(self) -> None:
        """End the connection at once: another one needs its place."""
        self.transport.abort()

    @property
    def waiting(self) -> Waiting | None:
        """What the client is to do next; None while its request is being answered."""
        if self.transport.get_write_buffer_size():
            return Waiting.TO_READ
        if self._incomplete():
            return Waiting.TO_ASK if self.scope is None else Waiting.TO_FINISH
        return Waiting.TO_ASK if self._answered else None

    def enforce_timeouts(self, now: float, patience: float) -> None:
        """Refuse a request that takes longer to arrive; end what is not read in time.

        A connection on which nothing came is closed without a word: browsers open some in advance.
        """
        if self._unread_too_long(now, patience):
            self.transport.abort()
            return
        if now - self.since > patience and self._incomplete():
            self._refuse(b"" if self.scope is None else _SLOW)

    def _unread_too_long(self, now: float, patience: float) -> bool:
        """Whether the client has taken nothing for so many seconds, or too little in all."""
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
        """Whether the newest request is known; uvicorn makes a cycle for it then."""
        return self.cycle is not None and self.cycle.scope is self.scope

    @property
    def _answered(self) -> bool:
        """Whether every request that is known is answered."""
        return self.cycle is None or self.cycle.response_complete

    def _too_much(self) -> bool:
        """Refuse what is longer than anything that is right."""
        head_done = self._head_done
        too_much = not head_done or self._taken > MOST_HEAD + self.bounds.most_body
        if too_much:
            self._refuse(_TOO_LARGE if head_done else _LONG_HEAD)
        return too_much

    def _refuse(self, raw: bytes) -> None:
        """End the connection by this answer; after those to earlier requests, without it."""
        if self.transport.is_closing():
            return
        if self.pipeline or not (self._head_done or self._answered):
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(raw)
        self.transport.close()


def protocol(connections: Connections, largest_body: int) -> type[BoundedProtocol]:
    """The protocol for these connections and bodies of up to so many bytes."""
    return type(
        "Bounded", (BoundedProtocol,), {"bounds": Bounds(connections, largest_body + MOST_BESIDE)}
    )


def _send_whole(send: Any, answer: HttpResponse) -> bool:
    """Send an answer by one write, if nothing stands against writing at once."""
    cycle = getattr(send, "__self__", None)
    if (
        not isinstance(cycle, RequestResponseCycle)
        or answer.hangs_up
        or not cycle.keep_alive
        or cycle.disconnected
        or cycle.response_started
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    line, rest = answer.whole
    first = line + _own(tuple(cycle.default_headers))
    if len(rest) > _LARGE:  # shared by all who ask for it, however slowly they read
        cycle.transport.writelines((first, rest))
    else:
        cycle.transport.write(first + rest)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    cycle.on_response()
    return True


_EXTENSIONS: dict[str, Any] = {WHOLE: _send_whole}


@lru_cache(maxsize=1)
def _own(headers: tuple[Header, ...]) -> bytes:
    """The server's own headers: the date, once a second another one."""
    return joined(headers)


def _raw(answer: HttpResponse) -> bytes:
    """An answer as it goes over the wire, for requests that no application sees."""
    return b"".join(answer.whole)


_NOT_HTTP = _raw(MALFORMED.with_detail("this is not HTTP").with_headers(HANG_UP))
_LONG_HEAD = _raw(LONG_HEAD.answer)
_SLOW = _raw(SLOW.answer)
_TOO_LARGE = _raw(TOO_LARGE.answer)
#: What a connection without a place of its own is told, by why it has none.
_REFUSALS = {problem.name: problem.answer.with_headers(HANG_UP) for problem in (BUSY, TOO_MANY)}
