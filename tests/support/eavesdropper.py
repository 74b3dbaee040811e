"""TLS in front of a server, and somebody on the network who sees the length of every TLS record."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

_APPLICATION_DATA = 23
_HEAD = 5
_SECONDS = 60.0


class Eavesdropper:
    """Relays TLS connections to a plain server; `lengths` are those of the browser's records."""

    def __init__(self, context: ssl.SSLContext, target: tuple[str, int]) -> None:
        self._context, self._target = context, target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.lengths: list[int] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def overheard(self) -> tuple[int, ...]:
        """The lengths since the last call."""
        seen, self.lengths = self.lengths, []
        return tuple(seen)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(_SECONDS)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                relay = threading.Thread(target=self._relay, args=[client], daemon=True)
                relay.start()

    def _relay(self, client: socket.socket) -> None:
        incoming, outgoing, seen = ssl.MemoryBIO(), ssl.MemoryBIO(), bytearray()
        tls = self._context.wrap_bio(incoming, outgoing, server_side=True)
        with client, socket.create_connection(self._target) as server, contextlib.suppress(OSError):
            for line in (client, server):
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if ready is client:
                        self._listen(seen, data)
                        incoming.write(data)
                        server.sendall(_decrypted(tls))
                    else:
                        tls.write(data)
                    client.sendall(outgoing.read())

    def _listen(self, seen: bytearray, data: bytes) -> None:
        """Note the lengths of whole records; nothing else of them can be read."""
        seen += data
        while len(seen) >= _HEAD:
            length = int.from_bytes(seen[3:_HEAD], "big")
            if len(seen) < _HEAD + length:
                return
            if seen[0] == _APPLICATION_DATA:
                self.lengths.append(length)
            del seen[: _HEAD + length]


def _decrypted(tls: ssl.SSLObject) -> bytes:
    found = b""
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
        while more := tls.read(1 << 16):
            found += more
    return found


@contextlib.contextmanager
def eavesdropping(origin: str, folder: Path) -> Iterator[Eavesdropper]:
    """Somebody who listens in front of the server at this origin, which speaks plain HTTP."""
    host, _, port = origin.removeprefix("http://").partition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder))
    found = Eavesdropper(context, (host, int(port)))
    try:
        yield found
    finally:
        found.close()


def _certificate(folder: Path) -> Path:
    """A certificate that nobody signed, with its key."""
    if shutil.which("openssl") is None:
        if os.environ.get("TACIT_REQUIRE_ALL") == "1":
            pytest.fail("openssl is not installed, and TACIT_REQUIRE_ALL=1")
        pytest.skip("openssl is not installed")
    path = folder / "certificate.pem"
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    named = ["-subj", "/CN=127.0.0.1", "-keyout", str(path), "-out", str(folder / "public.pem")]
    subprocess.run(["openssl", *made, *named], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + (folder / "public.pem").read_bytes())
    return path
