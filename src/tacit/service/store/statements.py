"""The statements about a survey that run with every batch, compiled once for a database.

What compiles, caches and converts parameters costs more than the databases do. So the driver gets
its text and plain values, in the order in which they are named.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, bindparam, select, update
from sqlalchemy.sql.base import Executable

from tacit.service.store.sql_tables import surveys

_STANDING = (
    select(surveys.c.closed, surveys.c.records)
    .where(surveys.c.number == bindparam("of_number"))
    .with_for_update()
)
_COUNT = (
    update(surveys)
    .where(surveys.c.number == bindparam("of_number"))
    .values(records=bindparam("now_records"))
)


class Statements:
    """Reads and writes where one survey stands."""

    def __init__(self, engine: Engine) -> None:
        self._standing = _text(engine, _STANDING, ["of_number"])
        self._count = _text(engine, _COUNT, ["now_records", "of_number"])

    def standing(self, connection: Connection, number: int) -> tuple[bool, int]:
        """Whether a survey is closed, and how many records it has; no other may change it now."""
        closed, records = connection.exec_driver_sql(self._standing, (number,)).one()
        return bool(closed), records

    def count(self, connection: Connection, number: int, records: int) -> None:
        """Set the number of records."""
        connection.exec_driver_sql(self._count, (records, number))


def _text(engine: Engine, statement: Executable, names: list[str]) -> str:
    """The statement for the driver of an engine, which takes values in the order of the names."""
    compiled: Any = statement.compile(dialect=engine.dialect)  # type: ignore[attr-defined]
    assert compiled.positiontup == names, f"{compiled.positiontup} is not {names}"
    return str(compiled)
