"""Add the table of free texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "texts",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
