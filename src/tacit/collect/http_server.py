"""The HTTP server: uvicorn with time limits, a graceful shutdown and a check of open files.

At shutdown, every request that has reached the server is answered. A client may send its next
request at any moment, so closing an idle connection could cut off a request that is on its way.
Each connection therefore stays open for a short grace period: a request that arrives in it is
answered with `Connection: close`; if none arrives, the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import heapq
import os
import select
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache, partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tacit.collect import http, monitoring
from tacit.collect.limits import Prefix, TrustedProxies, prefixes
from tacit.collect.settings import ServiceSettings
from tacit.errors import ServiceError

#: Connections above the limit, on which only health checks are answered.
SPARE = 64
#: If the limit is reached, one in so many is dropped at once, because a search looks at all.
_SHARE = 16
#: Seconds in which a new connection is dropped last: its request may be on its way.
_YOUNG = 1.0


class Waiting(IntEnum):
    """What a connection waits for its client to do, in the order in which they are dropped."""

    TO_ASK = 0
    TO_FINISH = 1
    TO_READ = 2


class Connections:
    """The open connections by their networks.

    If a limit is reached, a connection that waits for its client (idle, in the middle of a request,
    or not reading) is dropped for a new one; one whose request is being processed never is. A few
    connections above the limit are kept for health checks.
    """

    def __init__(self, most: int, most_of_one: int, proxies: TrustedProxies | None = None) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._proxies = proxies or TrustedProxies()
        self._networks: dict[BoundedProtocol, tuple[bytes, ...]] = {}
        self._members: dict[bytes, set[BoundedProtocol]] = {}

    def __len__(self) -> int:
        return len(self._networks)

    def admit(self, new: BoundedProtocol, address: str) -> http.ProblemType | None:
        """Add a connection, dropping others if necessary; why it may not submit, or None.

        It is not added if even the extra connections are taken.
        """
        networks = () if self._proxies.trusts(address) else prefixes(address)
        problem = self._crowded(networks, new.since)
        if problem is None or len(self) < self._most + SPARE:
            self._networks[new] = tuple(network for network, _ in networks)
            for network in self._networks[new]:
                self._members.setdefault(network, set()).add(new)
        return problem

    def _crowded(self, networks: tuple[Prefix, ...], now: float) -> http.ProblemType | None:
        """Make room for one more; why that failed, or None."""
        for network, share in networks:
            members, most = self._members.get(network, set()), share * self._most_of_one
            if len(members) >= most and not self._drop_some(members, most, now):
                return http.TOO_MANY
        full = len(self) >= self._most and not self._drop_some(self._networks, self._most, now)
        return http.BUSY if full else None

    def __contains__(self, connection: BoundedProtocol) -> bool:
        return connection in self._networks

    def leave(self, connection: BoundedProtocol) -> None:
        """Remove a connection that has ended."""
        for network in self._networks.pop(connection, ()):
            members = self._members[network]
            members.discard(connection)
            if not members:
                del self._members[network]

    def _drop_some(self, among: Iterable[BoundedProtocol], most: int, now: float) -> bool:
        """Drop connections that wait for their client; whether there were any."""
        waiting = [connection for connection in among if connection.waiting is not None]
        dropped = heapq.nsmallest(max(1, most // _SHARE), waiting, key=partial(self._rank, now))
        for connection in dropped:
            self.leave(connection)
            connection.drop()
        return bool(dropped)

    def _rank(self, now: float, connection: BoundedProtocol) -> tuple[Any, ...]:
        """The lowest is dropped first: not new, idle, of the largest network, waiting longest."""
        young = now - connection.since < _YOUNG
        of_one = max((len(self._members[net]) for net in self._networks[connection]), default=0)
        return young, connection.waiting, -of_one, connection.since


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


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with the limits that it leaves to a proxy.

    `http_server` sets which others are open, and how large a body may be.

    Uvicorn waits for a request without a time limit, reads a head of any length, queues any number
    of requests and does not check all of RFC 9112. Here all of this is limited, and malformed
    requests get problem details too. Uvicorn also checks and joins the headers of every response
    and writes head and body separately. An ASGI extension sends an `HttpResponse` with one write
    instead (decision 0028). Only names of uvicorn without a leading underscore are used.
    """

    open_connections: Connections
    most_body: int
    #: When its newest request began to arrive, or when it was opened.
    since = 0.0
    #: Whether the server is shutting down: each response then closes its connection.
    draining = False
    _taken = 0
    #: Bytes that the client has left unread, since when, and when it must have read all.
    _unread, _unread_since, _read_by = 0, 0.0, 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.since = self.loop.time()
        self._open_cycles: list[RequestResponseCycle] = []
        problem = self.open_connections.admit(self, self.client[0] if self.client else "")
        if problem is not None:
            refusal = problem.response.with_headers(http.CLOSE)
            self.app = _health_only(self.app, refusal)
            if self not in self.open_connections:
                self._refuse(refusal)

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
            self._refuse(http.LONG_HEAD.response)
        elif self._taken > MOST_HEAD + self.most_body:
            self._refuse(http.TOO_LARGE.response)
        else:
            self._taken += len(data)
            super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._taken, self.since = 0, self.loop.time()
        self.scope["extensions"] = _EXTENSIONS

    def on_headers_complete(self) -> None:
        # An exception here stops the parser, and uvicorn calls send_400_response.
        http.check_framing(self.headers, self.parser.get_http_version())
        if len(self.pipeline) >= MOST_AHEAD:
            raise http.NotHttp
        super().on_headers_complete()
        still_open = [cycle for cycle in self._open_cycles if not cycle.response_complete]
        self._open_cycles = [*still_open, self.cycle]
        if self.draining:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        refused = http.Refused(http.MALFORMED, "this is not HTTP", early=True)
        self._refuse(refused.response)

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
        elif now - self.since > patience and self._incomplete():
            self._refuse(None if self.scope is None else http.SLOW.response)

    def _unread_too_long(self, now: float, patience: float) -> bool:
        """Whether the client has read nothing for too long, or too little on average."""
        left = self.transport.get_write_buffer_size()
        if left and not self._unread:
            self._read_by = now + patience + left / SLOWEST
        if left != self._unread:
            self._unread, self._unread_since = left, now
        return left > 0 and now > min(self._unread_since + patience, self._read_by)

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

    def _refuse(self, response: http.HttpResponse | None) -> None:
        """Send this and close; if earlier requests are pending, close after their responses."""
        if self.transport.is_closing():
            return
        if self.pipeline or not (self._head_done or self._answered):
            self.cycle.keep_alive = False
            self.flow.pause_reading()
        else:
            if response is not None:
                self.transport.writelines(response.whole)
            self.transport.close()


def _health_only(app: ASGIApp, refusal: http.HttpResponse) -> Any:
    """Answers health checks, and refuses everything else."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope["path"] in HEALTH else refusal)(scope, receive, send)

    return limited


def _send_in_one_write(send: Any, response: http.HttpResponse) -> bool:
    """Send a response with one write; False if it must go through uvicorn."""
    cycle = getattr(send, "__self__", None)
    if (
        not isinstance(cycle, RequestResponseCycle)
        or http.CLOSE in response.headers
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


_EXTENSIONS: dict[str, Any] = {http.ONE_WRITE: _send_in_one_write}


@lru_cache(maxsize=1)
def _server_headers(headers: tuple[http.Header, ...]) -> bytes:
    """The server's own headers; the date changes once per second."""
    return http.joined(headers)


BACKLOG = 2048
#: Proxies keep idle connections for a minute; closing earlier would fail their next request.
_KEEP_ALIVE = 75
#: Seconds for which an idle connection stays open at shutdown, and between two checks.
_GRACE, _PAUSE = 1.0, 0.05
#: Turns of the event loop, at most, to accept connections that are already established.
_TURNS = 100
#: Files that the process opens besides its connections.
_OTHER_FILES = 128
#: The first descriptor that systemd passes.
_PASSED = 3
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


class Server(uvicorn.Server):
    """Uvicorn that drops slow clients, and drains connections at shutdown.

    `check` is called twice per second.
    """

    draining = False

    def __init__(
        self, config: uvicorn.Config, request_seconds: float, check: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._request_seconds, self._check = request_seconds, check
        self._once_per_minute = monitoring.OncePerMinute()

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times per second."""
        if counter % 5 == 0:
            self._check()
            self._check_files()
            now = asyncio.get_running_loop().time()
            for connection in self._connections():
                connection.enforce_timeouts(now, self._request_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that have arrived before uvicorn closes the connections."""
        loop = asyncio.get_running_loop()
        until = loop.time() + float(self.config.timeout_graceful_shutdown or 0)
        self.draining = True
        self._check()  # something may have happened since the last check
        monitoring.log().info("stopping")
        await self._accept_pending(sockets or [])
        await self._drain(until)
        self.config.timeout_graceful_shutdown = max(1, round(until - loop.time()))
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.draining = True
        self.force_exit = self.should_exit
        self.should_exit = True

    def accept_bodies(self, size: int) -> None:
        """Accept bodies of this size too: a survey was added."""
        kind: Any = self.config.http_protocol_class
        kind.most_body = max(kind.most_body, size + MOST_BESIDE)

    async def _accept_pending(self, sockets: Sequence[socket.socket]) -> None:
        """Accept the connections that are already established, then stop listening.

        On a socket that was passed to this process they stay for the other processes that have it.
        """
        listeners = [] if passed_socket() else sockets
        for listener in listeners:
            listener.listen(0)  # no new ones meanwhile
        for _ in range(_TURNS):
            if not any(map(_readable, listeners)):
                break
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()

    async def _drain(self, until: float) -> None:
        """Answer requests until no connection is left, or until this time."""
        kind: Any = self.config.http_protocol_class
        kind.draining = True
        loop = asyncio.get_running_loop()
        begun = loop.time()
        seconds = min(self._request_seconds, until - begun)
        while self.server_state.connections and loop.time() < until and not self.force_exit:
            grace_over = loop.time() >= begun + _GRACE
            for connection in self._connections():
                connection.enforce_timeouts(loop.time(), seconds)
                line = connection.transport.get_extra_info("socket")
                closing = line is None or connection.transport.is_closing()
                connection.finish(grace_over and (closing or not _readable(line)))
            await asyncio.sleep(_PAUSE)

    def _connections(self) -> list[BoundedProtocol]:
        return [c for c in self.server_state.connections if isinstance(c, BoundedProtocol)]

    def _check_files(self) -> None:
        """Log if the process cannot open another file, and thus accept no connection."""
        try:
            os.close(os.dup(0))
        except OSError as error:
            if error.errno in _OUT_OF_FILES and self._once_per_minute.now():
                monitoring.log().error("out-of-files", why=os.strerror(error.errno))


def http_server(
    app: ASGIApp,
    settings: ServiceSettings,
    largest_body: int,
    check: Callable[[], None] = lambda: None,
) -> Server:
    """A server for an application that accepts bodies of this size."""
    proxies = TrustedProxies(settings.trusted_proxy)
    connections = Connections(settings.connections, settings.connections_per_address, proxies)
    limits = {"open_connections": connections, "most_body": largest_body + MOST_BESIDE}
    config = uvicorn.Config(
        app,
        timeout_graceful_shutdown=settings.drain_seconds,
        log_config=None,
        access_log=False,
        server_header=False,
        http=type("Bounded", (BoundedProtocol,), limits),
        ws="none",
        lifespan="on",
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    return Server(config, settings.request_seconds, check)


def passed_socket() -> bool:
    """Whether systemd passed a listening socket to this process (sd_listen_fds)."""
    passed = os.environ.get("LISTEN_PID"), os.environ.get("LISTEN_FDS")
    return passed == (str(os.getpid()), "1")


@contextlib.contextmanager
def listening(host: str, port: int, reuse_port: bool = False) -> Iterator[socket.socket]:
    """A bound socket, or the one that was passed; ServiceError if the address cannot be used.

    With `reuse_port`, other processes may listen on the same port, and the system distributes
    connections among them.
    """
    if passed_socket():
        with socket.socket(fileno=_PASSED) as passed:
            yield passed
        return
    if reuse_port and not hasattr(socket, "SO_REUSEPORT"):
        raise ServiceError("--reuse-port: this system has no SO_REUSEPORT; leave it out")
    try:
        family, kind, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        what = f"{_reason(error)}; give an address to listen on"
        raise ServiceError(f"--host {host}: {what}") from None
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            listener.bind(address)
        except OSError as error:
            what = f"{_reason(error)}; choose another by --port"
            raise ServiceError(f"cannot listen on {host} port {port}: {what}") from None
        yield listener


def base_address(listener: socket.socket) -> str:
    """The address of a server that listens, with a slash at its end."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def raise_file_limit(connections: int) -> str | None:
    """Ask the system for enough open files; a warning if it allows fewer."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    needed = connections + SPARE + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= needed:
        return None
    return (
        f"the system allows this process {hard:,} open files, {needed:,} are needed for all "
        "connections: raise the limit (ulimit -n, LimitNOFILE in systemd) or lower --connections"
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _readable(line: Any) -> bool:
    """Whether a socket has unread data; False if it is closed or on Windows."""
    if not hasattr(select, "poll") or line.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(line.fileno(), select.POLLIN)
    return bool(poll.poll(0))
