"""Uvicorn's HTTP protocol with bounds that it leaves to a proxy: connections, head, patience.

Uvicorn waits for any head and any body as long as it takes, and reads a head of any length; here
all are bounded, and what is not HTTP is answered by problem details too. It checks, lowers and
joins every header of every answer and writes head and body apart, which costs as much as all that
the application does: an `Answer` is sent whole, by an extension of ASGI.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tacit.service.collect.answers import HANG_UP, WHOLE, Answer, Header, joined
from tacit.service.collect.problems import BUSY, LONG_HEAD, MALFORMED, SLOW, TOO_LARGE

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

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > self.most_connections:
            self._refuse(_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        # What came before this piece is bounded, and a piece is small.
        if self._taken > MOST_HEAD and self._too_much():
            return
        self._taken += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._taken, self._since = 0, self.loop.time()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope["extensions"] = _EXTENSIONS
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def hurry(self, begun_before: float) -> None:
        """Refuse a request that began before this time and is not complete.

        A connection on which nothing came is closed without a word: browsers open some in advance.
        """
        if self._since < begun_before and self._incomplete():
            self._refuse(b"" if self.scope is None else _SLOW)

    def _incomplete(self) -> bool:
        cycle = self.cycle
        return not self._head_done or (cycle.more_body and not cycle.response_complete)

    @property
    def _head_done(self) -> bool:
        """Whether the newest request is known; uvicorn makes a cycle for it then."""
        return self.cycle is not None and self.cycle.scope is self.scope

    def _too_much(self) -> bool:
        """Refuse what is longer than anything that is right."""
        head_done = self._head_done
        too_much = not head_done or self._taken > MOST_HEAD + self.most_body
        if too_much:
            self._refuse(_TOO_LARGE if head_done else _LONG_HEAD)
        return too_much

    def _refuse(self, raw: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(raw)
            self.transport.close()


def protocol(connections: int, largest_body: int) -> type[Guarded]:
    """The protocol for at most so many connections at a time and bodies of up to so many bytes."""
    bounds = {"most_connections": connections, "most_body": largest_body + MOST_BESIDE}
    return type("Bounded", (Guarded,), bounds)


def _send_whole(send: Any, answer: Answer) -> bool:
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
    cycle.transport.write(line + _own(tuple(cycle.default_headers)) + rest)
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


def _raw(answer: Answer) -> bytes:
    """An answer as it goes over the wire, for requests that no application sees."""
    return b"".join(answer.whole)


_NOT_HTTP = _raw(MALFORMED.saying("this is not HTTP").with_headers(HANG_UP))
_TOO_MANY = _raw(BUSY.answer.with_headers(HANG_UP))
_LONG_HEAD = _raw(LONG_HEAD.answer)
_SLOW = _raw(SLOW.answer)
_TOO_LARGE = _raw(TOO_LARGE.answer)
