"""The writer: group commit, a bounded queue, and databases that fail and come back."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from tacit.errors import Busy, StoreError, Unavailable
from tacit.service import writer as writing
from tacit.service.store import Outcome, Response, Store
from tacit.service.writer import Writer
from tests.support.postgres import Cluster
from tests.support.published import published, response, responses

OPEN = published()
INVITED = published(access="invited")
TODAY = date(2027, 3, 31)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = _store(url)
    yield made
    made.close()


def _store(url: str | Path) -> Store:
    made = Store(url)
    for survey in (OPEN, INVITED):
        made.register(survey)
    return made


def with_writer(
    store: Store, work: Callable[[Writer], Coroutine[Any, Any, Any]], **given: Any
) -> Any:
    """Run a coroutine with a writer that is closed at its end."""

    async def run() -> Any:
        writer = Writer(store, today=lambda: TODAY, **given)
        try:
            return await work(writer)
        finally:
            await asyncio.to_thread(writer.close)

    return asyncio.run(run())


async def send(writer: Writer, batch: list[Response]) -> list[Any]:
    """What becomes of responses that are sent at once."""
    return await asyncio.gather(*map(writer.submit, batch), return_exceptions=True)


async def until_ready(writer: Writer) -> None:
    while not writer.ready:
        await asyncio.sleep(0.01)


def records(store: Store, survey: Any = OPEN) -> int:
    return store.state(survey.survey.fingerprint).records


def test_what_waits_shares_a_commit(store: Store) -> None:
    sizes: list[int] = []
    batch = [response(OPEN, n) for n in range(300)]
    outcomes = with_writer(
        store, lambda w: send(w, batch), most=100, watch=lambda n, _: sizes.append(n)
    )
    assert set(outcomes) == {Outcome.STORED}
    assert sum(sizes) == 300
    assert max(sizes) == 100
    assert len(sizes) < 10
    assert records(store) == 300


def test_one_by_one_is_possible(store: Store) -> None:
    sizes: list[int] = []
    batch = [response(OPEN, n) for n in range(5)]
    with_writer(store, lambda w: send(w, batch), most=1, watch=lambda n, _: sizes.append(n))
    assert sizes == [1] * 5


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_50_parallel_submissions_of_one_token_store_one_response(store: Store, most: int) -> None:
    (token,) = store.invite(INVITED.survey.fingerprint, 1)
    batch = [response(INVITED, n, token) for n in range(50)]
    outcomes = with_writer(store, lambda w: send(w, batch), most=most)
    assert outcomes.count(Outcome.STORED) == 1
    assert outcomes.count(Outcome.UNKNOWN_TOKEN) == 49
    stored = store.codes(INVITED.survey.fingerprint)[:, 1]
    assert list(stored) == [outcomes.index(Outcome.STORED)]


def test_50_parallel_submissions_of_one_key_store_one_response(store: Store) -> None:
    one = response(OPEN, 3)
    outcomes = with_writer(store, lambda w: send(w, [one] * 50), most=7)
    assert sorted(o.value for o in outcomes) == ["repeated"] * 49 + ["stored"]
    assert records(store) == 1


@pytest.mark.parametrize("most", [1, 13, 1000])
def test_the_quota_is_exact_under_parallel_load(store: Store, most: int) -> None:
    few = published(quota=37)
    store.register(few)
    batch = [response(few, n) for n in range(100)]
    outcomes = with_writer(store, lambda w: send(w, batch), most=most)
    assert outcomes.count(Outcome.STORED) == 37
    assert outcomes.count(Outcome.FULL) == 63
    assert len(store.codes(few.survey.fingerprint)) == records(store, few) == 37


def test_closing_while_responses_come_stores_nothing_after_it(store: Store, url: str) -> None:
    other = Store(url)

    async def work(writer: Writer) -> tuple[list[Any], int, int]:
        batch = [response(OPEN, n) for n in range(400)]
        first = asyncio.gather(*map(writer.submit, batch[:200]))
        await asyncio.to_thread(other.close_survey, OPEN.survey.fingerprint)
        at_close = records(other)
        later = await send(writer, batch[200:])
        return [*await first, *later], at_close, records(other)

    outcomes, at_close, at_end = with_writer(store, work, most=10)
    other.close()
    assert outcomes[200:] == [Outcome.CLOSED] * 200
    assert outcomes.count(Outcome.STORED) == at_close == at_end


def test_closing_the_writer_stores_all_that_waits(store: Store) -> None:
    async def work() -> list[Any]:
        writer = Writer(store, most=10)
        waiting = [asyncio.ensure_future(writer.submit(response(OPEN, n))) for n in range(200)]
        await asyncio.sleep(0)
        await asyncio.to_thread(writer.close)
        with pytest.raises(Unavailable, match="stopping"):
            await writer.submit(response(OPEN))
        assert not writer.ready
        return await asyncio.gather(*waiting)

    assert asyncio.run(work()) == [Outcome.STORED] * 200
    assert records(store) == 200


def test_a_caller_who_leaves_disturbs_nobody(store: Store) -> None:
    async def work(writer: Writer) -> Any:
        gone = asyncio.ensure_future(writer.submit(response(OPEN, 1)))
        await asyncio.sleep(0)
        gone.cancel()
        return await writer.submit(response(OPEN, 2))

    assert with_writer(store, work) is Outcome.STORED


def test_a_second_writer_is_refused(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.store.postgres.PATIENCE", 0.1)
    second = Store(url)

    async def work(_: Writer) -> None:
        with pytest.raises(StoreError, match="another server writes"):
            Writer(second)

    with_writer(store, work)
    second.close()


def test_a_full_queue_says_so_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = _store(path)

    async def work(writer: Writer) -> tuple[list[Any], int]:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # the writer waits for this one
        first = asyncio.ensure_future(writer.submit(response(OPEN, 0)))
        while writer.waiting == 0 and not first.done():
            await asyncio.sleep(0)
        while writer.waiting:
            await asyncio.sleep(0.01)
        waiting = [asyncio.ensure_future(writer.submit(response(OPEN, n))) for n in range(1, 21)]
        await asyncio.sleep(0)
        full = writer.waiting
        other.execute("ROLLBACK")
        other.close()
        return await asyncio.gather(first, *waiting, return_exceptions=True), full

    outcomes, full = with_writer(store, work, capacity=8)
    assert full == 8
    assert outcomes[:9] == [Outcome.STORED] * 9
    assert [type(one) for one in outcomes[9:]] == [Busy] * 12
    assert records(store) == 9
    store.close()


def test_a_locked_database_is_unavailable_and_the_writer_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.store.sqlite.PATIENCE", 0.05)
    path = tmp_path / "survey.db"
    store = _store(path)
    one = response(OPEN, 1)

    async def work(writer: Writer) -> Any:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="database is locked"):
            await writer.submit(one)
        with pytest.raises(Unavailable):  # at once, while it is down
            await writer.submit(response(OPEN, 2))
        assert not writer.ready
        other.execute("ROLLBACK")
        other.close()
        await until_ready(writer)
        return await writer.submit(one)

    assert with_writer(store, work) is Outcome.STORED
    assert records(store) == 1
    store.close()


def test_a_full_disk_is_unavailable_and_the_writer_recovers(tmp_path: Path) -> None:
    store = _store(tmp_path / "survey.db")
    pages = [1_000_000]
    event.listen(
        store.database.engine,
        "checkout",
        lambda connection, *_: connection.execute(f"PRAGMA max_page_count = {pages[0]}"),
    )
    batch = [response(OPEN, n) for n in range(900)]

    async def work(writer: Writer) -> tuple[list[Any], list[Any]]:
        pages[0] = 1  # as many as there are: the file cannot grow
        store._let_go()  # the next connection finds the disk full
        failed = await send(writer, batch)
        pages[0] = 1_000_000
        await until_ready(writer)
        store._let_go()
        return failed, await send(writer, batch)

    failed, stored = with_writer(store, work)
    assert {type(one) for one in failed} == {Unavailable}
    assert "full" in str(failed[0])
    assert set(stored) == {Outcome.STORED}
    assert records(store) == 900
    store.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_is_restarted_comes_back_by_itself(cluster: Cluster, mode: str) -> None:
    store = _store(cluster.url())
    one = response(OPEN, 1)

    async def work(writer: Writer) -> Any:
        assert await writer.submit(response(OPEN, 0)) is Outcome.STORED
        await asyncio.to_thread(cluster.stop)
        with pytest.raises(Unavailable, match="does not answer"):
            await writer.submit(one)
        await asyncio.to_thread(cluster.start)
        await until_ready(writer)
        return await writer.submit(one)

    assert with_writer(store, work) in (Outcome.STORED, Outcome.REPEATED)
    assert sorted(store.codes(OPEN.survey.fingerprint)[:, 1]) == [0, 1]
    store.close()


_ALONE = ("unshare", "--net")


def _may_be_alone() -> bool:
    if shutil.which("ip") is None or shutil.which(_ALONE[0]) is None or os.geteuid() != 0:
        return False
    tried = [*_ALONE, "ip", "link", "set", "lo", "up"]
    return subprocess.run(tried, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(not _may_be_alone(), reason="only root may make a network to take away")
@pytest.mark.usefixtures("cluster")
def test_a_host_that_is_gone_without_a_word_is_given_up_and_found_again() -> None:
    done = subprocess.run(
        [*_ALONE, sys.executable, "-m", "tests.support.vanishing"],
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = done.stdout.split()  # meanwhile there was no outcome
    assert before == "stored"
    assert after in ("stored", "repeated")


def test_an_unforeseen_error_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path / "survey.db")
    write = store.write

    def broken(batch: Any, today: date) -> Any:
        if batch:
            monkeypatch.setattr(store, "write", write)
            raise RuntimeError("a secret")
        return []

    async def work(writer: Writer) -> Any:
        monkeypatch.setattr(store, "write", broken)
        with pytest.raises(Unavailable, match="RuntimeError") as error:
            await writer.submit(response(OPEN, 1))
        assert "secret" not in str(error.value)
        await until_ready(writer)
        return await writer.submit(response(OPEN, 1))

    assert with_writer(store, work) is Outcome.STORED
    store.close()


def test_the_log_is_emptied_when_nothing_waits(tmp_path: Path) -> None:
    store = _store(tmp_path / "survey.db")
    log = tmp_path / "survey.db-wal"
    tokens = store.invite(INVITED.survey.fingerprint, 5)

    async def work(writer: Writer) -> None:
        await send(writer, list(responses(INVITED, tokens)))
        assert log.stat().st_size > 0
        while log.stat().st_size > 0:
            await asyncio.sleep(0.01)

    with_writer(store, work)
    store.close()


def test_the_log_is_emptied_under_lasting_load_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_COMMITS", 3)
    store = _store(tmp_path / "survey.db")
    rested: list[date] = []

    def rest(today: date) -> bool:
        rested.append(today)
        return True

    monkeypatch.setattr(store, "rest", rest)
    with_writer(store, lambda w: send(w, [response(OPEN, n) for n in range(10)]), most=1)
    assert rested == [TODAY] * 4  # at the start, and after every third of ten commits
    store.close()


def _unsettled(store: Store) -> int:
    records, settled = store._counts()
    return records - settled


def test_the_store_settles_at_32_new_records_at_an_eighth_or_on_another_day(url: str) -> None:
    store = _store(url)
    store.rest(date(2027, 1, 1))
    left = []
    for new, day in ((31, 1), (1, 1), (992, 1), (127, 1), (1, 1), (1, 2), (0, 2)):
        store.write([response(OPEN, n) for n in range(new)], date(2027, 1, day))
        store.rest(date(2027, 1, day))
        left.append(_unsettled(store))
    assert left == [31, 0, 0, 127, 128, 0, 0]
    store.close()


async def until_settled(store: Store) -> None:
    while await asyncio.to_thread(_unsettled, store):
        await asyncio.sleep(0.01)


def test_a_database_that_is_locked_while_it_settles_takes_responses_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.store.sqlite.PATIENCE", 0.05)
    monkeypatch.setattr("tacit.service.store.store.RESPITE", 0.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    path = tmp_path / "survey.db"
    store = _store(path)
    failed = threading.Event()
    rewrite = store.database.rewrite

    def rewriting() -> None:
        try:
            rewrite()
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
    store = _store(tmp_path / "survey.db")
    write, left = store.write, [3]
    failed = threading.Event()

    def broken_rest(today: date) -> bool:
        failed.set()
        raise RuntimeError("a secret")

    def broken_write(batch: Any, today: date) -> Any:
        left[0] -= 1
        if left[0] < 0:
            return write(batch, today)
        raise RuntimeError("a secret")

    async def work(writer: Writer) -> Any:
        monkeypatch.setattr(store, "rest", broken_rest)
        await writer.submit(response(OPEN, 1))
        await asyncio.to_thread(failed.wait)
        monkeypatch.setattr(store, "write", broken_write)
        with pytest.raises(Unavailable, match="RuntimeError"):
            await writer.submit(response(OPEN, 2))
        await until_ready(writer)
        return await writer.submit(response(OPEN, 2))

    assert with_writer(store, work) is Outcome.STORED
    assert records(store) == 2
    store.close()


def test_a_writer_whose_thread_ended_is_not_ready(tmp_path: Path) -> None:
    store = _store(tmp_path / "survey.db")

    async def work(writer: Writer) -> None:
        writer._queue.put(None)
        await asyncio.to_thread(writer._thread.join)
        assert not writer.ready
        with pytest.raises(Unavailable):
            await writer.submit(response(OPEN, 1))

    with_writer(store, work)
    store.close()


def test_a_reader_of_sqlite_stops_nobody_and_the_log_is_emptied_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.store.sqlite.PATIENCE", 3600.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    path = tmp_path / "survey.db"
    log = tmp_path / "survey.db-wal"
    store = _store(path)
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
        while log.stat().st_size > 0:
            await asyncio.sleep(0.01)

    with_writer(store, work)
    store.close()


def test_a_long_reader_of_postgresql_neither_stops_a_start_nor_swells_the_table(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.store.store.RESPITE", 0.0)
    monkeypatch.setattr(writing, "IDLE", 0.01)
    monkeypatch.setattr(writing, "LONG_IDLE", 0.01)
    url = cluster.url()
    store, other = _store(url), Store(url)
    store.write([response(OPEN, n) for n in range(40)], TODAY)
    size = text("SELECT pg_relation_size('responses')")

    async def work(writer: Writer, reader: Connection) -> Any:
        stored = await writer.submit(response(OPEN, 40))
        for _ in range(3):
            await asyncio.to_thread(store.rest, TODAY)
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
    store, other = _store(url), Store(url)
    store.write([response(OPEN, 1)], TODAY)
    tried: list[None] = []
    rewrite = store.database.rewrite
    monkeypatch.setattr(store.database, "rewrite", lambda: (tried.append(None), rewrite()))
    with other.database.reading() as reader:
        reader.execute(text("SELECT count(*) FROM responses")).all()
        store.rest(TODAY)
    store.rest(TODAY)
    assert (len(tried), _unsettled(store)) == (1, 1)
    monkeypatch.setattr(store, "_settle_after", 1e-9)  # the while is over
    store.rest(TODAY)
    assert (len(tried), _unsettled(store)) == (2, 0)
    other.close()
    store.close()
