"""The writer empties the log and erases the order of rows, when nothing waits and under load."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tacit.collect import writer as writing
from tacit.collect.store import Outcome, Store
from tacit.collect.writer import Writer
from tacit.errors import Unavailable
from tests.support.postgres import Cluster
from tests.support.published import response, responses
from tests.support.writers import (
    INVITED,
    OPEN,
    TODAY,
    erased_records,
    records,
    send,
    store_of,
    until_ready,
    with_writer,
)


async def until_emptied(log: Path) -> None:
    while log.stat().st_size > 0:
        await asyncio.sleep(0.01)


def test_the_log_is_emptied_when_nothing_waits(tmp_path: Path) -> None:
    store = store_of(tmp_path / "survey.db")
    log = tmp_path / "survey.db-wal"
    tokens = store.invite(INVITED.survey.fingerprint, 40)

    async def work(writer: Writer) -> None:
        await send(writer, list(responses(INVITED, tokens)))
        assert log.stat().st_size > 0
        await until_emptied(log)

    with_writer(store, work)
    store.close()


def test_a_small_transaction_is_gone_from_the_log_when_it_is_acknowledged(tmp_path: Path) -> None:
    """One with few responses to one of its surveys is small, however many others it holds."""
    store = store_of(tmp_path / "survey.db")
    log = tmp_path / "survey.db-wal"
    tokens = store.invite(INVITED.survey.fingerprint, 72)
    invited = list(responses(INVITED, tokens))
    sizes = []
    for batch in (
        invited[:32],
        invited[32:33],
        invited[33:65],
        [*invited[65:], *(response(OPEN, n) for n in range(40))],
    ):
        store.write(batch, TODAY)
        sizes.append(log.stat().st_size > 0)
    assert sizes == [True, False, True, False]
    store.close()


@pytest.mark.slow
def test_a_long_log_is_emptied_under_lasting_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.sqlite.LONGEST_LOG", 100_000)
    store = store_of(tmp_path / "survey.db")
    for _ in range(50):
        store.write([response(OPEN, n) for n in range(40)], TODAY)
        assert (tmp_path / "survey.db-wal").stat().st_size <= 100_000
    store.close()


@pytest.mark.slow
def test_a_log_with_many_rows_is_overwritten_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for most in (500, 1_000_000):
        monkeypatch.setattr("tacit.collect.store.sqlite.MOST_ROWS_IN_LOG", most)
        store = store_of(tmp_path / f"{most}.db")
        for _ in range(100):
            store.write([response(OPEN, n) for n in range(40)], TODAY)
        sizes.append((tmp_path / f"{most}.db-wal").stat().st_size)
        assert store.state(OPEN.survey.fingerprint).records == 4_000
        store.close()
    assert sizes[0] < sizes[1] / 3


def test_the_writer_finds_out_that_the_database_is_gone_while_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "CHECK_SECONDS", 0.01)
    path = tmp_path / "survey.db"
    store = store_of(path)

    async def work(writer: Writer) -> Outcome:
        path.rename(tmp_path / "elsewhere")
        while writer.ready:
            await asyncio.sleep(0.01)
        assert "survey.db was deleted, moved or replaced" in writer.failure
        (tmp_path / "elsewhere").rename(path)
        await until_ready(writer)
        return await writer.submit(response(OPEN, 1))

    assert with_writer(store, work) is Outcome.STORED
    store.close()


def _unsettled(store: Store) -> int:
    records, settled = erased_records(store)
    return records - settled


@pytest.mark.slow
def test_the_store_settles_at_32_new_records_at_an_eighth_or_on_another_day(url: str) -> None:
    store = store_of(url)
    store.tidy(date(2027, 1, 1))
    left = []
    for new, day in ((31, 1), (1, 1), (992, 1), (127, 1), (1, 1), (1, 2), (0, 2)):
        store.write([response(OPEN, n) for n in range(new)], date(2027, 1, day))
        store.tidy(date(2027, 1, day))
        left.append(_unsettled(store))
    assert left == [31, 0, 0, 127, 128, 0, 0]
    store.close()


@pytest.mark.parametrize("useless", ["repeated", "changed", "refused"])
def test_what_stores_nothing_does_not_postpone_erasing_the_order(
    url: str, monkeypatch: pytest.MonkeyPatch, useless: str
) -> None:
    monkeypatch.setattr(writing, "IDLE", 600.0)  # it is never quiet
    store = store_of(url)
    first = response(OPEN, 0)
    sent = {
        "repeated": first,
        "changed": first._replace(codes=response(OPEN, 1).codes),
        "refused": response(INVITED, 1, "an invented link"),
    }[useless]

    async def work(writer: Writer) -> list[int]:
        unsettled = []
        for answer in [first, *(response(OPEN, n) for n in range(99))]:
            assert await writer.submit(answer) is Outcome.STORED
            assert await writer.submit(sent) is not Outcome.STORED
            unsettled.append(_unsettled(store))
        return unsettled

    assert with_writer(store, work) == [*range(1, 32), 0] * 3 + [1, 2, 3, 4]
    store.close()


def test_many_records_of_one_survey_do_not_keep_the_order_of_another_one(url: str) -> None:
    store = store_of(url)
    store.write([response(OPEN, n) for n in range(1000)], TODAY)
    store.tidy(TODAY)
    tokens = store.invite(INVITED.survey.fingerprint, 40)
    unsettled = []
    for answer in responses(INVITED, tokens):
        store.write([answer], TODAY)
        store.tidy(TODAY, quiet=False)
        unsettled.append(_unsettled(store))
    assert unsettled == [*range(1, 32), *range(9)]
    store.close()


@pytest.mark.parametrize(("many", "commit"), [(20, 16), (10_000, 32)])
def test_under_heavy_load_erasures_pause_unless_it_is_quiet(
    url: str, monkeypatch: pytest.MonkeyPatch, many: int, commit: int
) -> None:
    """Heavy is a load of large commits, or of any if the records are many."""
    monkeypatch.setattr("tacit.collect.store.store.ERASURE_PAUSE", 1e9)
    store = store_of(url)
    store.tidy(TODAY)
    unsettled = []
    for most, size in ((10_000, 16), (10_000, 16), (many, commit), (10_000, 16)):
        monkeypatch.setattr("tacit.collect.store.store.MANY_RECORDS", most)
        for _ in range(32 // size):
            store.write([response(OPEN, n) for n in range(size)], TODAY)
        store._due(any_new=False)
        store.tidy(TODAY, quiet=False)
        unsettled.append(_unsettled(store))
        store.tidy(TODAY)
        assert _unsettled(store) == 0
    assert unsettled == [0, 0, 32, 0]
    store.close()


def test_a_process_that_starts_with_many_records_pauses_as_after_an_erasure(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a server that restarts under heavy load would rewrite everything at once."""
    monkeypatch.setattr("tacit.collect.store.store.START_SECONDS", 1e9)
    unsettled = []
    for _ in range(2):  # the first one starts with no record
        with closing(store_of(url)) as store:
            store.tidy(TODAY)
            store.write([response(OPEN, n) for n in range(32)], TODAY)
            store.tidy(TODAY, quiet=False)
            unsettled.append(_unsettled(store))
            store.tidy(TODAY)
            assert _unsettled(store) == 0
    assert unsettled == [0, 32]


async def until_settled(store: Store) -> None:
    while await asyncio.to_thread(_unsettled, store):
        await asyncio.sleep(0.01)


def test_a_database_that_is_locked_while_it_settles_takes_responses_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.sqlite.PATIENCE", 0.05)
    monkeypatch.setattr("tacit.collect.store.store.RETRY_SECONDS", 0.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    monkeypatch.setattr(writing, "LONG_IDLE", 0.01)  # what failed is tried again
    path = tmp_path / "survey.db"
    store = store_of(path)
    failed = threading.Event()
    rewrite = store.database.rewrite

    def rewriting(surveys: Any) -> None:
        try:
            rewrite(surveys)
        except Unavailable:
            failed.set()
            raise

    async def work(writer: Writer) -> Any:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        write = store.write

        def write_and_lock(batch: Any, today: date) -> Any:
            outcomes = write(batch, today)
            monkeypatch.setattr(store, "write", write)
            other.execute("BEGIN IMMEDIATE")
            return outcomes

        monkeypatch.setattr(store, "write", write_and_lock)
        monkeypatch.setattr(store.database, "rewrite", rewriting)
        stored = await send(writer, [response(OPEN, n) for n in range(32)])
        assert set(stored) == {Outcome.STORED}
        await asyncio.to_thread(failed.wait)
        assert writer.ready
        other.execute("ROLLBACK")
        other.close()
        await until_settled(store)
        return await writer.submit(response(OPEN, 32))

    assert with_writer(store, work) is Outcome.STORED
    assert records(store) == 33
    store.close()


def test_an_unforeseen_error_while_it_rests_or_recovers_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "IDLE", 0.01)
    store = store_of(tmp_path / "survey.db")
    write, test_write, left = store.write, store.test_write, [3]
    failed = threading.Event()

    def broken_rest(today: date, quiet: bool) -> bool:
        failed.set()
        raise RuntimeError("a secret")

    def broken_write(batch: Any, today: date) -> Any:
        monkeypatch.setattr(store, "write", write)
        raise RuntimeError("a secret")

    def broken_prove(n: int) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise RuntimeError("a secret")
        test_write(n)

    async def work(writer: Writer) -> Any:
        monkeypatch.setattr(store, "tidy", broken_rest)
        await writer.submit(response(OPEN, 1))
        await asyncio.to_thread(failed.wait)
        monkeypatch.setattr(store, "write", broken_write)
        monkeypatch.setattr(store, "test_write", broken_prove)
        with pytest.raises(Unavailable, match="RuntimeError"):
            await writer.submit(response(OPEN, 2))
        await until_ready(writer)
        return await writer.submit(response(OPEN, 2))

    assert with_writer(store, work) is Outcome.STORED
    assert records(store) == 2
    store.close()


def test_a_writer_whose_thread_ended_is_not_ready(tmp_path: Path) -> None:
    store = store_of(tmp_path / "survey.db")

    async def work(writer: Writer) -> None:
        await asyncio.to_thread(writer.close)
        writer._stopping.clear()  # as if the thread had ended by itself
        assert not writer.ready
        with pytest.raises(Unavailable):
            await writer.submit(response(OPEN, 1))

    with_writer(store, work)
    store.close()


def test_a_reader_of_sqlite_stops_nobody_and_the_log_is_emptied_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.sqlite.PATIENCE", 3600.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    path = tmp_path / "survey.db"
    log = tmp_path / "survey.db-wal"
    store = store_of(path)
    tokens = store.invite(INVITED.survey.fingerprint, 60)

    async def work(writer: Writer) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM tokens").fetchall()
        await send(writer, list(responses(INVITED, tokens[:40])))
        await until_settled(store)
        await send(writer, list(responses(INVITED, tokens[40:])))
        assert log.stat().st_size > 0
        other.execute("ROLLBACK")
        other.close()
        await until_emptied(log)

    with_writer(store, work)
    store.close()


def test_a_long_reader_of_postgresql_neither_stops_a_start_nor_swells_the_table(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.store.RETRY_SECONDS", 0.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    monkeypatch.setattr(writing, "LONG_IDLE", 0.01)
    url = cluster.url()
    store, other = store_of(url), Store(url)
    store.write([response(OPEN, n) for n in range(40)], TODAY)
    size = text("SELECT pg_relation_size('responses')")

    async def work(writer: Writer, reader: Connection) -> Any:
        stored = await writer.submit(response(OPEN, 40))
        for _ in range(3):
            await asyncio.to_thread(store.tidy, TODAY)
        assert reader.scalar(size) == before
        reader.rollback()
        await until_settled(store)
        return stored

    with other.database.engine.connect() as reader:
        before = reader.scalar(size)
        reader.execute(text("SELECT count(*) FROM responses")).all()
        assert with_writer(store, lambda w: work(w, reader)) is Outcome.STORED
    other.close()
    store.close()


def test_a_settling_that_failed_is_left_alone_for_a_while(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = cluster.url()
    store, other = store_of(url), Store(url)
    store.write([response(OPEN, 1)], TODAY)
    tried: list[None] = []
    rewrite = store.database.rewrite
    monkeypatch.setattr(store.database, "rewrite", lambda due: (tried.append(None), rewrite(due)))
    with other.database.reading() as reader:
        reader.execute(text("SELECT count(*) FROM responses")).all()
        store.tidy(TODAY)
    store.tidy(TODAY)
    assert (len(tried), _unsettled(store)) == (1, 1)
    assert not store.order_erased
    monkeypatch.setattr(store, "_retry_after", 1e-9)  # the while is over
    store.tidy(TODAY)
    assert (len(tried), _unsettled(store)) == (2, 0)
    assert store.order_erased
    other.close()
    store.close()
