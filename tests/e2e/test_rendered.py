"""Answers that are rendered before are those that uvicorn would send."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.published import published
from tests.support.serving import Served, serving


def _asked(served: Served, path: str, method: str = "GET", **headers: str) -> tuple[Any, ...]:
    """Status, headers but for those that depend on connection and time, and the body."""
    connection = http.client.HTTPConnection(served.host, served.port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found, body = dict(answer.getheaders()), answer.read()
    connection.close()
    assert found.pop("date")
    found.pop("connection", None)
    return answer.status, answer.reason, found, body


@pytest.mark.parametrize("path", ["/health/live", "/", "/page/style.css"])
def test_an_answer_is_the_same_whichever_way_it_is_sent(tmp_path: Path, path: str) -> None:
    with serving(tmp_path, [published()]) as served:
        rendered = _asked(served, path)
        closing = _asked(served, path, connection="close")
        head = _asked(served, path, "HEAD")
    assert rendered == closing
    assert rendered[:3] == head[:3]
    assert head[3] == b""
    assert rendered[3] != b""


def test_answers_on_one_connection_come_in_order(tmp_path: Path) -> None:
    with serving(tmp_path, [published()]) as served:
        ask = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"
        wanted = ["/health/live", "/nothing", "/health/ready"]
        with socket.create_connection((served.host, served.port), 10) as connection:
            connection.sendall("".join(map(ask.format, wanted)).encode())
            said = b""
            while said.count(b"HTTP/1.1 ") < len(wanted):
                said += connection.recv(1 << 16)
    statuses = [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404", b"200"]
