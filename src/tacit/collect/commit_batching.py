"""CommitBatching: decides when to commit, so that many responses share a commit.

A commit costs as much for one response as for many, and while it runs, its thread and the event
loop slow each other down. Without load, it begins at the end of the loop's turn. Under load, it
begins when the expected number waits, no more arrive, or the first has waited long enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

#: Responses in the last commit that count as load; arrivals in a moment that promise more.
SEVERAL = 5
#: Seconds: a moment, and the longest that the first response waits for others.
MOMENT, LONGEST = 0.001, 0.025


class CommitBatching:
    """Watches responses in the event loop, and calls `begin` when it is time to commit.

    `waiting` returns how many responses wait.
    """

    def __init__(self, begin: Callable[[], None], waiting: Callable[[], int]) -> None:
        self._begin, self._waiting = begin, waiting
        self._watching: asyncio.AbstractEventLoop | None = None
        self._last = self._expected = self._moves = 0

    def arrived(self, loop: asyncio.AbstractEventLoop) -> None:
        """One more response waits."""
        self._moves += 1
        if self._watching is not loop:
            self._watching = loop
            if self._last < SEVERAL:
                loop.call_soon(self._end)
            else:
                self._watch(loop, loop.time() + LONGEST)
        elif self._waiting() == self._expected:
            self._begin()

    def answered(self, n: int) -> None:
        """A commit answered n responses: their senders may send again, besides those that wait."""
        self._last = n
        self._expected = n + self._waiting()
        self._moves += n

    def _watch(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        loop.call_later(MOMENT, self._look, loop, self._moves, until)

    def _look(self, loop: asyncio.AbstractEventLoop, moves: int, until: float) -> None:
        if self._moves - moves >= SEVERAL and loop.time() < until:
            self._watch(loop, until)
        else:
            self._end()

    def _end(self) -> None:
        self._watching = None
        self._begin()
