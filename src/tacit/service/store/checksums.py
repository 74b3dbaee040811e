"""A checksum per stored record, so that a damaged record is refused and not counted.

CRC-32 of the survey's fingerprint, the day, the id and the codes. It detects every change within 32
adjacent bits, and all but one in four billion others. It is a function of the other columns, so it
reveals nothing new. It is not a signature: anyone who can write records can write checksums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

from sqlalchemy import ColumnElement, Connection, LargeBinary, RowMapping, cast, func, select

from tacit.errors import StoreError
from tacit.service.store.sql_tables import responses, surveys

SIZE = 4
_ROWS = 10_000
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


def sound_codes(connection: Connection, row: RowMapping, shown: str) -> Iterator[list[bytes]]:
    """The codes of a survey's records in the order of their ids, in chunks.

    `row` is the survey's. Raises StoreError after the last chunk if a record is damaged or missing.
    """
    survey, starts = row["fingerprint"], dict[bytes, int]()
    damaged = found = 0
    for part in _stored(connection, row["number"]):
        for own, day, codes, checksum in part:
            start = starts.get(day)
            if start is None:
                start = starts[day] = start_of(survey, day)
            damaged += crc32(own + codes, start).to_bytes(SIZE, "big") != checksum
        found += len(part)
        yield [codes for _, _, codes, _ in part]
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


def _stored(connection: Connection, number: int) -> Iterator[Sequence[Any]]:
    """Ids, days, codes and checksums of a survey's records as bytes, in chunks."""
    table = responses.c
    columns = [_bytes(connection, c) for c in (table.id, table.day, table.codes, table.checksum)]
    wanted = select(*columns).where(table.survey == number).order_by(table.id)
    with connection.execute(wanted.execution_options(yield_per=_ROWS)) as rows:
        yield from rows.partitions()


def _bytes(connection: Connection, column: ColumnElement[object]) -> ColumnElement[bytes]:
    """A column as bytes, even if damaged: SQLite stores a type with each value."""
    if connection.dialect.name == "sqlite":
        return func.coalesce(cast(column, LargeBinary), b"")
    if column is responses.c.day:
        return func.convert_to(func.to_char(column, "YYYY-MM-DD"), "UTF8")
    return column  # type: ignore[return-value]
