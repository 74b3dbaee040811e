"""Migrations: bring a database to the layout of this version."""

from __future__ import annotations

from sqlalchemy import Connection, column, inspect, select, table

from tacit.errors import StoreError
from tacit.service.store.sql_tables import REVISION, VERSION_TABLE


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
