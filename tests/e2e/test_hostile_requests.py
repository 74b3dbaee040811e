"""10,000 requests that no page sends, at a real server: all refused, nothing stored, no fault.

Malformed, oversized, slow, chunked and wrongly typed ones by hand, and what schemathesis makes of
the OpenAPI document.
"""

from __future__ import annotations

import json
import random
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from tacit.collect.http import PROBLEMS
from tacit.collect.store import Store
from tacit.collect.submission import SubmissionValidator
from tests.support.asking import compact, place, submission
from tests.support.published import published
from tests.support.raw import SECONDS, Line, chunked, request
from tests.support.serving import Served, serving, temporary

SURVEY = published()
TARGET = place(SURVEY, "responses")
LIMIT = SubmissionValidator(SURVEY).limit
#: Of another design, so that no change makes it right.
WRONG = submission(SURVEY, fingerprint="0" * 64, key="0" * 32)
#: How many of each kind.
BODIES, HEADS, CHUNKS, NOT_HTTP, OVERSIZED, SLOW, GENERATED = 5500, 2000, 1200, 800, 300, 100, 100
DOCUMENTED = {problem.status for problem in PROBLEMS if problem.status < 500} | {503}
#: Resident memory may grow by this much; together the requests are several times as large.
MOST_GROWTH = 64 << 20


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    flags = ("--rate", "off", "--request-seconds", "2", "--log", "json")
    with temporary() as folder, serving(folder, [SURVEY], *flags) as it:
        yield it


def bodies(chance: random.Random) -> Iterator[bytes]:
    """JSON that is broken, or that says the wrong thing."""
    whole = json.dumps(WRONG).encode()
    odd = [
        None,
        True,
        7,
        -1.5,
        1e308,
        "",
        "no",
        [],
        {},
        [[]],
        "\ud800",
        "\x00",
        "é" * 50,
        {"a": "b"},
    ]
    while True:
        cut = chance.randrange(len(whole))
        place_ = chance.choice(["fingerprint", "key", "record", "token", "more"])
        yield request(TARGET, whole[:cut])
        yield request(TARGET, whole[:cut] + chance.randbytes(3) + whole[cut:])
        yield request(TARGET, chance.randbytes(chance.randrange(1, LIMIT)))
        yield request(TARGET, json.dumps(WRONG | {place_: chance.choice(odd)}).encode())
        yield request(TARGET, json.dumps(chance.choice(odd)).encode())
        yield request(
            TARGET, json.dumps({**WRONG, "record": {"smokes": chance.choice(odd)}}).encode()
        )
        yield request(TARGET, (b"[" * chance.randrange(1, LIMIT)))
        yield request(
            TARGET, whole.decode().encode(chance.choice(["utf-16", "utf-32", "utf-8-sig"]))
        )


HOSTS = [b"", b"Host: a\r\nHost: b\r\n", b"Host: a b\r\n", b"Host: a/b\r\n"]
VERSIONS = [b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b""]


def heads(chance: random.Random) -> Iterator[bytes]:
    """Wrong methods, paths, types and headers."""
    body = json.dumps(WRONG).encode()
    methods = ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"]
    kinds = [
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "a/b;" * 50,
        "é",
        '"',
    ]
    paths = [
        "/",
        "//",
        "/s",
        "/s/",
        "/s//responses",
        "/s/0/responses",
        "/..",
        "/%2e%2e/%2e%2e/etc",
        "/s/%00/",
        "/page/%2e%2e%2fsettings.py",
        "/page/",
        "/metrics",
        "/s/é",
        f"{TARGET}/",
        "*",
    ]
    while True:
        yield request(TARGET, body, headers=(f"Content-Type: {chance.choice(kinds)}",))
        yield request(TARGET, body, chance.choice([m for m in methods if m != "HEAD"]))
        yield request(chance.choice(paths), body, chance.choice(["GET", "POST", "PUT"]))
        yield request(TARGET + "?" + "q" * chance.randrange(2000), body[:-1])
        yield request(TARGET, body, headers=("Content-Encoding: gzip",))
        yield request(TARGET, body, headers=("Content-Type: application/json",) * 2)
        yield request(TARGET, body, headers=tuple(f"X-{i}: {'y' * 50}" for i in range(200)))
        yield request(TARGET, body, headers=("Upgrade: websocket", "Connection: Upgrade"))
        yield request(TARGET, body).replace(b"Length: ", b"Length: " + b"0" * 4400)
        yield request(TARGET, body).replace(b"Host: survey.test\r\n", chance.choice(HOSTS))
        yield request(TARGET, body).replace(b"HTTP/1.1", chance.choice(VERSIONS))


def chunks(chance: random.Random) -> Iterator[bytes]:
    """Bodies in chunks: of one byte each, too many, wrongly framed, with trailers."""
    whole = json.dumps(WRONG).encode()
    single = b"".join(b"1\r\n%c\r\n" % byte for byte in whole)
    while True:
        yield chunked(TARGET, iter([single, b"0\r\n\r\n"]))
        yield chunked(TARGET, iter([b"%x\r\n%s\r\n" % (2 * LIMIT, b"x" * 2 * LIMIT), b"0\r\n\r\n"]))
        yield chunked(TARGET, iter([b"1;%s\r\nx\r\n" % (b"e" * 500), b"0\r\n\r\n"]))
        yield chunked(
            TARGET, iter([single, b"0\r\nTrailer: %s\r\n\r\n" % chance.randbytes(9).hex().encode()])
        )
        yield chunked(TARGET, iter([b"zz\r\n", chance.randbytes(20)]))
        yield chunked(TARGET, iter([b"ffffffffffffffffff\r\nx\r\n"]))
        yield chunked(TARGET, iter([single, b"0\r\n\r\n"])).replace(
            b": chunked", b": gzip, chunked"
        )


def not_http(chance: random.Random) -> Iterator[bytes]:
    """What is no request at all, or two that disagree."""
    yield from (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), b"\x00" * 1000)
    while True:
        yield b"\x01" + chance.randbytes(chance.randrange(1, 3000)) + b"\r\n\r\n"
        yield b"POST %s HTTP/9.9\r\n\r\n" % TARGET.encode()
        yield b"POST %s HTTP/1.1\r\nContent-Length: -1\r\n\r\n" % TARGET.encode()
        yield b"POST %s HTTP/1.1\r\nContent-Length: 1x\r\n\r\nx" % TARGET.encode()
        yield (
            b"POST %s HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nxxxxx"
            % TARGET.encode()
        )
        yield (
            b"POST %s HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            % TARGET.encode()
        )
        yield b"POST %s HTTP/1.1\r\nNo colon\r\n\r\n" % TARGET.encode()
        yield b"GET http://[ HTTP/1.1\r\n\r\n"


def oversized(chance: random.Random) -> Iterator[bytes]:
    """More than any answer: announced, sent, or as a head without end."""
    for size in cycle([LIMIT + 1, 100_000, 1 << 20, 3 << 20]):
        announced = request(TARGET).replace(b"Content-Length: 0", b"Content-Length: %d" % 10**15)
        yield announced + b"x" * (size % 200_000)
        yield request(TARGET, b"x" * size)
        yield b"GET /%s HTTP/1.1\r\nX: %s\r\n\r\n" % (b"a" * 10, b"y" * min(size, 600_000))


KINDS: dict[Callable[[random.Random], Iterator[bytes]], int] = {
    bodies: BODIES,
    heads: HEADS,
    chunks: CHUNKS,
    not_http: NOT_HTTP,
    oversized: OVERSIZED,
}


def stored(served: Served) -> int:
    store = Store(served.database)
    try:
        return store.state(SURVEY.survey.fingerprint).records
    finally:
        store.close()


def slow(served: Served, number: int) -> list[int | None]:
    """Requests that stop in the middle of head or body, all at once, and their answers."""
    starts = [b"", b"PO", b"POST / HTTP/1.1\r\nX: y", request(TARGET, b"x" * 50)[:-49]]
    lines = [Line(served.host, served.port) for _ in range(number)]
    for line, start in zip(lines, cycle(starts), strict=False):
        line._open().sendall(start)
    return [line.ask(b"", finished=False) for line in lines]


def generated(served: Served, number: int) -> Counter[int]:
    """What schemathesis makes of the OpenAPI document for the submit path."""
    schema = schemathesis.openapi.from_url(f"{served.origin}/openapi.json")
    answers: Counter[int] = Counter()
    operation = schema["/s/{slug}/responses"]["POST"]

    @given(case=operation.as_strategy())
    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: schemathesis.Case) -> None:
        case.path_parameters = {"slug": SURVEY.slug}
        answer = case.call(timeout=SECONDS)
        answers[answer.status_code] += 1

    send()
    return answers


def test_ten_thousand_hostile_requests_do_no_harm(served: Served) -> None:
    memory, answers, sent = served.memory, Counter[int | None](), 0
    for kind, number in KINDS.items():
        line = Line(served.host, served.port)
        found = Counter(line.ask(one) for one in islice(kind(random.Random(6)), number))
        line.close()
        sent += line.sent
        assert found.keys() <= DOCUMENTED | {None}, kind.__name__
        if kind is not oversized:  # it is cut off while it sends
            assert found[None] == 0, kind.__name__
        answers += found
    late = Counter(slow(served, SLOW))
    assert late == {408: SLOW * 3 // 4, None: SLOW // 4}, "where nothing came, nothing is said"
    made = generated(served, GENERATED)
    assert made.keys() <= DOCUMENTED
    assert (answers + late).total() + made.total() >= 10_000
    assert {400, 404, 405, 408, 409, 413, 415} <= (answers + late).keys()
    assert stored(served) == 0
    assert sent > 2 * MOST_GROWTH
    assert served.memory - memory < MOST_GROWTH
    assert len(served.log) == 1, "nothing but the start is logged"


def test_after_all_this_a_right_record_is_stored(served: Served) -> None:
    answer = httpx.post(served.origin + TARGET, json=submission(SURVEY))
    assert answer.status_code == 201
    assert stored(served) == 1


def test_senders_that_leave_at_once_do_no_harm(served: Served) -> None:
    before = stored(served)
    for number in range(200):
        with socket.create_connection((served.host, served.port)) as connection:
            if number % 2:  # hang up rudely: what is sent to it is an error
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            many = request(place(SURVEY, "survey.json"), method="GET") * 20
            one = request(TARGET, compact(submission(SURVEY)))
            connection.sendall(many if number % 3 else one)
    answer = httpx.post(served.origin + TARGET, json=submission(SURVEY), timeout=SECONDS)
    assert answer.status_code == 201
    assert before < stored(served) <= before + 1 + 67
    assert served.process.poll() is None
    assert len(served.log) == 1
