"""A connection to DuckDB with a share of the memory, a temporary folder, and no output.

DuckDB's limit counts most of its memory, but neither results nor what the process has already: it
gets half of what is left. Beyond it, DuckDB writes to the temporary folder, which is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tacit.core.imports import optional_imports
from tacit.records.duckdb_codes import literal_sql
from tacit.records.memory_limit import is_limited, limited, unfinished

with optional_imports():
    import duckdb

#: DuckDB's threads each need about this much to group records.
THREAD_BYTES = 96 << 20


@contextmanager
def duckdb_connection() -> Iterator[Any]:
    """A new connection, closed at the end."""
    with (
        TemporaryDirectory(prefix="tacit-duckdb-", ignore_cleanup_errors=True) as folder,
        unfinished(Path(folder)),
        duckdb.connect() as connection,
    ):
        settings: dict[str, str | int | bool] = {
            "preserve_insertion_order": False,
            "enable_progress_bar": True,  # so that it can be asked for
            "enable_progress_bar_print": False,
            "temp_directory": folder,
        }
        if is_limited():
            room = limited(1 << 62, 1 / 2)
            settings["memory_limit"] = f"{room // 1024} KiB"
            settings["threads"] = max(1, min(os.cpu_count() or 1, room // THREAD_BYTES))
        for name, value in settings.items():
            connection.execute(f"SET {name} = {literal_sql(value)}")
        yield connection
