"""A process that writes to the store is killed at random moments: what it acknowledged is there."""

from __future__ import annotations

import random
import sys
import threading

import pytest
from sqlalchemy import text

from tacit.collect.store import Response, Store
from tacit.collect.store.values import id_of
from tests.support import warm_start
from tests.support.writing import SURVEY

KILLS = 5

pytestmark = pytest.mark.slow


def _acknowledged_until_killed(url: str, after: float) -> list[bytes]:
    """Keys that a writing process acknowledged before it was killed, so long after the first."""
    process = warm_start.start([url], stderr=sys.__stderr__, module="tests.support.writing")
    assert process.stdout is not None
    with process.stdout:
        first = process.stdout.readline()
        killer = threading.Timer(after, process.kill)
        killer.start()
        lines = [first, *process.stdout]
    process.wait()
    killer.join()
    return [bytes.fromhex(line.strip()) for line in lines if line.endswith("\n")]


def test_every_acknowledged_response_is_there_once_after_each_kill(url: str) -> None:
    moments = random.Random(7)
    fingerprint = SURVEY.survey.fingerprint
    acknowledged: set[bytes] = set()
    for _ in range(KILLS):
        keys = _acknowledged_until_killed(url, moments.uniform(0.01, 0.5))
        assert keys, "it must have written something"
        acknowledged |= {id_of(Response(fingerprint, key, b"")) for key in keys}
        store = Store(url)
        with store.database.reading() as connection:
            stored = [bytes(one) for one in connection.scalars(text("SELECT id FROM responses"))]
        records = store.state(fingerprint).records
        store.close()
        assert acknowledged <= set(stored)
        assert len(stored) == len(set(stored)) == records
