"""A limit on the memory of this process: its resident memory, which an engine's limit is not.

A thread looks at the resident memory 50 times a second. Above the limit it interrupts the main
thread as Ctrl-C does, and the interruption raises MemoryLimitError. If the main thread does not
react, because it is in compiled code, and memory grows by another quarter, the process ends at
once with the same message and status 2. Work that can choose takes a share of what is left:
batches of files, DuckDB's own limit, records that are fetched. Other processes are not counted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tacit.errors import DataError, MemoryLimitError

#: Seconds between two looks.
PERIOD = 0.02
#: How much of the limit may be used before the process ends at once.
ENOUGH = 1.25
#: What a command needs beyond what the process already takes.
LEAST = 64 << 20
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")
_STATM = Path("/proc/self/statm")

#: Files and folders to remove if the process ends at once.
_unfinished: set[Path] = set()
_watch: _Watch | None = None


def parse_memory(text: str) -> int:
    """Bytes of a text such as "500MB", "1.5 GB" or "512MiB".

    >>> parse_memory("500MB"), parse_memory("1.5 gib")
    (500000000, 1610612736)
    """
    amount = _AMOUNT.fullmatch(text)
    units = {name.lower(): size for name, size in _UNITS.items()}
    size = units.get(amount[2].lower()) if amount else None
    if amount is None or size is None:
        allowed = ", ".join(_UNITS)
        raise DataError(f"{text!r} is no amount of memory; give one such as 500MB, in {allowed}")
    return int(float(amount[1]) * size)


def resident() -> int:
    """Bytes of memory that the process takes now."""
    if _STATM.exists():
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource  # the peak, where the system does not tell the memory in use

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def limited(most: int, share: float) -> int:
    """This many bytes; at most a share of what is left if memory is limited."""
    return most if _watch is None else max(0, min(most, int(share * _watch.left())))


def is_limited() -> bool:
    """Whether the memory of this process is limited."""
    return _watch is not None


def exceeded_error() -> MemoryLimitError | None:
    """The error if the limit is exceeded."""
    return needs_more() if _watch is not None and _watch.exceeded else None


def needs_more() -> MemoryLimitError | None:
    """The error of work that was refused memory because of the limit; None if there is none."""
    return None if _watch is None else MemoryLimitError(_watch.message)


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Raise MemoryLimitError if the process takes more bytes than this inside the block.

    Only in the main thread, and one limit at a time.
    """
    start_limit(most)
    try:
        yield
    except KeyboardInterrupt:
        error = exceeded_error()
        if error is None:
            raise
        raise error from None
    finally:
        end_limit()


def start_limit(most: int) -> None:
    """Limit the memory of the process until `end_limit`."""
    global _watch  # noqa: PLW0603 - a process has one limit
    if _watch is not None:
        raise DataError("the memory of this process is limited already")
    now = resident()
    if most < now + LEAST:
        raise DataError(
            f"a memory limit of {_shown(most)} is too low: the process takes {_shown(now)} before "
            f"any record is read; give at least {_shown(now + LEAST)}"
        )
    _watch = _Watch(most)


def end_limit() -> None:
    """End the limit, if there is one."""
    global _watch  # noqa: PLW0603
    if _watch is not None:
        _watch.end()
        _watch = None


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """A file or folder that must not remain if the process ends at once."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def _shown(n_bytes: int) -> str:
    return f"{-(-n_bytes // 10**6):,} MB"


class _Watch:
    """A limit, the thread that looks after it, and what happens to the main thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.exceeded = False
        self.message = (
            f"needs more than {_shown(most)} of memory, which is the limit; give more, or ask for "
            "fewer attributes"
        )
        self._ended = threading.Event()
        self._before = signal.signal(signal.SIGINT, self._interrupted)
        self._thread = threading.Thread(target=self._look, name="memory limit", daemon=True)
        self._thread.start()

    def left(self) -> int:
        """Bytes to the limit."""
        return self._most - resident()

    def end(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()
        signal.signal(signal.SIGINT, self._before)

    def _look(self) -> None:
        while not self._ended.wait(PERIOD):
            now = resident()
            if now > ENOUGH * self._most:
                self._end_process()
            if now > self._most and not self.exceeded:
                self.exceeded = True
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self.exceeded:
            raise MemoryLimitError(self.message)
        before: Any = self._before
        if callable(before):
            before(number, frame)

    def _end_process(self) -> None:
        for path in list(_unfinished):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        os.write(2, f"error: {self.message}\n".encode())
        os._exit(2)
