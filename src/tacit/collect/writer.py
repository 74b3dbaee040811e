"""Writer: one thread stores all waiting responses in one transaction, then acknowledges them.

A commit waits for the disk. Responses that arrive meanwhile share the next commit (group commit),
so the more arrive, the less each costs.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from typing import TypeAlias

from tacit.collect.store import Outcome, Response, Store
from tacit.errors import Busy, StoreError, Unavailable

#: Responses in the last commit that count as load; arrivals in a moment that promise more.
SEVERAL = 5
#: Seconds: a moment, and the longest that the first response waits for others.
MOMENT, LONGEST = 0.001, 0.025


class CommitBatching:
    """Watches responses in the event loop, and calls `begin` when it is time to commit.

    `waiting` returns how many responses wait.

    A commit costs as much for one response as for many, and while it runs, its thread and the event
    loop slow each other down. Without load, it begins at the end of the loop's turn. Under load, it
    begins when the expected number waits, no more arrive, or the first has waited long enough.
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


#: Longest pause between two checks in seconds; a quarter of the deadline if that is less.
_PAUSE = 0.25


class Deadline:
    """Watches one piece of work at a time, each for the same number of seconds.

    The working thread may hang in a call that never returns, so it cannot watch itself.
    """

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


CAPACITY, MOST = 10_000, 1_000
#: Seconds after which the store is tidied if it stored something, and otherwise, so that
#: yesterday's order is erased today. With nothing stored for as long as the first, it is quiet.
IDLE, LONG_IDLE = 0.1, 600.0
#: Seconds between checks of the database while nothing arrives.
CHECK_SECONDS = 1.0
#: Seconds between attempts to reach a lost database: first, longest.
BACK_OFF = (0.05, 2.0)
#: Seconds that erasing the order may take: while the service runs, and at its end.
LONGEST_ERASURE, LAST_ERASURE = 600.0, 60.0

_Waiting: TypeAlias = tuple[Response, "asyncio.Future[Outcome]"]


class Writer:
    """Accepts responses from one event loop and stores them in its own thread.

    `capacity` limits how many wait, `most` how many a transaction stores, `store.write_seconds` how
    long that may take. `watch` is called after each commit with its duration in seconds. Raises
    StoreError if another server writes to the same SQLite file.
    """

    def __init__(
        self,
        store: Store,
        capacity: int = CAPACITY,
        most: int = MOST,
        today: Callable[[], date] = date.today,
        watch: Callable[[float], object] = lambda seconds: None,
    ) -> None:
        self.store = store
        self._capacity, self._most, self._today, self._watch = capacity, most, today, watch
        self._queue: deque[_Waiting] = deque()
        self._called, self._stopping = threading.Event(), threading.Event()
        self._batching = CommitBatching(self._called.set, self._queue.__len__)
        self._taking = threading.Lock()  # of responses out of the queue
        self._under_way: list[_Waiting] = []
        self._down: str | None = None
        #: How often storing began to fail, and the latest reason.
        self.outages, self.failure = 0, ""
        store.claim()
        self._deadline = Deadline(store.write_seconds)
        self._stored_at = -IDLE  # on the monotonic clock
        self._tidied = self._tidy()
        self._thread = threading.Thread(target=self._work, name="tacit-writer", daemon=True)
        self._thread.start()

    async def submit(self, response: Response) -> Outcome:
        """The outcome of a response once it is durable; raises Busy or Unavailable."""
        if not self.ready:
            raise Unavailable(self._down or "the service is stopping")
        if len(self._queue) >= self._capacity:
            raise Busy(f"{self._capacity:,} responses are waiting; try again soon")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        self._queue.append((response, future))
        self._batching.arrived(loop)
        return await future

    @property
    def waiting(self) -> int:
        """How many responses are waiting."""
        return len(self._queue)

    @property
    def ready(self) -> bool:
        """Whether responses are stored at present."""
        going = self._thread.is_alive() and not self._stopping.is_set()
        return going and self._down is None

    def close(self) -> None:
        """Store all waiting responses, tidy the store and stop. Do not call it from the loop.

        Gives up if the database hangs.
        """
        self._stopping.set()
        self._called.set()
        self._thread.join(LAST_ERASURE + 4 * self._deadline.seconds)
        self._deadline.end()

    def _work(self) -> None:
        last = False
        while not last:
            called = self._called.wait(min(CHECK_SECONDS, LONG_IDLE) if self._tidied else IDLE)
            self._called.clear()
            batch = self._next()
            if batch:
                self._store(batch)
            elif not called:
                self._check_database()
            last = self._stopping.is_set() and not self._queue
            if last or self._tidying_is_due():
                self._tidied = self._tidy(last)

    def _tidying_is_due(self) -> bool:
        """Depends on what was stored only: what is repeated or refused postpones nothing."""
        pause = LONG_IDLE if self._tidied else IDLE
        overdue = time.monotonic() >= self._tidied_at + pause
        return overdue or (not self._tidied and self.store.wants_tidying(self._today()))

    def _check_database(self) -> None:
        """Notice that the database is lost before somebody sends a response."""
        self._under_way = []
        try:
            with self._deadline.watching(self._late):
                self.store.check_there()
        except Exception as error:  # whatever it is, it may be temporary
            self._fail(_reason(error))
            self._recover(1)

    def _next(self) -> list[_Waiting]:
        """The waiting responses, up to the limit of a transaction."""
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
        except Exception as error:  # whatever it is, nobody may wait forever
            self._fail(_reason(error))
            self._answer(batch, Unavailable(self.failure))
            self._recover(len(batch))
            self._tidied = False  # it may have been stored
            return
        self._watch(time.perf_counter() - start)
        self._down = None  # it may have been late, but it was stored
        self._answer(batch, outcomes)
        if Outcome.STORED in outcomes:
            self._tidied, self._stored_at = False, time.monotonic()

    def _recover(self, n: int) -> None:
        """Wait until a batch of n responses can be stored; refuse those that arrive meanwhile."""
        pause, longest = BACK_OFF
        while not self._stopping.is_set():
            self._refuse_waiting()
            try:
                with self._deadline.watching(self._late):
                    self.store.test_write(n)
            except Exception as error:  # whatever it is, it may be temporary
                self._fail(_reason(error))
                self._stopping.wait(pause)
                pause = min(2 * pause, longest)
            else:
                self._down = None
                break

    def _late(self) -> None:
        """The database hangs: refuse all that waits, break the connection. Run by the watchdog.

        What hangs may still be stored; it is not acknowledged, and a retry counts once.
        """
        self._fail(f"the database did not answer within {self._deadline.seconds:g} seconds")
        batch, self._under_way = self._under_way, []
        if batch:
            self._answer(batch, Unavailable(self.failure))
        self._refuse_waiting()
        self.store.database.break_connections()

    def _late_tidying(self) -> None:
        """Erasing may take long, but nobody waits for it longer than for a write.

        Gives up if the database hangs. Run by the watchdog.
        """
        took = time.monotonic() - self._tidied_at
        allowed = LAST_ERASURE if self._stopping.is_set() else LONGEST_ERASURE
        if not self.store.erasing_order or took > allowed:
            self._late()
        elif self._queue:
            self._fail("the database is being reorganized; try again soon")
            self._refuse_waiting()

    def _fail(self, why: str) -> None:
        """Record that responses cannot be stored at present."""
        self.outages += self._down is None
        self._down = self.failure = why

    def _refuse_waiting(self) -> None:
        while batch := self._next():
            self._answer(batch, Unavailable(self._down or "the database does not answer"))

    def _tidy(self, last: bool = False) -> bool:
        """Erase the order and what ties links; False to try again soon.

        A failure shows up at the next write, or this is tried again after a long pause.
        """
        if self._down is not None:  # there is no database to tidy
            return True
        done = True
        self._tidied_at, self._under_way = time.monotonic(), []
        quiet = self._tidied_at >= self._stored_at + IDLE
        with suppress(Exception), self._deadline.watching(self._late_tidying):
            if last:
                self.store.leave()
            else:
                done = self.store.tidy(self._today(), quiet)
        if self._down is not None:
            self._recover(1)
        return done

    def _answer(self, batch: Sequence[_Waiting], result: Sequence[Outcome] | Unavailable) -> None:
        """Resolve the futures of a batch in one call to its loop; ignore a closed loop."""

        def resolve() -> None:
            self._batching.answered(len(batch))
            for position, (_, future) in enumerate(batch):
                if future.done():  # its client left
                    continue
                if isinstance(result, Unavailable):
                    future.set_exception(result)
                else:
                    future.set_result(result[position])

        with suppress(RuntimeError):
            batch[0][1].get_loop().call_soon_threadsafe(resolve)


def _reason(error: Exception) -> str:
    """The message of our own errors; only the type of others, which may hold data."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__
