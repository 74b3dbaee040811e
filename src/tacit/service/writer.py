"""Writer: one thread that stores all that waits in one transaction, then answers all of it.

A commit waits for the disk. Responses that come meanwhile wait together and share the next commit,
so that the more come, the less each costs (group commit).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from typing import TypeAlias

from tacit.errors import Busy, StoreError, Unavailable
from tacit.service.commit_batching import CommitBatching
from tacit.service.deadline import Deadline
from tacit.service.store import Outcome, Response, Store

CAPACITY, MOST = 10_000, 1_000
#: Seconds without a response after which there is time to put the store in order; the first time,
#: and from then on, so that what came yesterday is settled today.
IDLE, LONG_IDLE = 0.1, 600.0
#: Seconds between looks whether the database is still where it was, while nothing comes.
LOOK = 1.0
#: Commits after which the store is put in order all the same.
MOST_COMMITS = 2_000
#: Seconds between attempts to reach a database that is gone: from, to.
BACK_OFF = (0.05, 2.0)
#: Seconds that putting all records in order may take: while the service runs, and at its end.
LONGEST_ERASURE, LAST_ERASURE = 600.0, 60.0

_Waiting: TypeAlias = tuple[Response, "asyncio.Future[Outcome]"]
#: Told after each commit: how many responses it held, and its seconds.
Watch: TypeAlias = Callable[[int, float], None]


class Writer:
    """Takes responses from one event loop and stores them from one thread of its own.

    `capacity` bounds what waits, `most` what one transaction holds; `store.write_seconds` how long
    it may take. Raises StoreError at once if another server writes to the store.
    """

    def __init__(
        self,
        store: Store,
        capacity: int = CAPACITY,
        most: int = MOST,
        today: Callable[[], date] = date.today,
        watch: Watch | None = None,
    ) -> None:
        self.store = store
        self._capacity, self._most, self._today, self._watch = capacity, most, today, watch
        self._queue: deque[_Waiting] = deque()
        self._called, self._stopping = threading.Event(), threading.Event()
        self._batching = CommitBatching(self._called.set, self._queue.__len__)
        self._taking = threading.Lock()  # of responses out of the queue
        self._under_way: list[_Waiting] = []
        self._down: str | None = None
        #: How often responses could not be stored any more, and why the last time.
        self.outages, self.failure = 0, ""
        store.claim()
        self._deadline = Deadline(store.write_seconds)
        self._tidied = self._tidy()
        self._thread = threading.Thread(target=self._work, name="tacit-writer", daemon=True)
        self._thread.start()

    async def submit(self, response: Response) -> Outcome:
        """What became of a response, once that is durable; Busy or Unavailable if nothing did."""
        if not self.ready:
            raise Unavailable(self._down or "the service is stopping")
        if len(self._queue) >= self._capacity:
            raise Busy(f"{self._capacity:,} responses wait already; try again soon")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        self._queue.append((response, future))
        self._batching.arrived(loop)
        return await future

    @property
    def waiting(self) -> int:
        """How many responses wait."""
        return len(self._queue)

    @property
    def ready(self) -> bool:
        """Whether responses are stored at present."""
        going = self._thread.is_alive() and not self._stopping.is_set()
        return going and self._down is None

    def close(self) -> None:
        """Store all that waits, put the store in order and stop. Not to be called by the loop.

        A database that hangs is given up.
        """
        self._stopping.set()
        self._called.set()
        self._thread.join(LAST_ERASURE + 4 * self._deadline.seconds)
        self._deadline.end()

    def _work(self) -> None:
        commits, last = 0, False
        while not last:
            called = self._called.wait(min(LOOK, LONG_IDLE) if self._tidied else IDLE)
            self._called.clear()
            batch = self._next()
            if batch:
                self._store(batch)
                commits += 1
                self._tidied = False
            elif not called:
                self._look()
            last = self._stopping.is_set() and not self._queue
            if last or commits >= MOST_COMMITS or (not called and self._idle_long()):
                self._tidied = self._tidy(last)
                commits = 0

    def _idle_long(self) -> bool:
        """Whether it is time to put the store in order, if nothing comes."""
        return not self._tidied or time.monotonic() >= self._tidied_at + LONG_IDLE

    def _look(self) -> None:
        """Find out that the database is gone before somebody sends a response."""
        self._under_way = []
        try:
            with self._deadline.watching(self._late):
                self.store.check_there()
        except Exception as error:  # whatever it is, it may pass
            self._fail(_said(error))
            self._recover(1)

    def _next(self) -> list[_Waiting]:
        """All that waits, or as much of it as a transaction may hold."""
        with self._taking:
            batch = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
        if self._queue:
            self._called.set()
        return batch

    def _store(self, batch: list[_Waiting]) -> None:
        start = time.perf_counter()
        self._under_way = batch
        try:
            with self._deadline.watching(self._late):
                outcomes = self.store.write([response for response, _ in batch], self._today())
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._fail(_said(error))
            self._tell(batch, Unavailable(self.failure))
            self._recover(len(batch))
            return
        if self._watch is not None:
            self._watch(len(batch), time.perf_counter() - start)
        self._down = None  # if it was late, it was stored all the same
        self._tell(batch, outcomes)

    def _recover(self, n: int) -> None:
        """Wait until a batch of n responses can be stored; what comes meanwhile is refused."""
        pause, longest = BACK_OFF
        while not self._stopping.is_set():
            self._refuse_waiting()
            try:
                with self._deadline.watching(self._late):
                    self.store.test_write(n)
            except Exception as error:  # whatever it is, it may pass
                self._fail(_said(error))
                self._stopping.wait(pause)
                pause = min(2 * pause, longest)
            else:
                self._down = None
                break

    def _late(self) -> None:
        """The database hangs: tell all who wait, and break the connection. By the other thread.

        What hangs may be stored nevertheless; it is not acknowledged, and a retry counts once.
        """
        self._fail(f"the database did not answer within {self._deadline.seconds:g} seconds")
        batch, self._under_way = self._under_way, []
        if batch:
            self._tell(batch, Unavailable(self.failure))
        self._refuse_waiting()
        self.store.break_connections()

    def _late_tidying(self) -> None:
        """Putting records in order may take long, but nobody waits for it longer than for a write.

        A database that hangs is given up. By the other thread.
        """
        took = time.monotonic() - self._tidied_at
        allowed = LAST_ERASURE if self._stopping.is_set() else LONGEST_ERASURE
        if not self.store.erasing_order or took > allowed:
            self._late()
        elif self._queue:
            self._fail("records are put in order; try again soon")
            self._refuse_waiting()

    def _fail(self, why: str) -> None:
        """Responses cannot be stored at present."""
        self.outages += self._down is None
        self._down = self.failure = why

    def _refuse_waiting(self) -> None:
        while batch := self._next():
            self._tell(batch, Unavailable(self._down or "the database does not answer"))

    def _tidy(self, last: bool = False) -> bool:
        """Settle, empty the log; False if that is to be tried again soon, since others read it.

        Whatever fails here is found out by the next write, or tried again after a long pause.
        """
        if self._down is not None:  # at the end: there is no database to put in order
            return True
        empty = True
        self._tidied_at, self._under_way = time.monotonic(), []
        with suppress(Exception), self._deadline.watching(self._late_tidying):
            if last:
                self.store.erase_order()
            else:
                empty = self.store.tidy(self._today())
        if self._down is not None:
            self._recover(1)
        return empty

    def _tell(self, batch: Sequence[_Waiting], told: Sequence[Outcome] | Unavailable) -> None:
        """Answer a batch, in one call to its loop; a loop that is closed has nobody waiting."""

        def answer() -> None:
            self._batching.answered(len(batch))
            for place, (_, future) in enumerate(batch):
                if future.done():  # its caller left
                    continue
                if isinstance(told, Unavailable):
                    future.set_exception(told)
                else:
                    future.set_result(told[place])

        with suppress(RuntimeError):
            batch[0][1].get_loop().call_soon_threadsafe(answer)


def _said(error: Exception) -> str:
    """What may be told of an error: of one that was not foreseen its kind only."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__
