"""A process that writes through a Writer until it is killed, and says what was acknowledged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from tacit.collect.store import Store
from tacit.collect.writer import Writer
from tests.support.published import published, response

SURVEY = published()
_AT_ONCE = 20


async def _write(url: str) -> None:
    store = Store(url)
    store.register(SURVEY)
    writer = Writer(store)

    async def one_after_the_other() -> None:
        while True:
            made = response(SURVEY)
            if (await writer.submit(made)).acknowledged:
                os.write(1, f"{made.key.hex()}\n".encode())

    await asyncio.gather(*(one_after_the_other() for _ in range(_AT_ONCE)))


def main(arguments: Sequence[str]) -> None:
    """Write to the database that is given."""
    asyncio.run(_write(arguments[0]))
