"""Deadline: a watchdog thread that notices when work takes too long.

The working thread may hang in a call that never returns, so it cannot watch itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Longest pause between two checks in seconds; a quarter of the deadline if that is less.
_PAUSE = 0.25


class Deadline:
    """Watches one piece of work at a time, each for the same number of seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._late: Callable[[], None] | None = None
        self._until = 0.0
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="tacit-deadline", daemon=True).start()

    @contextmanager
    def watching(self, late: Callable[[], None]) -> Iterator[None]:
        """Call `late` if the block exceeds the deadline, and again after each further one.

        The watchdog thread calls it, and never after the block has ended.
        """
        with self._lock:
            self._late, self._until = late, time.monotonic() + self.seconds
        try:
            yield
        finally:
            with self._lock:
                self._late = None

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(min(_PAUSE, self.seconds / 4)):
            with self._lock:
                if self._late is not None and time.monotonic() >= self._until:
                    self._until += self.seconds
                    self._late()
