"""A real server process on a free port, as `tacit serve` starts it."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tacit.collect.store import Store
from tacit.survey import Published
from tests.support import warm_start
from tests.support.warm_start import Process

#: Far longer than a server needs to start, to drain or to end.
SECONDS = 60.0


@dataclass
class Served:
    """A server that runs: where it is, what it said, how it ends."""

    process: Process
    host: str
    port: int
    database: Path
    output: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit status."""
        self.process.send_signal(by)
        return self.process.wait(SECONDS)

    @property
    def memory(self) -> int:
        """Bytes of its resident memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(
    folder: Path, surveys: Sequence[Published], *flags: str, command: Sequence[str] = ("serve",)
) -> Iterator[Served]:
    """Serve surveys from a database in a folder; the process is ended at the end."""
    paths = []
    for number, survey in enumerate(surveys):
        path = folder / f"published-{number}.json"
        path.write_text(survey.to_json(), encoding="utf-8")
        paths.append(str(path))
    database = folder / "tacit.db"
    own = (
        ["--database", str(database), "--port", "0"]
        if "--database" not in flags
        else ["--port", "0"]
    )
    with started([*command, *paths, *own, *flags], database) as served:
        yield served


@contextmanager
def started(arguments: Sequence[str], database: Path) -> Iterator[Served]:
    """A command that says where it serves."""
    process = warm_start.start(arguments, env={"TACIT_OPEN_RATE": "off", **os.environ})
    served = Served(process, "", 0, database)
    assert process.stdout is not None
    assert process.stderr is not None
    logged = threading.Thread(target=_kept, args=(process.stderr, served.log), daemon=True)
    logged.start()
    try:
        first = process.stdout.readline()
        served.output.append(first)
        found = re.search(r"http://([\d.]+):(\d+)/", first)
        if found is None:
            process.wait(SECONDS)
            raise AssertionError(f"it did not start: {first}{''.join(served.log)}")
        served.host, served.port = found[1], int(found[2])
        yield served
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        logged.join(SECONDS)
        served.output += process.stdout.readlines()
        process.stdout.close()
        process.stderr.close()


def _kept(stream: IO[str], lines: list[str]) -> None:
    lines.extend(iter(stream.readline, ""))


def files_of(database: Path) -> Iterator[bytes]:
    """The bytes of a database in SQLite and of all files beside it."""
    for path in sorted(database.parent.glob(f"{database.name}*")):
        yield path.read_bytes()


def records_in(database: str | Path, survey: Published) -> int:
    """How many records of a survey are in a database that may be served meanwhile."""
    store = Store(database)
    try:
        return store.state(survey.survey.fingerprint).records
    finally:
        store.close()


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder for a server that several tests share."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
