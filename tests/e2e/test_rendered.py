"""Answers that are rendered before are those that uvicorn would send."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.published import published
from tests.support.serving import serving


def _asked(host: str, port: int, request: str) -> tuple[str, set[str], bytes]:
    """First line, headers but for those that depend on connection and time, and the body."""
    with socket.create_connection((host, port), 10) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = said.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    kept = {one for one in headers if not one.startswith(("date:", "connection:"))}
    assert any(one.startswith("date:") for one in headers)
    return line, kept, body


@pytest.mark.parametrize("path", ["/health/live", "/", "/page/style.css"])
def test_an_answer_is_the_same_whichever_way_it_is_sent(tmp_path: Path, path: str) -> None:
    with serving(tmp_path, [published()]) as served:
        ask = f"GET {path} HTTP/1.1\r\nHost: x\r\n"
        rendered = _asked(served.host, served.port, f"{ask}\r\n")
        closing = _asked(served.host, served.port, f"{ask}Connection: close\r\n\r\n")
        head = _asked(served.host, served.port, f"HEAD{ask[3:]}\r\n")
    assert rendered == closing
    assert rendered[:2] == head[:2]
    assert head[2] == b""
    assert rendered[2] != b""


def test_answers_on_one_connection_come_in_order(tmp_path: Path) -> None:
    with serving(tmp_path, [published()]) as served:
        ask = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"
        wanted = ["/health/live", "/nothing", "/health/ready"]
        with socket.create_connection((served.host, served.port), 10) as connection:
            connection.sendall("".join(map(ask.format, wanted)).encode())
            connection.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    statuses = [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404", b"200"]
