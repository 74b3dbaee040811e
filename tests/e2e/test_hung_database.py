"""A database that hangs: it takes requests and answers none, and no connection is lost.

PostgreSQL's process is stopped by SIGSTOP; a lock on SQLite's file is held by somebody who does
not let go. Waiting clients get 503 with Retry-After, and the server recovers with the database.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tacit.collect.store import Store
from tests.support.asking import place, submission
from tests.support.load import Report, Running, plan
from tests.support.postgres import Cluster
from tests.support.published import MANY, published
from tests.support.serving import SECONDS, Served, records_in, serving

SURVEY = published()
CONNECTIONS = 16
FLAGS = (
    *("--rate", "off", "--open-rate", "off", "--log", "json"),
    *("--write-seconds", "1", "--database"),
)


def ready(served: Served) -> int:
    return httpx.get(f"{served.origin}/health/ready", timeout=SECONDS).status_code


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.05)


def post(served: Served, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(served.origin + place(SURVEY, "responses"), json=body, timeout=SECONDS)


def backends(url: str) -> list[int]:
    """The processes of all sessions but the one that asks."""
    with psycopg.connect(url) as connection:
        own = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        found = connection.execute(f"SELECT pid FROM pg_stat_activity WHERE {own}").fetchall()
    return [pid for (pid,) in found]


def processes(cluster: Cluster, url: str) -> list[int]:
    """All sessions, and the process that would begin new ones."""
    first = int((cluster.data / "postmaster.pid").read_text().splitlines()[0])
    return [first, *backends(url)]


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Processes that hang until the end of the block."""
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # PostgreSQL ended a session that hung
                os.kill(pid, signal.SIGCONT)


@contextmanager
def locked(path: str) -> Iterator[None]:
    """A file that somebody else writes to until the end of the block."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=SECONDS)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def check(database: str, report: Report) -> None:
    """What is stored is what was acknowledged, each once."""
    assert set(report.answers) <= {"201", "200", "503"}, report.answers
    store = Store(database)
    stored = store.codes(SURVEY.survey.fingerprint)[:, 1]
    store.close()
    expected = sorted(number % MANY for number in report.acknowledged.values())
    assert sorted(int(number) for number in stored) == expected


def hangs_under_load(database: str, folder: Path, hang: Callable[[], Any]) -> None:
    with serving(folder, [SURVEY], *FLAGS, database) as served:
        load = Running(plan(SURVEY, served.host, served.port, CONNECTIONS))
        until(lambda: records_in(database, SURVEY) > 100)
        body = submission(SURVEY, record={"smokes": "yes", "number": "n0"})
        with hang():
            answer = post(served, body)
            assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0
            assert ready(served) == 503
            assert httpx.get(f"{served.origin}/health/live").status_code == 200
            page = httpx.get(served.origin + place(SURVEY), timeout=SECONDS)
            assert page.status_code == 200
            assert ready(served) == 503
        until(lambda: ready(served) == 200)
        assert post(served, body).status_code in (200, 201)
        load.stop()
        report = load.report()
        assert served.stop() == 0
    assert report.answers["503"] >= CONNECTIONS, "the load must have felt it"
    assert report.lost == 0, "each request was answered on its connection"
    report.acknowledged[body["key"]] = 0
    check(database, report)
    said = "".join(served.log)
    assert said.index("database-gone") < said.index("database-back")


def test_a_hung_postgresql_is_answered_for_and_comes_back(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.url()
    hangs_under_load(url, tmp_path, lambda: stopped(processes(cluster, url)))


def test_a_sqlite_file_locked_for_long_is_answered_for_and_comes_back(tmp_path: Path) -> None:
    database = str(tmp_path / "tacit.db")
    hangs_under_load(database, tmp_path, lambda: locked(database))


def test_a_hung_postgresql_does_not_keep_the_server_from_ending(
    tmp_path: Path, cluster: Cluster
) -> None:
    url = cluster.url()
    with serving(tmp_path, [SURVEY], *FLAGS, url) as served:
        assert post(served, submission(SURVEY)).status_code == 201
        with stopped(backends(url)):
            assert served.stop() == 0
    assert records_in(url, SURVEY) == 1


def test_a_postgresql_that_hangs_while_nobody_answers_is_not_called_ready(
    tmp_path: Path, cluster: Cluster
) -> None:
    """Readiness must not wait until a respondent is refused."""
    url = cluster.url()
    with serving(tmp_path, [SURVEY], *FLAGS, url) as served:
        assert ready(served) == 200
        with stopped(processes(cluster, url)):
            until(lambda: ready(served) == 503)
            until(lambda: "database-gone" in "".join(served.log))
        until(lambda: ready(served) == 200)
        assert served.stop() == 0


def test_a_hung_session_is_replaced_while_it_hangs(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.url()
    with serving(tmp_path, [SURVEY], *FLAGS, url) as served:
        assert post(served, submission(SURVEY)).status_code == 201
        body = submission(SURVEY)
        with stopped(backends(url)):
            until(lambda: post(served, body).status_code in (200, 201))
        assert served.stop() == 0
    assert records_in(url, SURVEY) == 2


def test_a_session_that_is_gone_on_the_other_side_only_is_replaced(
    tmp_path: Path, cluster: Cluster
) -> None:
    """The hung session is ended by the administrator: a new one takes its place."""
    url = cluster.url()
    with serving(tmp_path, [SURVEY], *FLAGS, url) as served:
        assert post(served, submission(SURVEY)).status_code == 201
        hung = backends(url)
        with stopped(hung):
            body = submission(SURVEY)
            assert post(served, body).status_code in (201, 503)  # it may have been noticed before
            with psycopg.connect(url) as connection:
                for pid in hung:
                    connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        until(lambda: ready(served) == 200)
        assert post(served, body).status_code in (200, 201)
        assert served.stop() == 0
    assert records_in(url, SURVEY) == 2
