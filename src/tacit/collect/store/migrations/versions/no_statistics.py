"""PostgreSQL keeps no sample of links and responses in its statistics.

ANALYZE, which autovacuum runs by itself, copies values of a table into pg_statistic, where the hash
of a link stays after the link was used. No query of the store needs these statistics.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

_COLUMNS = {
    "responses": ("id", "codes", "checksum"),
    "tokens": ("hash",),
    "texts": ("id", "name", "text"),
}


def upgrade() -> None:
    """Turn the statistics of these columns off; SQLite makes none by itself."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")
