"""Store: surveys and their responses in one database, written by one server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select, update

from tacit.errors import DataError, StoreError, Unavailable
from tacit.service.store.batch_insert import BatchInsert, find
from tacit.service.store.checksums import sound_codes
from tacit.service.store.database import WRITE_SECONDS, Database, database
from tacit.service.store.link_tokens import LinkTokens
from tacit.service.store.migration import migrate
from tacit.service.store.packed_codes import unpacked
from tacit.service.store.sql_tables import surveys
from tacit.service.store.store_values import Outcome, Response, SurveyState
from tacit.survey import Published

if TYPE_CHECKING:
    from tacit.arrays import Codes

#: Rows that may lie in the order of their arrival: this many, or an eighth of all if that is more.
FEWEST_TO_ERASE, SHARE_TO_ERASE = 32, 8
#: Seconds until a settling that failed is tried again: while somebody reads for long, it stops all
#: others in vain.
RETRY_SECONDS = 300.0


class Store:
    """Responses in SQLite or PostgreSQL; durable when `write` returns.

    `url` is a path, sqlite:///PATH or postgresql://USER@HOST/NAME. Missing tables are made; a
    database of a newer tacit is refused. Only one store may `write` to a database at a time; others
    may read, invite and close meanwhile. `there` refuses a file that would be new. A PostgreSQL
    server gives up a statement of `write` after `write_seconds`.
    """

    def __init__(
        self, url: str | Path, there: bool = False, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.database: Database = database(url, there)
        self.write_seconds = self.database.write_seconds = write_seconds
        self._tokens = LinkTokens(self.database)
        self._batch_insert = BatchInsert(self.database, self._tokens)
        self._held: Connection | None = None
        self._rested_on: date | None = None
        self._retry_after = 0.0  # on the monotonic clock, if settling failed
        self.order_erased = True  # unless the last settling failed
        self.erasing_order = False  # while all rows are written anew, which may take long
        try:
            with self.database.writing() as connection:
                self.database.lock_layout(connection)
                migrate(connection, self.database.shown)
        except BaseException:
            self.close()
            raise

    # Surveys -----------------------------------------------------------------------------------

    def register(self, published: Published) -> None:
        """Take responses for a survey; it may be known already."""
        fingerprint = published.survey.fingerprint
        with self.database.writing() as connection:
            self.database.lock_layout(connection)
            if find(connection, fingerprint) is None:
                last = connection.scalar(select(func.max(surveys.c.number))) or 0
                own = dict(number=last + 1, fingerprint=fingerprint, published=published.to_json())
                fresh = dict(closed=False, records=0, settled=0, issued=0)
                connection.execute(insert(surveys).values(**own, **fresh))

    def published(self) -> tuple[Published, ...]:
        """The surveys that were registered, in that order."""
        with self.database.reading() as connection:
            found = connection.scalars(select(surveys.c.published).order_by(surveys.c.number)).all()
        return tuple(Published.from_json(text) for text in found)

    def invite(self, fingerprint: str, n: int) -> list[str]:
        """The tokens of n new one-time links; only their hashes are kept."""
        if type(n) is not int or n < 1:
            raise DataError(f"the number of links must be a whole number from 1, got {n!r}")
        with self.database.writing() as connection:
            number = self._number(connection, fingerprint)
            made = self._tokens.issue(connection, number, fingerprint, n)
            _add_issued(connection, number, n)
        return made

    def revoke(self, fingerprint: str, unsent: Iterable[str]) -> None:
        """Take back links that reached nobody."""
        with self.database.writing() as connection:
            number = self._number(connection, fingerprint)
            taken = self._tokens.revoke(connection, number, fingerprint, unsent)
            _add_issued(connection, number, -taken)

    def close_survey(self, fingerprint: str) -> None:
        """Take no more responses: none is stored once this returns."""
        with self.database.writing() as connection:
            number = self._number(connection, fingerprint)
            shut = update(surveys).where(surveys.c.number == number).values(closed=True)
            connection.execute(shut)
        self.erase_order()

    def state(self, fingerprint: str) -> SurveyState:
        """Where a survey stands; by its counters, so that many may ask."""
        with self.database.reading() as connection:
            row = self._row(connection, fingerprint)
            known = self._batch_insert.terms(connection, fingerprint)
        records, issued = row["records"], row["issued"]
        spent = records if known is not None and known[1].invited else 0  # each record took one
        return SurveyState(not row["closed"], records, issued, issued - spent)

    def codes(self, fingerprint: str) -> Codes:
        """The reported records, records x reported attributes, in the order of their random ids.

        Raises StoreError if a record is damaged or missing.
        """
        with self.database.reading() as connection:
            self.database.check(connection)
            row = self._row(connection, fingerprint)
            parts = sound_codes(connection, row, self.database.shown)
            found = [codes for part in parts for codes in part]
        return unpacked(found, Published.from_json(row["published"]).design.reported)

    # Responses ---------------------------------------------------------------------------------

    def claim(self) -> None:
        """Be the one that writes; refused while another server does."""
        if self._held is None:
            with self.database.translating_errors():
                self._held = self.database.claim()

    def write(self, batch: Sequence[Response], today: date) -> list[Outcome]:
        """Store what may be stored, all in one transaction that is durable when this returns.

        Raises Unavailable if the database fails: then nothing is acknowledged, what became of the
        transaction is unknown, and each response may be sent again with its key.
        """
        with self._writing() as connection:
            outcomes = self._batch_insert.insert_batch(connection, batch, today)
            stored = Counter(
                one.survey
                for one, outcome in zip(batch, outcomes, strict=True)
                if outcome is Outcome.STORED
            )
            if stored:
                self.database.after_commit(min(stored.values()))
            return outcomes

    def test_write(self, n: int) -> None:
        """Prove that a batch of n responses could be stored: write as much, then delete it.

        Raises Unavailable if the database fails.
        """
        with self._writing() as connection:
            self._tokens.test_write(connection, n)
            self.database.after_commit(0)

    def check_there(self) -> None:
        """Raise Unavailable if the database does not answer or is not the one at its path."""
        lost = self.database.lost()
        if lost is not None:
            raise Unavailable(f"{self.database.shown}: {lost}")
        with self._writing() as connection:
            self.database.ping(connection)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """The connection of the only server that writes; opened again after a failure.

        One to files that were lost stays open: closing it could delete the log of another file.
        """
        try:
            self.claim()
            assert self._held is not None
            with self.database.translating_errors():
                yield self._held
        except Unavailable:
            if self.database.lost() is None:
                self._release()
            raise

    def break_connections(self) -> None:
        """Break all connections, from any thread: who waits for the database gets an error."""
        self.database.break_connections()

    # Order -------------------------------------------------------------------------------------

    def tidy(self, today: date) -> bool:
        """What to do when nothing waits: settle if enough is new, empty the log; whether it is.

        Enough: 32 records, an eighth of all if that is more, or any at first, on another day and
        after a settling that failed. Such a one is tried again later.
        """
        records, settled = self._counts()
        overdue = self._rested_on != today or self._retry_after > 0
        enough = 1 if overdue else max(FEWEST_TO_ERASE, records // SHARE_TO_ERASE)
        if records - settled >= enough and time.monotonic() >= self._retry_after:
            try:
                self._erase_order()
            except Unavailable:
                self.order_erased = False
        self._rested_on = today
        return self.database.truncate_log()

    def erase_order(self) -> None:
        """Leave no trace of the order in which responses came."""
        records, settled = self._counts()
        if records > settled:
            self._erase_order()
        self.database.truncate_log()

    def _erase_order(self) -> None:
        self._retry_after = time.monotonic() + RETRY_SECONDS
        with self.database.reading() as connection:
            counted = select(surveys.c.number, surveys.c.records)
            before = [(number, records) for number, records in connection.execute(counted)]
        self.erasing_order = True
        try:
            self.database.rewrite()
        finally:
            self.erasing_order = False
        mark = update(surveys).where(surveys.c.number == bindparam("of_number"))
        rows = [{"of_number": number, "now_settled": records} for number, records in before]
        with self.database.writing() as connection:
            connection.execute(mark.values(settled=bindparam("now_settled")), rows)
        self._retry_after = 0.0
        self.order_erased = True

    def _counts(self) -> tuple[int, int]:
        total = select(
            func.coalesce(func.sum(surveys.c.records), 0),
            func.coalesce(func.sum(surveys.c.settled), 0),
        )
        with self.database.reading() as connection:
            records, settled = connection.execute(total).one()
        return int(records), int(settled)

    # The end -----------------------------------------------------------------------------------

    def backup(self, out: str | Path) -> None:
        """A copy of the state of this moment, while others write: see `tacit backup`."""
        from tacit.service.store.database_copy import copy

        copy(self.database, out)

    def close(self) -> None:
        """Let go of the database."""
        self._release()
        self.database.close()

    def _release(self) -> None:
        if self._held is not None:
            self.database.release(self._held)
            self._held = None

    def _number(self, connection: Connection, fingerprint: str) -> int:
        number: int = self._row(connection, fingerprint)["number"]
        return number

    def _row(self, connection: Connection, fingerprint: str) -> RowMapping:
        row = find(connection, fingerprint)
        if row is None:
            raise StoreError(
                f"{self.database.shown}: holds no survey with the fingerprint {fingerprint[:16]}; "
                "serve it, or invite to it, first"
            )
        return row


def _add_issued(connection: Connection, number: int, n: int) -> None:
    counted = update(surveys).where(surveys.c.number == number)
    connection.execute(counted.values(issued=surveys.c.issued + n))
