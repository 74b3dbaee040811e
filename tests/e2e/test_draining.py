"""A stop under load: every request that reached the server is answered, then it ends."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

from tests.support.asking import place
from tests.support.load import Running, plan
from tests.support.published import published
from tests.support.raw import Line, request
from tests.support.serving import SECONDS, records_in, serving

SURVEY = published()
CONNECTIONS = 64
FLAGS = ("--rate", "off", "--open-rate", "off", "--log", "json", "--database")


def test_sigterm_under_load_cuts_no_request(tmp_path: Path, url: str) -> None:
    with serving(tmp_path, [SURVEY], *FLAGS, url) as served:
        load = Running(plan(SURVEY, served.host, served.port, CONNECTIONS, once=True))
        until = time.monotonic() + SECONDS
        while records_in(url, SURVEY) < 500:
            assert time.monotonic() < until
            time.sleep(0.05)
        # Held for a moment, all clients have read neither their answers nor that the server ends.
        with load.held():
            served.process.send_signal(signal.SIGTERM)
            while not any("stopping" in line for line in served.log):
                assert time.monotonic() < until
                time.sleep(0.01)
        assert served.process.wait(SECONDS) == 0
        report = load.report()
    assert set(report.answers) <= {"201", "503"}
    assert report.cut == 0
    assert report.ended == CONNECTIONS, "each connection was closed by the server"
    assert records_in(url, SURVEY) == len(report.acknowledged) == report.stored
    stopped = json.loads(served.log[-1])
    assert (stopped["event"], stopped["submissions"]["stored"]) == ("stopped", report.stored)


def test_a_request_that_arrives_while_it_drains_is_answered(tmp_path: Path) -> None:
    """Half a request is there at the signal, its rest comes later; an idle connection ends."""
    asked = request(place(SURVEY, "responses"), b"{}")
    with serving(tmp_path, [SURVEY], *FLAGS, str(tmp_path / "tacit.db")) as served:
        idle, half = (socket.create_connection((served.host, served.port)) for _ in range(2))
        with idle, half:
            half.settimeout(SECONDS)
            idle.settimeout(SECONDS)
            half.sendall(asked[:40])
            line = Line(served.host, served.port)
            assert line.ask(asked) == 400
            line.close()
            served.process.send_signal(signal.SIGTERM)
            assert idle.recv(1) == b"", "it was closed in good order"
            half.sendall(asked[40:])
            answer = half.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"\r\nconnection: close\r\n" in answer
        assert served.process.wait(SECONDS) == 0
