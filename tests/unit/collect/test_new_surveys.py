"""Surveys that are published while the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import httpx
import pytest

from tacit.collect.app import LOOK_SECONDS, Application, Service
from tacit.survey import Published
from tests.support.asking import place, submission
from tests.support.published import published

OLD, NEW = published(), published(title="Published later")


class Database(Service):
    """Surveys that may be added, and how often somebody looked."""

    def __init__(self, *stored: Published) -> None:
        super().__init__([OLD])
        self.stored, self.looks = list(stored), 0

    async def newer(self) -> Sequence[Published]:
        self.looks += 1
        await asyncio.sleep(0)
        return [survey for survey in self.stored if survey not in self.surveys]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("tacit.collect.app.time.monotonic", lambda: now[0])
    return now


def statuses(database: Database, *paths: str, together: bool = False) -> list[int]:
    app = Application(database)

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            if together:
                found = await asyncio.gather(*(client.get(path) for path in paths))
            else:
                found = [await client.get(path) for path in paths]
            return [answer.status_code for answer in found]

    return asyncio.run(ask())


@pytest.mark.parametrize("end", ["", "survey.json"])
def test_a_survey_that_was_published_later_is_served(end: str, clock: list[float]) -> None:
    database = Database(OLD, NEW)
    assert statuses(database, place(NEW, end), place(OLD, end)) == [200, 200]
    assert database.looks == 1


def test_it_accepts_records_at_once(clock: list[float]) -> None:
    app = Application(Database(NEW))

    async def send() -> int:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://here"
        ) as client:
            answer = await client.post(place(NEW, "responses"), json=submission(NEW))
            return answer.status_code

    assert asyncio.run(send()) == 201


def test_invented_addresses_make_the_server_look_once_per_second(clock: list[float]) -> None:
    database = Database(OLD)
    invented = [f"/s/{number:016x}/" for number in range(50)]
    assert set(statuses(database, *invented)) == {404}
    assert database.looks == 1


def test_other_addresses_do_not_make_it_look(clock: list[float]) -> None:
    database = Database(OLD, NEW)
    other = ["/s/", "/s/short/", f"/s/{NEW.slug}/other", f"/s/{NEW.slug.upper()}g/", "/admin"]
    assert set(statuses(database, *other)) == {404}
    assert database.looks == 0


def test_requests_that_arrive_together_wait_for_one_look(clock: list[float]) -> None:
    database = Database(OLD, NEW)
    assert statuses(database, *[place(NEW)] * 20, together=True) == [200] * 20
    assert database.looks == 1


def test_a_survey_is_found_when_the_second_is_over(clock: list[float]) -> None:
    database = Database(OLD)
    app = Application(database)

    async def ask() -> list[int]:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://here"
        ) as client:
            found = [(await client.get(place(NEW))).status_code]
            database.stored.append(NEW)
            found.append((await client.get(place(NEW))).status_code)
            clock[0] += LOOK_SECONDS
            found.append((await client.get(place(NEW))).status_code)
            return found

    assert asyncio.run(ask()) == [404, 404, 200]


def test_a_database_that_fails_is_asked_again_later(clock: list[float]) -> None:
    class Failing(Database):
        async def newer(self) -> Sequence[Published]:
            await super().newer()
            raise OSError("gone")

    database = Failing(OLD)
    assert statuses(database, place(NEW), place(NEW)) == [500, 404]
