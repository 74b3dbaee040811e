"""What PostgreSQL keeps of rows that were deleted: used links, and records before they were put in
order. The files are read as they are on disk, after a checkpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tacit.collect.store import Store
from tacit.collect.store import postgres as postgres_store
from tacit.collect.store.values import id_of, token_hash
from tests.support.linking import places_in, row_transactions
from tests.support.postgres import Cluster
from tests.support.published import response, responses
from tests.support.writers import INVITED, OPEN, TODAY, erased_records, store_of

FINGERPRINT = INVITED.survey.fingerprint


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.url()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(store_of(url)) as made:
        made.claim()
        made.tidy(TODAY)
        yield made


@pytest.fixture
def reader(url: str) -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(url)) as connection:
        yield connection


def _file(cluster: Cluster, url: str, table: str) -> bytes:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute("SELECT pg_relation_filepath(%s)", (table,)).fetchone()
    assert found is not None
    return (cluster.data / found[0]).read_bytes()


def _used_in_file(cluster: Cluster, url: str, tokens: list[str]) -> set[int]:
    hashes = [token_hash(FINGERPRINT, token) for token in tokens]
    return {number for _, number in places_in(_file(cluster, url, "tokens"), hashes)}


def test_the_row_of_a_used_link_and_its_record_share_a_number_until_it_is_removed(
    store: Store, cluster: Cluster, url: str
) -> None:
    tokens = store.invite(FINGERPRINT, 2)
    (answer,) = responses(INVITED, tokens[:1])
    store.write([answer], TODAY)
    ((_, stored, _),) = row_transactions(_file(cluster, url, "responses"), [id_of(answer)])
    hashes = [token_hash(FINGERPRINT, token) for token in tokens]
    deleted = {n: xmax for n, _, xmax in row_transactions(_file(cluster, url, "tokens"), hashes)}
    assert deleted == {0: stored, 1: 0}
    assert store.database.ties_links
    store.tidy(TODAY, quiet=False)
    assert _used_in_file(cluster, url, tokens) == {1}
    assert not store.database.ties_links


def test_vacuum_alone_would_leave_the_bytes_of_used_links(
    store: Store, cluster: Cluster, url: str
) -> None:
    """Why the whole file is removed: the negative control of the test above."""
    tokens = store.invite(FINGERPRINT, 3)
    store.write(list(responses(INVITED, tokens)), TODAY)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (TRUNCATE off) tokens")
        assert connection.execute("SELECT count(*) FROM tokens").fetchone() == (0,)
    assert _used_in_file(cluster, url, tokens)


def test_a_transaction_with_many_links_ties_none_and_is_left_until_it_is_quiet(
    store: Store, cluster: Cluster, url: str
) -> None:
    tokens = store.invite(FINGERPRINT, 32)
    store.write(list(responses(INVITED, tokens)), TODAY)
    assert not store.database.ties_links
    store.tidy(TODAY)
    assert _used_in_file(cluster, url, tokens) == set()


def test_the_more_links_are_unused_the_more_used_ones_wait_for_their_removal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Because removing them copies all others."""
    monkeypatch.setattr(postgres_store, "LINKS_PER_USED", 10)
    answers = list(responses(INVITED, store.invite(FINGERPRINT, 40)))
    ties = []
    for answer in answers[:10]:
        store.write([answer], TODAY)
        ties.append(store.database.ties_links)
        if ties[-1]:
            store.tidy(TODAY, quiet=False)
    assert ties == [True, *[False] * 3, True, *[False] * 3, True, False]


def test_used_links_that_somebody_may_read_are_removed_afterwards_and_no_statement_fails(
    store: Store, cluster: Cluster, url: str, reader: psycopg.Connection
) -> None:
    tokens = store.invite(FINGERPRINT, 2)
    first, second = responses(INVITED, tokens)
    log = cluster.folder / "log"
    before = len(log.read_bytes())
    reader.execute("SELECT count(*) FROM tokens")
    store.write([first], TODAY)
    assert not store.tidy(TODAY)
    reader.rollback()
    assert store.tidy(TODAY)
    reader.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    reader.commit()
    reader.execute("SELECT 1")  # a snapshot, and a lock on none of the tables
    store.write([second], TODAY)
    assert not store.tidy(TODAY)
    assert _used_in_file(cluster, url, tokens) == {1}
    reader.rollback()
    assert store.tidy(TODAY)
    assert _used_in_file(cluster, url, tokens) == set()
    assert b"ERROR" not in log.read_bytes()[before:]


def test_short_reads_without_a_pause_do_not_keep_used_links(
    store: Store, cluster: Cluster, url: str
) -> None:
    """As many people who open their links, or one who keeps asking whether his works."""
    stopping = threading.Event()

    def read() -> None:
        with closing(psycopg.connect(url)) as connection:
            while not stopping.is_set():
                connection.execute("SELECT count(*) FROM tokens")
                time.sleep(0.02)
                connection.commit()

    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    tokens = store.invite(FINGERPRINT, 1)
    store.write(list(responses(INVITED, tokens)), TODAY)
    removed = any(store.tidy(TODAY) for _ in range(100))
    stopping.set()
    for thread in readers:
        thread.join()
    assert removed
    assert _used_in_file(cluster, url, tokens) == set()


@pytest.mark.parametrize("role", ["tacit", "humble"])
def test_rows_that_an_older_snapshot_keeps_in_the_file_do_not_count_as_erased(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """Also if the role of the service may not see what others do."""
    owner = cluster.url()
    url = owner.replace("//tacit@", f"//{role}@")
    with psycopg.connect(owner, autocommit=True) as connection:
        if role != "tacit":
            connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT ALL ON SCHEMA {url.rpartition('%3D')[2]} TO {role}")
    answers = [response(OPEN, n) for n in range(40)]
    with closing(store_of(url)) as store, closing(psycopg.connect(owner)) as reader:
        store.tidy(TODAY)
        store.write(answers, TODAY)
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")  # a snapshot, and a lock on none of the tables
        store.tidy(TODAY)
        assert not store.order_erased
        assert erased_records(store) == (40, 0)
        reader.rollback()
        monkeypatch.setattr(store, "_retry_after", 1e-9)
        store.tidy(TODAY)
        assert store.order_erased
    rows = row_transactions(_file(cluster, owner, "responses"), [id_of(one) for one in answers])
    assert len({xmin for _, xmin, _ in rows}) == 1


def test_a_process_that_is_stopped_during_maintenance_does_not_keep_it_from_others_forever(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(url) as connection:
        if connection.info.server_version < 140_000:
            pytest.skip("PostgreSQL ends idle sessions from version 14 on")
    monkeypatch.setattr(
        postgres_store,
        "_END_IDLE_SESSION",
        postgres_store._END_IDLE_SESSION.replace("15min", "100ms"),
    )
    with closing(Store(url)) as other, store.database.maintaining() as chosen:
        assert chosen
        obtained = False
        while not obtained:
            with other.database.maintaining() as obtained:
                pass
