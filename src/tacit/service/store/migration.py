"""Bringing a database to the layout that this program knows."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table

from tacit.errors import StoreError
from tacit.service.store.sql_tables import REVISION, VERSION_TABLE

_FOLDER = Path(__file__).with_name("migrations")


def revision_of(connection: Connection) -> str | None:
    """The layout that a database has; None if it holds no tables of tacit yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))


def migrate(connection: Connection, shown: str) -> None:
    """Take the steps that are missing, in the transaction under way; refuse a newer database."""
    current = revision_of(connection)
    if current != REVISION:
        _take_steps(connection, current, shown)


def _take_steps(connection: Connection, current: str | None, shown: str) -> None:
    from alembic.config import Config  # slow to start, and nearly never needed
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(_FOLDER))
    if current is not None and current not in {step.revision for step in script.walk_revisions()}:
        raise StoreError(
            f"{shown}: the database has layout {current!r}, this tacit knows up to {REVISION!r}; "
            "upgrade tacit"
        )

    def steps(revision: str, _: object) -> list[object]:
        return list(script._upgrade_revs(REVISION, revision))

    with EnvironmentContext(Config(), script, fn=steps) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        environment.run_migrations()
