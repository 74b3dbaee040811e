"""DatabaseFile: whether the open files of SQLite are still the ones at their paths.

SQLite keeps writing to a file that was deleted, moved or replaced, and its commits succeed. So the
device and inode of the database, its log and its lock file are recorded when they are opened, and
compared with the paths later. Modification time and size show whether another program wrote to
the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import StoreError

_IDENTITY = ("st_dev", "st_ino")
_CONTENT = ("st_mtime_ns", "st_size")


class DatabaseFile:
    """An existing database file, by the given path and its real path.

    SQLite names the log after the real path: two hard links would get two logs, which destroys the
    database. So a file with several hard links is refused.
    """

    def __init__(self, path: Path) -> None:
        self._given = Path(os.path.abspath(path))
        self.real = self._given.resolve()
        self._log = [Path(f"{self.real}{end}") for end in ("-wal", "-shm")]
        self._noted = {self._given: _figures(self._given, *_IDENTITY)}
        self._content: tuple[int, ...] | None = None
        self._damaged = False
        if self._given.stat().st_nlink > 1:
            raise StoreError(
                f"{path}: the file has more than one name (hard links); SQLite would keep a log "
                "for each. Remove the other names, or serve a copy"
            )

    @property
    def uri(self) -> str:
        """URI that opens the file, and fails if it is missing instead of creating one."""
        return f"{self.real.as_uri()}?mode=rw"

    @property
    def lock(self) -> Path:
        """The lock file: the same for every symbolic link to the database."""
        return Path(f"{self.real}.lock")

    def note_open(self) -> None:
        """Record the log and the lock file; a connection must be open."""
        for path in (*self._log, self.lock):
            self._noted[path] = _figures(path, *_IDENTITY)

    def note_closed(self) -> None:
        """From now on SQLite may delete and create the log."""
        for path in self._log:
            self._noted.pop(path, None)

    def note_content(self) -> None:
        """Record that all changes so far are our own."""
        self._content = _figures(self._given, *_CONTENT)

    def changed_by_others(self) -> bool:
        """Whether another program may have written to the file since `note_content`."""
        changed = _figures(self._given, *_CONTENT) != self._content
        return changed and self._content is not None

    def note_damage(self) -> None:
        """Record that the file does not contain what was written; only a restart helps."""
        self._damaged = True

    def lost(self) -> str | None:
        """What happened to the files; None if they are in place."""
        for path, own in self._noted.items():
            if _figures(path, *_IDENTITY) != own:
                return f"{path.name} was deleted, moved or replaced while it was open"
        return f"{self.real.name} was overwritten while it was open" if self._damaged else None

    def log_size(self) -> int:
        """Bytes in the log."""
        return self._log[0].stat().st_size


def _figures(path: Path, *names: str) -> tuple[int, ...] | None:
    """Figures of a file, as `os.stat` names them; None if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return tuple(getattr(found, name) for name in names)
