"""Add a checksum per record, and compute those of existing records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tacit.collect.store.migrations.survey_rows import create_table_per_survey
from tacit.collect.store.sql_tables import checksums

revision = "0002"
down_revision = "0001"

_ROWS = 10_000
_OLD = sa.text(
    "SELECT id, day, codes FROM responses WHERE survey = :survey AND id > :after "
    f"ORDER BY id LIMIT {_ROWS}"
)
_NEW = sa.text("INSERT INTO checked_responses VALUES (:survey, :id, :day, :codes, :checksum)")


def upgrade() -> None:
    """Copy the records to a new table, in the order of their ids, and rename it."""
    create_table_per_survey(
        "checked_responses",
        "id",
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.LargeBinary(4), nullable=False),
    )
    bind = op.get_bind()
    for number, survey in bind.execute(sa.text("SELECT number, fingerprint FROM surveys")).all():
        after = b""
        while rows := bind.execute(_OLD, {"survey": number, "after": after}).all():
            for row in rows:
                (checksum,) = checksums(survey, str(row.day), [(row.id, row.codes)])
                bind.execute(_NEW, {**row._mapping, "survey": number, "checksum": checksum})
            after = rows[-1].id
    op.drop_table("responses")
    op.rename_table("checked_responses", "responses")
