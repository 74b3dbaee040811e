"""What the steps share. It never changes: a step must make the same tables forever."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op


def create_table_per_survey(name: str, key: str, *columns: sa.Column[Any]) -> None:
    """Create a table whose rows belong to a survey and are stored in the order of a random key."""
    op.create_table(
        name,
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(key, sa.LargeBinary(16), primary_key=True),
        *columns,
        sqlite_with_rowid=False,
    )
