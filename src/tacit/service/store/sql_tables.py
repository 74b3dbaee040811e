"""The tables (surveys, responses, tokens) and their migrations. No time is finer than a day.

The key of a response is its random id, that of a token its hash. A used token has no row, so that
nothing of it (an order, a transaction number) can be matched with a response. `survey` has no
foreign key: checking it would cost more than the row, and surveys are never deleted. `settled` is
the number of records whose order of arrival is erased.
"""

from __future__ import annotations

import sqlalchemy as sa

from tacit.errors import StoreError

#: The newest migration.
REVISION = "0002"
VERSION_TABLE = "tacit_version"

metadata = sa.MetaData()

surveys = sa.Table(
    "surveys",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("fingerprint", sa.String(64), nullable=False, unique=True),
    sa.Column("published", sa.Text, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("settled", sa.Integer, nullable=False),
    sa.Column("issued", sa.Integer, nullable=False),
)

responses = sa.Table(
    "responses",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.LargeBinary(16), primary_key=True),
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("codes", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.LargeBinary(4), nullable=False),
    sqlite_with_rowid=False,
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)


def revision_of(connection: sa.Connection) -> str | None:
    """The layout of a database; None if it has no tables of tacit yet."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(
        sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE))
    )


def migrate(connection: sa.Connection, shown: str) -> None:
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
