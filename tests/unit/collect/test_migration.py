"""The layout of the tables, and the steps to it."""

from __future__ import annotations

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tacit.collect.store import Store, sql_tables
from tacit.collect.store.sql_tables import REVISION, VERSION_TABLE, metadata, revision_of


def test_the_newest_step_is_what_the_program_knows() -> None:
    folder = Path(sql_tables.__file__).with_name("migrations")
    assert ScriptDirectory(str(folder)).get_heads() == [REVISION]


def test_the_steps_lead_to_the_tables(url: str) -> None:
    store = Store(url)
    with store.database.reading() as connection:
        assert revision_of(connection) == REVISION
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    store.close()


def test_opening_again_changes_nothing(url: str) -> None:
    Store(url).close()
    store = Store(url)
    assert store.published() == ()
    store.close()
