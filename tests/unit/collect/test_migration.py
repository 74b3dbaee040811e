"""The layout of the tables."""

from __future__ import annotations

from sqlalchemy import inspect

from tacit.collect.store import Store
from tacit.collect.store.sql_tables import REVISION, VERSION_TABLE, metadata, revision_of


def test_a_new_database_has_the_tables_of_the_newest_layout(url: str) -> None:
    store = Store(url)
    with store.database.reading() as connection:
        assert revision_of(connection) == REVISION
        assert {*inspect(connection).get_table_names()} == {*metadata.tables, VERSION_TABLE}
    store.close()


def test_opening_again_changes_nothing(url: str) -> None:
    Store(url).close()
    store = Store(url)
    assert store.published() == ()
    store.close()
