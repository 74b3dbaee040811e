"""Database: what SQLite and PostgreSQL do in their own way, and errors in one line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tacit.errors import StoreError, Unavailable
from tacit.extras import optional_imports

#: Seconds to wait for somebody else's lock before the database counts as not answering.
PATIENCE = 5.0
#: Seconds that storing a batch may take.
WRITE_SECONDS = 5.0
#: The id, the codes and the checksum of a response.
NewRow: TypeAlias = tuple[bytes, bytes, bytes]


class Database(ABC):
    """One database and how it is opened, claimed, put in order and emptied of its log."""

    #: How the database is named in messages: without a password.
    shown: str
    engine: Engine
    #: Seconds that a statement of the server that writes may take.
    write_seconds: float = WRITE_SECONDS

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self.translating_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; it waits for another one."""
        with (
            self.translating_errors(),
            self.engine.connect() as connection,
            self.written(connection),
        ):
            yield connection

    @contextmanager
    @abstractmethod
    def written(self, connection: Connection) -> Iterator[None]:
        """A transaction that may write, on a connection that is open."""

    def lock_layout(self, connection: Connection) -> None:
        """Wait, in the transaction under way, for whoever else is making the tables."""

    @abstractmethod
    def claim(self) -> Connection:
        """The connection of the only server that writes; refused while another holds it."""

    @abstractmethod
    def release(self, connection: Connection) -> None:
        """Close the connection of `hold`, whatever became of it."""

    @abstractmethod
    def insert_responses(
        self, connection: Connection, survey: int, day: str, rows: Sequence[NewRow]
    ) -> int:
        """Insert rows whose values have one length each; skip ids that are there, count the others.

        No statement may fail in normal operation: a database logs what failed, with its values
        and the time. One statement inserts all rows: between two statements a driver gives way
        to other threads, and would wait for the busy event loop.
        """

    @abstractmethod
    def delete_tokens(self, connection: Connection, survey: int, hashes: Sequence[bytes]) -> int:
        """Delete the tokens of these hashes; how many there were."""

    @abstractmethod
    def rewrite(self) -> None:
        """Put all rows in the order of their ids, and remove the bytes of their old order."""

    @abstractmethod
    def truncate_log(self) -> bool:
        """Empty the log of what is written already, unless somebody reads it; whether it is."""

    def check(self, connection: Connection) -> None:
        """Raise StoreError if the database itself finds that it is damaged."""

    def warnings(self) -> list[str]:
        """What its settings keep that links responses to people or moments, one sentence each."""
        return []

    def after_commit(self, fewest: int) -> None:
        """After a commit that stored at least so many responses to each survey: see to the log."""

    def lost(self) -> str | None:
        """Why what is written now would not be in the database later; None if nothing says so."""
        return None

    def ping(self, connection: Connection) -> None:
        """Ask whether the database answers, on the connection of `hold`."""

    @abstractmethod
    def break_connections(self) -> None:
        """Break all connections, from any thread: who waits for the database gets an error."""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turn what the drivers raise into one line that names the database."""
        try:
            yield
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            reason = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
            said = reason.splitlines()[0]
            raise Unavailable(f"{self.shown}: the database does not answer: {said}") from None


def database(url: str | Path, there: bool = False) -> Database:
    """The database that a path or a URL names; a file must be there already if it says so."""
    from tacit.service.store.sqlite import Sqlite

    if isinstance(url, Path) or "://" not in url:
        return Sqlite(Path(url), there)
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database and not parsed.host:
        return Sqlite(Path(parsed.database), there)
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        with optional_imports():
            from tacit.service.store.postgres import Postgres
        return Postgres(parsed.set(drivername="postgresql+psycopg"))
    raise StoreError(
        f"{parsed.drivername}: not a database that tacit knows; give a path, "
        "sqlite:///PATH or postgresql://USER@HOST/NAME"
    )


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(
            "the database's URL is malformed; give a path, sqlite:///PATH or "
            "postgresql://USER@HOST/NAME"
        ) from None
