"""Writers under test: two surveys, a day, and what is sent at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from tacit.collect.store import Response, Store
from tacit.collect.store.sql_tables import surveys
from tacit.collect.writer import Writer
from tests.support.published import published

OPEN = published()
INVITED = published(access="invited")
TODAY = date(2027, 3, 31)


def store_of(url: str | Path) -> Store:
    """A store that knows both surveys."""
    made = Store(url)
    for survey in (OPEN, INVITED):
        made.register(survey)
    return made


def with_writer(
    store: Store, work: Callable[[Writer], Coroutine[Any, Any, Any]], **given: Any
) -> Any:
    """Run a coroutine with a writer that is closed at its end."""

    async def run() -> Any:
        writer = Writer(store, today=lambda: TODAY, **given)
        try:
            return await work(writer)
        finally:
            await asyncio.to_thread(writer.close)

    return asyncio.run(run())


async def send(writer: Writer, batch: list[Response]) -> list[Any]:
    """What becomes of responses that are sent at once."""
    return await asyncio.gather(*map(writer.submit, batch), return_exceptions=True)


async def until_ready(writer: Writer) -> None:
    """Wait until responses are stored again."""
    while not writer.ready:
        await asyncio.sleep(0.01)


def records(store: Store, survey: Any = OPEN) -> int:
    """How many records a survey has."""
    return store.state(survey.survey.fingerprint).records


def erased_records(store: Store) -> tuple[int, int]:
    """All records, and those whose order of arrival is erased."""
    total = select(func.sum(surveys.c.records), func.sum(surveys.c.settled))
    with store.database.reading() as connection:
        total_records, erased = connection.execute(total).one()
    return int(total_records), int(erased)
