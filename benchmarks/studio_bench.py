"""The studio on 10^6 stored responses to 20 questions: time and memory of the results page.

python -m benchmarks.studio_bench [--records 1000000]

Responses are written to the database in bulk, then a studio process is asked for pages over HTTP.
Times are CPU seconds of the studio, and of its PostgreSQL; wall times are beside them. `first` is
the first page of a new studio, which counts all records; `restarted` has the release on disk;
`again` is any later page of the same release; `update` is the first page after an eighth more
records have arrived on another day, so that only these are counted.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import select, update

from benchmarks.measure import HEADER, MB, Row
from tacit import disguise
from tacit.collect.store import Store
from tacit.collect.store.sql_tables import checksums, surveys
from tacit.studio.accounts import Role
from tacit.studio.release import HELD_BACK, Releases
from tacit.studio.server import studio_of
from tacit.survey import Published, survey_from_dict
from tests.support.postgres import Cluster, binaries

RECORDS = 1_000_000
FIRST_SECONDS, LATER_SECONDS, MOST_MB = 3.0, 0.5, 600
AGAIN = 5


def twenty_questions() -> Published:
    """Twelve yes/no questions, three of them in one group, and eight with 3 to 6 answers."""
    names = [f"q{i:02}" for i in range(20)]
    sizes = [2] * 12 + [3, 4, 5, 6] * 2
    questions = [
        {"name": name, "kind": "yes_no", "text": f"Question {name}?"}
        if size == 2
        else {
            "name": name,
            "kind": "choice",
            "text": f"Question {name}?",
            "categories": [f"answer {j}" for j in range(size)],
        }
        for name, size in zip(names, sizes, strict=True)
    ]
    groups: list[dict[str, object]] = [
        {"questions": names[:3], "family": "related", "theta": "4/5"},
        *({"questions": [name], "family": "related", "theta": "4/5"} for name in names[3:12]),
        *(
            {"questions": [name], "family": "uniform_perturbation", "q": "1/2"}
            for name in names[12:]
        ),
    ]
    return Published(
        survey_from_dict({"title": "Twenty", "questions": questions, "groups": groups}, "survey")
    )


def fill(store: Store, survey: Published, records: int, day: date, seed: int) -> None:
    """Store reports of people whose answers have falling shares, in bulk."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in survey.design.schema.sizes:
        shares = 0.5 ** np.arange(size)
        columns.append(rng.choice(size, records, p=shares / shares.sum()).astype(np.uint8))
    reports = disguise(np.stack(columns, axis=1), survey.design, rng).astype(np.uint8)
    keys, whole, width = rng.bytes(16 * records), reports.tobytes(), reports.shape[1]
    rows = [
        (keys[16 * i : 16 * i + 16], whole[width * i : width * (i + 1)]) for i in range(records)
    ]
    sums = checksums(survey.survey.fingerprint, day.isoformat(), rows)
    with store.database.writing() as connection:
        of_survey = surveys.c.fingerprint == survey.survey.fingerprint
        number = connection.scalar(select(surveys.c.number).where(of_survey))
        stored = (
            (number, *row[:1], day.isoformat(), *row[1:], own)
            for row, own in zip(rows, sums, strict=True)
        )
        _insert(connection.connection.driver_connection, stored)
        connection.execute(
            update(surveys).where(of_survey).values(records=surveys.c.records + records)
        )


def _insert(driver: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    columns = "responses (survey, id, day, codes, checksum)"
    if isinstance(driver, sqlite3.Connection):
        driver.executemany(f"INSERT INTO {columns} VALUES (?, ?, ?, ?, ?)", rows)
        return
    with driver.cursor() as cursor, cursor.copy(f"COPY {columns} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


@dataclass(frozen=True)
class StudioProcess:
    """A running studio: its process, its address and a token of an administrator."""

    pid: int
    address: str
    headers: dict[str, str]
    beside: Callable[[], float]

    def get(self, path: str) -> tuple[float, float]:
        """CPU and wall seconds of a page."""
        before, start = self._cpu(), time.perf_counter()
        request = urllib.request.Request(self.address + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=600) as answer:
            answer.read()
        return self._cpu() - before, time.perf_counter() - start

    def peak(self) -> float:
        """Peak resident memory in MB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", text)
        assert found is not None
        return int(found[1]) * 1024 / MB

    def _cpu(self) -> float:
        return cpu_seconds(self.pid) + self.beside()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cluster_seconds(cluster: Cluster) -> float:
    """User and system time of a PostgreSQL server with its children, ended ones included."""
    first = int((cluster.data / "postmaster.pid").read_text().split()[0])
    fields = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return ended + sum(cpu_seconds(int(pid)) for pid in [str(first), *children])


@contextmanager
def running(
    database: str, folder: Path, token: str, beside: Callable[[], float]
) -> Iterator[StudioProcess]:
    """A studio on a database whose first account is made already."""
    command = [sys.executable, "-m", "tacit", "studio", "--database", database]
    with subprocess.Popen(
        [*command, "--data", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[1]
            headers = {"authorization": f"Bearer {token}"}
            yield StudioProcess(process.pid, address, headers, beside)
        finally:
            process.terminate()


def administrator(store: Store, folder: Path) -> str:
    """A token of a new administrator."""
    accounts = studio_of(store, folder).accounts
    account = accounts.create(accounts.first_link(), "bench", secrets.token_hex())
    assert account is not None
    return accounts.issue_token(account.id, "bench", Role.OWNER)


def measured_pages(
    kind: str, database: str, folder: Path, records: int, beside: Callable[[], float]
) -> Iterator[Row]:
    """The rows of one database."""
    survey = twenty_questions()
    with closing(Store(database)) as store:
        store.register(survey)
        fill(store, survey, records, date(2027, 1, 1), seed=1)
        token = administrator(store, folder)
    page, found, peaks = f"surveys/{survey.slug}", dict[str, tuple[float, float]](), list[float]()
    with running(database, folder, token, beside) as studio:
        studio.get("surveys.json")  # loads what any page needs
        found["first page"] = studio.get(page)
        found["the same page again"] = max(studio.get(page) for _ in range(AGAIN))
        with closing(Store(database)) as store:
            Releases(store, folder).freeze(survey)  # the survey is open: a snapshot can be compared
        found["results"] = studio.get(f"{page}/results")
        found["comparison"] = studio.get(f"{page}/compare?row=q00&column=q12")
        found["regression"] = studio.get(f"{page}/regression?outcome=q00&with=q12&with=q13")
        peaks.append(studio.peak())
    with running(database, folder, token, beside) as studio:
        found["first page after a restart"] = studio.get(page)
        with closing(Store(database)) as store:
            fill(store, survey, records // 8 + HELD_BACK, date(2027, 1, 2), seed=2)
        found["first page after an update"] = studio.get(page)
        found["the same page after the update"] = studio.get(page)
        peaks.append(studio.peak())
    for name, (cpu, wall) in found.items():
        claim = f"{kind}, {records:,} x 20: {name}"
        limit = FIRST_SECONDS if name.startswith("first page") else LATER_SECONDS
        yield Row(claim, cpu, limit, "CPU s", f"wall {wall:.2f} s", at_most=True)
    yield Row(f"{kind}, {records:,} x 20: peak memory", max(peaks), MOST_MB, "MB", "", at_most=True)


def rows(records: int = RECORDS) -> Iterator[Row]:
    """SQLite, then PostgreSQL if it is installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from measured_pages(
            "SQLite", str(folder / "survey.db"), folder / "sqlite", records, lambda: 0.0
        )
        if binaries() is not None:
            cluster = Cluster()
            try:
                yield from measured_pages(
                    "PostgreSQL",
                    cluster.url(),
                    folder / "postgresql",
                    records,
                    lambda: cluster_seconds(cluster),
                )
            finally:
                cluster.remove()


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=RECORDS)
    table = Table(*HEADER)
    for row in rows(parser.parse_args().records):
        table.add_row(*row.cells())
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
