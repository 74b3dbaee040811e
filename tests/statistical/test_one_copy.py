"""One copy of an SQLite database and its log does not tie answers to one-time links.

Somebody who has the files of one moment, and the list of all links, guesses which link each answer
came by: from the transactions in the log, and by chance for the others. Without information the
number of right guesses is that of the fixed points of a random permutation, nearly Poisson with
mean 1. Small transactions leave the log before they are acknowledged, so a copy may tie one
more: the answer that is being stored at that moment.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from tacit.collect.store import Store
from tacit.collect.store.values import id_of, token_hash
from tacit.collect.writer import Writer
from tests.support.linking import Pairs, most_by_chance, right_guesses
from tests.support.log_links import (
    FINGERPRINT,
    SURVEY,
    Arriving,
    Copy,
    copy_of,
    invited,
    tied,
)
from tests.support.published import responses
from tests.support.serving import serving

N, COPIES, KILLS = 100, 40, 3
BY_CHANCE = most_by_chance(COPIES)


def _right_guesses(copy: Copy, pairs: Pairs, chance: random.Random) -> int:
    """How many of the answers somebody with a copy ties to the right links."""
    tied_in_log = tied(copy, {id_ for id_, _ in pairs}, {hash_ for _, hash_ in pairs})
    return right_guesses(tied_in_log, pairs, chance)


def _copied(path: Path, n: int, copies: int, seed: int) -> tuple[list[Copy], Pairs]:
    """Responses sent one by one, with links in a random order; copies at random moments."""
    chance = random.Random(seed)
    store = Store(path)
    store.register(SURVEY)
    tokens = store.invite(FINGERPRINT, n)
    chance.shuffle(tokens)
    batch = list(responses(SURVEY, tokens))
    taken: list[Copy] = []
    moments = sorted(chance.sample(range(n // 2, n), copies))

    async def work() -> None:
        writer = Writer(store)
        for number, one in enumerate(batch):
            if number in moments:
                pause = chance.uniform(0, 0.02)
                thread = threading.Thread(
                    target=lambda pause=pause: (time.sleep(pause), taken.append(copy_of(path)))
                )
                thread.start()
                assert (await writer.submit(one)).acknowledged
                await asyncio.to_thread(thread.join)
            else:
                assert (await writer.submit(one)).acknowledged
        await asyncio.to_thread(writer.close)

    asyncio.run(work())
    store.close()
    pairs = {(id_of(one), token_hash(FINGERPRINT, str(one.token))) for one in batch}
    return taken, pairs


def test_one_copy_at_any_moment_ties_at_most_the_answer_that_is_being_stored(
    tmp_path: Path,
) -> None:
    copies, pairs = _copied(tmp_path / "survey.db", N, COPIES, seed=1)
    chance = random.Random(2)
    for copy in copies:
        assert _right_guesses(copy, pairs, chance) <= BY_CHANCE + 1


def test_what_kill_9_leaves_ties_at_most_the_answer_that_was_being_stored(tmp_path: Path) -> None:
    chance = random.Random(3)
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        folder.mkdir()
        tokens = invited(folder / "tacit.db", 2 * N)
        chance.shuffle(tokens)
        with serving(folder, [SURVEY], "--rate", "off") as served:
            arriving = Arriving(served, tokens, rate=60, seed=kill)
            work = threading.Thread(target=arriving.run, args=(2.0,))
            work.start()
            time.sleep(chance.uniform(0.8, 1.6))
            os.kill(served.process.pid, signal.SIGKILL)
            served.process.wait()
            work.join()
            arriving.close()
        left = copy_of(served.database)
        assert _right_guesses(left, arriving.pairs, chance) <= BY_CHANCE + 1


def test_a_log_that_is_not_truncated_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: without truncation, and while answers keep coming."""
    monkeypatch.setattr("tacit.collect.writer.IDLE", 3600.0)
    monkeypatch.setattr("tacit.collect.store.values.FEWEST_TO_ERASE", 2 * N)
    monkeypatch.setattr("tacit.collect.store.sqlite.FEWEST_TOGETHER", 0)
    copies, pairs = _copied(tmp_path / "survey.db", N, 2, seed=4)
    chance = random.Random(5)
    assert min(_right_guesses(copy, pairs, chance) for copy in copies) > BY_CHANCE + 1
