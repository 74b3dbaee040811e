"""The tables of the studio: accounts, roles, sessions, links, tokens, drafts and the audit log.

They are in an SQLite file of their own, so that nothing here touches the records of respondents.
Secrets are stored as hashes: reading the file is not enough to sign in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateColumn

from tacit.errors import StoreError

metadata = sa.MetaData()
#: Lines of the audit log about a sign-in that failed, and about a name that no account has.
FAILED_SIGN_IN, UNKNOWN_NAME = "sign-in failed", "unknown name"

accounts = sa.Table(
    "studio_accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("administrator", sa.Boolean, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("invited_by", sa.Integer),
)


def _of_account() -> sa.Column[int]:
    return sa.Column(
        "account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE"), primary_key=True
    )


roles = sa.Table(
    "studio_roles",
    metadata,
    _of_account(),
    sa.Column("survey", sa.String(64), primary_key=True),
    sa.Column("role", sa.String(10), nullable=False),
)

sessions = sa.Table(
    "studio_sessions",
    metadata,
    sa.Column("hash", sa.LargeBinary(32), primary_key=True),
    sa.Column("account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE"), nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
)

api_tokens = sa.Table(
    "studio_tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE"), nullable=False),
    sa.Column("label", sa.String(200), nullable=False),
    sa.Column("scope", sa.String(10), nullable=False),
    sa.Column("survey", sa.String(64)),
)

#: One-time links with which a new account is made: by whom, with which token if a program made it,
#: for which survey and role. The link that makes the first account has none of these.
invitations = sa.Table(
    "studio_invitations",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE")),
    sa.Column("token", sa.ForeignKey("studio_tokens.id", ondelete="CASCADE")),
    sa.Column("survey", sa.String(64)),
    sa.Column("role", sa.String(10)),
    sa.Column("expires", sa.Float, nullable=False),
    sqlite_autoincrement=True,  # a number on an old page never means a newer invitation
)

audit = sa.Table(
    "studio_audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("account", sa.String(200), nullable=False),
    sa.Column("action", sa.String(60), nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
)

#: Public keys with which accounts may sign in.
passkeys = sa.Table(
    "studio_passkeys",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE"), nullable=False),
    sa.Column("credential", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("sign_count", sa.Integer, nullable=False),
    sa.Column("label", sa.String(100), nullable=False),
    #: The origin at which it was added; none in the file of an earlier release.
    sa.Column("origin", sa.String(300)),
)

#: Devices on which an account has signed in; guesses from elsewhere do not keep them out.
devices = sa.Table(
    "studio_devices",
    metadata,
    sa.Column("hash", sa.LargeBinary(32), primary_key=True),
    _of_account(),
    sa.Column("expires", sa.Float, nullable=False),
)

#: Survey files that are being written; `version` counts the saves, `published` names the survey.
drafts = sa.Table(
    "studio_drafts",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("title", sa.String(200), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("changed", sa.Float, nullable=False),
    sa.Column("changed_by", sa.String(200), nullable=False),
    sa.Column("published", sa.String(64)),
)


def utc_text(seconds: float) -> str:
    """A time of day, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def rows_of_account(engine: sa.Engine, table: sa.Table, account: int) -> Sequence[Any]:
    """What an account has in a table, oldest first."""
    own = sa.select(table).where(table.c.account == account).order_by(table.c.id)
    with engine.connect() as connection:
        return connection.execute(own).all()


def delete_row(engine: sa.Engine, table: sa.Table, account: int, number: int) -> bool:
    """Delete a row of an account; whether there was one."""
    own = sa.and_(table.c.account == account, table.c.id == number)
    with engine.begin() as connection:
        return connection.execute(sa.delete(table).where(own)).rowcount == 1


def open_engine(path: Path) -> sa.Engine:
    """The engine of an SQLite file, which only its owner may read.

    Missing tables and columns are created; a file of an earlier release keeps its accounts.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        engine = sa.create_engine(URL.create("sqlite", database=str(path)), hide_parameters=True)
        event.listen(engine, "connect", _set_up)
        metadata.create_all(engine)
        _bring_up_to_date(engine)
    except (OSError, DBAPIError) as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise StoreError(f"{path}: accounts cannot be stored here: {reason}") from None
    return engine


def _bring_up_to_date(engine: sa.Engine) -> None:
    """Add the columns that the file of an earlier release does not have.

    Its links did not say who made them, so that they cannot be checked: they no longer work. Its
    audit log had whatever was typed as a name, passwords too: only names of accounts stay.
    """
    typed = sa.and_(audit.c.action == FAILED_SIGN_IN, audit.c.account != "")
    others = sa.and_(typed, audit.c.account.not_in(sa.select(accounts.c.name)))
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS studio_setup_links"))
        for table in metadata.sorted_tables:
            present = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
            for column in table.columns:
                if column.name not in present:
                    layout = CreateColumn(column).compile(connection)
                    connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN {layout}"))
        changed = sa.update(audit).where(others).values(account="", subject=UNKNOWN_NAME)
        connection.execute(changed)


def _set_up(connection: Any, record: Any) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("PRAGMA busy_timeout = 5000").fetchall()
