"""Nothing left behind tells which one-time link, or which moment, a response belongs to.

Responses are sent one by one, in a known order, and carry their number. Then somebody who holds the
whole database, its files and its log tries to find that order. Each attempt that succeeds on a
correct program does so once in a million runs; beside them, the same attempts succeed on a naive
table and on files that were not put in order.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from tacit.collect.store import Response, Store
from tacit.collect.store.values import id_of, token_hash
from tacit.collect.writer import Writer
from tests.support.linking import FEWEST, files_below, order_in, places_in, tells_arrival
from tests.support.postgres import Cluster
from tests.support.published import published, responses

N, UNUSED = 300, 100
#: So few that SQLite has not split its pages again, which orders the rows of each.
FEW = 150
SURVEY = published(access="invited")
FINGERPRINT = SURVEY.survey.fingerprint


@dataclass(frozen=True)
class Sent:
    """A store that was filled, and what is known of it outside."""

    url: str
    folder: Path
    start: float
    responses: list[Response]
    tokens: list[str]

    def numbers(self, query: str) -> list[int]:
        """Numbers of the records in the order in which a query finds their codes."""
        return _numbers([bytes(codes) for codes in self.ask(query)])

    def ask(self, query: str) -> list[Any]:
        store = Store(self.url)
        with store.database.reading() as connection:
            found = list(connection.scalars(text(query)))
        store.close()
        return found


def _sent(url: str, folder: Path, erase_order: bool = True, n: int = N, servers: int = 1) -> Sent:
    """Responses stored in the order of their numbers, one after the other; links never used.

    Several servers take turns.
    """
    start = time.time() - 1
    stores = [Store(url) for _ in range(servers)]
    stores[0].register(SURVEY)
    tokens = stores[0].invite(FINGERPRINT, n + UNUSED)
    batch = list(responses(SURVEY, tokens[:n]))

    async def one_by_one() -> None:
        writers = [Writer(store) for store in stores]
        for store in [] if erase_order else stores:
            store.tidy = lambda *_: None  # type: ignore[method-assign]
            store.erase_order = lambda: None  # type: ignore[method-assign]
        for number, response in enumerate(batch):
            assert (await writers[number % servers].submit(response)).acknowledged
        for writer in writers:
            await asyncio.to_thread(writer.close)

    asyncio.run(one_by_one())
    for store in stores:
        store.close()
    return Sent(url, folder, start, batch, tokens)


def _numbers(codes: list[bytes]) -> list[int]:
    return [int.from_bytes(code[2:4], "little") for code in codes]


@pytest.fixture(scope="module")
def in_postgres(cluster: Cluster) -> Sent:
    return _sent(cluster.url(), cluster.data)


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    folder = tmp_path_factory.mktemp("sent")
    return _sent(str(folder / "survey.db"), folder)


@pytest.fixture(scope="module")
def by_three_servers(cluster: Cluster) -> Sent:
    return _sent(cluster.url(), cluster.data, servers=3)


@pytest.fixture(params=["in_postgres", "by_three_servers"])
def on_postgres(request: pytest.FixtureRequest) -> Sent:
    found: Sent = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["in_sqlite", "in_postgres", "by_three_servers"])
def sent(request: pytest.FixtureRequest) -> Sent:
    found: Sent = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(
    "query",
    [
        "SELECT codes FROM responses",
        "SELECT codes FROM responses ORDER BY id",
        "SELECT codes FROM responses ORDER BY day",
        "SELECT codes FROM responses ORDER BY survey, day, id DESC",
    ],
)
def test_no_query_tells_the_order_of_arrival(sent: Sent, query: str) -> None:
    found = sent.numbers(query)
    assert sorted(found) == list(range(N))
    assert not tells_arrival(found)


@pytest.mark.parametrize("hidden", ["ctid", "xmin::text::bigint", "cmin::text::bigint", "tableoid"])
def test_no_hidden_column_tells_the_order_of_arrival(on_postgres: Sent, hidden: str) -> None:
    found = on_postgres.numbers(f"SELECT codes FROM responses ORDER BY {hidden}, ctid")
    assert not tells_arrival(found)


def test_all_rows_carry_the_number_of_one_transaction(on_postgres: Sent) -> None:
    assert on_postgres.ask("SELECT count(DISTINCT xmin::text) FROM responses") == [1]


def test_a_table_without_rowid_has_none_to_ask_for(in_sqlite: Sent) -> None:
    connection = sqlite3.connect(in_sqlite.url)
    for table in ("responses", "tokens"):
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            connection.execute(f"SELECT rowid FROM {table}")
    connection.close()


def test_only_links_that_were_not_used_are_kept_and_in_no_order(sent: Sent) -> None:
    hashes = [token_hash(FINGERPRINT, token) for token in sent.tokens]
    kept = [bytes(one) for one in sent.ask("SELECT hash FROM tokens")]
    assert sorted(kept) == sorted(hashes[N:])
    assert not tells_arrival([hashes.index(one) for one in kept])


def test_no_byte_of_any_file_or_log_tells_the_order_or_a_used_link(sent: Sent) -> None:
    ids = [id_of(response) for response in sent.responses]
    used = [token_hash(FINGERPRINT, token) for token in sent.tokens[:N]]
    used += [one.key for one in sent.responses] + [token.encode() for token in sent.tokens]
    orders = 0
    for path, content in files_below(sent.folder, sent.start):
        assert not [*places_in(content, used)], path
        for order in order_in(content, ids):
            if len(order) >= FEWEST:
                orders += 1
                assert not tells_arrival(order), path
    assert orders >= 2, "the ids must be somewhere"


def test_statistics_of_postgresql_hold_no_link_and_no_response(on_postgres: Sent) -> None:
    """Autovacuum analyses tables by itself; ANALYZE here does the same at once."""
    with closing(psycopg.connect(on_postgres.url, autocommit=True)) as connection:
        connection.execute("ANALYZE")
        columns = connection.execute("SELECT tablename, attname FROM pg_stats").fetchall()
    assert ("responses", "day") in columns
    secret = {("tokens", "hash"), *(("responses", name) for name in ("id", "codes", "checksum"))}
    assert not secret & set(columns)


def test_while_the_server_runs_an_idle_log_holds_nothing(tmp_path: Path) -> None:
    """Not only at the end: whenever nothing waits, the log has no bytes."""
    store = Store(tmp_path / "survey.db")
    store.register(SURVEY)
    tokens = store.invite(FINGERPRINT, N)
    log = tmp_path / "survey.db-wal"

    async def work() -> None:
        writer = Writer(store)
        for response in responses(SURVEY, tokens):
            await writer.submit(response)
        while log.stat().st_size:
            await asyncio.sleep(0.01)
        used = [token_hash(FINGERPRINT, token) for token in tokens]
        for path, content in files_below(tmp_path):
            assert not [*places_in(content, used)], path
        await asyncio.to_thread(writer.close)

    asyncio.run(work())
    store.close()


# The attempts can succeed. -------------------------------------------------------------------


def test_a_naive_table_is_caught(tmp_path: Path) -> None:
    batch = list(responses(SURVEY, [""] * N))
    path = tmp_path / "naive.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE responses (id BLOB UNIQUE, codes BLOB)")
    for response in batch:
        connection.execute("INSERT INTO responses VALUES (?, ?)", (id_of(response), response.codes))
    connection.commit()
    for query in ("SELECT codes FROM responses", "SELECT codes FROM responses ORDER BY rowid"):
        assert tells_arrival(_numbers([code for (code,) in connection.execute(query)]))
    connection.close()
    content, ids = path.read_bytes(), [id_of(response) for response in batch]
    assert {number for _, number in places_in(content, ids)} == set(range(N))
    assert any(tells_arrival(order) for order in order_in(content, ids))


def test_a_file_that_was_not_put_in_order_is_caught(tmp_path: Path) -> None:
    """Rows without rowid lie in the order of arrival within each page."""
    path = tmp_path / "survey.db"
    sent = _sent(str(path), tmp_path, erase_order=False, n=FEW)
    orders = order_in(path.read_bytes(), [id_of(response) for response in sent.responses])
    assert any(tells_arrival(order) for order in orders)


@pytest.mark.parametrize("servers", [1, 3])
def test_a_postgresql_table_that_was_not_put_in_order_is_caught(
    cluster: Cluster, servers: int
) -> None:
    sent = _sent(cluster.url(), cluster.data, erase_order=False, servers=servers)
    for query in ("", " ORDER BY xmin::text::bigint"):
        assert tells_arrival(sent.numbers(f"SELECT codes FROM responses{query}"))
