"""Attempts to tie responses to one-time links from copies of an SQLite database and its log.

The log holds whole pages, and marks where a transaction ends. A transaction that adds one response
to the pages it changed, and removes one token, ties the two.

    python -m tests.support.log_links [SECONDS]

measures how many responses copies tie to their links, at several rates, on a real server.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import httpx

from tacit.collect.store import Store
from tacit.collect.store.values import Response, id_of, token_hashes
from tests.support.linking import Pairs
from tests.support.load import Plan, plan
from tests.support.published import published
from tests.support.serving import Served, serving

_HEAD, _FRAME_HEAD = 32, 24
SURVEY = published(access="invited")
FINGERPRINT = SURVEY.survey.fingerprint


@dataclass(frozen=True)
class Copy:
    """The bytes of a database and of its log at one moment."""

    database: bytes
    log: bytes

    def transactions(self) -> Iterator[dict[int, bytes]]:
        """The pages that each transaction in the log wrote, by number."""
        if len(self.log) < _HEAD:
            return
        size, _, *salt = struct.unpack(">4I", self.log[8:24])
        pages: dict[int, bytes] = {}
        for at in range(_HEAD, len(self.log) - size, _FRAME_HEAD + size):
            number, committed, *own = struct.unpack(">4I", self.log[at : at + 16])
            if own != salt:  # left from before the log was begun again
                return
            pages[number] = self.log[at + _FRAME_HEAD : at + _FRAME_HEAD + size]
            if committed:
                yield pages
                pages = {}

    def page(self, number: int) -> bytes:
        """A page of the database itself."""
        size = int.from_bytes(self.database[16:18], "big")
        return self.database[(number - 1) * size : number * size]


def copy_of(path: Path) -> Copy:
    """Read the files, as `cp` does: one after the other, while the server writes."""
    log = Path(f"{path}-wal")
    return Copy(path.read_bytes(), log.read_bytes() if log.exists() else b"")


def tied(copy: Copy, ids: set[bytes], hashes: set[bytes]) -> Pairs:
    """The pairs that one copy ties: by transactions that hold one response and one token."""
    pages: dict[int, bytes] = {}
    found: Pairs = set()
    for changed in copy.transactions():
        before = {number: pages.get(number, copy.page(number)) for number in changed}
        new = _marks(changed, ids) - _marks(before, ids)
        gone = _marks(before, hashes) - _marks(changed, hashes)
        if len(new) == len(gone) == 1:
            found.add((new.pop(), gone.pop()))
        pages |= changed
    return found


def _marks(pages: dict[int, bytes], known: set[bytes]) -> set[bytes]:
    together = b"".join(pages.values())
    return {own for own in known if own in together}


def tied_between(before: Copy, after: Copy) -> Pairs:
    """The pair that two copies tie, if one response came and one token went between them."""
    (old_ids, old_hashes), (ids, hashes) = _content(before), _content(after)
    new, gone = ids - old_ids, old_hashes - hashes
    return {(new.pop(), gone.pop())} if len(new) == len(gone) == 1 else set()


def _content(copy: Copy) -> tuple[set[bytes], set[bytes]]:
    """Ids and hashes in a copy; none if it was taken while the files changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.db"
        path.write_bytes(copy.database)
        Path(f"{path}-wal").write_bytes(copy.log)
        connection = sqlite3.connect(path)
        try:
            ids = {one for (one,) in connection.execute("SELECT id FROM responses")}
            return ids, {one for (one,) in connection.execute("SELECT hash FROM tokens")}
        except sqlite3.DatabaseError:
            return set(), set()
        finally:
            connection.close()


class Arriving:
    """Responses with links that arrive at a server at random moments, at a mean rate."""

    def __init__(self, served: Served, tokens: Sequence[str], rate: float, seed: int = 1) -> None:
        self._plan: Plan = plan(SURVEY, served.host, served.port, 1, tokens=tokens)
        self.rate, self._chance = rate, random.Random(seed)
        self._client = httpx.Client(base_url=served.origin, timeout=60)
        self._tokens = tokens
        #: Pairs of an id and a hash, in the order in which they were sent.
        self.sent: list[tuple[bytes, bytes]] = []
        self._bodies: dict[int, str] = {}

    @property
    def pairs(self) -> Pairs:
        return set(self.sent)

    def send(self, number: int) -> None:
        key = self._chance.randbytes(16)
        self._bodies[number] = self._plan.filled(key.hex(), number)
        (own,) = token_hashes(FINGERPRINT, [self._tokens[number]])
        self.sent.append((id_of(Response(FINGERPRINT, key, b"")), own))
        with suppress(httpx.TransportError):  # the server was killed
            self._post(number, 201)

    def repeat(self, number: int) -> None:
        """Send again what is stored."""
        self._post(number, 200)

    def _post(self, number: int, status: int) -> None:
        answer = self._client.post(
            self._plan.path,
            content=self._bodies[number],
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == status, answer.text

    def run(self, seconds: float) -> None:
        """Send from threads, so that nobody waits for another."""
        until, sending = time.monotonic() + seconds, []
        for number in range(len(self._tokens)):
            if time.monotonic() > until:
                break
            sending.append(threading.Thread(target=self.send, args=(number,)))
            sending[-1].start()
            time.sleep(self._chance.expovariate(self.rate))
        for thread in sending:
            thread.join()

    def close(self) -> None:
        self._client.close()


def invited(database: str | Path, n: int) -> list[str]:
    """The tokens of n links of a survey in a database, which may be new."""
    store = Store(database)
    store.register(SURVEY)
    tokens = store.invite(FINGERPRINT, n)
    store.close()
    return tokens


def _measure(rate: float, seconds: float) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tacit-links-"))
    tokens = invited(folder / "tacit.db", int(2 * rate * seconds) + 50)
    hashes = set(token_hashes(FINGERPRINT, tokens))
    copies: list[tuple[int, Copy]] = []
    with serving(folder, [SURVEY], "--rate", "off", "--log", "json") as served:
        arriving = Arriving(served, tokens, rate)
        work = threading.Thread(target=arriving.run, args=(seconds,))
        work.start()
        until = time.monotonic() + seconds - 1
        while time.monotonic() < until:
            copies.append((len(arriving.sent), copy_of(served.database)))
            time.sleep(0.01)
        served.process.kill()
        served.process.wait()
        work.join()
        left = copy_of(served.database)
        arriving.close()
    ids = {own for own, _ in arriving.pairs}
    single = [len(tied(copy, ids, hashes) & arriving.pairs) for _, copy in copies]
    known = sum(n for n, _ in copies)
    polled: Pairs = set()
    for (_, before), (_, after) in pairwise(copies):
        if before != after:
            polled |= (tied_between(before, after) | tied(after, ids, hashes)) & arriving.pairs
    sys.stdout.write(
        f"{rate:g}/s: {len(ids)} responses, {len(copies)} copies; one copy ties "
        f"{sum(single) / max(known, 1):.5f} of the responses ({max(single)} at most), what is left "
        f"by kill -9 {len(tied(left, ids, hashes) & arriving.pairs)}, all copies "
        f"{len(polled) / len(ids):.3f}\n"
    )
    sys.stdout.flush()
    shutil.rmtree(folder)


if __name__ == "__main__":
    for per_second in (2.0, 20.0, 150.0):
        _measure(per_second, float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
