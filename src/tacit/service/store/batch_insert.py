"""BatchInsert: stores a batch of responses and decides the outcome of each.

Nearly always all responses to a survey are new and may be stored. Offer them to the database as a
whole; if it stores none of them, decide row by row, under the lock of the survey. No statement
fails on the way: PostgreSQL would log the id and the time of day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from sqlalchemy import Connection, RowMapping, bindparam, select, update

from tacit.service.store.checksums import checksums
from tacit.service.store.database import Database, NewRow, NewRows
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


class BatchInsert:
    """Inserts batches into one database."""

    def __init__(self, database: Database, tokens: LinkTokens) -> None:
        self._database, self._tokens = database, tokens
        self._known: dict[str, tuple[int, Terms]] = {}

    def insert_batch(
        self, connection: Connection, batch: Sequence[Response], today: date
    ) -> list[Outcome]:
        """The outcome of each response; durable."""
        by_survey: dict[str, list[Response]] = {}
        for response in batch:
            by_survey.setdefault(response.survey, []).append(response)
        ordered = sorted(by_survey)  # everybody locks surveys in this order
        offers = {
            survey: offer
            for survey in ordered
            if (offer := self._offer(connection, survey, by_survey[survey], today)) is not None
        }
        stored = self._stored_together(connection, offers)
        if len(stored) == len(ordered):
            return [Outcome.STORED] * len(batch)
        outcomes = {
            survey: self._outcomes(connection, survey, by_survey[survey], today, survey in stored)
            for survey in ordered
        }
        return [next(outcomes[response.survey]) for response in batch]

    def _stored_together(self, connection: Connection, offers: dict[str, NewRows]) -> set[str]:
        """The surveys of which the database stored everything that was offered."""
        if not offers:
            return set()
        stored = self._database.insert_together(connection, list(offers.values()))
        return {survey for survey, whole in zip(offers, stored, strict=True) if whole}

    def _offer(
        self, connection: Connection, survey: str, sent: Sequence[Response], today: date
    ) -> NewRows | None:
        """All responses to a survey; None if it is already clear that one cannot be stored."""
        known = self._looked_up(connection, survey)
        if known is None or known[1].refusal(False, 0, today) is not None:
            return None
        number, terms = known
        codes = {id_of(response): response.codes for response in sent}
        hashes = set(map(hash_of, sent)) if terms.invited else set()
        if len(codes) < len(sent) or (terms.invited and len(hashes) < len(sent)):
            return None
        used = sorted(own for own in hashes if own is not None)
        if len(used) < len(hashes):
            return None
        day = today.isoformat()
        return NewRows(number, day, _rows(survey, day, codes.items()), used, terms.quota)

    def _outcomes(
        self,
        connection: Connection,
        survey: str,
        sent: Sequence[Response],
        today: date,
        all_stored: bool,
    ) -> Iterator[Outcome]:
        if all_stored:
            return iter([Outcome.STORED] * len(sent))
        known = self._looked_up(connection, survey)
        if known is None:
            return iter([Outcome.UNKNOWN_SURVEY] * len(sent))
        with self._database.written(connection):
            return iter(self._insert_row_by_row(connection, survey, *known, sent, today))

    def _insert_row_by_row(
        self,
        connection: Connection,
        survey: str,
        number: int,
        terms: Terms,
        sent: Sequence[Response],
        today: date,
    ) -> list[Outcome]:
        """Store the responses that may be stored, in the order of their ids; each outcome.

        The survey is locked, so nothing that is read here changes before the end.
        """
        closed, records = connection.execute(_lock_counts, {"of_number": number}).one()
        ids = {"survey": number, "ids": [id_of(response) for response in sent]}
        codes = {found.id: found.codes for found in connection.execute(_stored_codes, ids)}
        usable = self._tokens.usable(connection, number, sent) if terms.invited else set()
        ledger = Ledger(terms, bool(closed), records, codes, usable)
        outcomes = [ledger.take(response, today) for response in sent]
        if ledger.stored:
            day = today.isoformat()
            rows = _rows(survey, day, ledger.stored)
            self._database.insert_responses(connection, number, day, rows)
            self._database.delete_tokens(connection, number, sorted(ledger.spent))
            connection.execute(_set_records, {"now_records": ledger.records, "of_number": number})
        return outcomes

    def _looked_up(self, connection: Connection, survey: str) -> tuple[int, Terms] | None:
        """As `terms`, outside a transaction."""
        if survey in self._known:
            return self._known[survey]
        with connection.begin():
            return self.terms(connection, survey)

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


def find(connection: Connection, survey: str, lock: bool = False) -> RowMapping | None:
    """The row of a survey; `lock` keeps others from storing responses to it meanwhile."""
    wanted = select(surveys).where(surveys.c.fingerprint == survey)
    found = connection.execute(wanted.with_for_update() if lock else wanted)
    return found.mappings().one_or_none()


def _rows(survey: str, day: str, stored: Iterable[tuple[bytes, bytes]]) -> list[NewRow]:
    """Rows in the order of their ids, not of arrival."""
    rows = sorted(stored)
    sums = checksums(survey, day, rows)
    return [(*row, own) for row, own in zip(rows, sums, strict=True)]
