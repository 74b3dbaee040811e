"""The tables of the studio: accounts, their roles, sessions, links and tokens, and the audit log.

They are in an SQLite file of their own, so that nothing here touches the records of respondents.
Secrets are stored as hashes: reading the file is not enough to sign in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Engine,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from tacit.errors import StoreError

metadata = MetaData()

accounts = Table(
    "studio_accounts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("password", Text, nullable=False),
    Column("administrator", Boolean, nullable=False),
)


def _of_account() -> Column[int]:
    return Column("account", ForeignKey("studio_accounts.id", ondelete="CASCADE"), primary_key=True)


roles = Table(
    "studio_roles",
    metadata,
    _of_account(),
    Column("survey", String(64), primary_key=True),
    Column("role", String(10), nullable=False),
)

sessions = Table(
    "studio_sessions",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("account", ForeignKey("studio_accounts.id", ondelete="CASCADE"), nullable=False),
    Column("expires", Float, nullable=False),
)

#: One-time links with which a new account is made.
setup_links = Table(
    "studio_setup_links",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("administrator", Boolean, nullable=False),
    Column("survey", String(64)),
    Column("role", String(10)),
    Column("expires", Float, nullable=False),
)

api_tokens = Table(
    "studio_tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("account", ForeignKey("studio_accounts.id", ondelete="CASCADE"), nullable=False),
    Column("label", String(200), nullable=False),
    Column("scope", String(10), nullable=False),
    Column("survey", String(64)),
)

audit = Table(
    "studio_audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("account", String(200), nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", Text, nullable=False),
)


def open_engine(path: Path) -> Engine:
    """The engine of an SQLite file, which only its owner may read; missing tables are created."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        engine = create_engine(URL.create("sqlite", database=str(path)), hide_parameters=True)
        event.listen(engine, "connect", _set_up)
        metadata.create_all(engine)
    except (OSError, DBAPIError) as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise StoreError(f"{path}: accounts cannot be stored here: {reason}") from None
    return engine


def _set_up(connection: Any, record: Any) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("PRAGMA busy_timeout = 5000").fetchall()
