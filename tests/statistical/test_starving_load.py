"""Answers do not keep their order or their links because somebody keeps the service busy.

While answers to an invited survey arrive, somebody else sends what stores nothing, again and again:
a record that is stored already, or an invented link. Now and then the files are copied, as an
intruder would who gets them once, and searched for the order of arrival and for the links. Only the
newest records may show their order: fewer than 32, or an eighth of all. No link but the last one
may be found. A correct program fails a test once in a million runs; the same attempts succeed if
nothing is erased, as it was while such a load lasted.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.collect.store import Outcome, Response, Store
from tacit.collect.store.values import id_of, token_hash
from tacit.collect.writer import Writer
from tests.support.file_copies import Copier, Files, postgres_copier, sqlite_copier
from tests.support.linking import Pairs, most_by_chance, places_in, right_guesses, tells_arrival
from tests.support.log_links import FINGERPRINT, SURVEY
from tests.support.postgres import Cluster
from tests.support.published import response, responses

#: So few that SQLite has not split its pages again, which orders the rows of each.
N, COPIES = 160, 8
#: Records that may show their order.
NEWEST = 31
BY_CHANCE = most_by_chance(COPIES)


#: Submissions that store nothing, once the given one is stored, and their outcomes.
Load = Callable[[Response], Iterator[tuple[Response, Outcome]]]


@dataclass(frozen=True)
class Place:
    """A new database, how to copy its files, and how many servers write to it."""

    url: str
    copy: Copier
    servers: int = 1


def _repeated(stored: Response) -> Iterator[tuple[Response, Outcome]]:
    while True:
        yield stored, Outcome.REPEATED


def _invented(_: Response) -> Iterator[tuple[Response, Outcome]]:
    while True:
        yield response(SURVEY, 1, "invented"), Outcome.UNKNOWN_TOKEN


@dataclass(frozen=True)
class Starved:
    """Copies that were made under load, each with how many answers were acknowledged before."""

    copies: list[tuple[int, Files]]
    ids: list[bytes]
    hashes: list[bytes]

    @property
    def pairs(self) -> Pairs:
        return set(zip(self.ids, self.hashes, strict=True))


def _starved(place: Place, load: Load, erases: bool = True) -> Starved:
    """Answers one by one with links in random order, and useless submissions in between.

    Several servers take turns.
    """
    chance = random.Random(24)
    stores = [Store(place.url) for _ in range(place.servers)]
    stores[0].register(SURVEY)
    tokens = stores[0].invite(FINGERPRINT, N)
    chance.shuffle(tokens)
    batch = list(responses(SURVEY, tokens))
    ids = [id_of(answer) for answer in batch]
    hashes = [token_hash(FINGERPRINT, token) for token in tokens]
    moments = {*chance.sample(range(N - 25, N), COPIES - 1), N - 1}
    copies: list[tuple[int, Files]] = []

    async def work() -> None:
        writers = [Writer(store) for store in stores]
        for store in [] if erases else stores:
            store.tidy = lambda *_: True  # type: ignore[method-assign]
        useless = load(batch[0])
        for number, answer in enumerate(batch):
            writer = writers[number % len(writers)]
            assert await writer.submit(answer) is Outcome.STORED
            sent, outcome = next(useless)
            assert await writer.submit(sent) is outcome
            if number in moments:
                copies.append((number + 1, await asyncio.to_thread(place.copy, ids, hashes)))
        for writer in writers:
            await asyncio.to_thread(writer.close)

    asyncio.run(work())
    for store in stores:
        store.close()
    return Starved(copies, ids, hashes)


@pytest.fixture(
    params=["sqlite", *(pytest.param(n, marks=pytest.mark.slow) for n in ("postgresql", "three"))]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A new database of each kind; PostgreSQL also with three servers."""
    if request.param == "sqlite":
        path = tmp_path / "survey.db"
        return Place(str(path), sqlite_copier(path))
    cluster: Cluster = request.getfixturevalue("cluster")
    url = cluster.url()
    return Place(url, postgres_copier(url, cluster), 3 if request.param == "three" else 1)


@pytest.mark.parametrize("load", [_repeated, _invented])
def test_a_load_that_stores_nothing_keeps_neither_the_order_nor_the_links_of_others(
    place: Place, load: Load
) -> None:
    starved = _starved(place, load)
    chance = random.Random(4)
    for n, files in starved.copies:
        for order in files.orders:
            older = [number for number in order if number < n - NEWEST]
            assert len(older) == n - NEWEST
            assert not tells_arrival(older)
        used = [*places_in(files.content, starved.hashes[:n])]
        assert {number for _, number in used} <= {n - 1}, "only the last link may be left"
        assert right_guesses(files.tied, starved.pairs, chance) <= BY_CHANCE


def test_a_store_that_erases_nothing_under_load_is_caught(place: Place) -> None:
    """The negative control. SQLite empties its log after each commit anyway."""
    starved = _starved(place, _repeated, erases=False)
    chance = random.Random(5)
    for n, files in starved.copies:
        assert any(tells_arrival([i for i in order if i < n - NEWEST]) for order in files.orders)
        if place.url.startswith("postgresql"):
            used = {number for _, number in places_in(files.content, starved.hashes[:n])}
            assert used == set(range(n))
            assert right_guesses(files.tied, starved.pairs, chance) > n - NEWEST
