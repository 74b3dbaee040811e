"""The first layout: surveys, responses, tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tacit.collect.store.migrations.survey_rows import create_table_per_survey

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the three tables."""
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
    create_table_per_survey(
        "responses",
        "id",
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
    )
    create_table_per_survey("tokens", "hash")
