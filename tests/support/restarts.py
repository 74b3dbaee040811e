"""`tacit serve` that is killed, stopped and started again under load, and what must be left."""

from __future__ import annotations

import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import select

from tacit.collect.store import Store
from tacit.collect.store.sql_tables import tokens
from tacit.collect.store.values import token_hashes
from tacit.survey import Published
from tests.support import warm_start
from tests.support.load import Report
from tests.support.published import MANY
from tests.support.serving import SECONDS


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


class Service:
    """`tacit serve` on one port, started again whenever it is killed: what systemd would do.

    `passed` is a listening socket that it gets from its parent, as from systemd.
    """

    def __init__(
        self,
        folder: Path,
        database: str,
        survey: Published,
        *flags: str,
        port: int | None = None,
        passed: socket.socket | None = None,
    ) -> None:
        published = folder / "published.json"
        published.write_text(survey.to_json(), encoding="utf-8")
        self.port = free_port() if port is None else port
        self._command = [
            *("serve", str(published), "--database", database),
            *("--port", str(self.port), "--rate", "off", "--open-rate", "off", "--log", "json"),
            *flags,
        ]
        self._passed = passed
        self._log = folder / "log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._before = log.tell()
            self._process = warm_start.start(self._command, log, log, passed=self._passed)

    def until_it_answers(self) -> None:
        self._until(self._connects)

    def until_it_started(self) -> None:
        """Wait for its own word, where another server would answer at the same port."""
        self._until(lambda: '"event": "started"' in self.said)

    @property
    def said(self) -> str:
        """What it wrote since it was started last."""
        return self._log.read_bytes()[self._before :].decode()

    def _until(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + SECONDS
        while not true():
            assert self.alive, self._log.read_text()
            assert time.monotonic() < until, f"it does not answer: {self._log.read_text()}"
            time.sleep(0.02)

    def _connects(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(SECONDS)

    def killed_after(self, seconds: float) -> None:
        time.sleep(seconds)
        self.kill()
        self.start()

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(SECONDS)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None


def invited(database: str, survey: Published, n: int) -> list[str]:
    """The tokens of n one-time links."""
    store = Store(database)
    store.register(survey)
    made = store.invite(survey.survey.fingerprint, n)
    store.close()
    return made


def until_stored(database: str, survey: Published, more: int = 1) -> None:
    """Wait until the load has stored so many more records, however slow the machine is."""
    until = time.monotonic() + SECONDS
    with closing(Store(database)) as store:
        wanted = store.state(survey.survey.fingerprint).records + more
        while store.state(survey.survey.fingerprint).records < wanted:
            assert time.monotonic() < until, "the load stores nothing"
            time.sleep(0.02)


def check_stored(
    database: str, survey: Published, report: Report, links: Sequence[str] = ()
) -> None:
    """What is stored is what was acknowledged, each once; the links left are those of no record."""
    assert set(report.answers) <= {"201", "200", "503"}, report.answers
    fingerprint = survey.survey.fingerprint
    store = Store(database)
    stored = store.codes(fingerprint)[:, 1]
    state = store.state(fingerprint)
    with store.database.reading() as connection:
        left = connection.scalars(select(tokens.c.hash)).all()
    store.close()
    assert len(report.acknowledged) > 100, "too little load to show anything"
    expected = Counter(number % MANY for number in report.acknowledged.values())
    assert Counter(int(number) for number in stored) == expected
    assert state.records == len(stored) == len(report.acknowledged)
    used = {links[number] for number in report.acknowledged.values()} if links else set()
    assert not set(left) ^ set(token_hashes(fingerprint, set(links) - used))
    assert state.remaining == len(left) == len(links) - len(used)


def together(reports: Sequence[Report]) -> Report:
    """The report of several loads at the same time."""
    answers: Counter[str] = Counter()
    acknowledged: dict[str, int] = {}
    for report in reports:
        answers.update(report.answers)
        acknowledged |= report.acknowledged
    made = Report(max(report.seconds for report in reports), dict(answers))
    made.lost, made.cut, made.refused = (
        sum(getattr(report, name) for report in reports) for name in ("lost", "cut", "refused")
    )
    made.acknowledged = acknowledged
    return made
