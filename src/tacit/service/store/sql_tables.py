"""The tables: surveys, responses, tokens. No time is finer than a day.

The key of a response is its random id, that of a token its hash. A used token has no row, so that
nothing of it (an order, a transaction number) can be matched with a response. `survey` has no
foreign key: checking it would cost more than the row, and surveys are never deleted. `settled` is
the number of records whose order of arrival is erased.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Date, Integer, LargeBinary, MetaData, String, Table, Text

#: The newest migration.
REVISION = "0002"
VERSION_TABLE = "tacit_version"

metadata = MetaData()

surveys = Table(
    "surveys",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False, unique=True),
    Column("published", Text, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("records", Integer, nullable=False),
    Column("settled", Integer, nullable=False),
    Column("issued", Integer, nullable=False),
)

responses = Table(
    "responses",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("id", LargeBinary(16), primary_key=True),
    Column("day", Date, nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Column("checksum", LargeBinary(4), nullable=False),
    sqlite_with_rowid=False,
)

tokens = Table(
    "tokens",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)
