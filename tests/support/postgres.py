"""A PostgreSQL server of its own for tests: in a temporary folder, reached by a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

_INSTALLED = ("/usr/lib/postgresql", "/usr/local/lib/postgresql")
#: As an administrator who cares would set it: used segments of the log are removed, not kept.
_SETTINGS = {
    "listen_addresses": "",
    "wal_recycle": "off",
    "min_wal_size": "32MB",
    "max_connections": "50",
}


def binaries() -> Path | None:
    """The folder of the newest PostgreSQL that is installed."""
    folders = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    for place in _INSTALLED:
        folders += sorted(Path(place).glob("*/bin"), key=_version, reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


class Cluster:
    """A server that is started at once; `url()` makes a place for one store.

    If `in_memory`, it does not wait for a disk at every commit, where there is enough memory.
    """

    def __init__(self, *, in_memory: bool = False, **settings: str) -> None:
        found = binaries()
        assert found is not None, "PostgreSQL is not installed"
        self._binaries = found
        self.folder = Path(
            tempfile.mkdtemp(prefix="tacit-pg-", dir=_memory() if in_memory else None)
        )
        self._user = _unprivileged()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        own = ("-A", "trust", "-U", "tacit", "-E", "UTF8", "--no-sync")
        self._run("initdb", "-D", self.data, *own)
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder), **settings}
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{key} = '{value}'\n" for key, value in settings.items())
        self._schemas = 0
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        self._control("start")

    def restart(self, mode: str = "fast") -> None:
        """Stop at once ("immediate" is as if it crashed) and start again."""
        self._control("restart", "-m", mode)

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self) -> str:
        """A new, empty schema of the database, which is much quicker than a database."""
        self._schemas += 1
        name = f"survey{self._schemas}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.address}&options=-csearch_path%3D{name}"

    @property
    def address(self) -> str:
        return f"postgresql://tacit@/postgres?host={self.folder}"

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            [self._binaries / program, *arguments],
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,  # the server would hold a pipe open
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            log = self.folder / "log"
            said = log.read_text(errors="replace") if log.exists() else ""
            raise RuntimeError(f"{program} {' '.join(map(str, arguments))} failed: {said[-2000:]}")


def _memory() -> str | None:
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30 else None


def _unprivileged() -> str | None:
    """Whom to run as where this is root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)
