"""The writer: group commit, a bounded queue, and databases that fail and come back."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from tacit.collect.store import Outcome, Response, Store
from tacit.collect.writer import Writer
from tacit.errors import Busy, StoreError, Unavailable
from tests.support.postgres import Cluster
from tests.support.published import published, response
from tests.support.serving import SECONDS
from tests.support.writers import (
    INVITED,
    OPEN,
    records,
    send,
    store_of,
    until_ready,
    with_writer,
)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = store_of(url)
    yield made
    made.close()


def sizes_of_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many responses each transaction gets."""
    sizes, write = list[int](), store.write

    def counted(batch: Sequence[Response], today: date) -> list[Outcome]:
        sizes.append(len(batch))
        return write(batch, today)

    monkeypatch.setattr(store, "write", counted)
    return sizes


def test_what_waits_shares_a_commit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, commits = sizes_of_batches(store, monkeypatch), list[float]()
    batch = [response(OPEN, n) for n in range(300)]
    outcomes = with_writer(store, lambda w: send(w, batch), most=100, watch=commits.append)
    assert set(outcomes) == {Outcome.STORED}
    assert len(commits) == len(sizes)
    assert sum(sizes) == 300
    assert max(sizes) == 100
    assert len(sizes) < 10
    assert records(store) == 300


def test_one_by_one_is_possible(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sizes_of_batches(store, monkeypatch)
    batch = [response(OPEN, n) for n in range(5)]
    with_writer(store, lambda w: send(w, batch), most=1)
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


class MeetingQueue(deque[Any]):
    """A queue in which two threads that ask for its length get the same answer, if they can."""

    def __init__(self, waiting: Iterable[Any]) -> None:
        self.meeting = threading.Barrier(2)
        super().__init__(waiting)

    def __len__(self) -> int:
        length = super().__len__()
        with suppress(threading.BrokenBarrierError):
            self.meeting.wait(0.05)
        return length


def test_two_threads_never_take_the_same_response(tmp_path: Path) -> None:
    """The watchdog refuses what waits while the writer's thread may take it."""
    store = store_of(tmp_path / "survey.db")
    writer = Writer(store)
    writer.close()
    waiting = [(response(OPEN, n), None) for n in range(5)]
    writer._queue = MeetingQueue(waiting)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: writer._next(), range(2))
    assert [*first, *second] == waiting
    store.close()


def test_a_second_writer_to_a_file_is_refused(tmp_path: Path) -> None:
    store, second = store_of(tmp_path / "survey.db"), Store(tmp_path / "survey.db")

    async def work(_: Writer) -> None:
        with pytest.raises(StoreError, match="another server writes"):
            Writer(second)

    with_writer(store, work)
    second.close()
    store.close()


def test_a_full_queue_says_so_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = store_of(path)

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
    monkeypatch.setattr("tacit.collect.store.sqlite.PATIENCE", 0.05)
    path = tmp_path / "survey.db"
    store = store_of(path)
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


@pytest.mark.slow
def test_a_full_disk_is_unavailable_and_the_writer_recovers(tmp_path: Path) -> None:
    store = store_of(tmp_path / "survey.db")
    pages = [1_000_000]
    event.listen(
        store.database.engine,
        "checkout",
        lambda connection, *_: connection.execute(f"PRAGMA max_page_count = {pages[0]}"),
    )
    batch = [response(OPEN, n) for n in range(900)]

    async def work(writer: Writer) -> tuple[list[Any], list[Any]]:
        pages[0] = 1  # as many as there are: the file cannot grow
        store._release()  # the next connection finds the disk full
        failed = await send(writer, batch)
        pages[0] = 1_000_000
        await until_ready(writer)
        store._release()
        return failed, await send(writer, batch)

    failed, stored = with_writer(store, work)
    assert {type(one) for one in failed} == {Unavailable}
    assert "full" in str(failed[0])
    assert set(stored) == {Outcome.STORED}
    assert records(store) == 900
    store.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_is_restarted_comes_back_by_itself(cluster: Cluster, mode: str) -> None:
    store = store_of(cluster.url())
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


def test_a_database_that_only_answers_reads_is_not_called_ready(cluster: Cluster) -> None:
    """As PostgreSQL is after a failover, or when an administrator stops all writes."""
    store = store_of(cluster.url())

    def read_only(setting: str) -> None:
        with psycopg.connect(cluster.address, autocommit=True) as admin:
            admin.execute("SET default_transaction_read_only = off")  # of this session
            admin.execute(f"ALTER DATABASE postgres SET default_transaction_read_only = {setting}")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = 'postgres' AND pid <> pg_backend_pid()"
            )

    async def work(writer: Writer) -> Any:
        assert await writer.submit(response(OPEN, 0)) is Outcome.STORED
        proofs = asyncio.Event()
        test_write, loop = store.test_write, asyncio.get_running_loop()

        def proving(n: int) -> None:
            try:
                test_write(n)
            except Unavailable as error:
                if "read-only" in str(error):
                    loop.call_soon_threadsafe(proofs.set)
                raise

        store.test_write = proving  # type: ignore[method-assign]
        await asyncio.to_thread(read_only, "on")
        with pytest.raises(Unavailable):
            await writer.submit(response(OPEN, 1))
        await asyncio.wait_for(proofs.wait(), SECONDS)  # recovery tried to write
        assert not writer.ready
        await asyncio.to_thread(read_only, "off")
        await until_ready(writer)
        return await writer.submit(response(OPEN, 1))

    try:
        assert with_writer(store, work) is Outcome.STORED
    finally:
        read_only("off")
    assert records(store) == 2
    store.close()


_ALONE = ("unshare", "--net")


def _may_be_alone() -> bool:
    if shutil.which("ip") is None or shutil.which(_ALONE[0]) is None or os.geteuid() != 0:
        return False
    tried = [*_ALONE, "ip", "link", "set", "lo", "up"]
    return subprocess.run(tried, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(not _may_be_alone(), reason="only root may make a network to take away")
@pytest.mark.usefixtures("cluster")
def test_an_unresponsive_host_times_out_and_is_found_again() -> None:
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
    store = store_of(tmp_path / "survey.db")
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
