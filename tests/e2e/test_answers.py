"""Answers that are sent whole are those that uvicorn would send."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.asking import compact, place, submission
from tests.support.published import published
from tests.support.serving import Served, serving

SURVEY = published()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), [SURVEY]) as it:
        yield it


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
def test_an_answer_is_the_same_whichever_way_it_is_sent(served: Served, path: str) -> None:
    whole = _asked(served, path)
    closing = _asked(served, path, connection="close")
    head = _asked(served, path, "HEAD")
    assert whole == closing
    assert whole[:3] == head[:3]
    assert head[3] == b""
    assert whole[3] != b""


def _talked(served: Served, *sent: bytes) -> list[bytes]:
    """The statuses of what is said on one connection, until the server ends it."""
    with socket.create_connection((served.host, served.port), 10) as connection:
        for part in sent:
            connection.sendall(part)
        said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    return [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]]


def _get(path: str, version: str = "1.1", *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/{version}", "Host: x", *headers, "", ""]).encode()


def _post(*headers: str) -> bytes:
    body = compact(submission(SURVEY))
    head = [f"POST {place(SURVEY, 'responses')} HTTP/1.1", "Host: x", *headers]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode() + body


LAST = _get("/health/ready", "1.1", "Connection: close")


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        ([_get("/health/live"), _get("/nothing"), LAST], [b"200", b"404", b"200"]),
        ([_post() + _post() + _get("/nothing") + LAST], [b"201", b"201", b"404", b"200"]),
        ([_get("/health/live", "1.0")], [b"200"]),
        ([_post("Expect: 100-continue"), LAST], [b"100", b"201", b"200"]),
    ],
    ids=["kept", "at once", "HTTP/1.0", "100-continue"],
)
def test_each_request_of_a_connection_is_answered_in_order(
    served: Served, sent: list[bytes], statuses: list[bytes]
) -> None:
    assert _talked(served, *sent) == statuses


@pytest.mark.parametrize("before", [b"", _post()], ids=["at first", "later"])
def test_a_head_without_an_end_is_refused(served: Served, before: bytes) -> None:
    said = b""
    with socket.create_connection((served.host, served.port), 10) as connection:
        connection.sendall(before + b"GET / HTTP/1.1\r\nX: ")
        connection.settimeout(0.05)
        for _ in range(100):
            with suppress(TimeoutError):
                while part := connection.recv(1 << 16):
                    said += part
                break
            connection.sendall(b"y" * 10_000)
    assert said.endswith(b"}")
    assert b"HTTP/1.1 431 " in said
    assert (b"HTTP/1.1 201 " in said) == bool(before)
