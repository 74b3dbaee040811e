"""The end of a server: requests that reached it are answered before their connections end.

A client may send its next request at any moment, so closing an idle connection can cut a request
that is on its way. Each connection is therefore given a moment: a request that comes in it is
answered with `Connection: close`; where none comes the connection is closed.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tacit.service.collect.protocol import BoundedProtocol

#: Seconds that an idle connection stays open for a request that is on its way.
GRACE = 1.0
_LOOK = 0.05
#: Turns of the event loop, at most, in which connections that are established are accepted.
_TURNS = 100


async def accept_rest(sockets: Sequence[socket.socket], servers: Sequence[Any]) -> None:
    """Accept the connections that are established already, then listen no more."""
    for listener in sockets:
        listener.listen(0)  # no new ones meanwhile
    for _ in range(_TURNS):
        if not any(map(_readable, sockets)):
            break
        await asyncio.sleep(0)
    for server in servers:
        server.close()


async def drain(
    connections: Collection[Any],
    kind: type[BoundedProtocol],
    bounds: tuple[float, float],
    forced: Callable[[], bool],
) -> None:
    """Answer what comes until no connection is left.

    `kind` is the protocol of all connections; `bounds` are the seconds for one request to arrive
    and for all of it.
    """
    loop = asyncio.get_running_loop()
    patience, seconds = bounds
    begun = loop.time()
    kind.draining = True
    while connections and loop.time() < begun + seconds and not forced():
        quiet = loop.time() >= begun + GRACE
        for connection in list(connections):
            if isinstance(connection, BoundedProtocol):
                connection.enforce_timeouts(loop.time(), patience)
                connection.finish(quiet and not _readable(connection.transport))
        await asyncio.sleep(_LOOK)


def _readable(source: Any) -> bool:
    """Whether something has arrived that was not read yet; False where nobody can tell."""
    if not hasattr(select, "poll"):  # on Windows
        return False
    own = source.fileno() if isinstance(source, socket.socket) else _fileno(source)
    if own < 0:
        return False
    asked = select.poll()
    asked.register(own, select.POLLIN)
    return bool(asked.poll(0))


def _fileno(transport: Any) -> int:
    line = transport.get_extra_info("socket")
    return -1 if line is None or transport.is_closing() else line.fileno()
