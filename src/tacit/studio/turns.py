"""Turns: how many requests the studio works on at once, in all and for one visitor.

Requests beyond that wait. Without a limit, one visitor with many requests would take all threads,
and the interpreter would have no time for the others and, in the same process, for respondents.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

T = TypeVar("T")


class Turns:
    """At most `most` functions at once, and `most_of_one` requests of one visitor."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most_of_one = most_of_one
        self._all = asyncio.Semaphore(most)
        #: Forgotten when nobody has or awaits a turn.
        self._visitors: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, visitor: Hashable) -> AsyncIterator[None]:
        """A turn of a visitor; it may include reading a large request."""
        turns = self._visitors.setdefault(visitor, asyncio.Semaphore(self._most_of_one))
        async with turns:
            yield

    async def run(self, work: Callable[[], T], receive: Receive) -> T | None:
        """The result of a function in a thread; None if the client leaves before it begins.

        `receive` tells when the client leaves; everything that it sent must have been read.
        """
        result = None
        try:
            async with anyio.create_task_group() as group:

                async def cancel_if_left() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(cancel_if_left)
                async with self._all:
                    result = await run_in_threadpool(work)
                group.cancel_scope.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return result
