"""One copy of the files of a database, and what it shows of order and links.

    python -m tests.support.file_copies [ANSWERS]

measures it on a real server, while somebody repeats one stored record 30 times a second.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.linking import Pairs, order_in, places_in, row_transactions, tied_by_transactions
from tests.support.log_links import SURVEY, Arriving, Copy, copy_of, invited, tied
from tests.support.postgres import Cluster
from tests.support.serving import serving


@dataclass(frozen=True)
class Files:
    """One copy: what its order of records is, which pairs it ties, and all its bytes."""

    orders: list[list[int]]
    tied: Pairs
    content: bytes


#: So few that SQLite has not split its pages, which orders the rows of each.
FEW = 60
#: Takes the ids and the hashes to look for.
Copier = Callable[[list[bytes], list[bytes]], Files]


def sqlite_copier(path: Path) -> Copier:
    """Copies the database and its log."""

    def copy(ids: list[bytes], hashes: list[bytes]) -> Files:
        files: Copy = copy_of(path)
        return Files(
            order_in(files.database, ids),
            tied(files, set(ids), set(hashes)),
            files.database + files.log,
        )

    return copy


def postgres_copier(url: str, cluster: Cluster) -> Copier:
    """Copies all tables and indexes.

    The server writes its pages to disk at a checkpoint, which it makes every few minutes.
    """

    def files() -> dict[str, bytes]:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            paths = connection.execute(
                "SELECT relname, pg_relation_filepath(oid) FROM pg_class "
                "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')"
            ).fetchall()
        return {name: (cluster.data / path).read_bytes() for name, path in paths}

    def copy(ids: list[bytes], hashes: list[bytes]) -> Files:
        content = _until_found(files)
        rows = list(row_transactions(content["responses"], ids))
        by_transaction = sorted(rows, key=lambda row: row[1])
        orders = [*order_in(content["responses"], ids), [number for number, *_ in by_transaction]]
        pairs = tied_by_transactions(content["responses"], content["tokens"], ids, hashes)
        return Files(orders, pairs, b"".join(content.values()))

    return copy


def _until_found(files: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Look again if a file was replaced meanwhile."""
    while True:
        try:
            return files()
        except FileNotFoundError:
            continue


def _longest_run(order: Sequence[int]) -> int:
    """The length of the longest part that is in ascending order, with gaps."""
    ends: list[int] = []
    for number in order:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


def _measure(kind: str, url: str, copier: Copier, folder: Path, answers: int) -> None:
    tokens = invited(url, answers)
    stopping = threading.Event()
    with serving(folder, [SURVEY], "--rate", "off", "--log", "json", "--database", url) as served:
        arriving = Arriving(served, tokens, rate=10.0)
        arriving.send(0)

        def repeat() -> None:
            while not stopping.wait(1 / 30):
                arriving.repeat(0)

        repeating = threading.Thread(target=repeat)
        repeating.start()
        most_tied = most_found = longest = 0
        for number in range(1, answers):
            arriving.send(number)
            stopping.wait(1 / arriving.rate)
            if number % 20 == 19:
                ids, hashes = (list(side) for side in zip(*arriving.sent, strict=True))
                files = copier(ids, hashes)
                most_tied = max(most_tied, len(files.tied & arriving.pairs))
                used = {mark for _, mark in places_in(files.content, hashes)}
                most_found = max(most_found, len(used))
                longest = max(
                    max(_longest_run(order), _longest_run(order[::-1])) for order in files.orders
                )
        stopping.set()
        repeating.join()
        arriving.close()
    sys.stdout.write(
        f"{kind}: {answers} answers; one copy ties at most {most_tied} to their links and contains "
        f"at most {most_found} used links; in the last one {longest} records are in the order of "
        f"arrival (by chance about {2 * answers**0.5:.0f})\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 480
    with tempfile.TemporaryDirectory(prefix="tacit-copies-") as temporary:
        path = Path(temporary) / "tacit.db"
        few = min(n, FEW)
        _measure("SQLite", str(path), sqlite_copier(path), path.parent, few)
        cluster = Cluster()
        try:
            address = cluster.url()
            _measure("PostgreSQL", address, postgres_copier(address, cluster), path.parent, n)
        finally:
            cluster.remove()
