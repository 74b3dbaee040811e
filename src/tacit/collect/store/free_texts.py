"""FreeTexts: what people wrote, apart from their records.

A text has a random id of its own and no day. It is written in another transaction than the record
it was sent with, and the order of arrival is erased together with that of the records. Nothing then
links the two. Until that erasure, the numbers of transactions in PostgreSQL follow the order of
arrival in both tables.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select, text

from tacit.collect.store.database import Database
from tacit.collect.store.sql_tables import texts
from tacit.collect.store.store_values import StoredText

#: A text that was stored before a crash is sent again with the same id.
_INSERT = text(
    "INSERT INTO texts (survey, id, name, text) VALUES (:survey, :id, :name, :text) "
    "ON CONFLICT DO NOTHING"
)


class FreeTexts:
    """The texts in one database; surveys are given by their numbers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, connection: Connection, given: Iterable[tuple[int, StoredText]]) -> None:
        """Store texts in a transaction of their own, in the order of their ids."""
        rows = [{"survey": survey, **own._asdict()} for survey, own in sorted(given)]
        if rows:
            with self._database.written(connection):
                connection.execute(_INSERT, rows)

    def read(self, connection: Connection, survey: int) -> list[tuple[str, str]]:
        """The names of the questions and the texts, in the order of their random ids."""
        wanted = select(texts.c.name, texts.c.text).where(texts.c.survey == survey)
        return [(name, own) for name, own in connection.execute(wanted.order_by(texts.c.id))]
