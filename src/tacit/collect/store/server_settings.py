"""Settings of a PostgreSQL server that keep the order or the time of responses.

They are checked at every start. Each one becomes a warning that says what is kept and how the
administrator can stop it.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

_SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY (:names)"
_SLOTS = "SELECT slot_name FROM pg_replication_slots ORDER BY slot_name"
_MAY_CHECKPOINT = """
SELECT has_function_privilege('pg_switch_wal()', 'execute')
   AND (SELECT bool_or(pg_has_role(oid, 'member')) FROM pg_roles
        WHERE rolname = 'pg_checkpoint' OR (rolname = current_user AND rolsuper))
"""

_STATEMENTS = "the server logs statements of submissions with the time of day"
_ARCHIVED = (
    "copies of the write-ahead log keep which records and used links belong together, and when"
)


#: For each setting what it keeps, and the harmless values; the first one is recommended.
RISKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "log_statement": (_STATEMENTS, ("none", "ddl")),
    "log_duration": (_STATEMENTS, ("off",)),
    "log_min_duration_statement": (_STATEMENTS, ("-1",)),
    "log_min_duration_sample": (_STATEMENTS, ("-1",)),
    "log_transaction_sample_rate": (_STATEMENTS, ("0",)),
    "auto_explain.log_min_duration": (_STATEMENTS, ("-1",)),
    "pgaudit.log": (_STATEMENTS, ("none", "")),
    "track_commit_timestamp": ("the server keeps the time of each commit", ("off",)),
    "archive_mode": (_ARCHIVED, ("off",)),
    "wal_level": (
        "other programs can follow the write-ahead log row by row",
        ("replica", "minimal"),
    ),
    "wal_recycle": (
        "old segments of the write-ahead log stay on disk until they are overwritten",
        ("off",),
    ),
    "wal_keep_size": ("so many megabytes of the write-ahead log stay on disk", ("0",)),
}


def warnings(connection: Connection) -> list[str]:
    """A sentence for each setting that keeps order or time, and about the write-ahead log."""
    found = connection.execute(text(_SETTINGS), {"names": list(RISKS)})
    values: dict[str, str] = {row.name: row.setting for row in found}
    said = [
        f"PostgreSQL: {name} is {values[name]}: {kept}; set it to {harmless[0]}"
        for name, (kept, harmless) in RISKS.items()
        if values.get(name, harmless[0]) not in harmless
    ]
    slots = list(connection.scalars(text(_SLOTS)))
    if slots:
        said.append(
            f"PostgreSQL: replication slots ({', '.join(slots)}) keep the write-ahead log until "
            f"it is read: {_ARCHIVED}; drop them"
        )
    if not may_checkpoint(connection):
        said.append(
            "PostgreSQL: this role may not end a segment of the write-ahead log, which keeps "
            "which records and used links belong together until two checkpoints have passed "
            "(checkpoint_timeout); grant pg_checkpoint, and execute on function pg_switch_wal()"
        )
    return said


def may_checkpoint(connection: Connection) -> bool:
    """Whether the role may end a segment of the write-ahead log, so that it is removed."""
    return bool(connection.scalar(text(_MAY_CHECKPOINT)))
