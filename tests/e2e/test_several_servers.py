"""Three servers for one survey on one PostgreSQL: kills, races, closing and a rolling restart.

Each server has its own load from a process of its own; every request is sent again with its key
until it is acknowledged. Only the clients of a server that is killed notice it.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from tacit.collect.store import Store
from tacit.collect.store.sql_tables import tokens
from tacit.collect.store.values import token_hashes
from tacit.survey import Published
from tests.support.asking import place, submission
from tests.support.grids import thinned
from tests.support.load import Report, Running, load, plan
from tests.support.postgres import Cluster
from tests.support.published import published
from tests.support.restarts import (
    Service,
    check_stored,
    free_port,
    invited,
    together,
    until_stored,
)
from tests.support.serving import SECONDS, records_in

SERVERS, CONNECTIONS = 3, 4
OPEN, INVITED = published(), published(access="invited")
#: More links than answers are wanted, and more for each kill than the load can use.
QUOTA, LINKS, LINKS_PER_KILL = 400, 500, 3 * 3_000
LIMITED = published(access="invited", quota=QUOTA)
#: Seconds that a server stores responses before one is killed, at most.
LONGEST_LIFE = 0.4
#: Answers by the others before a killed server is started again.
MEANWHILE = 50
#: Responses to each of the other servers, some before a kill and some after it.
FIXED = 1_000
#: Every so many kills, the server is killed again while it starts.
EARLY = 4


@contextmanager
def servers(folder: Path, database: str, survey: Published) -> Iterator[list[Service]]:
    """Three servers that answer; each has a folder of its own."""
    with ExitStack() as stack:
        made = [started(stack, folder / str(number), database, survey) for number in range(SERVERS)]
        for service in made:
            service.until_it_started()
        yield made


def started(
    stack: ExitStack, folder: Path, database: str, survey: Published, *flags: str, **more: Any
) -> Service:
    """A server that begins to start, and does not outlive the test."""
    folder.mkdir()
    service = Service(folder, database, survey, *flags, **more)
    stack.callback(lambda: service.kill() if service.alive else None)
    return service


def on_each(services: list[Service], survey: Published, links: list[str]) -> list[Running]:
    """A load for each server, with links of its own."""
    share = len(links) // SERVERS
    return [
        Running(
            plan(
                *(survey, "127.0.0.1", service.port, CONNECTIONS),
                first=number * share,
                tokens=links[number * share : (number + 1) * share],
            )
        )
        for number, service in enumerate(services)
    ]


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.complete)])
def test_servers_killed_often_lose_and_double_nothing_and_the_others_go_on(
    tmp_path: Path, cluster: Cluster, kills: int
) -> None:
    database, chance = cluster.url(), random.Random(kills)
    links = invited(database, INVITED, LINKS_PER_KILL * kills)
    victims = cycle(chance.sample(range(SERVERS), SERVERS))
    killed: Counter[int] = Counter()
    with servers(tmp_path, database, INVITED) as services:
        loads = on_each(services, INVITED, links)
        until_stored(database, INVITED, more=100)
        for kill in range(1, kills + 1):
            number = next(victims)
            time.sleep(chance.uniform(0, LONGEST_LIFE))
            services[number].kill()
            until_stored(database, INVITED, more=MEANWHILE)
            services[number].start()
            if kill % EARLY == 0:
                services[number].killed_after(chance.uniform(0, LONGEST_LIFE))
                killed[number] += 1
            services[number].until_it_answers()
            killed[number] += 1
        until_stored(database, INVITED, more=100)
        reports = finished(loads)
        assert [service.stop() for service in services] == [0] * SERVERS
    whole = together(reports)
    assert len(whole.acknowledged) < len(links), "too few links for this load"
    assert whole.answers.keys() <= {"201", "200"}, "nobody was refused"
    for number, report in enumerate(reports):
        # A client may connect again before the system has closed all sockets of a killed server.
        assert report.lost <= 2 * CONNECTIONS * killed[number], "only its own kills are felt"
    assert whole.lost >= kills, "the load must have felt the kills"
    check_stored(database, INVITED, whole, links)


def test_a_kill_leaves_no_request_to_the_other_servers_unanswered(
    tmp_path: Path, cluster: Cluster
) -> None:
    """They take a fixed number of responses; one server is killed in between and stays away."""
    database = cluster.url()
    with servers(tmp_path, database, OPEN) as services:
        plans = [plan(OPEN, "127.0.0.1", one.port, CONNECTIONS, most=FIXED) for one in services[1:]]
        others = [Running(replace(one, waits=True)) for one in plans]
        victim = Running(plan(OPEN, "127.0.0.1", services[0].port, CONNECTIONS))
        until_stored(database, OPEN)
        for one in others:
            one.begin()
        until_stored(database, OPEN, more=100)
        services[0].kill()
        left = 2 * FIXED - records_in(database, OPEN)
        assert left > 0, "the others were done before the kill"
        reports = [one.report() for one in others]
        services[0].start()
        services[0].until_it_answers()
        victim.stop()
        felt = victim.report()
        assert [service.stop() for service in services] == [0] * SERVERS
    for report in reports:
        assert report.answers == {"201": FIXED}
        assert (report.lost, report.cut, report.refused) == (0, 0, 0)
    assert felt.cut > 0, "the kill must interrupt something"
    assert felt.refused > 0
    check_stored(database, OPEN, together([felt, *reports]))


def finished(loads: list[Running]) -> list[Report]:
    for one in loads:
        one.stop()
    return [one.report() for one in loads]


@dataclass(frozen=True)
class Shared:
    """Three servers for two surveys, and the links of one of them."""

    database: str
    services: list[Service]
    links: list[str]

    @property
    def origins(self) -> list[str]:
        return [f"http://127.0.0.1:{service.port}" for service in self.services]


@pytest.fixture(scope="module")
def shared(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    database = cluster.url()
    links = invited(database, LIMITED, LINKS)
    with servers(tmp_path_factory.mktemp("shared"), database, OPEN) as services:
        yield Shared(database, services, links)


def test_quota_and_links_are_exact_in_a_race_through_all_servers(shared: Shared) -> None:
    """Each server gets all links, in an order of its own."""
    chance = random.Random(SERVERS)
    plans = [
        plan(
            *(LIMITED, "127.0.0.1", service.port, CONNECTIONS),
            tokens=chance.sample(shared.links, LINKS),
        )
        for service in shared.services
    ]
    reports = load(*plans)
    for report, other in zip(reports, [*plans[1:], plans[0]], strict=True):
        for key, number in list(report.acknowledged.items())[:5]:
            url = f"http://{other.host}:{other.port}{other.path}"
            body, kind = other.filled(key, number), {"content-type": "application/json"}
            assert httpx.post(url, content=body, headers=kind).status_code == 200
    whole = together(reports)
    assert whole.answers == {"201": QUOTA, "403": SERVERS * LINKS - QUOTA}
    assert sum(bool(report.acknowledged) for report in reports) > 1, "there was no race"
    pairs = zip(plans, reports, strict=True)
    used = {sent.tokens[n] for sent, report in pairs for n in report.acknowledged.values()}
    assert len(used) == len(whole.acknowledged) == QUOTA, "each link stored one record"
    store = Store(shared.database)
    fingerprint = LIMITED.survey.fingerprint
    assert len(store.codes(fingerprint)) == store.state(fingerprint).records == QUOTA
    with store.database.reading() as connection:
        left = connection.scalars(select(tokens.c.hash)).all()
    store.close()
    assert sorted(left) == token_hashes(fingerprint, set(shared.links) - used)


def test_a_survey_that_is_closed_takes_no_answer_at_any_server(shared: Shared) -> None:
    for origin in shared.origins:
        assert httpx.get(origin + place(OPEN)).status_code == 200
        assert sent_to(origin) == (201, None)
    store = Store(shared.database)
    store.close_survey(OPEN.survey.fingerprint)
    store.close()
    assert [sent_to(origin) for origin in shared.origins] == [(403, "closed")] * SERVERS
    for origin in shared.origins:  # pages know the state of two seconds ago
        until = time.monotonic() + SECONDS
        while httpx.get(origin + place(OPEN)).status_code != 403:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert records_in(shared.database, OPEN) == SERVERS


def sent_to(origin: str) -> tuple[int, str | None]:
    answer = httpx.post(origin + place(OPEN, "responses"), json=submission(OPEN))
    return answer.status_code, answer.json().get("type") if answer.content else None


@pytest.mark.parametrize(
    ("common", "n"), thinned([("socket", 2)], [("port", 2), ("port", 3), ("socket", 3)])
)
def test_a_rolling_restart_refuses_no_request(
    tmp_path: Path, cluster: Cluster, common: str, n: int
) -> None:
    """The servers share a port, or the socket of their parent with new connections all the time.

    A port alone may lose a connection that arrives in the moment in which a server closes it.
    """
    database = cluster.url()
    with ExitStack() as stack:
        port, flags = free_port(), ["--reuse-port"]
        more: dict[str, Any] = {}
        if common == "socket":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
            port, flags, more = listener.getsockname()[1], [], {"passed": listener}

        def next_server(name: str) -> Service:
            made = started(stack, tmp_path / name, database, OPEN, *flags, port=port, **more)
            made.until_it_started()
            return made

        services = [next_server(f"old {number}") for number in range(n)]
        given = plan(
            *(OPEN, "127.0.0.1", port, CONNECTIONS * SERVERS),
            per_connection=None if common == "port" else 20,
        )
        sending = Running(given)
        until_stored(database, OPEN, more=100)
        for number, old in enumerate(services):
            next_server(f"new {number}")
            assert old.stop() == 0
            until_stored(database, OPEN, more=100)
        (report,) = finished([sending])
    assert (report.refused, report.cut) == (0, 0)
    assert report.answers.keys() == {"201"}
    check_stored(database, OPEN, report)
