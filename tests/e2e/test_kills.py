"""Nothing acknowledged is lost and nothing is stored twice, whatever is killed, and when.

A second process puts load on `tacit serve`: every request is sent again with its key until it is
acknowledged. Meanwhile the server, or PostgreSQL, is killed at moments drawn from a fixed seed.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tacit.service.store import Store
from tests.support.load import Plan, Report, Running, plan
from tests.support.postgres import Cluster
from tests.support.published import MANY, published

SURVEY = published()
CONNECTIONS = 16
#: Seconds a server runs between two kills, at least and at most.
LIVES = (0.1, 0.9)
SECONDS = 60.0

pytestmark = pytest.mark.slow


class Service:
    """`tacit serve` on one port, started again whenever it is killed: what systemd would do."""

    def __init__(self, folder: Path, database: str) -> None:
        published = folder / "published.json"
        published.write_text(SURVEY.to_json(), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._command = [
            *(sys.executable, "-m", "tacit", "serve", str(published), "--database", database),
            *("--port", str(self.port), "--rate", "off", "--log", "json"),
        ]
        self._log = folder / "log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def until_it_answers(self) -> None:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            assert self._process.poll() is None, self._log.read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"it does not answer: {self._log.read_text()}")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(SECONDS)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(SECONDS)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None


@contextmanager
def serving(folder: Path, database: str) -> Iterator[Service]:
    service = Service(folder, database)
    try:
        service.until_it_answers()
        yield service
    finally:
        if service.alive:
            service.kill()


def given(service: Service) -> Plan:
    return plan(SURVEY, "127.0.0.1", service.port, CONNECTIONS, seconds=SECONDS * 5)


def check(database: str, report: Report) -> None:
    """What is stored is what was acknowledged, each once."""
    assert set(report.answers) <= {"201", "200", "503"}, report.answers
    store = Store(database)
    stored = store.codes(SURVEY.survey.fingerprint)[:, 1]
    state = store.state(SURVEY.survey.fingerprint)
    store.close()
    assert len(report.acknowledged) > 100, "too little load to show anything"
    expected = Counter(number % MANY for number in report.acknowledged.values())
    assert Counter(int(number) for number in stored) == expected
    assert state.records == len(stored) == len(report.acknowledged)


def killed_again_and_again(folder: Path, database: str, kills: int) -> None:
    moments = random.Random(kills)
    with serving(folder, database) as service:
        load = Running(given(service))
        for _ in range(kills):
            time.sleep(moments.uniform(*LIVES))
            service.kill()
            service.start()
            service.until_it_answers()
        time.sleep(LIVES[1])
        load.stop()
        report = load.report()
        assert service.stop() == 0
    assert report.lost >= kills, "the load must have felt the kills"
    check(database, report)


def test_a_server_killed_20_times_on_sqlite_loses_and_doubles_nothing(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, str(tmp_path / "survey.db"), 20)


def test_a_server_killed_10_times_on_postgresql_loses_and_doubles_nothing(
    tmp_path: Path, cluster: Cluster
) -> None:
    killed_again_and_again(tmp_path, cluster.url(), 10)


def test_a_server_whose_postgresql_is_restarted_5_times_comes_back_by_itself(
    tmp_path: Path, cluster: Cluster
) -> None:
    moments = random.Random(5)
    database = cluster.url()
    with serving(tmp_path, database) as service:
        load = Running(given(service))
        for mode in ("fast", "immediate", "fast", "immediate", "immediate"):
            time.sleep(moments.uniform(*LIVES))
            cluster.restart(mode)
            assert service.alive
        time.sleep(LIVES[1])
        load.stop()
        report = load.report()
        assert service.stop() == 0
    assert report.answers["503"] >= 1, "the load must have felt the restarts"
    check(database, report)
