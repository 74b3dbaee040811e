"""BatchInsert: one transaction stores a batch of responses.

Nearly always all of them are new and may be stored. Insert the whole batch optimistically; if a
row was skipped or a token is missing, roll back and decide row by row. No statement fails on the
way: PostgreSQL would log the id and the time of day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, bindparam, select, update
from sqlalchemy.sql.base import Executable

from tacit.service.store.checksums import checksums
from tacit.service.store.database import Database
from tacit.service.store.link_tokens import LinkTokens
from tacit.service.store.sql_tables import responses, surveys
from tacit.service.store.store_values import Ledger, Outcome, Response, Terms, hash_of, id_of
from tacit.survey import Published

_stored_codes = select(responses.c.id, responses.c.codes).where(
    responses.c.survey == bindparam("survey"), responses.c.id.in_(bindparam("ids", expanding=True))
)
_lock_counts = (
    select(surveys.c.closed, surveys.c.records)
    .where(surveys.c.number == bindparam("of_number"))
    .with_for_update()
)
_set_records = (
    update(surveys)
    .where(surveys.c.number == bindparam("of_number"))
    .values(records=bindparam("now_records"))
)


class _ConflictError(Exception):
    """Not every response of the batch is new and allowed."""


class BatchInsert:
    """Inserts batches into one database."""

    def __init__(self, database: Database, tokens: LinkTokens) -> None:
        self._database, self._tokens = database, tokens
        # They run with every batch, and SQLAlchemy's handling costs more than the statements.
        self._lock_counts = _compiled(database.engine, _lock_counts, ["of_number"])
        self._set_records = _compiled(database.engine, _set_records, ["now_records", "of_number"])
        self._known: dict[str, tuple[int, Terms]] = {}

    def insert_batch(
        self, connection: Connection, batch: Sequence[Response], today: date
    ) -> list[Outcome]:
        """The outcome of each response; durable."""
        by_survey: dict[str, list[Response]] = {}
        for response in batch:
            by_survey.setdefault(response.survey, []).append(response)
        ordered = sorted(by_survey.items())  # everybody locks surveys in this order
        try:
            with self._database.written(connection):
                for survey, sent in ordered:
                    self._insert_optimistically(connection, survey, sent, today)
        except _ConflictError:
            with self._database.written(connection):
                outcomes = {
                    survey: self._insert_row_by_row(connection, survey, sent, today)
                    for survey, sent in ordered
                }
            return [next(outcomes[response.survey]) for response in batch]
        return [Outcome.STORED] * len(batch)

    def _insert_optimistically(
        self, connection: Connection, survey: str, sent: Sequence[Response], today: date
    ) -> None:
        """Store all responses to a survey; _ConflictError if one cannot be stored."""
        known = self.terms(connection, survey)
        if known is None:
            raise _ConflictError
        number, terms = known
        closed, records = self._counts(connection, number)
        if terms.refusal(closed, records + len(sent) - 1, today) is not None:
            raise _ConflictError
        hashes = map(hash_of, sent) if terms.invited else ()
        spent = [own for own in hashes if own is not None]
        if terms.invited and len(spent) < len(sent):
            raise _ConflictError
        stored = [(id_of(response), response.codes) for response in sent]
        self._write(connection, survey, today, stored, spent, records + len(sent))

    def _insert_row_by_row(
        self, connection: Connection, survey: str, sent: Sequence[Response], today: date
    ) -> Iterator[Outcome]:
        """Store the responses to a survey that may be stored; the outcome of each."""
        known = self.terms(connection, survey)
        if known is None:
            return iter([Outcome.UNKNOWN_SURVEY] * len(sent))
        number, terms = known
        closed, records = self._counts(connection, number)
        ids = {"survey": number, "ids": [id_of(response) for response in sent]}
        codes = {found.id: found.codes for found in connection.execute(_stored_codes, ids)}
        usable = self._tokens.usable(connection, number, sent) if terms.invited else set()
        ledger = Ledger(terms, closed, records, codes, usable)
        outcomes = [ledger.take(response, today) for response in sent]
        if ledger.stored:
            self._write(connection, survey, today, ledger.stored, ledger.spent, ledger.records)
        return iter(outcomes)

    def _write(
        self,
        connection: Connection,
        survey: str,
        today: date,
        stored: list[tuple[bytes, bytes]],
        spent: list[bytes],
        records: int,
    ) -> None:
        """Write in the order of the ids and hashes, not of arrival."""
        number, _ = self._known[survey]
        day, rows = today.isoformat(), sorted(stored)
        sums = checksums(survey, day, rows)
        new = self._database.insert_responses(
            connection, number, day, [(*row, own) for row, own in zip(rows, sums, strict=True)]
        )
        if new != len(stored) or not self._tokens.spend(connection, number, spent):
            raise _ConflictError
        connection.exec_driver_sql(self._set_records, (records, number))

    def _counts(self, connection: Connection, number: int) -> tuple[bool, int]:
        """Whether a survey is closed, and its number of records; locks both."""
        closed, records = connection.exec_driver_sql(self._lock_counts, (number,)).one()
        return bool(closed), records

    def terms(self, connection: Connection, survey: str) -> tuple[int, Terms] | None:
        """The number and the terms of a survey, which never change; None if it is unknown."""
        known = self._known.get(survey)
        if known is None:
            row = find(connection, survey)
            if row is None:
                return None
            terms = Terms.of(Published.from_json(row["published"]).survey)
            known = self._known[survey] = (row["number"], terms)
        return known


def find(connection: Connection, survey: str) -> RowMapping | None:
    """The row of a survey."""
    found = connection.execute(select(surveys).where(surveys.c.fingerprint == survey))
    return found.mappings().one_or_none()


def _compiled(engine: Engine, statement: Executable, names: list[str]) -> str:
    """The text of a statement for the driver, which takes values in the order of the names."""
    compiled: Any = statement.compile(dialect=engine.dialect)  # type: ignore[attr-defined]
    assert compiled.positiontup == names, f"{compiled.positiontup} is not {names}"
    return str(compiled)
