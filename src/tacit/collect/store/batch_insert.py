"""BatchInsert: stores a batch of responses and decides the outcome of each.

Nearly always all responses to a survey are new and may be stored: offer them to the database as a
whole. If it stores none of them, look up what is stored, decide each response, and offer those that
may be stored. Another server may have been quicker; then look again. No lock is held between two
statements, and no statement fails: PostgreSQL would log the id and the time of day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from sqlalchemy import Connection, RowMapping, bindparam, select

from tacit.collect.store.checksums import checksums
from tacit.collect.store.database import Database, NewRow, NewRows
from tacit.collect.store.link_tokens import LinkTokens
from tacit.collect.store.sql_tables import DELETED, responses, surveys
from tacit.collect.store.store_values import Ledger, Outcome, Response, Terms, hash_of, id_of
from tacit.errors import Unavailable
from tacit.survey import Published

_stored_codes = select(responses.c.id, responses.c.codes).where(
    responses.c.survey == bindparam("survey"), responses.c.id.in_(bindparam("ids", expanding=True))
)
_counts = select(surveys.c.closed, surveys.c.records).where(
    surveys.c.number == bindparam("of_number")
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
            survey: iter([Outcome.STORED] * len(sent))
            if survey in stored
            else self._decided(connection, survey, sent, today)
            for survey, sent in sorted(by_survey.items())
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
        known = self.looked_up(connection, survey)
        if known is None or known[1].refusal(False, 0, today) is not None:
            return None
        number, terms = known
        codes = {id_of(response): response.codes for response in sent}
        hashes = set(map(hash_of, sent)) if terms.invited else set()
        if len(codes) < len(sent) or (terms.invited and len(hashes) < len(sent)):
            return None
        used = [own for own in hashes if own is not None]
        if len(used) < len(hashes):
            return None
        return _new_rows(survey, number, today, codes.items(), used, terms.quota)

    def _decided(
        self, connection: Connection, survey: str, sent: Sequence[Response], today: date
    ) -> Iterator[Outcome]:
        """Store the responses to a survey that may be stored; the outcome of each.

        What keeps a response from being stored is final: its id is known, its link is used, the
        survey is full or closed. So an offer that fails leaves fewer responses for the next one.
        """
        known = self.looked_up(connection, survey)
        if known is None:
            return iter([Outcome.UNKNOWN_SURVEY] * len(sent))
        number, terms = known
        for _ in range(len(sent) + 1):
            ledger = self._ledger(connection, number, terms, sent)
            outcomes = [ledger.take(response, today) for response in sent]
            new = _new_rows(survey, number, today, ledger.stored, ledger.spent, terms.quota)
            if not new.rows or self._database.insert_together(connection, [new]) == [True]:
                return iter(outcomes)
        raise Unavailable(f"{self._database.shown}: others keep storing the same responses")

    def _ledger(
        self, connection: Connection, number: int, terms: Terms, sent: Sequence[Response]
    ) -> Ledger:
        """What is stored now. Codes are read last, so a used link is found with its response."""
        ids = {"survey": number, "ids": [id_of(response) for response in sent]}
        with connection.begin():
            hashes = [own for response in sent if (own := hash_of(response)) is not None]
            usable = self._tokens.usable(connection, number, hashes) if terms.invited else set()
            closed, records = connection.execute(_counts, {"of_number": number}).one()
            codes = {found.id: found.codes for found in connection.execute(_stored_codes, ids)}
        return Ledger(terms, bool(closed), records, codes, usable)

    def looked_up(self, connection: Connection, survey: str) -> tuple[int, Terms] | None:
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
            if row is None or row["published"] == DELETED:
                return None
            terms = Terms.of(Published.from_json(row["published"]).survey)
            known = self._known[survey] = (row["number"], terms)
        return known


def find(connection: Connection, survey: str, lock: bool = False) -> RowMapping | None:
    """The row of a survey; `lock` keeps others from storing responses to it meanwhile."""
    wanted = select(surveys).where(surveys.c.fingerprint == survey)
    found = connection.execute(wanted.with_for_update() if lock else wanted)
    return found.mappings().one_or_none()


def _new_rows(
    survey: str,
    number: int,
    today: date,
    stored: Iterable[tuple[bytes, bytes]],
    spent: Iterable[bytes],
    quota: int | None,
) -> NewRows:
    """Rows in the order of their ids and links in that of their hashes, not of arrival."""
    day, rows = today.isoformat(), sorted(stored)
    sums = checksums(survey, day, rows)
    whole: list[NewRow] = [(*row, own) for row, own in zip(rows, sums, strict=True)]
    return NewRows(number, day, whole, sorted(spent), quota)
