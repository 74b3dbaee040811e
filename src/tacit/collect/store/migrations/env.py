"""Alembic runs this file: it migrates on the connection, and in the transaction, of the caller."""

from __future__ import annotations

from alembic import context

from tacit.collect.store.sql_tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
