"""Servers whose page is not the one that was released."""

from __future__ import annotations

import contextlib
import re
import socketserver
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tacit.collect.page import HTML

#: Changes the body and the headers of what is sent for a path.
Change = Callable[[str, bytes, list[tuple[str, str]]], bytes]
#: Seconds after which a proxy notices that it should end.
_POLL = 0.02
_OWN = ("connection", "content-length", "date", "server", "transfer-encoding")


@cache
def _answer(
    url: str, accept: str, kind: str = "", sent: bytes | None = None
) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """What the server sends, asked for once: status, headers and body."""
    given = {"Accept": accept, "Content-Type": kind}
    asked = urllib.request.Request(url, sent, given)
    try:
        answer = urllib.request.urlopen(asked)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        headers = tuple((k, v) for k, v in answer.headers.items() if k.lower() not in _OWN)
        return answer.status, headers, answer.read()


@contextlib.contextmanager
def tampering(
    origin: str, change: Change, statuses: Mapping[str, int] | None = None
) -> Iterator[str]:
    """A proxy in front of a server that changes what is read: its origin.

    `statuses` has other ones for addresses with these ends.
    """

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET(self.rfile.read(int(self.headers["Content-Length"])))

        def do_GET(self, sent: bytes | None = None) -> None:
            accept, kind = (self.headers.get(name, "") for name in ("Accept", "Content-Type"))
            status, told, body = _answer(origin + self.path, accept or "*/*", kind, sent)
            headers = list(told)
            body = change(self.path, body, headers)
            ends = [own for end, own in (statuses or {}).items() if self.path.endswith(end)]
            self.send_response_only(ends[0] if ends else status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # a browser may leave
                self.wfile.write(body)

        def log_request(self, *_: object) -> None:
            """Nothing is logged."""

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Proxy)) as address:
        yield address


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that sends these bytes to everybody: its origin."""

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(answer)

    with _running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer)) as address:
        yield address


@contextlib.contextmanager
def _running(server: socketserver.TCPServer) -> Iterator[str]:
    with server:
        thread = threading.Thread(target=server.serve_forever, args=[_POLL])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


#: What a leak looks like, by the type of the file that it is in.
LEAKS = {
    "js": b"\nwindow.leaked = true;\n",
    "json": b"\n",
    "css": b"\nbody { background: url(leak.png); }\n",
    "svg": b"<!-- -->",
    "html": b'<script src="../../page/leak.js"></script>',
}


def leaking(name: str) -> Change:
    """A leak in one file of the page."""
    leak = LEAKS[name.rpartition(".")[2]]

    def change(path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
        sent = re.fullmatch("/s/[0-9a-f]+/", path) if name == HTML else path == f"/page/{name}"
        return body + leak if sent else body

    return change
