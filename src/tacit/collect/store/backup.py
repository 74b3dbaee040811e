"""Copy a database at one moment while others write to it, as a backup or to restore one.

The resulting file is a normal database: it can be served, exported or copied back.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from sqlalchemy import insert, select

from tacit.collect.store.database import Database, database
from tacit.collect.store.sql_tables import check_all, metadata, migrate
from tacit.collect.store.sqlite import Sqlite
from tacit.errors import FileError, StoreError

_ROWS = 10_000


def copy(source: Database, out: str | Path) -> None:
    """Copy to a new file, or to the URL of an empty PostgreSQL database.

    Raises StoreError if a record is damaged or missing.
    """
    if isinstance(out, str) and "://" in out:
        target = database(out)
        if not isinstance(target, Sqlite):
            _fill(source, target)
            return
        out = target.shown
    _to_file(source, Path(out))


def _to_file(source: Database, out: Path) -> None:
    """Write a temporary file in the same folder, then rename it."""
    if out.exists():
        raise FileError(f"{out}: already exists; a backup never overwrites a file")
    if not out.parent.is_dir():
        raise FileError(f"{out}: the folder {out.parent} does not exist")
    part = out.with_name(f".tacit-{secrets.token_hex(8)}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        if isinstance(source, Sqlite):
            _check(source)
            source.copy(part)
        else:
            target = Sqlite(part)
            target.shown = str(out)  # in messages
            _fill(source, target)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.rename(out)
    except OSError as error:
        raise FileError(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        for left in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            left.unlink(missing_ok=True)


def _check(source: Database) -> None:
    with source.reading() as connection:
        source.check(connection)
        check_all(connection, source.shown)


def _fill(source: Database, target: Database) -> None:
    """Copy all rows in the order of their keys."""
    try:
        _check(source)
        with source.reading() as here, target.writing() as there:
            target.lock_layout(there)
            migrate(there, target.shown)
            for table in metadata.sorted_tables:
                if there.execute(select(table).limit(1)).first() is not None:
                    raise StoreError(f"{target.shown}: is not empty; copy to an empty database")
                rows = here.execution_options(yield_per=_ROWS).execute(
                    select(table).order_by(*table.primary_key.columns)
                )
                for part in rows.mappings().partitions():
                    there.execute(insert(table), [dict(row) for row in part])
        target.forget_links()
    finally:
        target.close()
