"""Entering: a batch of responses goes into the database by one transaction.

Nearly always all of them are new and may be stored. Insert the whole batch optimistically; if a
row was skipped or a token is missing, roll back and decide row by row. No statement fails on the
way: PostgreSQL would log the id and the time of day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from sqlalchemy import Connection, RowMapping, bindparam, select

from tacit.service.store.checksums import checksums
from tacit.service.store.database import Database
from tacit.service.store.link_tokens import LinkTokens, hash_of
from tacit.service.store.response_outcomes import Ledger, Terms
from tacit.service.store.sql_tables import responses, surveys
from tacit.service.store.statements import Statements
from tacit.service.store.store_values import Outcome, Response, id_of
from tacit.survey import Published

_stored_codes = select(responses.c.id, responses.c.codes).where(
    responses.c.survey == bindparam("survey"), responses.c.id.in_(bindparam("ids", expanding=True))
)


class _ConflictError(Exception):
    """Not all was new: what was hoped for does not hold."""


class BatchInsert:
    """Enters batches into one database."""

    def __init__(self, database: Database, tokens: LinkTokens) -> None:
        self._database, self._tokens = database, tokens
        self._statements = Statements(database.engine)
        self._known: dict[str, tuple[int, Terms]] = {}

    def insert_batch(
        self, connection: Connection, batch: Sequence[Response], today: date
    ) -> list[Outcome]:
        """What became of each response; durable."""
        asked: dict[str, list[Response]] = {}
        for response in batch:
            asked.setdefault(response.survey, []).append(response)
        surveys_asked = sorted(asked)  # each is locked, by all who do in this order
        try:
            with self._database.written(connection):
                for survey in surveys_asked:
                    self._insert_optimistically(connection, survey, asked[survey], today)
        except _ConflictError:
            with self._database.written(connection):
                decided = {
                    survey: self._insert_row_by_row(connection, survey, asked[survey], today)
                    for survey in surveys_asked
                }
            return [next(decided[response.survey]) for response in batch]
        return [Outcome.STORED] * len(batch)

    def _insert_optimistically(
        self, connection: Connection, survey: str, asked: Sequence[Response], today: date
    ) -> None:
        """Store all that was sent to a survey; in vain if anything speaks against one of it."""
        known = self.terms(connection, survey)
        if known is None:
            raise _ConflictError
        number, terms = known
        closed, records = self._statements.standing(connection, number)
        if terms.refusal(closed, records + len(asked) - 1, today) is not None:
            raise _ConflictError
        hashes = map(hash_of, asked) if terms.invited else ()
        spent = [own for own in hashes if own is not None]
        if terms.invited and len(spent) < len(asked):
            raise _ConflictError
        stored = [(id_of(response), response.codes) for response in asked]
        self._write(connection, survey, today, stored, spent)
        self._statements.count(connection, number, records + len(asked))

    def _insert_row_by_row(
        self, connection: Connection, survey: str, asked: Sequence[Response], today: date
    ) -> Iterator[Outcome]:
        """Store what may be stored of what was sent to a survey; what became of each."""
        known = self.terms(connection, survey)
        if known is None:
            return iter([Outcome.UNKNOWN_SURVEY] * len(asked))
        number, terms = known
        closed, records = self._statements.standing(connection, number)
        ids = {"survey": number, "ids": [id_of(response) for response in asked]}
        codes = {found.id: found.codes for found in connection.execute(_stored_codes, ids)}
        usable = self._tokens.usable(connection, number, asked) if terms.invited else set()
        ledger = Ledger(terms, closed, records, codes, usable)
        outcomes = [ledger.take(response, today) for response in asked]
        if ledger.stored:
            self._write(connection, survey, today, ledger.stored, ledger.spent)
            self._statements.count(connection, number, ledger.records)
        return iter(outcomes)

    def _write(
        self,
        connection: Connection,
        survey: str,
        today: date,
        stored: list[tuple[bytes, bytes]],
        spent: list[bytes],
    ) -> None:
        """In the order of the ids and the hashes, not of arrival."""
        number, _ = self._known[survey]
        day, rows = today.isoformat(), sorted(stored)
        sums = checksums(survey, day, rows)
        new = self._database.insert_responses(
            connection, number, day, [(*row, own) for row, own in zip(rows, sums, strict=True)]
        )
        if new != len(stored) or not self._tokens.spend(connection, number, spent):
            raise _ConflictError

    def terms(self, connection: Connection, survey: str) -> tuple[int, Terms] | None:
        """The number and the terms of a survey, which stay; None if there is no such survey."""
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
