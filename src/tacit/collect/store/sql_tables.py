"""The tables (surveys, responses, tokens, texts) and their migrations. No time is finer than a day.

The key of a response is its random id, that of a token its hash. A used token has no row, so that
nothing of it (an order, a transaction number) can be matched with a response. `survey` has no
foreign key: checking it would cost more than the row. A deleted survey keeps its row, closed and
without content, so that its number is never given again. `settled` is the number of records whose
order of arrival is erased.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from operator import add, ne
from typing import Any
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy import Column, Connection, select

from tacit.errors import StoreError

#: The newest migration.
REVISION = "0004"
VERSION_TABLE = "tacit_version"
#: The content of a survey that was deleted.
DELETED = ""

metadata = sa.MetaData()

surveys = sa.Table(
    "surveys",
    metadata,
    Column("number", sa.Integer, primary_key=True, autoincrement=False),
    Column("fingerprint", sa.String(64), nullable=False, unique=True),
    Column("published", sa.Text, nullable=False),
    Column("closed", sa.Boolean, nullable=False),
    *(Column(name, sa.Integer, nullable=False) for name in ("records", "settled", "issued")),
)


def _table_per_survey(called: str, key: str, /, **columns: Any) -> sa.Table:
    """A table whose rows belong to a survey; SQLite stores them in the order of the random key."""
    survey = Column("survey", sa.Integer, primary_key=True, autoincrement=False)
    random = Column(key, sa.LargeBinary(16), primary_key=True)
    others = [Column(name, kind, nullable=False) for name, kind in columns.items()]
    return sa.Table(called, metadata, survey, random, *others, sqlite_with_rowid=False)


responses = _table_per_survey(
    "responses", "id", day=sa.Date, codes=sa.LargeBinary, checksum=sa.LargeBinary(4)
)
tokens = _table_per_survey("tokens", "hash")
#: What people wrote, apart from their records: without a day, and with ids of its own.
texts = _table_per_survey("texts", "id", name=sa.Text, text=sa.Text)


def revision_of(connection: Connection) -> str | None:
    """The layout of a database; None if it has no tables of tacit yet."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE)))


def migrate(connection: Connection, shown: str) -> None:
    """Run the missing migrations in the current transaction; refuse a newer database."""
    current = revision_of(connection)
    if current == REVISION:
        return
    from alembic import command  # slow to import and rarely needed
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", f"{__package__}:migrations")
    known = {step.revision for step in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise StoreError(
            f"{shown}: the database has layout {current!r}, this tacit knows up to {REVISION!r}; "
            "upgrade tacit"
        )
    command.upgrade(config, REVISION)


# A checksum per stored record, so that a damaged record is refused and not counted.
#
# CRC-32 of the survey's fingerprint, the day, the id and the codes. It detects every change
# within 32
# adjacent bits, and all but one in four billion others. It is a function of the other columns, so
# it
# reveals nothing new. It is not a signature: anyone who can write records can write checksums.


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
    connection: Connection, row: sa.RowMapping, shown: str, known: Mapping[str, int] | None = None
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
    table, sqlite = responses.c, connection.dialect.name == "sqlite"
    columns: list[Any] = [table.id, table.day, table.codes, table.checksum]
    if sqlite:  # bytes, even if damaged: SQLite stores a type with each value
        empty: Any = sa.literal_column("x''")
        columns = [sa.func.coalesce(sa.cast(c, sa.LargeBinary), empty) for c in columns]
    else:  # a number of days takes less time than a text
        columns[1] = table.day - _FIRST_DAY
    wanted = select(*columns).where(table.survey == number).order_by(table.id)
    if known:
        wanted = wanted.where(table.day.not_in([date.fromisoformat(day) for day in known]))
    sql = str(wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True}))
    # The driver's cursor: making rows of SQLAlchemy would take most of the time. PostgreSQL sends
    # all rows at once unless the cursor has a name.
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor() if sqlite else driver.cursor("tacit_codes")) as cursor:
        cursor.execute(sql)
        while part := cursor.fetchmany(_ROWS):
            yield part
        if sqlite:
            cursor.execute("PRAGMA shrink_memory")  # pages that are read once stay in no cache


def _day_text(day: bytes | int) -> str:
    """A stored day as 2027-01-31; whatever a damaged one is, its checksum differs."""
    if isinstance(day, bytes):
        return day.decode(errors="replace")
    return (_FIRST_DAY + timedelta(days=day)).isoformat()
