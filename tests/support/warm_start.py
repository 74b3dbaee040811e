"""Processes of tacit that need not import it again: importing takes most of a server's start.

One process per test run imports `tacit serve`, and `tacit studio` once a test starts one. It forks
for each server that a test asks for. A server is a process of its own, runs the command line as
`python -m tacit` does and has its own standard output and error. If a test changes what Python
itself reads from the environment, the process starts from nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
_LARGEST = 1 << 17
_AT_FIRST = dict(os.environ)
_UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
#: Beginnings of variables that Python or a library reads when it starts. Others are read when a
#: command runs, or never: some packages set variables when tests import them.
_READ_FIRST = ("PYTHON", "LD_", "LANG", "LC_", "TZ", "MALLOC_", "OMP_", "OPENBLAS_")
#: What a server imports, the last ones when it opens its database and answers the first request.
_IMPORTED = (
    "tacit.cli.serve",
    "tacit.collect.server",
    "tacit.collect.store.postgres",
    "tacit.collect.store.sqlite",
    "alembic.command",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "encodings.idna",
)
#: What some commands import in addition.
_IMPORTED_FOR = {"studio": ("tacit.studio.server",)}


class Forked:
    """A server that another process forked: what tests use of `subprocess.Popen`."""

    def __init__(self, ended: IO[str], stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self._ended = ended
        self.pid = int(ended.readline())
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(["tacit"], timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(int(self._ended.readline()))
            self._ended.close()
        return self.returncode

    def send_signal(self, sent: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sent)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


#: A running command.
Process = subprocess.Popen[str] | Forked


def start(
    arguments: Sequence[str],
    stdout: int | IO[Any] = subprocess.PIPE,
    stderr: int | IO[Any] = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    module: str = "tacit.cli",
    passed: socket.socket | None = None,
) -> Process:
    """The `main` of a module with these arguments; what it prints is not buffered.

    `passed` is a listening socket that it gets as from systemd.
    """
    environment = dict(os.environ if env is None else env) | _UNBUFFERED
    if _read_first(environment) != _read_first(_AT_FIRST | _UNBUFFERED) or _parent() is None:
        assert passed is None, "only a forked process gets a socket"
        run = f"import sys, {module} as it; it.main(sys.argv[1:])"
        command = [sys.executable, "-c", run, *arguments]
        return subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, env=environment)
    wanted = {"module": module, "arguments": list(arguments), "environment": environment}
    return _forked({**wanted, "folder": os.getcwd()}, (stdout, stderr), passed)


def _read_first(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_FIRST)}


def _forked(
    wanted: dict[str, Any], given: tuple[int | IO[Any], ...], passed: socket.socket | None
) -> Forked:
    parent = _parent()
    assert parent is not None
    ended, told = os.pipe()
    theirs, ours = [told], []
    for stream in given:
        if stream == subprocess.PIPE:
            read, write = os.pipe()
            theirs.append(write)
            ours.append(os.fdopen(read, encoding="utf-8"))
        else:
            theirs.append(os.dup(stream if isinstance(stream, int) else stream.fileno()))
            ours.append(None)
    if passed is not None:
        theirs.append(os.dup(passed.fileno()))
    socket.send_fds(parent, [json.dumps(wanted).encode()], theirs)
    for one in theirs:
        os.close(one)
    return Forked(os.fdopen(ended, encoding="ascii"), *ours)


@cache
def _parent() -> socket.socket | None:
    """The connection to the process that forks; None where the system cannot fork."""
    if not hasattr(os, "fork"):
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    paths = os.pathsep.join([str(ROOT), *filter(None, [_AT_FIRST.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.warm_start", str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # Python notes of its streams whether they are files
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**_AT_FIRST, "PYTHONPATH": paths, **_UNBUFFERED},
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# In the process that forks ----------------------------------------------------------------------


def _wanted(control: socket.socket) -> dict[str, Any] | None:
    """In a new process, what is to be run next; None at the end of the tests."""
    while True:
        message, files, _, _ = socket.recv_fds(control, _LARGEST, 4)
        _reap(os.WNOHANG)
        if not message:
            return None
        wanted: dict[str, Any] = json.loads(message)
        _import(_IMPORTED_FOR.get(wanted["arguments"][0], ()))
        if os.fork() == 0:
            control.close()
            _become(wanted, *files)
            return wanted
        for file in files:
            os.close(file)


def _import(names: Sequence[str]) -> None:
    """Import modules that are not there yet, as things that are never garbage."""
    missing = [name for name in names if name not in sys.modules]
    if missing:
        for name in missing:
            import_module(name)
        gc.collect()
        gc.freeze()


def _become(
    wanted: dict[str, Any], told: int, stdout: int, stderr: int, passed: int | None = None
) -> None:
    """Fork again: one process waits for the other and tells its exit status."""
    if (pid := os.fork()) != 0:
        for file in filter(None, (stdout, stderr, passed)):
            os.close(file)
        os.write(told, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, b"%d\n" % status)
        os._exit(0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    if passed is not None:
        os.dup2(passed, 3)
        wanted["environment"] |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    os.closerange(3 if passed is None else 4, 1024)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    random.seed()


def _reap(options: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def main() -> None:
    """Import what servers need, then fork as asked until the tests end."""
    _import(_IMPORTED)
    wanted = _wanted(socket.socket(fileno=int(sys.argv[1])))
    if wanted is None:
        _reap(0)
    else:
        import_module(wanted["module"]).main(wanted["arguments"])


if __name__ == "__main__":
    main()
