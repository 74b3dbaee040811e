"""Nothing acknowledged is lost and nothing is stored twice, whatever is killed, and when.

A second process puts load on `tacit serve`: every request is sent again with its key until it is
acknowledged. Meanwhile the server, or PostgreSQL, is killed at moments drawn from a fixed seed.
Where the server is killed the survey asks for one-time links, and each record takes one with it.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tacit.survey import Published
from tests.support.load import Plan, Report, Running, plan
from tests.support.postgres import Cluster
from tests.support.published import published
from tests.support.restarts import Service, check_stored, invited, until_stored

OPEN, INVITED = published(), published(access="invited")
CONNECTIONS = 16
#: One-time links for each kill, more than the load can use; used ones that are tried again.
LINKS, TRIED = 10_000, 50
#: Seconds a server stores responses before it is killed, at most.
LONGEST_LIFE = 0.4
#: After every so many kills another one comes while the server starts, before it would answer.
EARLY = 4
SECONDS = 60.0

pytestmark = pytest.mark.slow


@contextmanager
def serving(folder: Path, database: str, survey: Published) -> Iterator[Service]:
    service = Service(folder, database, survey)
    try:
        service.until_it_answers()
        yield service
    finally:
        if service.alive:
            service.kill()


def given(service: Service, survey: Published, links: Sequence[str] = ()) -> Plan:
    seconds = SECONDS * 5
    return plan(survey, "127.0.0.1", service.port, CONNECTIONS, seconds=seconds, tokens=links)


def sent_again(load: Plan, report: Report) -> None:
    """With its key a response is a repeat although its link is used; with another, refused."""
    with httpx.Client(base_url=f"http://{load.host}:{load.port}", timeout=SECONDS) as client:

        def status(key: str, number: int) -> int:
            body = load.filled(key, number)
            json_type = {"content-type": "application/json"}
            return client.post(load.path, content=body, headers=json_type).status_code

        for key, number in list(report.acknowledged.items())[:TRIED]:
            assert status(key, number) == 200
            assert status(secrets.token_hex(16), number) == 403


def killed_again_and_again(folder: Path, database: str, kills: int) -> None:
    moments = random.Random(kills)
    links = invited(database, INVITED, LINKS * kills)
    start = time.monotonic()
    with serving(folder, database, INVITED) as service:
        took = time.monotonic() - start
        sent = given(service, INVITED, links)
        load = Running(sent)
        for kill in range(1, kills + 1):
            service.until_it_answers()
            until_stored(database, INVITED)
            service.killed_after(moments.uniform(0, LONGEST_LIFE))
            if kill % EARLY == 0:
                service.killed_after(moments.uniform(0, took))
        service.until_it_answers()
        until_stored(database, INVITED, more=100)
        load.stop()
        report = load.report()
        sent_again(sent, report)
        assert service.stop() == 0
    assert len(report.acknowledged) < len(links), "too few links for this load"
    assert report.lost >= kills, "the load must have felt the kills"
    check_stored(database, INVITED, report, links)


often = pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.complete)])


@often
def test_a_server_killed_often_on_sqlite_loses_and_doubles_nothing(
    tmp_path: Path, kills: int
) -> None:
    killed_again_and_again(tmp_path, str(tmp_path / "survey.db"), kills)


@often
def test_a_server_killed_often_on_postgresql_loses_and_doubles_nothing(
    tmp_path: Path, cluster: Cluster, kills: int
) -> None:
    killed_again_and_again(tmp_path, cluster.url(), kills)


def test_a_server_whose_postgresql_is_restarted_comes_back_by_itself(
    tmp_path: Path, cluster: Cluster
) -> None:
    moments = random.Random(5)
    database = cluster.url()
    with serving(tmp_path, database, OPEN) as service:
        load = Running(given(service, OPEN))
        for mode in ("fast", "immediate", "immediate"):
            until_stored(database, OPEN)
            time.sleep(moments.uniform(0, LONGEST_LIFE))
            cluster.restart(mode)
            assert service.alive
        until_stored(database, OPEN, more=100)
        load.stop()
        report = load.report()
        assert service.stop() == 0
    assert report.answers["503"] >= 1, "the load must have felt the restarts"
    check_stored(database, OPEN, report)
