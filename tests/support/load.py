"""Load on a running server, from a process of its own: prepared requests over kept connections.

    python -m tests.support.load < plan.json > report.json

Each connection sends one request after the other. One that gets no answer, or 503, is sent again
with the same key, on a new connection if need be, as the respondent's page does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the process of the load imports nothing of tacit
    from tacit.survey import Published

_PAUSE = 0.05
_LONGEST = 300.0
#: The gap for a token is as long as a token, so that filling it changes no length.
_TOKEN = "@TOKEN".ljust(22, "@")
#: What follows the padding, the last text of a body.
_END = '"}'
_PREPARED = "prepared\n"


@dataclass(frozen=True)
class Plan:
    """What is sent where: record `number` of a key is in `body`, a template with gaps that is
    padded to `length` bytes.

    The load ends after `seconds`, or when `most` requests are answered, or when each of `tokens`,
    where the survey asks for them, has had its own request.
    """

    host: str
    port: int
    path: str
    body: str
    length: int
    connections: int
    seconds: float = _LONGEST
    most: int | None = None
    first: int = 0
    #: Numbers go from 0 to this and begin again: they are categories.
    categories: int = 1000
    #: Of one-time links, in the order of the numbers.
    tokens: Sequence[str] = ()
    #: Whether a connection that the server ends is not replaced.
    once: bool = False
    #: Requests after which a connection is replaced by a new one.
    per_connection: int | None = None
    #: Whether it is prepared and then begins when it is told to.
    waits: bool = False

    def filled(self, key: str, number: int) -> str:
        """The body of one request as it was sent, to send it again."""
        filled = self.body.replace("@KEY", key).replace("@NUMBER", str(number % self.categories))
        if self.tokens:
            filled = filled.replace(_TOKEN, self.tokens[number - self.first])
        return self.padded(filled)

    def padded(self, body: str) -> str:
        """A body whose gaps are filled, with its padding."""
        return body.ljust(self.length - len(_END)) + _END


@dataclass
class Report:
    """What came back: seconds, answers by status, connections lost, numbers by key acknowledged.

    `refused` counts connections that could not be opened, `cut` the requests that were sent and got
    no answer, `ended` the answers that announced the end of their connection.
    """

    seconds: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    cut: int = 0
    ended: int = 0
    refused: int = 0
    acknowledged: dict[str, int] = field(default_factory=dict)

    @property
    def stored(self) -> int:
        return self.answers.get("201", 0)


def plan(survey: Published, host: str, port: int, connections: int, **more: Any) -> Plan:
    """Responses to a survey of `tests.support.published`, or to any: its first categories."""
    from tacit.collect.padding import submission_length

    record = {a.name: str(a.categories[0]) for a in survey.design.reported}
    if "number" in record:
        record["number"] = "n@NUMBER"
    token = {"token": _TOKEN} if survey.survey.access == "invited" else {}
    body = {"fingerprint": survey.fingerprint, "key": "@KEY", **token, "record": record}
    path = f"/s/{survey.slug}/responses"
    length = submission_length(survey, **token)
    template = json.dumps(body | {"padding": ""}).removesuffix(_END)
    return Plan(host, port, path, template, length, connections, **more)


class Running:
    """A load that runs in its own process; `report` waits for its end."""

    def __init__(self, given: Plan) -> None:
        root = str(Path(__file__).parents[2])
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert self._process.stdin is not None
        self._tell(json.dumps(asdict(given)))
        if given.waits:
            assert self._process.stdout is not None
            assert self._process.stdout.readline() == _PREPARED

    def begin(self) -> None:
        """Begin to send, where the plan waits for it."""
        self._tell("")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        """Send nothing new; what is under way is still brought to its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing is sent or read until the end of the block."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def report(self) -> Report:
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        said = self._process.stdout.read()
        self._process.wait(_LONGEST)
        self._process.stdout.close()
        self._process.stdin.close()
        return Report(**json.loads(said))


def load(*given: Plan) -> list[Report]:
    """The reports of loads that begin together and are left to their end."""
    prepared = [Running(replace(plan, waits=True)) for plan in given]
    for one in prepared:
        one.begin()
    return [one.report() for one in prepared]


class _Load:
    """All connections of a load and what they have in common."""

    def __init__(self, given: Plan) -> None:
        self.plan = given
        self.report = Report()
        self.counted: Counter[bytes] = Counter()
        self.stopping = False
        self.requests = self._invited() if given.tokens else self._requests()

    def _invited(self) -> Iterator[tuple[str, int, bytes]]:
        gap = _TOKEN.encode()
        for token, (key, number, request) in zip(self.plan.tokens, self._requests(), strict=False):
            yield key, number, request.replace(gap, token.encode())

    def _requests(self) -> Iterator[tuple[str, int, bytes]]:
        before, middle, after = _gaps(self.plan.body)
        head = (
            f"POST {self.plan.path} HTTP/1.1\r\nHost: {self.plan.host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {self.plan.length}\r\n\r\n"
        )
        number = self.plan.first
        entropy = b""
        last = None if self.plan.most is None else number + self.plan.most
        while not self.stopping and number != last:
            shown = str(number % self.plan.categories)
            if len(entropy) < 16:
                entropy = os.urandom(1 << 16)
            key, entropy = entropy[:16].hex(), entropy[16:]
            rest = after if middle is None else f"{middle}{shown}{after}"
            yield key, number, (head + self.plan.padded(f"{before}{key}{rest}")).encode()
            number += 1

    async def run(self) -> Report:
        loop = asyncio.get_running_loop()
        loop.call_later(self.plan.seconds, self.stop)
        start = time.perf_counter()
        await asyncio.gather(*(self._connection() for _ in range(self.plan.connections)))
        self.report.seconds = time.perf_counter() - start
        self.report.answers = {status.decode(): n for status, n in self.counted.items()}
        return self.report

    def stop(self) -> None:
        self.stopping = True

    async def _connection(self) -> None:
        """One connection after the other, until nothing is left to send."""
        loop = asyncio.get_running_loop()
        sender = _Sender(self)
        while not sender.finished:
            try:
                await loop.create_connection(lambda: sender, self.plan.host, self.plan.port)
                await sender.gone
            except OSError:
                self.report.refused += 1
                await asyncio.sleep(_PAUSE)
            if self.plan.once:
                return


def _gaps(body: str) -> tuple[str, str | None, str]:
    before, _, rest = body.partition("@KEY")
    middle, gap, after = rest.partition("@NUMBER")
    return (before, middle, after) if gap else (before, None, rest)


class _Sender(asyncio.Protocol):
    """Sends the next request when the last is answered, on whatever connection there is."""

    def __init__(self, shared: _Load) -> None:
        self._load = shared
        self._next: tuple[str, int, bytes] | None = None
        self.finished = self._unanswered = False

    def connection_made(self, transport: Any) -> None:
        self.gone = asyncio.get_running_loop().create_future()
        self._transport = transport
        self._answer = b""
        self._ending = False
        self._left = self._load.plan.per_connection
        self._send()

    def _send(self) -> None:
        if self._next is None:
            self._next = next(self._load.requests, None)
        if self._next is None:
            self.finished = True
            self._transport.close()
        else:
            self._unanswered = True
            self._transport.write(self._next[2])

    def data_received(self, data: bytes) -> None:
        answer = self._answer = self._answer + data if self._answer else data
        head = answer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = answer.find(b"content-length: ")
        size = int(answer[at + 16 : answer.index(b"\r", at)]) if 0 <= at < head else 0
        if len(answer) < head + 4 + size:
            return
        self._answer = b""
        self._ending = b"\r\nconnection: close\r\n" in answer[: head + 2]
        self._load.report.ended += self._ending
        self._answered(answer[9:12])

    def _answered(self, status: bytes) -> None:
        self._unanswered = False
        self._load.counted[status] += 1
        if status == b"503":
            asyncio.get_running_loop().call_later(_PAUSE, self._again)
            return
        assert self._next is not None
        key, number, _ = self._next
        if status in (b"201", b"200"):
            self._load.report.acknowledged[key] = number
        self._next = None
        if self._left is not None:
            self._left -= 1
        if self._left == 0:
            self._ending = True
            self._transport.close()
        if not self._ending:
            self._send()

    def _again(self) -> None:
        if not self._ending and not self._transport.is_closing():
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.report.lost += not self.finished
        self._load.report.cut += self._unanswered
        self.gone.set_result(None)


def main() -> None:
    """Read a plan, put the load on, write the report; the end of the input stops it."""
    import uvloop

    shared = _Load(Plan(**json.loads(sys.stdin.readline())))
    if shared.plan.waits:
        sys.stdout.write(_PREPARED)
        sys.stdout.flush()
        sys.stdin.readline()

    async def run() -> Report:
        loop, source = asyncio.get_running_loop(), sys.stdin.fileno()

        def ended() -> None:
            loop.remove_reader(source)
            shared.stop()

        loop.add_reader(source, ended)
        return await shared.run()

    json.dump(asdict(uvloop.run(run())), sys.stdout)


if __name__ == "__main__":
    main()
