"""Clients that ask and do not read: they cost little memory and nobody else's time."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.asking import place
from tests.support.published import published
from tests.support.raw import Line, request
from tests.support.serving import SECONDS, Served, serving

SURVEY = published()
ASKED = request(place(SURVEY, "survey.json"), method="GET")
LIVE = request("/health/live", method="GET")
READERS = 300
#: Asked for so often, it is more than the system keeps for a reader.
AHEAD = 16
LARGE = published(
    questions=[
        {"name": "smokes", "kind": "yes_no", "text": "Do you smoke?"},
        *(
            {"name": f"q{i}", "kind": "yes_no", "text": "x" * 10_000, "sensitive": False}
            for i in range(60)
        ),
    ]
)
#: How the system shows a connection that both ends hold.
ESTABLISHED = "01"
#: What 300 of them may cost; a tenth of what they cost when pipelines had no bound.
MOST_GROWTH = 20 << 20


def reader(served: Served, sent: bytes) -> socket.socket:
    """A client that asks, and has room for little."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(SECONDS)
    made.connect((served.host, served.port))
    made.setblocking(False)
    with suppress(BlockingIOError):
        made.send(sent)
    return made


@contextmanager
def readers(served: Served, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    made = [reader(served, sent) for _ in range(number)]
    try:
        yield made
    finally:
        for one in made:
            one.close()


def answered(served: Served) -> bool:
    """Whether the server has come to the end of what was sent before."""
    line = Line(served.host, served.port)
    try:
        return line.ask(LIVE) == 200
    finally:
        line.close()


def test_slow_readers_cost_little_memory_and_keep_nobody_waiting(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY], "--log", "json") as served:
        assert answered(served)
        before = served.memory
        with readers(served, READERS, ASKED * 1000):
            assert all(answered(served) for _ in range(5))
            assert served.memory - before < MOST_GROWTH
    assert len(served.log) == 1


def test_readers_that_leave_before_they_have_read_are_no_fault(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY], "--log", "json") as served:
        for number in (1, 10, 100, 1000):
            with readers(served, 20, ASKED * number) as made:
                assert answered(served)  # by now the server waits for them
                for one in made[::2]:  # half of them rudely
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert answered(served)
        assert served.stop() == 0
    events = [json.loads(line)["event"] for line in served.log]
    assert events == ["started", "stopping", "stopped"]


def test_a_reader_that_takes_nothing_is_cut_off(tmp_path: Path) -> None:
    asked = request(place(LARGE, "survey.json"), method="GET") * AHEAD
    flags = ("--request-seconds", "1", "--log", "json")
    with serving(tmp_path, [LARGE], *flags) as served, readers(served, 5, asked) as made:
        assert all(_hung_up(one) for one in made)
    assert len(served.log) == 1


def _hung_up(one: socket.socket) -> bool:
    """Whether the server closes its end although nothing is read, within a minute."""
    end = time.monotonic() + SECONDS
    local = f":{one.getsockname()[1]:04X}"
    while time.monotonic() < end:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        if ESTABLISHED not in [line[3] for line in lines if line[2].endswith(local)]:
            return True
        time.sleep(0.1)
    return False
