"""Clients that send responses while a test changes the world around the server, stage by stage.

Each answer is counted under the stage that held *before* its request was sent. So an answer of the
stage "gone" belongs to a request that began after the test had taken the database away.
"""

from __future__ import annotations

import http.client
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tacit.survey import Published
from tests.support.load import plan
from tests.support.published import MANY
from tests.support.serving import SECONDS, Served

_CLIENTS = 8
_PAUSE = 0.02


@dataclass
class Stages:
    """The answers to a load, and to questions for readiness, by stage."""

    served: Served
    survey: Published
    stage: str = "before"
    answers: dict[str, Counter[int]] = field(default_factory=dict)
    ready: dict[str, Counter[int]] = field(default_factory=dict)
    #: Numbers of the records that were acknowledged.
    acknowledged: list[int] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))
    _ended: threading.Event = field(default_factory=threading.Event)
    _sending: threading.Event = field(default_factory=threading.Event)
    #: Each is held by a client while its request is under way.
    _turns: list[threading.Lock] = field(default_factory=list)

    def until(self, kind: str, status: int, n: int = 1) -> None:
        """Wait until this stage has had so many answers of a status."""
        counted = {"answers": self.answers, "ready": self.ready}[kind]
        until = time.monotonic() + SECONDS
        while counted.setdefault(self.stage, Counter())[status] < n:
            said = "".join(self.served.log)
            assert time.monotonic() < until, f"{self.stage}: {kind} {dict(counted)}\n{said}"
            time.sleep(_PAUSE)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No request is under way; readiness is still asked for."""
        self._sending.clear()
        for turn in self._turns:
            with turn:
                pass
        yield
        self._sending.set()

    def _client(self, turn: threading.Lock) -> None:
        given = plan(self.survey, self.served.host, self.served.port, _CLIENTS)
        connection = http.client.HTTPConnection(self.served.host, self.served.port, timeout=SECONDS)
        while not self._ended.is_set():
            self._sending.wait(_PAUSE)
            with turn:
                if not self._sending.is_set():
                    continue
                number, stage = next(self._numbers), self.stage
                body = given.filled(secrets.token_hex(16), number)
                connection.request("POST", given.path, body, {"content-type": "application/json"})
                status = _status(connection)
            self.answers.setdefault(stage, Counter())[status] += 1
            if status == 201:
                self.acknowledged.append(number % MANY)
            else:
                time.sleep(_PAUSE)
        connection.close()

    def _watch(self) -> None:
        connection = http.client.HTTPConnection(self.served.host, self.served.port, timeout=SECONDS)
        while not self._ended.is_set():
            stage = self.stage
            connection.request("GET", "/health/ready")
            self.ready.setdefault(stage, Counter())[_status(connection)] += 1
            time.sleep(_PAUSE)
        connection.close()


def _status(connection: http.client.HTTPConnection) -> int:
    answer = connection.getresponse()
    answer.read()
    return answer.status


@contextmanager
def stages(served: Served, survey: Published) -> Iterator[Stages]:
    """Clients at work; at the end they finish the requests under way."""
    made = Stages(served, survey)
    made._sending.set()
    made._turns += [threading.Lock() for _ in range(_CLIENTS)]
    work = [threading.Thread(target=made._client, args=(turn,)) for turn in made._turns]
    work.append(threading.Thread(target=made._watch))
    for thread in work:
        thread.start()
    try:
        yield made
    finally:
        made._ended.set()
        for thread in work:
            thread.join(SECONDS)
