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
import os
import select
import socket
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tacit.collect import logs
from tacit.collect.addresses import TrustedProxies
from tacit.collect.connections import SPARE, Connections
from tacit.collect.protocol import MOST_BESIDE, BoundedProtocol, protocol
from tacit.collect.settings import ServiceSettings
from tacit.errors import ServiceError

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
        self._once_per_minute = logs.OncePerMinute()

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
        logs.log().info("stopping")
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
        own = [] if passed_socket() else sockets
        for listener in own:
            listener.listen(0)  # no new ones meanwhile
        for _ in range(_TURNS):
            if not any(map(_readable, own)):
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
        found = list(self.server_state.connections)
        return [each for each in found if isinstance(each, BoundedProtocol)]

    def _check_files(self) -> None:
        """Log if the process cannot open another file, and thus accept no connection."""
        try:
            os.close(os.dup(0))
        except OSError as error:
            if error.errno in _OUT_OF_FILES and self._once_per_minute.now():
                logs.log().error("out-of-files", why=os.strerror(error.errno))


def http_server(
    app: ASGIApp,
    settings: ServiceSettings,
    largest_body: int,
    check: Callable[[], None] = lambda: None,
) -> Server:
    """A server for an application that accepts bodies of this size."""
    connections = Connections(
        settings.connections,
        settings.connections_per_address,
        TrustedProxies(settings.trusted_proxy),
    )
    config = quiet_config(
        app,
        settings.drain_seconds,
        http=protocol(connections, largest_body),
        ws="none",
        lifespan="on",
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    return Server(config, settings.request_seconds, check)


def quiet_config(app: ASGIApp, last_seconds: int, **more: Any) -> uvicorn.Config:
    """Settings of uvicorn without its logs and its header; requests may end in `last_seconds`."""
    quiet: dict[str, Any] = dict(log_config=None, access_log=False, server_header=False)
    return uvicorn.Config(app, timeout_graceful_shutdown=last_seconds, **quiet, **more)


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
        family, kind, *_, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise ServiceError(
            f"--host {host}: {_reason(error)}; give an address to listen on"
        ) from None
    with made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            made.bind(place)
        except OSError as error:
            raise ServiceError(
                f"cannot listen on {host} port {port}: {_reason(error)}; choose another by --port"
            ) from None
        yield made


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
    wanted = connections + SPARE + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return None
    return (
        f"the system allows this process {hard:,} open files, {wanted:,} are needed for all "
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
