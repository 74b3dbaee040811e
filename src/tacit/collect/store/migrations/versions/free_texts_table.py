"""Add the table of free texts."""

from __future__ import annotations

import sqlalchemy as sa

from tacit.collect.store.migrations.survey_rows import create_table_per_survey

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table."""
    columns = [sa.Column(name, sa.Text, nullable=False) for name in ("name", "text")]
    create_table_per_survey("texts", "id", *columns)
