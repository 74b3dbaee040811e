"""A checksum per stored record, so that a damaged record is refused and not counted.

CRC-32 of the survey's fingerprint, the day, the id and the codes. It detects every change within 32
adjacent bits, and all but one in four billion others. It is a function of the other columns, so it
reveals nothing new. It is not a signature: anyone who can write records can write checksums.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from operator import add, ne
from typing import Any
from zlib import crc32

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    RowMapping,
    cast,
    func,
    literal_column,
    select,
)

from tacit.collect.store.sql_tables import responses, surveys
from tacit.errors import StoreError

SIZE = 4
#: Rows that are read at once; more would make the garbage collector run, which doubles the time.
_ROWS = 500
_FIRST_DAY = date(2000, 1, 1)
_REMEDY = (
    "export from a backup, or restore one (see tacit backup), and check this machine's disk and "
    "memory"
)


def start_of(survey: str, day: bytes) -> int:
    """The common start of the checksums of a survey (its fingerprint) and a day."""
    return crc32(b"%b %b " % (survey.encode(), day))


def checksums(survey: str, day: str, rows: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """The checksums of ids and codes."""
    start = start_of(survey, day.encode())
    return [crc32(own + codes, start).to_bytes(SIZE, "big") for own, codes in rows]


def sound_codes(
    connection: Connection, row: RowMapping, shown: str, known: Mapping[str, int] | None = None
) -> Iterator[tuple[Sequence[str], Sequence[bytes]]]:
    """The days and the codes of a survey's records in the order of their ids, in chunks.

    `row` is the survey's. Days that are `known`, with their numbers of records, are left out.
    Raises StoreError after the last chunk if a record is damaged or missing.
    """
    survey, found = row["fingerprint"], sum((known or {}).values())
    damaged, texts, starts = 0, dict[Any, str](), dict[Any, int]()
    for part in _stored(connection, row["number"], known or {}):
        ids, stored, codes, sums = zip(*part, strict=True)
        for day in {*stored} - {*starts}:
            texts[day] = _day_text(day)
            starts[day] = start_of(survey, texts[day].encode())
        # Loops in C: all records of a survey are read while somebody waits for a page.
        made = list(map(crc32, map(add, ids, codes), map(starts.__getitem__, stored)))
        if struct.pack(f">{len(made)}I", *made) != b"".join(sums) or {*map(len, sums)} != {SIZE}:
            damaged += sum(map(ne, sums, (own.to_bytes(SIZE, "big") for own in made)))
        found += len(part)
        yield list(map(texts.__getitem__, stored)), codes
    name = f"{shown}: {{}} records of survey {survey[:16]} are {{}}; {_REMEDY}"
    if damaged:
        raise StoreError(name.format(f"{damaged:,} of {found:,}", "damaged"))
    if found != row["records"]:
        raise StoreError(name.format(f"{found:,}", f"left of {row['records']:,}"))


def check_all(connection: Connection, shown: str) -> None:
    """Read every record of every survey; StoreError if one is damaged or missing."""
    for row in connection.execute(select(surveys).order_by(surveys.c.number)).mappings().all():
        for _ in sound_codes(connection, row, shown):
            pass


def _stored(
    connection: Connection, number: int, known: Mapping[str, int]
) -> Iterator[Sequence[Any]]:
    """Ids, days, codes and checksums of a survey's records as bytes, in chunks."""
    table = responses.c
    columns = [_bytes(connection, c) for c in (table.id, table.day, table.codes, table.checksum)]
    wanted = select(*columns).where(table.survey == number).order_by(table.id)
    if known:
        wanted = wanted.where(table.day.not_in([date.fromisoformat(day) for day in known]))
    sql = str(wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True}))
    with closing(_cursor(connection)) as cursor:
        cursor.execute(sql)
        while part := cursor.fetchmany(_ROWS):
            yield part
        if connection.dialect.name == "sqlite":
            cursor.execute("PRAGMA shrink_memory")  # pages that are read once stay in no cache


def _cursor(connection: Connection) -> Any:
    """A cursor of the driver: making rows of SQLAlchemy would take most of the time.

    PostgreSQL sends all rows at once unless the cursor has a name.
    """
    driver: Any = connection.connection.driver_connection
    return driver.cursor() if connection.dialect.name == "sqlite" else driver.cursor("tacit_codes")


def _bytes(connection: Connection, column: ColumnElement[object]) -> ColumnElement[Any]:
    """A column as bytes, even if damaged: SQLite stores a type with each value.

    A day of PostgreSQL is a number, which takes less time than a text.
    """
    if connection.dialect.name == "sqlite":
        return func.coalesce(cast(column, LargeBinary), literal_column("x''"))
    return column - _FIRST_DAY if column is responses.c.day else column


def _day_text(day: bytes | int) -> str:
    """A stored day as 2027-01-31; whatever a damaged one is, its checksum differs."""
    if isinstance(day, bytes):
        return day.decode(errors="replace")
    return (_FIRST_DAY + timedelta(days=day)).isoformat()
