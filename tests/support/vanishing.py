"""A writer whose PostgreSQL host stops responding and comes back, in a network of its own.

unshare --net python -m tests.support.vanishing
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress

from tacit.collect.store import Outcome, Store
from tacit.collect.writer import Writer
from tacit.errors import Unavailable
from tests.support.postgres import Cluster
from tests.support.published import published, response

_PORT = 5432  # nobody else is in this network


def _network(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


async def _write(store: Store) -> list[Outcome]:
    survey = published()
    store.register(survey)
    writer = Writer(store)
    outcomes = [await writer.submit(response(survey, 1))]
    _network("down")
    second = response(survey, 2)
    with suppress(Unavailable):
        outcomes.append(await writer.submit(second))
    _network("up")
    while not writer.ready:
        await asyncio.sleep(0.1)
    outcomes.append(await writer.submit(second))
    await asyncio.to_thread(writer.close)
    return outcomes


def main() -> None:
    """Says what became of the responses sent before, while and after the host is gone."""
    _network("up")
    cluster = Cluster(listen_addresses="127.0.0.1", port=str(_PORT))
    try:
        store = Store(f"postgresql://tacit@127.0.0.1:{_PORT}/postgres")
        sys.stdout.writelines(f"{one.value}\n" for one in asyncio.run(_write(store)))
        store.close()
    finally:
        cluster.remove()


if __name__ == "__main__":
    main()
