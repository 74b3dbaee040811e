"""PostgreSQL: tables keep rows in the order of arrival, with the number of their transaction.

So one transaction rewrites the rows from time to time, in the order of their ids, and VACUUM FULL
removes the old file. A deleted row stays in its file too, with the number of the transaction that
deleted it: that of a used link has the same number as its response. So VACUUM FULL also removes the
file of the links after every small batch. VACUUM alone leaves the bytes of deleted rows in the gaps
of pages, and both leave rows that an older snapshot may still read; these are waited for.

Any number of servers may write. The row of a survey is the lock for its quota, links and repeats: a
batch takes it, checks, writes and commits in one round trip, so that no server holds it while it
waits for its own process. Advisory locks tell the last server from the others, and choose who does
maintenance; a process loses them with its session.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import compress
from typing import Any

import psycopg
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from tacit.collect.store.database import PATIENCE, Database, NewRows
from tacit.collect.store.values import FEWEST_TOGETHER
from tacit.errors import StoreError, Unavailable

_SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY (:names)"
_SLOTS = "SELECT slot_name FROM pg_replication_slots ORDER BY slot_name"
_MAY_CHECKPOINT = """
SELECT has_function_privilege('pg_switch_wal()', 'execute')
   AND (SELECT bool_or(pg_has_role(oid, 'member')) FROM pg_roles
        WHERE rolname = 'pg_checkpoint' OR (rolname = current_user AND rolsuper))
"""

_STATEMENTS = "the server logs statements of submissions with the time of day"
_ARCHIVED = (
    "copies of the write-ahead log keep which records and used links belong together, and when"
)


#: For each setting what it keeps, and the harmless values; the first one is recommended.
RISKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "log_statement": (_STATEMENTS, ("none", "ddl")),
    "log_duration": (_STATEMENTS, ("off",)),
    "log_min_duration_statement": (_STATEMENTS, ("-1",)),
    "log_min_duration_sample": (_STATEMENTS, ("-1",)),
    "log_transaction_sample_rate": (_STATEMENTS, ("0",)),
    "auto_explain.log_min_duration": (_STATEMENTS, ("-1",)),
    "pgaudit.log": (_STATEMENTS, ("none", "")),
    "track_commit_timestamp": ("the server keeps the time of each commit", ("off",)),
    "archive_mode": (_ARCHIVED, ("off",)),
    "wal_level": (
        "other programs can follow the write-ahead log row by row",
        ("replica", "minimal"),
    ),
    "wal_recycle": (
        "old segments of the write-ahead log stay on disk until they are overwritten",
        ("off",),
    ),
    "wal_keep_size": ("so many megabytes of the write-ahead log stay on disk", ("0",)),
}


def may_checkpoint(connection: Connection) -> bool:
    """Whether the role may end a segment of the write-ahead log, so that it is removed."""
    return bool(connection.scalar(text(_MAY_CHECKPOINT)))


#: Advisory locks per schema of a database. Writing servers share the first; the others are for
#: changing the layout and for maintenance.
_WRITE_LOCK, _LAYOUT_LOCK, _MAINTENANCE_LOCK = 0x74616369, 0x74616374, 0x7461636D
#: The share of `write_seconds` after which a server that stalls within a transaction loses its
#: session, so that the others, who wait for its locks, do not fail.
_STALLED = 0.5
#: Seconds to wait for older snapshots before and after rewriting, and for readers of links. Long
#: reads are not waited for.
_OLD_SNAPSHOT, _SHORT_READ = 1.0, 0.05
#: Removing used links copies all others, so it waits for one more used link per so many others.
LINKS_PER_USED = 100_000
#: Larger than any number of records.
_NO_QUOTA = 2**31 - 1
#: An unresponsive host times out after seconds, not minutes.
_TIMEOUTS = {
    "connect_timeout": int(PATIENCE),
    "tcp_user_timeout": int(2 * PATIENCE * 1000),
    "keepalives_idle": int(PATIENCE),
    "keepalives_interval": 1,
    "keepalives_count": int(PATIENCE),
}
#: The same on the server, which would keep the lock of a lost session for hours.
_SESSION = (
    "synchronous_commit = on",
    "client_min_messages = error",
    f"tcp_keepalives_idle = {PATIENCE:.0f}",
    "tcp_keepalives_interval = 1",
    f"tcp_keepalives_count = {PATIENCE:.0f}",
    f"tcp_user_timeout = {2 * PATIENCE * 1000:.0f}",
)
#: From version 14 on, a server that waits for a lock can check that its client is still there, and
#: end the session of a process that was stopped while it did maintenance.
_CHECK_CLIENT = """
SELECT set_config(name, '1s', false) FROM pg_settings
WHERE name = 'client_connection_check_interval'
"""
_END_IDLE_SESSION = """
SELECT set_config(name, '15min', false) FROM pg_settings WHERE name = 'idle_session_timeout'
"""
_NEXT_TRANSACTION = "SELECT txid_snapshot_xmax(txid_current_snapshot()) % 4294967296"
#: Who may still read rows that were deleted before a transaction. An automatic vacuum does not; the
#: type of a process is hidden (NULL) from roles without the right to see it.
_OLDER_SNAPSHOTS = """
SELECT pid || ' ' || backend_xmin FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type IS DISTINCT FROM 'autovacuum worker'
AND age(backend_xmin) > age(CAST(CAST(:transaction AS text) AS xid))
"""
#: These, and the transactions that have a lock on the table of links.
_READERS_OF_LINKS = f"""
{_OLDER_SNAPSHOTS} UNION SELECT virtualtransaction FROM pg_locks
WHERE relation = 'tokens'::regclass AND pid <> pg_backend_pid()
"""
_LINKS = "SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'tokens'::regclass"
_TRY_LOCK = "SELECT pg_try_advisory_lock(:kind, hashtext(current_schema()))"
_UNLOCK = "SELECT pg_advisory_unlock(:kind, hashtext(current_schema()))"
_SHARE_LOCK = "SELECT pg_advisory_lock_shared(:kind, hashtext(current_schema()))"
_UNLOCK_SHARED = "SELECT pg_advisory_unlock_shared(:kind, hashtext(current_schema()))"
_WAIT_FOR_LOCK = "SELECT pg_advisory_xact_lock(:kind, hashtext(current_schema()))"
#: Take the locks for VACUUM FULL before rewriting, with a short timeout: while a dump reads,
#: everybody else queues behind them.
_LOCK = (
    "SET LOCAL lock_timeout = '1s'",
    f"SET LOCAL idle_in_transaction_session_timeout = '{PATIENCE / 2:g}s'",
    'SELECT number FROM surveys ORDER BY fingerprint COLLATE "C" FOR UPDATE',
    "LOCK TABLE responses, texts IN ACCESS EXCLUSIVE MODE",
)
_LOCK_SURVEYS = """
SELECT number FROM surveys WHERE number = ANY (%s::int[])
ORDER BY fingerprint COLLATE "C" FOR UPDATE
"""
#: Runs after `_LOCK_SURVEYS`, so that it sees all that others committed under the same lock, and
#: nothing changes between its checks and its writes. The last part changes one row, or none.
#: LATERAL with OFFSET looks up each id and each hash by its key: without statistics, PostgreSQL
#: would rather read all rows of the survey.
_INSERT_TOGETHER = """
WITH usable AS (
    SELECT place FROM unnest(%(hashes)b::bytea[]) AS given (hash), LATERAL (
        SELECT ctid AS place FROM tokens
        WHERE survey = %(survey)s AND tokens.hash = given.hash OFFSET 0
    ) AS found
), may AS (
    SELECT number FROM surveys
    WHERE number = %(survey)s AND NOT closed
    AND records + cardinality(%(ids)b::bytea[]) <= %(quota)s
    AND cardinality(%(hashes)b::bytea[]) = (SELECT count(*) FROM usable)
    AND NOT EXISTS (
        SELECT FROM unnest(%(ids)b::bytea[]) AS given (id), LATERAL (
            SELECT FROM responses WHERE survey = %(survey)s AND responses.id = given.id OFFSET 0
        ) AS known
    )
), stored AS (
    INSERT INTO responses (survey, id, day, codes, checksum)
    SELECT number, id, %(day)s::date, codes, checksum FROM may, unnest(
        %(ids)b::bytea[], %(codes)b::bytea[], %(sums)b::bytea[]
    ) AS given (id, codes, checksum)
    ON CONFLICT DO NOTHING
), spent AS (
    DELETE FROM tokens USING may WHERE tokens.ctid = ANY (ARRAY(SELECT place FROM usable))
)
UPDATE surveys SET records = records + cardinality(%(ids)b::bytea[])
FROM may WHERE surveys.number = may.number
RETURNING surveys.records, surveys.settled
"""
_DELETE = "DELETE FROM tokens WHERE survey = %s AND hash = ANY (%b::bytea[])"
_REWRITE = """
WITH gone AS (
    DELETE FROM responses WHERE survey = ANY (:surveys) RETURNING survey, id, day, codes, checksum
)
INSERT INTO responses (survey, id, day, codes, checksum)
SELECT survey, id, day, codes, checksum FROM gone ORDER BY survey, id
"""
_REWRITE_TEXTS = """
WITH gone AS (DELETE FROM texts WHERE survey = ANY (:surveys) RETURNING survey, id, name, text)
INSERT INTO texts (survey, id, name, text)
SELECT survey, id, name, text FROM gone ORDER BY survey, id
"""


class Postgres(Database):
    """A database on a PostgreSQL server of version 12 or newer."""

    def __init__(self, url: URL) -> None:
        shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
        engine = create_engine(
            url,
            connect_args=_TIMEOUTS,
            pool_pre_ping=True,
            paramstyle="format",
            hide_parameters=True,
        )
        super().__init__(shown, engine)
        event.listen(self.engine, "connect", _prepare)
        self._used_links = 0  # deleted by this server, and perhaps still in the file
        self._small_batch = False  # since the last time they were removed
        self._links = 0.0  # the unused ones at that time
        self._readers: set[str] = set()  # who prevented it at the last attempt

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.translating_errors(), self.engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def lock_layout(self, connection: Connection) -> None:
        connection.execute(text(_WAIT_FOR_LOCK), {"kind": _LAYOUT_LOCK})

    def claim(self) -> Connection:
        """Share the lock; wait for a server that takes it to find out whether it is alone.

        All statements of a batch look rows up by their keys: a plan from the time when a table was
        small must not read it whole when it has grown. Without `enable_seqscan` a plan that has to
        read a small table whole seems so expensive that PostgreSQL would compile it first, which
        takes a hundred times as long as to run it.
        """
        longest = self.write_seconds * 1000
        settings = {
            "statement_timeout": f"{longest:.0f}",
            "lock_timeout": f"{longest:.0f}",
            "idle_in_transaction_session_timeout": f"{max(1, _STALLED * longest):.0f}",
            "enable_seqscan": "off",
            "jit": "off",
        }
        connection = self.engine.connect()
        try:
            for setting, value in settings.items():
                connection.execute(text(f"SET {setting} = {value}"))
            connection.execute(text(_CHECK_CLIENT))
            connection.execute(text(_SHARE_LOCK), {"kind": _WRITE_LOCK})
            durable = connection.scalar(text("SHOW fsync"))
            connection.commit()
            if durable != "on":
                what = f"fsync is {durable}, nothing would be durable; turn it on"
                raise StoreError(f"{self.shown}: {what}")
        except BaseException:
            self.release(connection)
            raise
        return connection

    def alone(self, connection: Connection) -> bool:
        with self.translating_errors(), connection.begin():
            lock = {"kind": _WRITE_LOCK}
            alone = bool(connection.scalar(text(_TRY_LOCK), lock))
            if alone:
                connection.execute(text(_UNLOCK), lock)
        return alone

    def leave(self, connection: Connection) -> bool:
        """The last one to give up its share of the lock gets the whole lock."""
        with self.translating_errors(), connection.begin():
            connection.execute(text(_UNLOCK_SHARED), {"kind": _WRITE_LOCK})
        return self.alone(connection)

    @contextmanager
    def maintaining(self) -> Iterator[bool]:
        """Gives up the lock itself: a closed session keeps its locks until the server notices."""
        lock = {"kind": _MAINTENANCE_LOCK}
        with self.translating_errors(), self._autocommit() as connection:
            connection.execute(text(_END_IDLE_SESSION))
            chosen = bool(connection.scalar(text(_TRY_LOCK), lock))
            yield chosen
            if chosen:
                with suppress(SQLAlchemyError):  # the work is done, and a lost session has no locks
                    connection.execute(text(_UNLOCK), lock)

    def insert_together(self, connection: Connection, offers: Sequence[NewRows]) -> list[bool]:
        """One round trip, so the locks are never held while this process is busy or stopped."""
        driver: Any = connection.connection.driver_connection
        stored = [True] * len(offers)  # perhaps, if the connection breaks
        try:
            with driver.pipeline():
                driver.execute(_LOCK_SURVEYS, ([offer.survey for offer in offers],))
                cursors = [driver.execute(_INSERT_TOGETHER, _parameters(offer)) for offer in offers]
                driver.commit()
            stored = [cursor.rowcount == 1 for cursor in cursors]
            for cursor in compress(cursors, stored):
                self.note_counts(*cursor.fetchone())
        finally:
            self._used_links += sum(len(offer.hashes) for offer in compress(offers, stored))
        return stored

    def after_commit(self, fewest: int) -> None:
        self._small_batch |= fewest < FEWEST_TOGETHER

    @property
    def ties_links(self) -> bool:
        return self._small_batch and self._used_links > self._links // LINKS_PER_USED

    def delete_tokens(self, connection: Connection, survey: int, hashes: Sequence[bytes]) -> int:
        return connection.exec_driver_sql(_DELETE, (survey, list(hashes))).rowcount

    def rewrite(self, surveys: Sequence[int]) -> None:
        rows = {"surveys": list(surveys)}
        with self.translating_errors(), self._autocommit() as connection:
            # Otherwise the rewrite would only make the table larger.
            self._await_older_snapshots(connection)
            with self.writing() as writing:
                for statement in _LOCK:
                    writing.execute(text(statement))
                writing.execute(text(_REWRITE), rows)
                writing.execute(text(_REWRITE_TEXTS), rows)
            used = self._used_links
            self._await_older_snapshots(connection)
            connection.execute(text(f"SET lock_timeout = '{PATIENCE:.0f}s'"))
            for table in ("responses", "texts", "tokens", "surveys"):
                connection.execute(text(f"VACUUM FULL {table}"))
            self._note_removed(connection, used)
            if may_checkpoint(connection):
                connection.execute(text("SELECT pg_switch_wal()"))
                connection.execute(text("CHECKPOINT"))

    def _await_older_snapshots(self, connection: Connection) -> None:
        if _remaining(connection, _OLDER_SNAPSHOTS, _OLD_SNAPSHOT):
            what = "the order of arrival is not erased while somebody reads the database for long"
            raise Unavailable(f"{self.shown}: {what}")

    def forget_links(self) -> bool:
        """Without a lock that is waited for: a statement that fails would be logged with its time.

        The write-ahead log is left to the server, which shares it among all its databases.
        """
        if not self._used_links:
            return True
        used = self._used_links
        with self.translating_errors(), self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            self._readers = _remaining(connection, _READERS_OF_LINKS, _SHORT_READ, self._readers)
            if self._readers:
                return False
            connection.execute(text("SET lock_timeout = '1s'"))
            try:
                connection.execute(text("VACUUM FULL tokens"))
            except SQLAlchemyError:  # somebody began to read for long
                return False
            finally:
                connection.execute(text("RESET lock_timeout"))
            self._note_removed(connection, used)
        return True

    def _note_removed(self, connection: Connection, used: int) -> None:
        self._used_links -= used
        self._small_batch = False
        self._links = float(connection.scalar(text(_LINKS)) or 0)

    def ping(self, connection: Connection) -> None:
        with connection.begin():
            connection.exec_driver_sql("SELECT 1")

    def _break(self, connection: psycopg.Connection[Any]) -> None:
        """Shut down a connection's socket, so that a thread that reads from it wakes up."""
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    def warnings(self) -> list[str]:
        """A sentence for each setting that keeps order or time, and about the write-ahead log.

        They are checked at every start. Each one becomes a warning that says what is kept and how
        the administrator can stop it.
        """
        with self.reading() as connection:
            settings = connection.execute(text(_SETTINGS), {"names": list(RISKS)}).all()
            slots = list(connection.scalars(text(_SLOTS)))
            able = may_checkpoint(connection)
        values: dict[str, str] = {row.name: row.setting for row in settings}
        said = [
            f"PostgreSQL: {name} is {values[name]}: {kept}; set it to {harmless[0]}"
            for name, (kept, harmless) in RISKS.items()
            if values.get(name, harmless[0]) not in harmless
        ]
        if slots:
            said.append(
                f"PostgreSQL: replication slots ({', '.join(slots)}) keep the write-ahead log "
                f"until it is read: {_ARCHIVED}; drop them"
            )
        if not able:
            said.append(
                "PostgreSQL: this role may not end a segment of the write-ahead log, which keeps "
                "which records and used links belong together until two checkpoints have passed "
                "(checkpoint_timeout); grant pg_checkpoint, and execute on function pg_switch_wal()"
            )
        return said

    @contextmanager
    def _autocommit(self) -> Iterator[Connection]:
        """A connection without transactions; its settings and locks end with it."""
        connection = self.engine.connect()
        try:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")
        finally:
            self.release(connection)


def _remaining(
    connection: Connection, query: str, seconds: float, long: Collection[str] = ()
) -> set[str]:
    """Who is found by a query now and still after so many seconds; those who come later are not.

    Does not wait if one of those who read for `long` is still there.
    """
    since = {"transaction": connection.scalar(text(_NEXT_TRANSACTION))}
    remaining = set(connection.scalars(text(query), since))
    until = time.monotonic() + (0.0 if remaining.intersection(long) else seconds)
    while remaining and time.monotonic() < until:
        time.sleep(0.005)
        remaining &= set(connection.scalars(text(query), since))
    return remaining


def _parameters(offer: NewRows) -> dict[str, Any]:
    ids, codes, sums = map(list, zip(*offer.rows, strict=True))
    quota = _NO_QUOTA if offer.quota is None else offer.quota
    return offer._asdict() | {"quota": quota, "ids": ids, "codes": codes, "sums": sums}


def _prepare(connection: Any, _: object) -> None:
    with connection.cursor() as cursor:
        for setting in _SESSION:
            cursor.execute(f"SET {setting}")
    connection.commit()
