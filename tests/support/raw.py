"""HTTP by hand: requests that no client would send, and what comes back for them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress

#: Far longer than any answer takes.
SECONDS = 60.0
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n")


class Line:
    """A connection that is opened again when the other end hangs up."""

    def __init__(self, host: str, port: int, source: str = "") -> None:
        self._place, self._source = (host, port), source
        self._socket: socket.socket | None = None
        self._left = b""
        self.sent = 0

    def ask(self, request: bytes, finished: bool = True) -> int | None:
        """The status of the answer; None if the server closed the connection without one.

        Not finished: the request is not complete, the server must answer all the same.
        """
        self.send(request)
        return self.receive(finished)

    def send(self, request: bytes) -> None:
        """Send a request whose answer is read later."""
        connection = self._open()
        self.sent += len(request)
        with suppress(OSError):  # it may hang up while more is sent than it takes
            connection.sendall(request)

    def receive(self, finished: bool = True) -> int | None:
        """The status of the next answer."""
        try:
            head, body = self._answer(self._open())
        except OSError:
            head, body = b"", b""
        if not finished or not head or b"\r\nconnection: close\r\n" in head:
            self.close()
        if not head:
            return None
        status = int(head[9:12])
        if status >= 400 and b"application/problem+json" not in head:
            raise AssertionError(f"not problem details: {head!r} {body!r}")
        return status

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._left = None, b""

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._place, SECONDS, (self._source, 0))
        return self._socket

    def _answer(self, connection: socket.socket) -> tuple[bytes, bytes]:
        data = self._left
        while b"\r\n\r\n" not in data:
            more = connection.recv(1 << 16)
            if not more:
                return b"", b""
            data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        head += b"\r\n"
        found = _LENGTH.search(head)
        length = int(found[1]) if found else 0
        while len(rest) < length:
            more = connection.recv(1 << 16)
            if not more:
                break
            rest += more
        self._left = rest[length:]
        return head, rest[:length]


def request(
    target: str, body: bytes = b"", method: str = "POST", headers: tuple[str, ...] = ()
) -> bytes:
    """A request with a body of the right length, JSON unless the headers say otherwise."""
    kind = () if any(h.lower().startswith("content-type") for h in headers) else (_JSON,)
    lines = [f"{method} {target} HTTP/1.1", "Host: survey.test", *kind, *headers]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return head.encode("utf-8", "surrogateescape") + body


def chunked(target: str, chunks: Iterator[bytes]) -> bytes:
    """A request whose body comes in chunks; each is given with its framing."""
    lines = [f"POST {target} HTTP/1.1", "Host: survey.test", _JSON, "Transfer-Encoding: chunked"]
    return "\r\n".join([*lines, "", ""]).encode() + b"".join(chunks)


_JSON = "Content-Type: application/json"
