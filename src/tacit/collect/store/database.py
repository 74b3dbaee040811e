"""Database: the interface of SQLite and PostgreSQL, and their errors in one line."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tacit.collect.store.values import enough_to_erase
from tacit.core.imports import optional_imports
from tacit.errors import StoreError, Unavailable

#: Seconds to wait for a lock before the database counts as unavailable.
PATIENCE = 5.0
#: Seconds that storing a batch may take.
WRITE_SECONDS = 5.0
#: The id, the codes and the checksum of a response.
NewRow: TypeAlias = tuple[bytes, bytes, bytes]
_FORMS = "give a path, sqlite:///PATH or postgresql://USER@HOST/NAME"


class NewRows(NamedTuple):
    """Distinct responses to one survey that are stored together or not at all.

    `rows` are sorted. `hashes` are those of the links that they use, sorted and distinct.
    """

    survey: int
    day: str
    rows: list[NewRow]
    hashes: list[bytes]
    quota: int | None


class Database(ABC):
    """One database: transactions, the claim to write, rewriting in order, truncating its log.

    `shown` is its name in messages, without a password.
    """

    #: Seconds that a statement of the writing server may take.
    write_seconds: float = WRITE_SECONDS
    #: Whether `insert_together` has found a survey with enough new records to erase their order.
    order_due = False

    def __init__(self, shown: str, engine: Engine) -> None:
        self.shown, self.engine = shown, engine
        self._lock = threading.RLock()  # the garbage collector may close a connection
        self._open: dict[int, Any] = {}  # driver connections
        event.listen(engine, "connect", self._opened)
        event.listen(engine, "close", self._closes)

    def _opened(self, connection: Any, _: object) -> None:
        with self._lock:
            self._open[id(connection)] = connection

    def _closes(self, connection: Any, _: object) -> None:
        with self._lock:
            self._open.pop(id(connection), None)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction with a consistent view of the database."""
        with self.translating_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; waits for other writers."""
        with (
            self.translating_errors(),
            self.engine.connect() as connection,
            self.written(connection),
        ):
            yield connection

    @contextmanager
    def written(self, connection: Connection) -> Iterator[None]:
        """A transaction that may write, on an open connection."""
        with connection.begin():
            yield

    def lock_layout(self, connection: Connection) -> None:
        """Wait, in the current transaction, until nobody else changes the layout."""

    @abstractmethod
    def claim(self) -> Connection:
        """The connection of a writing server; SQLite refuses a second server."""

    def alone(self, connection: Connection) -> bool:
        """Whether no other server writes; `connection` is that of `claim`."""
        return True

    def leave(self, connection: Connection) -> bool:
        """Write no more; returns whether no other server does.

        If several servers leave at the same time, at least one caller gets True.
        """
        return True

    @contextmanager
    def maintaining(self) -> Iterator[bool]:
        """Whether this process may do maintenance in the block: one process at a time."""
        yield True

    def release(self, connection: Connection) -> None:
        """Close the connection of `claim`, even if it is broken."""
        connection.invalidate()
        connection.close()

    @abstractmethod
    def insert_together(self, connection: Connection, offers: Sequence[NewRows]) -> list[bool]:
        """Store the offers and add to the counts; durable. Returns which of them were stored.

        Nothing of an offer is stored if its survey is closed or would exceed its quota, an id is
        known or a link is not usable. The offers are of different surveys, in the order in which
        everybody locks them. The values of a column have the same length. No statement may fail in
        normal operation, because a database logs failures with values and time. One statement
        inserts all rows, because between two the driver would wait for the busy event loop.
        """

    def note_counts(self, records: int, settled: int) -> None:
        """A survey now has so many records, and so many whose order is erased."""
        self.order_due |= records - settled >= enough_to_erase(records)

    @abstractmethod
    def delete_tokens(self, connection: Connection, survey: int, hashes: Sequence[bytes]) -> int:
        """Delete the tokens with these hashes; returns how many there were."""

    @abstractmethod
    def rewrite(self, surveys: Sequence[int]) -> None:
        """Write the rows of surveys in the order of their ids; remove the old order from disk.

        Also removes what the files keep of used links. SQLite writes the rows of all surveys.
        """

    @property
    def ties_links(self) -> bool:
        """Whether `forget_links` is due although responses keep arriving."""
        return False

    @abstractmethod
    def forget_links(self) -> bool:
        """Remove what ties used links to their responses, unless somebody reads it.

        In SQLite this is the log, in PostgreSQL the deleted rows. Returns whether nothing is left.
        """

    def check(self, connection: Connection) -> None:
        """Raise StoreError if the database finds itself damaged."""

    def warnings(self) -> list[str]:
        """Settings that let responses be linked to people or times, one sentence each."""
        return []

    def after_commit(self, fewest: int) -> None:
        """Called after a commit of at least `fewest` responses per survey."""

    def lost(self) -> str | None:
        """Why writes would be lost, such as a deleted file; None if they would not."""
        return None

    def ping(self, connection: Connection) -> None:
        """Check that the database answers on the connection of `claim`."""

    def break_connections(self) -> None:
        """Break all connections, from any thread: waiting calls then fail."""
        with self._lock:  # none is closed meanwhile
            for connection in list(self._open.values()):
                self._break(connection)

    @abstractmethod
    def _break(self, connection: Any) -> None:
        """Break a driver connection."""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turn driver errors into Unavailable: one line that names the database."""
        try:
            yield
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            reason = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
            first = reason.splitlines()[0]
            raise Unavailable(f"{self.shown}: the database does not answer: {first}") from None


def database(url: str | Path, must_exist: bool = False) -> Database:
    """The database at a path or URL; `must_exist` refuses to create a file."""
    from tacit.collect.store.sqlite import Sqlite

    if isinstance(url, Path) or "://" not in url:
        return Sqlite(Path(url), must_exist)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(f"the database's URL is malformed; {_FORMS}") from None
    if parsed.get_backend_name() == "sqlite" and parsed.database and not parsed.host:
        return Sqlite(Path(parsed.database), must_exist)
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        with optional_imports():
            from tacit.collect.store.postgres import Postgres
        return Postgres(parsed.set(drivername="postgresql+psycopg"))
    raise StoreError(f"{parsed.drivername}: not a database that tacit knows; {_FORMS}")
