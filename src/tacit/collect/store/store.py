"""Store: surveys and their responses in one database."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import date
from functools import lru_cache
from itertools import compress, repeat
from operator import attrgetter, not_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, text, update

from tacit.collect.store import sql_tables, values
from tacit.collect.store.database import PATIENCE, WRITE_SECONDS, Database, NewRows, database
from tacit.collect.store.sql_tables import DELETED, responses, surveys, texts, tokens
from tacit.collect.store.values import Ledger, Outcome, Response, SurveyState
from tacit.errors import DataError, StoreError, Unavailable
from tacit.survey import Published, Survey

if TYPE_CHECKING:
    from tacit.core.arrays import Codes


_TOKEN_BYTES = 16
#: Random rows of no survey that test whether a database accepts writes. The rows for one response
#: fill more pages than it and its token would change.
_NO_SURVEY, _TEST_ROWS, _TEST_BYTES = 0, 2, 2_000


def _usable_links(connection: Connection, number: int, hashes: Iterable[bytes]) -> set[bytes]:
    """Those of these hashes whose tokens were issued for a survey and not used."""
    usable = select(tokens.c.hash).where(tokens.c.survey == number)
    return set(connection.scalars(usable.where(tokens.c.hash.in_(list(hashes)))))


class BatchInsert:
    """Inserts one batch into a store, by the connection of its server.

    Nearly always all responses to a survey are new and may be stored: offer them to the database as
    if nothing were stored yet. If it stores none of them, look up what is stored, decide each
    response, and offer those that may be stored. Another server may have been quicker; then look
    again. No lock is held between two statements, and no statement fails: PostgreSQL would log the
    id and the time of day.
    """

    def __init__(self, store: Store, connection: Connection, today: date) -> None:
        self._store, self._connection, self._today = store, connection, today

    def insert(self, batch: Sequence[Response]) -> list[Outcome]:
        """The outcome of each response; durable.

        What keeps a response from being stored is final: its id is known, its link is used, the
        survey is full or closed. So an offer that fails leaves fewer responses for the next one.
        """
        by_survey: dict[str, list[Response]] = {}
        for response in sorted(batch, key=attrgetter("survey")):  # everybody locks in this order
            by_survey.setdefault(response.survey, []).append(response)
        outcomes: dict[str, Iterator[Outcome]] = {}
        for look in (False, *repeat(True, len(batch) + 1)):
            offers: dict[str, NewRows] = {}
            for survey in [survey for survey in by_survey if survey not in outcomes]:
                decided, new = self._decided(survey, by_survey[survey], look)
                if new is not None:
                    offers[survey] = new
                if look or new is not None:
                    outcomes[survey] = iter(decided)
            if offers:
                rows = list(offers.values())
                stored = self._store.database.insert_together(self._connection, rows)
                for survey in compress(offers, map(not_, stored)):
                    del outcomes[survey]
            if len(outcomes) == len(by_survey):
                return [next(outcomes[response.survey]) for response in batch]
        shown = self._store.database.shown
        raise Unavailable(f"{shown}: others keep storing the same responses")

    def _decided(
        self, survey: str, sent: Sequence[Response], look: bool
    ) -> tuple[list[Outcome], NewRows | None]:
        """The outcomes of responses to a survey, and what is to be stored for them, if anything.

        Without a look, as if nothing were stored yet: then all of them are stored, or none.
        """
        registered = self._store.registered(self._connection, survey)
        if registered is None:
            return [Outcome.UNKNOWN_SURVEY] * len(sent), None
        number, content = registered
        ledger = Ledger(content, set(filter(None, map(values.hash_of, sent))))
        if look:
            self._look_up(number, sent, ledger)
        outcomes = [ledger.take(response, self._today) for response in sent]
        if not ledger.stored or (not look and len(ledger.stored) < len(sent)):
            return outcomes, None
        # Rows in the order of their ids and links in that of their hashes, not of arrival.
        day, rows = self._today.isoformat(), sorted(ledger.stored)
        sums = sql_tables.checksums(content.fingerprint, day, rows)
        whole = [(*row, checksum) for row, checksum in zip(rows, sums, strict=True)]
        return outcomes, NewRows(number, day, whole, sorted(ledger.spent), content.quota)

    def _look_up(self, number: int, sent: Sequence[Response], ledger: Ledger) -> None:
        """What is stored now. Codes are read last, so a used link is found with its response."""
        counts = select(surveys.c.closed, surveys.c.records).where(surveys.c.number == number)
        ids = [values.id_of(response) for response in sent]
        stored = select(responses.c.id, responses.c.codes).where(responses.c.survey == number)
        with self._connection.begin():
            ledger.tokens = _usable_links(self._connection, number, ledger.tokens)
            ledger.closed, ledger.records = self._connection.execute(counts).one()
            rows = self._connection.execute(stored.where(responses.c.id.in_(ids)))
            ledger.codes = {row.id: row.codes for row in rows}


def find(connection: Connection, survey: str, lock: bool = False) -> RowMapping | None:
    """The row of a survey; `lock` keeps others from storing responses to it meanwhile."""
    query = select(surveys).where(surveys.c.fingerprint == survey)
    rows = connection.execute(query.with_for_update() if lock else query)
    return rows.mappings().one_or_none()


#: A text that was stored before a crash is sent again with the same id.
_INSERT_TEXT = text(
    "INSERT INTO texts (survey, id, name, text) VALUES (:survey, :id, :name, :text) "
    "ON CONFLICT DO NOTHING"
)


#: While commits are large on average, which mix their responses, or with more records than this,
#: the next erasure waits so many times as long as the last one took. Otherwise PostgreSQL would
#: spend a third of its time on it at 10,000 responses a second.
MANY_RECORDS, ERASURE_PAUSE = 10_000, 20
#: Seconds per record that the erasure at the start of a process is taken to have lasted, for its
#: first pause; PostgreSQL needs about as long.
START_SECONDS = 7e-6
#: Seconds until a failed erasure is tried again: during a long read, it would block all others.
RETRY_SECONDS = 300.0


class Store:
    """Responses in SQLite or PostgreSQL; durable when `write` returns.

    `url` is a path, sqlite:///PATH or postgresql://USER@HOST/NAME. Missing tables are created; a
    database of a newer tacit is refused. Any number of stores may `write` to a PostgreSQL database,
    one to an SQLite file; others may read, invite and close surveys. `must_exist` refuses to create
    a file. A statement of `write` on PostgreSQL times out after `write_seconds`.
    """

    def __init__(
        self, url: str | Path, must_exist: bool = False, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.database: Database = database(url, must_exist)
        self.write_seconds = self.database.write_seconds = write_seconds
        self._registered: dict[str, tuple[int, Survey]] = {}
        self._held: Connection | None = None
        self._rested_on: date | None = None
        self._retry_after = 0.0  # on the monotonic clock, if an erasure failed
        self._pause_until = 0.0  # on the monotonic clock, for the next erasure under heavy load
        self._records = 0  # of all surveys, when it was last looked
        self._stored = self._commits = 0  # since the last erasure
        self._room = 0  # records that may be stored until it is looked what is to be erased
        self.order_erased = True  # unless the last erasure failed
        self.erasing_order = False  # while all rows are rewritten, which may take long
        try:
            # Without a lock, for which a backup or an export would have to wait while a busy server
            # writes, or rewrites all rows.
            with self.database.reading() as connection:
                revision = sql_tables.revision_of(connection)
            if revision != sql_tables.REVISION:
                with self.database.writing() as connection:
                    self.database.lock_layout(connection)
                    sql_tables.migrate(connection, self.database.shown)
        except BaseException:
            self.close()
            raise

    # Surveys -----------------------------------------------------------------------------------

    def register(self, published: Published) -> None:
        """Accept responses for a survey; it may be registered already."""
        fingerprint = published.survey.fingerprint
        content = dict(published=published.to_json(), closed=False)
        with self.database.writing() as connection:
            self.database.lock_layout(connection)
            row = find(connection, fingerprint)
            if row is None:
                last = connection.scalar(select(func.max(surveys.c.number))) or 0
                new = dict(number=last + 1, fingerprint=fingerprint, **content)
                connection.execute(insert(surveys).values(**new, records=0, settled=0, issued=0))
            elif row["published"] == DELETED:
                _set(connection, row["number"], **content)

    def registered(self, connection: Connection, survey: str) -> tuple[int, Survey] | None:
        """The number and the content of a survey, which never change; None if it is unknown."""
        if survey not in self._registered:
            with nullcontext() if connection.in_transaction() else connection.begin():
                row = find(connection, survey)
            if row is None or row["published"] == DELETED:
                return None
            self._registered[survey] = row["number"], _parsed(row["published"]).survey
        return self._registered[survey]

    def published(self, known: Collection[str] = ()) -> tuple[Published, ...]:
        """The surveys in the order of registration, without those with known fingerprints."""
        missing = select(surveys.c.published).where(
            surveys.c.published != DELETED, surveys.c.fingerprint.not_in(list(known))
        )
        with self.database.reading() as connection:
            documents = connection.scalars(missing.order_by(surveys.c.number)).all()
        return tuple(map(_parsed, documents))

    def invite(self, fingerprint: str, n: int) -> list[str]:
        """Create n one-time links and return their tokens; only hashes are stored."""
        if type(n) is not int or n < 1:
            raise DataError(f"the number of links must be a whole number from 1, got {n!r}")
        with self.database.writing() as connection:
            number = self._row(connection, fingerprint)["number"]
            links = [secrets.token_urlsafe(_TOKEN_BYTES) for _ in range(n)]
            hashes = values.token_hashes(fingerprint, links)
            connection.execute(insert(tokens), [{"survey": number, "hash": h} for h in hashes])
            _set(connection, number, issued=surveys.c.issued + n)
        return links

    def revoke(self, fingerprint: str, unsent: Iterable[str]) -> None:
        """Revoke links that were not sent."""
        with self.database.writing() as connection:
            number = self._row(connection, fingerprint, lock=True)["number"]
            hashes = values.token_hashes(fingerprint, unsent)
            revoked = self.database.delete_tokens(connection, number, hashes)
            _set(connection, number, issued=surveys.c.issued - revoked)

    def close_survey(self, fingerprint: str) -> None:
        """Accept no more responses: no server stores one after this returns."""
        with self.database.writing() as connection:
            number = self._row(connection, fingerprint)["number"]
            _set(connection, number, closed=True)
        self.erase_order()

    def delete_survey(self, fingerprint: str) -> None:
        """Delete a closed survey with its records, texts and links, also from the disk."""
        with self.database.writing() as connection:
            row = self._row(connection, fingerprint, lock=True)
            if not row["closed"]:
                raise StoreError("close the survey before it is deleted")
            for table in (responses, texts, tokens):
                connection.execute(delete(table).where(table.c.survey == row["number"]))
            _set(connection, row["number"], published=DELETED, records=0, settled=0, issued=0)
        self.erase_order(always=True)

    def state(self, fingerprint: str) -> SurveyState:
        """The state of a survey from its counters, which is cheap; a deleted one is closed."""
        with self.database.reading() as connection:
            row = self._row(connection, fingerprint, deleted=True)
            registered = self.registered(connection, fingerprint)
        records, issued = row["records"], row["issued"]
        # Each record of an invited survey took a link.
        spent = records if registered is not None and registered[1].invited else 0
        return SurveyState(not row["closed"], records, issued, issued - spent)

    def link_usable(self, fingerprint: str, token: str) -> bool:
        """Whether a one-time link was issued and not used; only reads."""
        with self.database.reading() as connection:
            registered = self.registered(connection, fingerprint)
            hashes = [values.token_hash(fingerprint, token)]
            return registered is not None and bool(_usable_links(connection, registered[0], hashes))

    def codes(self, fingerprint: str) -> Codes:
        """The reported records, records x reported attributes, in the order of their random ids.

        A missing answer has the code after the last category (`Published.stored`). Raises
        StoreError if a record is damaged or missing.
        """
        with self.database.reading() as connection:
            self.database.check(connection)
            row = self._row(connection, fingerprint)
            parts = sql_tables.sound_codes(connection, row, self.database.shown)
            rows = [codes for _, part in parts for codes in part]
        return values.unpacked(rows, _parsed(row["published"]).stored)

    def texts(self, fingerprint: str) -> list[tuple[str, str]]:
        """The names of free-text questions and what people wrote, in the order of random ids."""
        with self.database.reading() as connection:
            number = self._row(connection, fingerprint)["number"]
            written = select(texts.c.name, texts.c.text).where(texts.c.survey == number)
            return [(name, said) for name, said in connection.execute(written.order_by(texts.c.id))]

    def days(self, fingerprint: str) -> dict[str, int]:
        """How many records each day has."""
        with self.database.reading() as connection:
            number = self._row(connection, fingerprint)["number"]
            counted = select(responses.c.day, func.count()).where(responses.c.survey == number)
            counts = connection.execute(counted.group_by(responses.c.day)).all()
        return {day.isoformat(): n for day, n in counts}

    def codes_by_day(
        self, fingerprint: str, known: Mapping[str, int] | None = None
    ) -> dict[str, Codes]:
        """The reported records of each day (as 2027-01-31), as `codes`.

        Days that are `known`, with their numbers of records, are left out. Raises StoreError if a
        record is damaged or missing, or if a known day has another number of records.
        """
        with self.database.reading() as connection:
            self.database.check(connection)
            row = self._row(connection, fingerprint)
            parts = sql_tables.sound_codes(connection, row, self.database.shown, known)
            return values.by_day(parts, _parsed(row["published"]).stored)

    # Responses ---------------------------------------------------------------------------------

    def claim(self) -> None:
        """Become a writing server; SQLite refuses a second one."""
        if self._held is None:
            with self.database.translating_errors():
                self._held = self.database.claim()

    def write(self, batch: Sequence[Response], today: date) -> list[Outcome]:
        """Store what may be stored in one transaction, which is durable when this returns.

        Raises Unavailable if the database fails: nothing is acknowledged, the state of the
        transaction is unknown, and each response may be sent again with its key.
        """
        with self._writing() as connection:
            outcomes = BatchInsert(self, connection, today).insert(batch)
            self._write_texts(connection, batch, outcomes)
            stored = Counter(
                response.survey
                for response, outcome in zip(batch, outcomes, strict=True)
                if outcome is Outcome.STORED
            )
            if stored:
                self._room -= stored.total()
                self._stored, self._commits = self._stored + stored.total(), self._commits + 1
                self.database.after_commit(min(stored.values()))
            return outcomes

    def _write_texts(
        self, connection: Connection, batch: Sequence[Response], outcomes: Sequence[Outcome]
    ) -> None:
        """Store the texts of acknowledged responses in the order of their ids.

        A text has a random id of its own and no day. It is written in another transaction than the
        record it was sent with, and the order of arrival is erased together with that of the
        records. Nothing then links the two. Until that erasure, the numbers of transactions in
        PostgreSQL follow the order of arrival in both tables.
        """
        rows = []
        for response, outcome in zip(batch, outcomes, strict=True):
            if response.texts and outcome.acknowledged:
                registered = self.registered(connection, response.survey)
                assert registered is not None, "it is acknowledged"
                rows += [{"survey": registered[0], **text._asdict()} for text in response.texts]
        if rows:
            rows.sort(key=lambda row: (row["survey"], row["id"]))
            with self.database.written(connection):
                connection.execute(_INSERT_TEXT, rows)

    def test_write(self, n: int) -> None:
        """Test that a batch of n responses could be stored: write as much, then delete it.

        The rows hold random bytes and no time. One server tests at a time: two that delete the same
        rows could deadlock. Raises Unavailable if the database fails.
        """
        delete_test_rows = delete(tokens).where(tokens.c.survey == _NO_SURVEY)
        random = [
            {"survey": _NO_SURVEY, "hash": secrets.token_bytes(_TEST_BYTES)}
            for _ in range(_TEST_ROWS * n)
        ]
        with self._writing() as connection:
            with self.database.written(connection):
                self.database.lock_layout(connection)
                connection.execute(delete_test_rows)  # left by a crash
                connection.execute(insert(tokens), random)
            with self.database.written(connection):
                self.database.lock_layout(connection)
                connection.execute(delete_test_rows)
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
        """The connection of this server; reopened after a failure.

        If the files were lost it stays open: closing it could delete the log of another file.
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

    # Order -------------------------------------------------------------------------------------

    def wants_tidying(self, today: date) -> bool:
        """Whether to `tidy` now although responses keep arriving."""
        enough = self._room <= 0 or self.database.order_due or self._rested_on != today
        return self.database.ties_links or (enough and not self._paused())

    def tidy(self, today: date, quiet: bool = True) -> bool:
        """Erase the order if enough is new, and what ties used links to their responses.

        Returns whether nothing is left to do and no other server is erasing. `quiet` says that
        nothing was stored for a moment. Enough is 32 records or an eighth, whichever is more, of
        all or of one survey; any at the start of the only server, on a new day and after a failed
        erasure, which is retried later.
        """
        erased = quiet
        if not self._paused(quiet):
            erased = self._erase_if_due(today) and quiet
        forgotten = True
        if quiet or self.database.ties_links:
            with self._erasing():
                forgotten = self.database.forget_links()
        return erased and forgotten

    def _paused(self, quiet: bool = False) -> bool:
        """Whether the next erasure has to wait."""
        large_commits = self._stored >= values.FEWEST_TOGETHER * self._commits
        heavy = not quiet and (self._records > MANY_RECORDS or large_commits)
        return time.monotonic() < max(self._retry_after, self._pause_until if heavy else 0.0)

    def _erase_if_due(self, today: date) -> bool:
        """Erase the order if enough is new; False if another server is doing it."""
        if self._rested_on is None:
            new_start = self._held is None or self.database.alone(self._held)
        else:
            new_start = self._rested_on != today
        overdue = self._retry_after > 0 or new_start
        self.database.order_due, erased = False, True
        if self._due(overdue):
            try:
                erased = self._erase_order(overdue)
            except Unavailable:
                self.order_erased = False
        if self._rested_on is None:
            pause = ERASURE_PAUSE * START_SECONDS * self._records
            self._pause_until = max(self._pause_until, time.monotonic() + pause)
        self._rested_on = today
        return erased

    def leave(self) -> None:
        """Write no more; the last server erases the order."""
        with self._writing() as connection:
            last = self.database.leave(connection)
        if last:
            self.erase_order()

    def erase_order(self, always: bool = False) -> None:
        """Erase the order of arrival if a record is new, or always; waits while another process
        does."""
        until = time.monotonic() + PATIENCE
        while not self._erase_order(True, always):
            if time.monotonic() > until:
                raise Unavailable(f"{self.database.shown}: another server is erasing the order")
            time.sleep(0.05)
        self.database.forget_links()

    def _erase_order(self, any_new: bool, always: bool = False) -> bool:
        """Erase the order of the surveys that are due; False if another process is doing it."""
        with self.database.maintaining() as chosen:
            if chosen:
                due = self._due(any_new)
                if due or always:
                    self._rewrite(due)
            self._room = max(self._room, values.FEWEST_TO_ERASE)
            return chosen

    def _rewrite(self, due: dict[int, int]) -> None:
        """Rewrite surveys that had so many records. What others store meanwhile counts as new."""
        start = time.monotonic()
        self._retry_after = start + RETRY_SECONDS
        with self._erasing():
            self.database.rewrite(list(due))
            self.database.forget_links()
        if due:
            with self.database.writing() as connection:
                for number, n in due.items():
                    _set(connection, number, settled=n)
        self._retry_after = 0.0
        self.order_erased = True
        self._stored = self._commits = 0
        now = time.monotonic()
        self._pause_until = now + ERASURE_PAUSE * (now - start)

    @contextmanager
    def _erasing(self) -> Iterator[None]:
        self.erasing_order = True
        try:
            yield
        finally:
            self.erasing_order = False

    def _due(self, any_new: bool) -> dict[int, int]:
        """The surveys whose order is to be erased, with their numbers of records."""
        new = select(surveys.c.number, surveys.c.records, surveys.c.settled).where(
            surveys.c.settled < surveys.c.records
        )
        with self.database.reading() as connection:
            unerased = connection.execute(new).all()
            self._records = int(connection.scalar(select(func.sum(surveys.c.records))) or 0)
        unsettled = sum(row.records - row.settled for row in unerased)
        self._room = values.enough_to_erase(self._records) - unsettled
        every = any_new or self._room <= 0
        return {
            row.number: row.records
            for row in unerased
            if every or row.records - row.settled >= values.enough_to_erase(row.records)
        }

    # The end -----------------------------------------------------------------------------------

    def backup(self, out: str | Path) -> None:
        """Copy the current state while others write: see `tacit backup`."""
        from tacit.collect.store.backup import copy

        copy(self.database, out)

    def close(self) -> None:
        """Close the database."""
        self._release()
        self.database.close()

    def _release(self) -> None:
        if self._held is not None:
            self.database.release(self._held)
            self._held = None

    def _row(
        self, connection: Connection, fingerprint: str, lock: bool = False, deleted: bool = False
    ) -> RowMapping:
        row = find(connection, fingerprint, lock)
        if row is None or (row["published"] == DELETED and not deleted):
            what = f"has no survey with the fingerprint {fingerprint[:16]}"
            raise StoreError(f"{self.database.shown}: {what}; serve it, or invite to it, first")
        return row


#: Reads a published survey; every page of the studio asks for all of them.
_parsed = lru_cache(maxsize=1024)(Published.from_json)


def _set(connection: Connection, number: int, **columns: Any) -> None:
    """Change columns of a survey's row."""
    connection.execute(update(surveys).where(surveys.c.number == number).values(**columns))
