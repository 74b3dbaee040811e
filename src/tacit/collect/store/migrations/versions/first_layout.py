"""The first layout: surveys, responses, tokens, texts. It never changes: later steps change it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = None


def upgrade() -> None:
    """Create the four tables."""
    op.create_table(
        "surveys",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.String(64), nullable=False, unique=True),
        sa.Column("published", sa.Text, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("settled", sa.Integer, nullable=False),
        sa.Column("issued", sa.Integer, nullable=False),
    )
    _create_table_per_survey(
        "responses",
        "id",
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.LargeBinary(4), nullable=False),
    )
    _create_table_per_survey("tokens", "hash")
    _create_table_per_survey(
        "texts",
        "id",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )


def _create_table_per_survey(name: str, key: str, *columns: sa.Column[Any]) -> None:
    """Create a table whose rows belong to a survey and are stored in the order of a random key."""
    op.create_table(
        name,
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(key, sa.LargeBinary(16), primary_key=True),
        *columns,
        sqlite_with_rowid=False,
    )
