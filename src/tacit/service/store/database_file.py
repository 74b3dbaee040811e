"""DatabaseFile: whether the files that SQLite has open are still the ones at their paths.

SQLite keeps writing to a file that was deleted, moved or replaced, and its commits succeed. So
device and inode of the database, its log and its lock file are noted when they are opened and
compared with what the paths name now. The time and size of the last change show whether another
program wrote into the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import StoreError


class DatabaseFile:
    """A database file that exists, under the path that was given and its real path.

    SQLite names the log after the real path: two hard links would get two logs, which destroys the
    database. So a file with several names is refused.
    """

    def __init__(self, path: Path) -> None:
        self._given = Path(os.path.abspath(path))
        self.real = self._given.resolve()
        self._log = [Path(f"{self.real}{end}") for end in ("-wal", "-shm")]
        self._noted = {self._given: _identity(self._given)}
        self._content: tuple[int, int] | None = None
        self._damaged = False
        if self._given.stat().st_nlink > 1:
            raise StoreError(
                f"{path}: the file has more than one name (hard links); SQLite would keep a log "
                "for each. Remove the other names, or serve a copy"
            )

    @property
    def uri(self) -> str:
        """Opens the file; fails where it is missing, instead of creating an empty one."""
        return f"{self.real.as_uri()}?mode=rw"

    @property
    def lock(self) -> Path:
        """The lock file: the same for every symbolic link to the database."""
        return Path(f"{self.real}.lock")

    def note_open(self) -> None:
        """Note the log and the lock file; a connection must be open."""
        for path in (*self._log, self.lock):
            self._noted[path] = _identity(path)

    def note_closed(self) -> None:
        """The log may be deleted and created again from now on, by SQLite."""
        for path in self._log:
            self._noted.pop(path, None)

    def note_content(self) -> None:
        """Note that all changes up to now are our own."""
        self._content = self._changed()

    def changed_by_others(self) -> bool:
        """Whether somebody else may have written to the file since `note_content`."""
        return self._content is not None and self._changed() != self._content

    def note_damage(self) -> None:
        """Note that the file does not hold what was written; only a restart helps."""
        self._damaged = True

    def lost(self) -> str | None:
        """What happened to the files; None if they are in place."""
        for path, own in self._noted.items():
            if _identity(path) != own:
                return f"{path.name} was deleted, moved or replaced while it was open"
        return f"{self.real.name} was overwritten while it was open" if self._damaged else None

    def log_size(self) -> int:
        """Bytes in the log."""
        return self._log[0].stat().st_size

    def _changed(self) -> tuple[int, int] | None:
        try:
            found = self._given.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
