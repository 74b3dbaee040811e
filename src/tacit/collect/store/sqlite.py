"""SQLite: a file with a write-ahead log that is synced at every commit.

The log keeps which token came with which response, and a page keeps its rows in the order of
arrival. So the log is truncated after every small transaction and whenever nothing is stored, and
VACUUM rewrites the file in the order of the ids. Nothing is acknowledged unless the open files are
the ones at their paths.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from tacit.collect.store.database import PATIENCE, Database, NewRows
from tacit.collect.store.values import FEWEST_TOGETHER
from tacit.errors import StoreError, Unavailable

_IDENTITY = ("st_dev", "st_ino")
_FIGURES = ("st_mtime_ns", "st_size")


class DatabaseFile:
    """An existing database file, by the given path and its real path.

    SQLite names the log after the real path: two hard links would get two logs, which destroys the
    database. So a file with several hard links is refused.

    SQLite keeps writing to a file that was deleted, moved or replaced, and its commits succeed. So
    the device and inode of the database, its log and its lock file are recorded when they are
    opened, and compared with the paths later. Modification time and size show whether another
    program wrote to the file.
    """

    def __init__(self, path: Path) -> None:
        self._given = Path(os.path.abspath(path))
        self.real = self._given.resolve()
        self.log = [Path(f"{self.real}{end}") for end in ("-wal", "-shm")]
        self._noted = {self._given: _figures(self._given, *_IDENTITY)}
        self._content: tuple[int, ...] | None = None
        #: Whether the file does not contain what was written; only a restart helps.
        self.damaged = False
        if self._given.stat().st_nlink > 1:
            raise StoreError(
                f"{path}: the file has more than one name (hard links); SQLite would keep a log "
                "for each. Remove the other names, or serve a copy"
            )

    @property
    def uri(self) -> str:
        """URI that opens the file, and fails if it is missing instead of creating one."""
        return f"{self.real.as_uri()}?mode=rw"

    @property
    def lock(self) -> Path:
        """The lock file: the same for every symbolic link to the database."""
        return Path(f"{self.real}.lock")

    def note_open(self) -> None:
        """Record the log and the lock file; a connection must be open."""
        for path in (*self.log, self.lock):
            self._noted[path] = _figures(path, *_IDENTITY)

    def note_closed(self) -> None:
        """From now on SQLite may delete and create the log."""
        for path in self.log:
            self._noted.pop(path, None)

    def note_content(self) -> None:
        """Record that all changes so far are our own."""
        self._content = _figures(self._given, *_FIGURES)

    def changed_by_others(self) -> bool:
        """Whether another program may have written to the file since `note_content`."""
        changed = _figures(self._given, *_FIGURES) != self._content
        return changed and self._content is not None

    def lost(self) -> str | None:
        """What happened to the files; None if they are in place."""
        for path, own in self._noted.items():
            if _figures(path, *_IDENTITY) != own:
                return f"{path.name} was deleted, moved or replaced while it was open"
        return f"{self.real.name} was overwritten while it was open" if self.damaged else None


def _figures(path: Path, *names: str) -> tuple[int, ...] | None:
    """Figures of a file, as `os.stat` names them; None if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return tuple(getattr(found, name) for name in names)


_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",  # VACUUM must not copy to a shared folder
    "PRAGMA wal_autocheckpoint = 0",  # only this module decides when the file changes
    "PRAGMA cache_size = -65536",
)

#: The log is truncated after a transaction with few responses to a survey, and at so many bytes.
LONGEST_LOG = 32 << 20
#: After so many changed rows the log is copied to the file and overwritten from its start, which is
#: faster than to truncate it; a reader can delay that until the log is longest.
MOST_ROWS_IN_LOG = 4096
#: Seconds to wait for readers before the log is truncated; long reads are not waited for.
SHORT_READ = 0.05
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COUNTS = "SELECT closed, records, settled FROM surveys WHERE number = ?"
_SET_RECORDS = "UPDATE surveys SET records = ? WHERE number = ?"
_SURVEYS = "SELECT number, fingerprint, closed, records, issued FROM surveys ORDER BY number"

#: SQLite has no arrays: values of equal size are joined, and split again by the statement.
_PIECES = "WITH RECURSIVE piece (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM piece LIMIT :pieces)"
_INSERT = f"""
INSERT INTO responses (survey, id, day, codes, checksum)
{_PIECES}
SELECT :survey, substr(:ids, :ids_size * n + 1, :ids_size), :day,
    substr(:codes, :codes_size * n + 1, :codes_size), substr(:sums, :sums_size * n + 1, :sums_size)
FROM piece WHERE true ON CONFLICT DO NOTHING
"""
_DELETE = f"""
DELETE FROM tokens WHERE survey = :survey
AND hash IN ({_PIECES} SELECT substr(:hashes, :hashes_size * n + 1, :hashes_size) FROM piece)
"""


class _ConflictError(Exception):
    """Not every response is new and allowed."""


class Sqlite(Database):
    """A file, its log, and a lock file that a writing server holds."""

    def __init__(self, path: Path, must_exist: bool = False) -> None:
        if path.is_dir() or not path.resolve().parent.is_dir():
            what = "is a folder" if path.is_dir() else "its folder does not exist"
            raise StoreError(f"{path}: {what}; name a file for the database")
        if must_exist and not path.exists():
            what = "there is no such database; tacit serve creates it for a published survey"
            raise StoreError(f"{path}: {what}")
        _make_private(path.resolve())
        self._file = DatabaseFile(path)
        self._claim: sqlite3.Connection | None = None
        self._held: Connection | None = None
        self._emptied = True
        self._copied = 0  # of the held connection's changes
        url = URL.create("sqlite", database=str(path))
        engine = create_engine(url, creator=self._connect, hide_parameters=True)
        super().__init__(str(path), engine)
        event.listen(self.engine, "begin", _begin)

    @contextmanager
    def written(self, connection: Connection) -> Iterator[None]:
        """As in `Database`; Unavailable if the file at the path would not contain the writes."""
        self._verify(connection)
        connection.execution_options(tacit_writes=True)
        try:
            with connection.begin():
                yield
        finally:
            connection.execution_options(tacit_writes=False)
        self._verify(connection)

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """As in `Database`; what SQLite finds damaged under the writer was overwritten.

        Without this note, the writer would open the file again and continue in an older copy.
        """
        with super().translating_errors():
            try:
                yield
            except (sqlite3.Error, DBAPIError) as error:
                code = getattr(getattr(error, "orig", error), "sqlite_errorcode", sqlite3.SQLITE_OK)
                if self._held is not None and code & 0xFF in _DAMAGED:  # without the extended code
                    self._file.damaged = True
                raise

    def claim(self) -> Connection:
        if self._claim is None:
            self._claim = self._locked()
        connection = self._held = self.engine.connect()
        self._copied = 0
        # This opens the log.
        _driver(connection).execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._file.note_open()
        self._file.note_content()
        return connection

    def lost(self) -> str | None:
        return self._file.lost()

    def release(self, connection: Connection) -> None:
        self._held = None
        self._file.note_closed()
        super().release(connection)

    def insert_together(self, connection: Connection, offers: Sequence[NewRows]) -> list[bool]:
        """Insert all offers optimistically; on a conflict, roll all of them back."""
        try:
            with self.written(connection):
                for offer in offers:
                    self._insert_whole(connection, offer)
        except _ConflictError:
            return [False] * len(offers)
        return [True] * len(offers)

    def _insert_whole(self, connection: Connection, offer: NewRows) -> None:
        survey, day, rows, hashes, quota = offer
        closed, records, settled = connection.exec_driver_sql(_COUNTS, (survey,)).one()
        total = records + len(rows)
        if closed or (quota is not None and total > quota):
            raise _ConflictError
        ids, codes, sums = zip(*rows, strict=True)
        values = {"survey": survey, "day": day, "pieces": len(rows)}
        values |= _joined(ids=ids, codes=codes, sums=sums)
        if connection.exec_driver_sql(_INSERT, values).rowcount < len(rows):
            raise _ConflictError
        if self.delete_tokens(connection, survey, hashes) < len(hashes):
            raise _ConflictError
        connection.exec_driver_sql(_SET_RECORDS, (total, survey))
        self.note_counts(total, settled)

    def delete_tokens(self, connection: Connection, survey: int, hashes: Sequence[bytes]) -> int:
        if not hashes:
            return 0
        values = {"survey": survey, "pieces": len(hashes)} | _joined(hashes=hashes)
        return connection.exec_driver_sql(_DELETE, values).rowcount

    def rewrite(self, surveys: Sequence[int]) -> None:
        with self.translating_errors(), self.engine.connect() as connection:
            _driver(connection).execute("VACUUM")

    def after_commit(self, fewest: int) -> None:
        if fewest < FEWEST_TOGETHER or self._file.log[0].stat().st_size > LONGEST_LOG:
            self._emptied = self._checkpoint("TRUNCATE", SHORT_READ if self._emptied else 0.0)
        elif self._held and _driver(self._held).total_changes - self._copied > MOST_ROWS_IN_LOG:
            self._checkpoint("PASSIVE")

    @property
    def ties_links(self) -> bool:
        """Whether a reader kept the log from being truncated."""
        return not self._emptied

    def forget_links(self) -> bool:
        """Does not wait: a long reader such as a backup would block all submissions."""
        self._emptied = self._checkpoint("TRUNCATE")
        return self._emptied

    def _checkpoint(self, mode: str, patience: float = 0.0) -> bool:
        """Copy the log to the file; whether nothing prevented the mode.

        What others changed before remains to be examined by the next write.
        """
        changed_by_others = self._file.changed_by_others()
        # The cache of the writing connection stays valid if it does this itself.
        writing = None if self._held is None else nullcontext(self._held)
        with self.translating_errors(), writing or self.engine.connect() as connection:
            driver = _driver(connection)
            driver.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
            try:
                busy, *_ = driver.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                self._copied = driver.total_changes
            finally:
                driver.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
        if not changed_by_others:
            self._file.note_content()
        return not busy

    def check(self, connection: Connection) -> None:
        (said,) = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars()
        if said != "ok":
            remedy = "export from a backup, or restore one (see tacit backup)"
            what = f"the file is damaged ({said.splitlines()[-1]}); {remedy}"
            raise StoreError(f"{self.shown}: {what}")

    def copy(self, out: Path) -> None:
        """Copy the current state to a file, in the order of the ids; writers are not blocked.

        Raises OSError if that file cannot be written.
        """
        with self.translating_errors(), self.engine.connect() as connection:
            try:
                _driver(connection).execute("VACUUM INTO ?", (str(out),))
            except sqlite3.Error as error:
                raise OSError(str(error)) from None

    def _break(self, connection: sqlite3.Connection) -> None:
        """Interrupt a running statement; one that waits for a lock times out by itself."""
        connection.interrupt()

    def close(self) -> None:
        super().close()
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _connect(self) -> sqlite3.Connection:
        """Connect to the file that was there at the start, and to no other."""
        self._refuse_if_lost()
        connection = sqlite3.connect(
            self._file.uri,
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,  # only `_begin` begins transactions
            check_same_thread=False,
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma).fetchall()
            self._refuse_if_lost()
        except BaseException:
            connection.close()
            raise
        return connection

    def _verify(self, connection: Connection) -> None:
        """Raise Unavailable unless the file at the path contains what was written."""
        self._refuse_if_lost()
        if self._file.changed_by_others():
            if self._differs(connection):
                self._file.damaged = True
            else:  # drop caches: a copy with the same records may have them on other pages
                self._file.note_content()
                _driver(connection).execute("PRAGMA shrink_memory")
                self.engine.dispose()  # closes idle connections
            self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        lost = self.lost()
        if lost is not None:
            remedy = "put the files back as they were, or restart the service"
            raise Unavailable(f"{self.shown}: {lost}; {remedy}")

    def _differs(self, connection: Connection) -> bool:
        """Whether the file differs from what the connection sees through its cache."""
        cached = _driver(connection)
        cached.execute("BEGIN IMMEDIATE")
        try:
            with closing(sqlite3.connect(self._file.uri, uri=True, timeout=0)) as fresh:
                # A file made by VACUUM INTO has no log: other connections would ignore ours.
                mode, surveys = fresh.execute("PRAGMA journal_mode"), fresh.execute(_SURVEYS)
                same = mode.fetchone() == ("wal",)
                return not same or surveys.fetchall() != cached.execute(_SURVEYS).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return True
        except sqlite3.DatabaseError:  # malformed
            return True
        finally:
            cached.execute("ROLLBACK")

    def _locked(self) -> sqlite3.Connection:
        """SQLite's own lock on a file: it ends with the process, even if that is killed."""
        path = self._file.lock
        lock: sqlite3.Connection | None = None
        try:
            lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if lock is not None:
                lock.close()
            if "locked" not in str(error):
                raise StoreError(f"{path}: cannot be written: {error}") from None
            what = "another server writes to this database; stop it first"
            raise StoreError(f"{self.shown}: {what}") from None
        return lock


def _joined(**pieces: Sequence[bytes]) -> dict[str, Any]:
    """Parameters of a statement: values that have a common size, joined, and that size."""
    values: dict[str, Any] = {name: b"".join(parts) for name, parts in pieces.items()}
    for name, parts in pieces.items():
        (values[f"{name}_size"],) = set(map(len, parts))
    return values


def _make_private(path: Path) -> None:
    """Create a file that only its owner may read; the log gets the same mode.

    An existing file is not opened: closing it would release all locks of this process on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened: {error.strerror or error}") from None


def _driver(connection: Connection) -> Any:
    """The driver's connection, for statements outside a transaction."""
    return connection.connection.driver_connection


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tacit_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
