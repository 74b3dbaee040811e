"""Limits of a real server: what they keep out, and whom they must not keep out."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacit.collect.store.database import PATIENCE
from tests.support import stepped_clock
from tests.support.asking import compact, place, submission
from tests.support.published import published
from tests.support.raw import Line, request
from tests.support.serving import SECONDS, Served, serving

SURVEY = published()
DAY = 86400.0
LIVE = request("/health/live", method="GET")
#: What a client may send and then be silent.
SILENT = {"nothing": b"", "half a head": b"GE", "half a body": request("/", b"x" * 50)[:-49]}
silent = pytest.mark.parametrize("sent", SILENT.values(), ids=SILENT.keys())


def post(served: Served) -> httpx.Response:
    target = served.origin + place(SURVEY, "responses")
    return httpx.post(target, json=submission(SURVEY), timeout=SECONDS)


def test_a_clock_that_is_set_back_refuses_nobody_for_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in stepped_clock.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    with serving(tmp_path, [SURVEY], "--rate", "1/2seconds") as served:
        assert post(served).status_code == 201
        stepped_clock.step(tmp_path, -2 * DAY)
        for _ in range(5):
            answer = post(served)
            if answer.status_code == 201:
                break
            wait = int(answer.headers["retry-after"])
            assert wait <= 2
            time.sleep(wait)
        assert answer.status_code == 201


def test_an_open_survey_takes_so_many_in_all(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY], "--open-rate", "3/hour") as served:
        answers = [post(served) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 503, 503]
    assert int(answers[-1].headers["retry-after"]) in range(3500, 3601)


def test_a_limit_on_an_open_survey_that_is_reached_is_logged_once_and_not_per_submission(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, [SURVEY], "--open-rate", "1/hour", "--log", "json") as served:
        assert [post(served).status_code for _ in range(3)] == [201, 503, 503]
        until = time.monotonic() + SECONDS
        while "open-rate-reached" not in "".join(served.log):
            assert time.monotonic() < until, served.log
            time.sleep(0.05)
        assert post(served).status_code == 503
        assert served.stop() == 0
    lines = [json.loads(line) for line in served.log]
    (said,) = [line for line in lines if line["event"] == "open-rate-reached"]
    assert said.keys() == {"event", "level", "timestamp", "refused"}
    assert said["refused"] in (1, 2)


@contextmanager
def held(served: Served, sources: list[str], sent: bytes) -> Iterator[list[socket.socket]]:
    """A connection from each of these addresses that sends this and then nothing."""
    made: list[socket.socket] = []
    try:
        for source in sources:
            place_ = (served.host, served.port)
            made.append(socket.create_connection(place_, SECONDS, (source, 0)))
            with suppress(ConnectionError):  # it may be turned away at once
                made[-1].sendall(sent)
        yield made
    finally:
        for one in made:
            one.close()


def still_open(one: socket.socket) -> bool:
    """Whether the server holds a connection that has nothing to say."""
    one.setblocking(False)
    try:
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def asked(served: Served, path: str = "/health/live", source: str = "127.0.0.1") -> int | None:
    """The answer to a visitor from this address."""
    with closing(Line(served.host, served.port, source)) as line:
        return line.ask(request(path, method="GET"))


@silent
def test_one_address_that_holds_connections_locks_nobody_out(tmp_path: Path, sent: bytes) -> None:
    flags = ("--connections", "200", "--connections-per-address", "50")
    with (
        serving(tmp_path, [SURVEY], *flags) as served,
        held(served, ["127.0.0.1"] * 400, sent) as made,
    ):
        for source in ("127.0.0.2", "127.0.0.1"):
            assert asked(served, "/health/live", source) == 200
            assert asked(served, place(SURVEY), source) == 200
        assert sum(map(still_open, made)) <= 50


@silent
def test_many_addresses_that_hold_connections_lock_nobody_out(tmp_path: Path, sent: bytes) -> None:
    sources = [f"127.0.0.{number}" for number in range(2, 42)] * 10
    with (
        serving(tmp_path, [SURVEY], "--connections", "100") as served,
        held(served, sources, sent) as made,
    ):
        assert [asked(served, place(SURVEY)) for _ in range(20)] == [200] * 20
        assert sum(map(still_open, made)) <= 100


@pytest.mark.parametrize("trusted", [True, False])
def test_connections_of_a_trusted_proxy_are_not_those_of_one_address(
    tmp_path: Path, trusted: bool
) -> None:
    flags = ("--connections", "100", "--connections-per-address", "5")
    proxy = ("--trusted-proxy", "127.0.0.1") if trusted else ()
    with (
        serving(tmp_path, [SURVEY], *flags, *proxy) as served,
        held(served, ["127.0.0.1"] * 50, LIVE) as made,
    ):
        assert asked(served, source="127.0.0.2") == 200
        assert sum(map(still_open, made)) == (50 if trusted else 5)


@contextmanager
def hung(served: Served) -> Iterator[None]:
    """While nothing can be written to the database, since somebody else holds it."""
    with closing(sqlite3.connect(served.database, isolation_level=None)) as other:
        other.execute("begin exclusive")
        yield
        other.execute("rollback")


def test_health_is_answered_and_the_queue_is_full_while_the_database_hangs(
    tmp_path: Path,
) -> None:
    """The server gives up after some seconds: what a busy machine sees later is tried again."""
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        told, why, live, waiting, in_time = _seen_while_the_database_hangs(folder)
        if in_time:
            break
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b'"busy"' in told
    assert why == "queue"
    assert live == [200] * 5
    assert 10 <= waiting <= 20


def _seen_while_the_database_hangs(folder: Path) -> tuple[bytes, Any, list[int | None], int, bool]:
    """The last of many responses, why nothing is stored, answers to others, and who still waits."""
    one = request(place(SURVEY, "responses"), compact(submission(SURVEY)))
    sources = [f"127.0.0.{number}" for number in range(2, 42)]
    flags = ("--connections", "20", "--batch", "5", "--write-seconds", "60")
    with serving(folder, [SURVEY], *flags) as served, hung(served):
        until, why = time.monotonic() + PATIENCE, None
        with held(served, sources, one) as made:
            told = made[-1].recv(1 << 16)
            while why != "queue" and time.monotonic() < until:
                why = httpx.get(f"{served.origin}/health/ready").json().get("why")
            live = [asked(served) for _ in range(5)]
            waiting = sum(map(still_open, made))
            return told, why, live, waiting, time.monotonic() < until
