"""The tables (surveys, responses, tokens, texts) and their migrations. No time is finer than a day.

The key of a response is its random id, that of a token its hash. A used token has no row, so that
nothing of it (an order, a transaction number) can be matched with a response. `survey` has no
foreign key: checking it would cost more than the row. A deleted survey keeps its row, closed and
without content, so that its number is never given again. `settled` is the number of records whose
order of arrival is erased.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Date,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    column,
    inspect,
    select,
    table,
)

from tacit.errors import StoreError

#: The newest migration.
REVISION = "0003"
VERSION_TABLE = "tacit_version"
#: The content of a survey that was deleted.
DELETED = ""

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


def _table_per_survey(name: str, key: str, *columns: Column[Any]) -> Table:
    """A table whose rows belong to a survey; SQLite stores them in the order of the random key."""
    survey = Column("survey", Integer, primary_key=True, autoincrement=False)
    random = Column(key, LargeBinary(16), primary_key=True)
    return Table(name, metadata, survey, random, *columns, sqlite_with_rowid=False)


responses = _table_per_survey(
    "responses",
    "id",
    Column("day", Date, nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Column("checksum", LargeBinary(4), nullable=False),
)
tokens = _table_per_survey("tokens", "hash")
#: What people wrote, apart from their records: without a day, and with ids of its own.
texts = _table_per_survey(
    "texts",
    "id",
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
)


def revision_of(connection: Connection) -> str | None:
    """The layout of a database; None if it has no tables of tacit yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))


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
