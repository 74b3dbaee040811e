"""Turns: one visitor takes few of them, and nobody works for a client that has left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from tacit.studio.site import Turns


async def _stays() -> Any:
    """A client that waits for its answer."""
    await asyncio.Event().wait()


async def _leaves() -> Any:
    return {"type": "http.disconnect"}


async def ask(turns: Turns, visitor: str, work: Callable[[], Any], receive: Any = _stays) -> Any:
    async with turns.of(visitor):
        return await turns.run(work, receive)


def test_one_visitor_with_many_requests_leaves_turns_to_others() -> None:
    release, counted = threading.Event(), threading.Semaphore(0)
    running, most = [0], [0]

    def work() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        counted.release()
        release.wait()
        running[0] -= 1

    async def attack() -> str:
        turns = Turns(3, 2)
        requests = [asyncio.ensure_future(ask(turns, "many", work)) for _ in range(20)]
        for _ in range(2):
            await asyncio.to_thread(counted.acquire)
        answer: str = await ask(turns, "one", lambda: "answered")
        release.set()
        await asyncio.gather(*requests)
        return answer

    assert asyncio.run(attack()) == "answered"
    assert most == [2]


def test_no_more_than_all_turns_are_taken() -> None:
    release, counted, begun = threading.Event(), threading.Semaphore(0), [0]

    def work() -> None:
        begun[0] += 1
        counted.release()
        release.wait()

    async def attack() -> int:
        turns = Turns(3, 2)
        requests = [asyncio.ensure_future(ask(turns, str(n), work)) for n in range(20)]
        for _ in range(3):
            await asyncio.to_thread(counted.acquire)
        begun_at_once = begun[0]
        release.set()
        await asyncio.gather(*requests)
        return begun_at_once

    assert asyncio.run(attack()) == 3
    assert begun == [20]


def test_work_that_waits_is_dropped_when_its_client_leaves() -> None:
    release, counted, done = threading.Event(), threading.Event(), []

    def slow() -> str:
        counted.set()
        release.wait()
        return "answered"

    async def attack() -> list[Any]:
        turns = Turns(1, 1)
        first = asyncio.ensure_future(ask(turns, "first", slow))
        await asyncio.to_thread(counted.wait)
        left = [ask(turns, str(n), lambda: done.append(1), _leaves) for n in range(40)]
        answers = await asyncio.gather(*left)
        release.set()
        return [await first, *answers]

    assert asyncio.run(attack()) == ["answered", *[None] * 40]
    assert done == []


def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def fail() -> str:
        try:
            await ask(Turns(1, 1), "visitor", lambda: 1 / 0)
        except ZeroDivisionError:
            return "raised"
        return "not raised"

    assert asyncio.run(fail()) == "raised"
