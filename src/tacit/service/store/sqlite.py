"""SQLite: a file with a write-ahead log that is synced at every commit and emptied when it may be.

The log would keep which token went with which response, and a page keeps its rows in the order of
their arrival. So the log is truncated whenever nothing waits, and VACUUM writes the file anew in
the order of the ids.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL

from tacit.errors import StoreError
from tacit.service.store.database import PATIENCE, Database, NewRow

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",  # a copy made by VACUUM never lies in a folder for all
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA cache_size = -65536",
)

#: SQLite has no arrays: values of one size go as one, and are cut up again.
_PIECES = "WITH RECURSIVE piece (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM piece LIMIT :pieces)"
_INSERT = f"""
INSERT INTO responses (survey, id, day, codes, checksum)
{_PIECES}
SELECT :survey, substr(:ids, :id * n + 1, :id), :day, substr(:codes, :code * n + 1, :code),
    substr(:sums, :sum * n + 1, :sum)
FROM piece WHERE true ON CONFLICT DO NOTHING
"""
_DELETE = f"""
DELETE FROM tokens WHERE survey = :survey
AND hash IN ({_PIECES} SELECT substr(:hashes, :hash * n + 1, :hash) FROM piece)
"""


class Sqlite(Database):
    """A file, its log beside it, and a lock file that says that a server writes."""

    def __init__(self, path: Path, there: bool = False) -> None:
        self.shown = str(path)
        self._path = path
        if path.is_dir() or not path.resolve().parent.is_dir():
            what = "is a folder" if path.is_dir() else "its folder does not exist"
            raise StoreError(f"{path}: {what}; name a file for the database")
        if there and not path.exists():
            raise StoreError(
                f"{path}: there is no such database; tacit serve begins one with a published survey"
            )
        self._claim: sqlite3.Connection | None = None
        _make_private(path)
        self.engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": PATIENCE},
            hide_parameters=True,
        )
        event.listen(self.engine, "connect", _prepare)
        event.listen(self.engine, "begin", _begin)

    @contextmanager
    def written(self, connection: Connection) -> Iterator[None]:
        connection.execution_options(tacit_writes=True)
        try:
            with connection.begin():
                yield
        finally:
            connection.execution_options(tacit_writes=False)

    def hold(self) -> Connection:
        if self._claim is None:
            self._claim = self._locked()
        return self.engine.connect()

    def let_go(self, connection: Connection) -> None:
        connection.invalidate()
        connection.close()

    def insert_responses(
        self, connection: Connection, survey: int, day: str, rows: Sequence[NewRow]
    ) -> int:
        ids, codes, sums = zip(*rows, strict=True)
        own = {"survey": survey, "day": day, "ids": b"".join(ids), "codes": b"".join(codes)}
        own |= {"sums": b"".join(sums)}
        sizes = {"pieces": len(rows), "id": _size(ids), "code": _size(codes), "sum": _size(sums)}
        return connection.exec_driver_sql(_INSERT, own | sizes).rowcount

    def delete_tokens(self, connection: Connection, survey: int, hashes: Sequence[bytes]) -> int:
        if not hashes:
            return 0
        sizes = {"pieces": len(hashes), "hash": _size(hashes)}
        own = {"survey": survey, "hashes": b"".join(hashes)}
        return connection.exec_driver_sql(_DELETE, own | sizes).rowcount

    def rewrite(self) -> None:
        with self.telling(), self.engine.connect() as connection:
            _driver(connection).execute("VACUUM")

    def forget(self) -> bool:
        """Without waiting: who reads for long, such as a backup, would stop all submissions."""
        with self.telling(), self.engine.connect() as connection:
            driver = _driver(connection)
            driver.execute("PRAGMA busy_timeout = 0")
            try:
                busy, *_ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                driver.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
        return not busy

    def check(self, connection: Connection) -> None:
        (said,) = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars()
        if said != "ok":
            raise StoreError(
                f"{self.shown}: the file is damaged ({said.splitlines()[-1]}); export from a "
                "backup, or restore one (see tacit backup)"
            )

    def copy(self, out: Path) -> None:
        """The state of this moment as another file, in the order of the ids; writers go on.

        Raises OSError if that file cannot be written.
        """
        with self.telling(), self.engine.connect() as connection:
            try:
                _driver(connection).execute("VACUUM INTO ?", (str(out),))
            except sqlite3.Error as error:
                raise OSError(str(error)) from None

    def close(self) -> None:
        super().close()
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _locked(self) -> sqlite3.Connection:
        """A lock that ends with the process, also when it is killed: SQLite's own, of a file."""
        path = f"{self._path}.lock"
        lock: sqlite3.Connection | None = None
        try:
            lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if lock is not None:
                lock.close()
            if "locked" not in str(error):
                raise StoreError(f"{path}: cannot be written: {error}") from None
            raise StoreError(
                f"{self.shown}: another server writes to this database; stop it first"
            ) from None
        return lock


def _size(pieces: Sequence[bytes]) -> int:
    """The size that all have."""
    (size,) = set(map(len, pieces))
    return size


def _make_private(path: Path) -> None:
    """A file that only its owner may read, if it is new; its log takes after it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened: {error.strerror or error}") from None


def _driver(connection: Connection) -> Any:
    """The driver's connection, for statements that must stand outside a transaction."""
    return connection.connection.driver_connection


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says, nowhere else
    for pragma in _PRAGMAS:
        connection.execute(pragma).fetchall()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tacit_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
