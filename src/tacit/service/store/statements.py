"""The statements of the submit path, compiled once for a database.

They run for every batch: what compiles, caches and converts parameters costs more than the
databases do. So the driver gets its text and plain values, in the order in which they are named.
Many rows go in one statement, not one by one: between two rows a driver gives way to other
threads, and would wait for the busy event loop after each. Statements come in sizes of powers of
two, so that there are few of them to prepare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update
from sqlalchemy.sql.base import Executable

from tacit.service.store.tables import responses, surveys, tokens

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
_SPEND = delete(tokens).where(
    tokens.c.survey == bindparam("of_survey"), tokens.c.hash == bindparam("of_hash")
)
_MOST = 256
Item = TypeVar("Item")


class Statements:
    """Reads and writes one survey's part of a batch."""

    def __init__(self, engine: Engine) -> None:
        self._standing = _text(engine, _STANDING, ["of_number"])
        self._store = _text(engine, insert(responses), ["survey", "id", "day", "codes"])
        self._spend = _text(engine, _SPEND, ["of_survey", "of_hash"])
        self._count = _text(engine, _COUNT, ["now_records", "of_number"])

    def standing(self, connection: Connection, number: int) -> tuple[bool, int]:
        """Whether a survey is closed, and how many records it has; no other may change it now."""
        closed, records = connection.exec_driver_sql(self._standing, (number,)).one()
        return bool(closed), records

    def store(
        self, connection: Connection, number: int, day: str, rows: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Insert ids and codes; IntegrityError if one of the ids is there."""
        for some in _parts(rows):
            values = [value for own, codes in some for value in (number, own, day, codes)]
            connection.exec_driver_sql(_repeated(self._store, len(some)), tuple(values))

    def spend(self, connection: Connection, number: int, hashes: Sequence[bytes]) -> int:
        """Delete tokens; how many there were."""
        gone = 0
        for some in _parts(hashes):
            values = (number, *some)
            gone += connection.exec_driver_sql(_listed(self._spend, len(some)), values).rowcount
        return gone

    def count(self, connection: Connection, number: int, records: int) -> None:
        """Set the number of records."""
        connection.exec_driver_sql(self._count, (records, number))


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """All items in order, in parts whose sizes are powers of two.

    >>> [len(part) for part in _parts(range(300))]
    [256, 32, 8, 4]
    """
    start = 0
    while start < len(items):
        size = min(_MOST, 1 << ((len(items) - start).bit_length() - 1))
        yield items[start : start + size]
        start += size


@cache
def _repeated(insertion: str, rows: int) -> str:
    """An insertion of several rows, from that of one."""
    head, values, row = insertion.rpartition("VALUES ")
    return f"{head}{values}{', '.join([row] * rows)}"


@cache
def _listed(deletion: str, n: int) -> str:
    """A deletion by one of several values, from that by equality with one."""
    head, _, value = deletion.rpartition(" = ")
    return f"{head} IN ({', '.join([value] * n)})"


def _text(engine: Engine, statement: Executable, names: list[str]) -> str:
    """The statement for the driver of an engine, which takes values in the order of the names."""
    compiled: Any = statement.compile(dialect=engine.dialect)  # type: ignore[attr-defined]
    assert compiled.positiontup == names, f"{compiled.positiontup} is not {names}"
    return str(compiled)
