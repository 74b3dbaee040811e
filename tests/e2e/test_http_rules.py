"""RFC 9112 at a real server: what is not to be understood is refused, and never in two ways."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.support.asking import compact, place, submission
from tests.support.published import published
from tests.support.raw import SECONDS, request
from tests.support.serving import Served, serving, temporary

SURVEY = published()
TARGET = place(SURVEY, "responses")
LIVE = b"GET /health/live HTTP/1.1\r\nHost: survey.test\r\n\r\n"
LAST = LIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with temporary() as folder, serving(folder, [SURVEY], "--rate", "off", "--log", "json") as it:
        yield it


def right(*headers: bytes, host: bytes = b"Host: a.test\r\n", version: bytes = b"1.1") -> bytes:
    """A submission that is stored if the head is taken; in chunks if the headers say so."""
    body = compact(submission(SURVEY))
    framed = b"".join(headers)
    if b"transfer-encoding" in framed.lower():
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    elif b"content-length" not in framed.lower():
        framed += b"Content-Length: %d\r\n" % len(body)
    kind = b"Content-Type: application/json\r\n"
    line = b"POST %s HTTP/%s\r\n" % (TARGET.encode(), version)
    return line + host + kind + framed.replace(b"LENGTH", b"%d" % len(body)) + b"\r\n" + body


def answers(served: Served, sent: bytes) -> list[int]:
    """The statuses that come back until the server hangs up."""
    with socket.create_connection((served.host, served.port), SECONDS) as connection:
        said = b""
        with suppress(ConnectionError):  # it may hang up while more is sent than it takes
            connection.sendall(sent)
            while part := connection.recv(1 << 16):
                said += part
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(right(), id="Content-Length"),
        pytest.param(right(b"Content-Length: 000LENGTH\r\n"), id="few leading zeros"),
        pytest.param(right(CHUNKED), id="chunked"),
        pytest.param(right(host=b"Host:\r\n"), id="empty Host"),
        pytest.param(right(host=b"Host: [2001:db8::1]:8000\r\n"), id="Host in IPv6"),
        pytest.param(right(host=b"", version=b"1.0"), id="HTTP/1.0 without Host"),
    ],
)
def test_what_is_right_is_taken(served: Served, sent: bytes) -> None:
    assert answers(served, sent + LAST) in ([201, 200], [201])


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(right(host=b""), id="no Host"),
        pytest.param(right(host=b"Host: a\r\nHost: a\r\n"), id="two Hosts"),
        pytest.param(right(host=b"Host: a\r\nHost: b\r\n", version=b"1.0"), id="two in HTTP/1.0"),
        pytest.param(right(host=b"Host: a, b\r\n"), id="a list of Hosts"),
        pytest.param(right(host=b"Host: a/b\r\n"), id="a path in Host"),
        pytest.param(right(host=b"Host: a@b\r\n"), id="a user in Host"),
        pytest.param(right(b"Transfer-Encoding: gzip, chunked\r\n"), id="gzip, chunked"),
        pytest.param(right(b"Transfer-Encoding: gzip\r\n" + CHUNKED), id="gzip and chunked"),
        pytest.param(right(b"Transfer-Encoding: chunked, chunked\r\n"), id="chunked twice"),
        pytest.param(right(CHUNKED * 2), id="two Transfer-Encodings"),
        pytest.param(right(b"Transfer-Encoding: identity, chunked\r\n"), id="identity, chunked"),
        pytest.param(right(b"Transfer-Encoding: gzip\r\n"), id="gzip alone"),
        pytest.param(right(b"Transfer-Encoding: xchunked\r\n"), id="xchunked"),
        pytest.param(right(CHUNKED, version=b"1.0"), id="chunked in HTTP/1.0"),
        pytest.param(right(CHUNKED + b"Content-Length: 5\r\n"), id="both lengths"),
        pytest.param(right(b"Content-Length: LENGTH\r\n" * 2), id="two Content-Lengths"),
        pytest.param(right(b"Content-Length: LENGTH, LENGTH\r\n"), id="a list of lengths"),
        pytest.param(right(b"Content-Length: +LENGTH\r\n"), id="a sign"),
        pytest.param(right(b"Content-Length: %sLENGTH\r\n" % (b"0" * 4400)), id="4,400 zeros"),
        pytest.param(right(b"Content-Length: %s\r\n" % (b"9" * 4400)), id="4,400 nines"),
        pytest.param(right(version=b"0.9"), id="HTTP/0.9"),
        pytest.param(right(version=b"2.0"), id="HTTP/2.0"),
        pytest.param(right(version=b"1.2"), id="HTTP/1.2"),
        pytest.param(b"GET /health/live\r\n\r\n", id="no version"),
        pytest.param(right().replace(b"\r\n", b"\n"), id="bare LF"),
        pytest.param(right(b"X: a\rY: b\r\n"), id="bare CR"),
        pytest.param(right(b"X : a\r\n"), id="a space before the colon"),
        pytest.param(right(b"X: a\r\n b\r\n"), id="a folded line"),
        pytest.param(right(b"X: \0\r\n"), id="NUL"),
        pytest.param(b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", id="CONNECT"),
    ],
)
def test_what_can_be_understood_in_two_ways_is_refused(served: Served, sent: bytes) -> None:
    assert answers(served, sent) == [400]
    assert answers(served, LIVE + sent + LAST) in ([200, 400], [200]), "it ends the connection"
    assert len(served.log) == 1


def test_the_answer_to_a_stored_record_is_not_lost_because_nonsense_follows(
    served: Served,
) -> None:
    for nonsense in (b"NONSENSE\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\0"):
        assert answers(served, right() + nonsense)[0] == 201
        assert answers(served, right() + right() + nonsense)[:2] == [201, 201]


def test_requests_sent_ahead_without_end_are_answered_up_to_a_bound(served: Served) -> None:
    found = answers(served, LIVE * 10 + LAST)
    assert found == [200] * 11
    found = answers(served, request(place(SURVEY, "survey.json"), method="GET") * 2000)
    assert 0 < len(found) < 100
    assert set(found) == {200}
    assert len(served.log) == 1
