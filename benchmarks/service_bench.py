"""The survey service under load from a second process: durable responses per second.

The peers are the same server with one commit per response, and a uvicorn endpoint that reads the
body, answers and stores nothing. They take turns, and the ratio is the median over the rounds, so
other load on the machine affects all of them alike. Two and three servers on one PostgreSQL are
compared with one in the same way.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import Row
from tests.support import load
from tests.support.postgres import Cluster, binaries
from tests.support.published import published

SURVEY = published()
CONNECTIONS, SECONDS, ROUNDS = 256, 2.0, 7
MOST_SERVERS = 3
WHAT = f"{CONNECTIONS} connections from a second process, durable responses per second"


def rows() -> Iterator[Row]:
    """SQLite, then PostgreSQL if it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _against("SQLite", str(Path(folder) / "survey.db"), Path(folder))
        if binaries() is not None:
            cluster = Cluster()
            try:
                yield from _against("PostgreSQL", cluster.url(), Path(folder))
                yield from _several(cluster, Path(folder))
            finally:
                cluster.remove()


def _against(kind: str, database: str, folder: Path) -> Iterator[Row]:
    rates: dict[str, list[float]] = {"together": [], "one by one": [], "empty": []}
    for _ in range(ROUNDS):
        for name, arguments in _servers(database, folder).items():
            with _serving(arguments) as served:
                rates[name].append(_rate(served))
    detail = ", ".join(f"{name} {median(found):,.0f}/s" for name, found in rates.items())
    alone, empty = (_ratio(rates["together"], rates[name]) for name in ("one by one", "empty"))
    yield Row(f"{kind}, {WHAT}: against one by one", alone, 5, "times", detail)
    yield Row(f"{kind}, {WHAT}: against an empty endpoint", 100 * empty, 40, "%", detail)


def _several(cluster: Cluster, folder: Path) -> Iterator[Row]:
    """One, two and three servers with the same number of connections in total."""
    rates: dict[int, list[float]] = {n: [] for n in range(1, MOST_SERVERS + 1)}
    for _ in range(ROUNDS):
        for n, found in rates.items():
            arguments = _servers(cluster.url(), folder)["together"]
            with ExitStack() as stack:
                served = [stack.enter_context(_serving(arguments)) for _ in range(n)]
                found.append(_rate(*served))
    detail = ", ".join(f"{n} servers {median(found):,.0f}/s" for n, found in rates.items())
    for n in range(2, MOST_SERVERS + 1):
        ratio = _ratio(rates[n], rates[1])
        claim = f"PostgreSQL, {WHAT}: {n} servers against one"
        yield Row(claim, ratio, 0.7, "times", detail)


def _ratio(ours: list[float], others: list[float]) -> float:
    return median(own / other for own, other in zip(ours, others, strict=True))


def _servers(database: str, folder: Path) -> dict[str, list[str]]:
    path = folder / "published.json"
    path.write_text(SURVEY.to_json(), encoding="utf-8")
    serve = ["-m", "tacit", "serve", str(path), "--database", database, "--port", "0"]
    serve += ["--rate", "off", "--open-rate", "off", "--log", "json"]
    return {
        "together": serve,
        "one by one": [*serve, "--batch", "1"],
        "empty": ["-m", "benchmarks.empty_service"],
    }


@contextmanager
def _serving(arguments: list[str]) -> Iterator[tuple[str, int]]:
    """Start a server process, wait for its address, and stop it at the end."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        found: Any = re.search(r"http://([\d.]+):(\d+)/", process.stdout.readline())
        yield found[1], int(found[2])
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _rate(*served: tuple[str, int]) -> float:
    """Acknowledged responses per second; any other answer is an error of the benchmark."""
    share = CONNECTIONS // len(served)
    for seconds in (0.5, SECONDS):  # the first one warms up
        plans = [load.plan(SURVEY, *place, share, seconds=seconds) for place in served]
        reports = load.load(*plans)
    for report in reports:
        assert set(report.answers) == {"201"}, f"errors under load: {report.answers}"
        assert report.lost == 0, f"{report.lost} connections lost"
    return sum(report.stored / report.seconds for report in reports)
