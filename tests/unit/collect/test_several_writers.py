"""Several stores that write to one PostgreSQL database at the same time."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import psycopg
import pytest
from sqlalchemy import Connection, select, text

from tacit.collect.store import Outcome, Response, Store
from tacit.collect.store.postgres import _MAINTENANCE_LOCK, _WRITE_LOCK
from tacit.collect.store.sql_tables import surveys, tokens
from tacit.collect.store.values import token_hashes
from tacit.errors import Unavailable
from tacit.survey import Published
from tests.support.postgres import Cluster
from tests.support.published import published, response, responses
from tests.support.serving import SECONDS
from tests.support.writers import OPEN, TODAY, erased_records, records, store_of

SERVERS = 3
QUOTA, LINKS = 250, 300
LIMITED = published(access="invited", quota=QUOTA)
LOCK = "SELECT pg_advisory_lock(%s, hashtext(current_schema()))"
UNLOCK = "SELECT pg_advisory_unlock(%s, hashtext(current_schema()))"


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.url()


@pytest.fixture
def stores(url: str) -> Iterator[list[Store]]:
    with ExitStack() as stack:
        made = [stack.enter_context(closing(store_of(url))) for _ in range(SERVERS)]
        for store in made:
            store.register(LIMITED)
            store.claim()
        yield made


def until_given_up(url: str, lock: int) -> None:
    """Wait until nobody has a lock: PostgreSQL ends a session a moment after it was closed."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute(LOCK, (lock,))
        connection.execute(UNLOCK, (lock,))


def sent_at_once(
    stores: Sequence[Store], sent: Sequence[Sequence[Sequence[Response]]]
) -> list[list[tuple[Response, Outcome]]]:
    """The outcomes of the batches of each store; all stores write at the same time."""
    found: list[list[tuple[Response, Outcome]]] = [[] for _ in stores]
    begin = threading.Barrier(len(stores))

    def write(place: int) -> None:
        begin.wait()
        for batch in sent[place]:
            outcomes = stores[place].write(batch, TODAY)
            found[place] += zip(batch, outcomes, strict=True)

    threads = [threading.Thread(target=write, args=(place,)) for place in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def batches(sent: Sequence[Response], seed: int) -> list[list[Response]]:
    """The responses in batches of random sizes, and most of them again, in random order."""
    chance = random.Random(seed)
    mixed = [*sent, *chance.sample(sent, len(sent) // 2)]
    chance.shuffle(mixed)
    made = []
    while mixed:
        size = chance.choice((1, 3, 20))
        made.append(mixed[:size])
        mixed = mixed[size:]
    return made


def left(store: Store, survey: Published) -> set[bytes]:
    mine = select(surveys.c.number).where(surveys.c.fingerprint == survey.survey.fingerprint)
    with store.database.reading() as connection:
        found = connection.scalars(select(tokens.c.hash).where(tokens.c.survey.in_(mine)))
        return set(found)


def test_quota_links_and_repeats_are_exact_in_a_race(stores: list[Store]) -> None:
    """Everybody sends the same responses, and others with the same links."""
    links = stores[0].invite(LIMITED.survey.fingerprint, LINKS)
    shared = list(responses(LIMITED, links))
    sent = [batches([*shared, *responses(LIMITED, links)], seed) for seed in range(SERVERS)]
    found = [one for own in sent_at_once(stores, sent) for one in own]
    stored = [one for one, outcome in found if outcome is Outcome.STORED]
    assert len(stored) == len({one.key for one in stored}) == QUOTA
    used = {one.token for one in stored if one.token is not None}
    assert len(used) == QUOTA, "no link stored two records"
    again = {one.key for one, outcome in found if outcome is Outcome.REPEATED}
    assert again <= {one.key for one in stored}
    refused = Counter(outcome for _, outcome in found)
    assert refused.keys() <= {*Outcome} - {Outcome.CHANGED, Outcome.UNKNOWN_SURVEY}
    assert refused[Outcome.FULL] > 0
    store = stores[-1]
    assert len(store.codes(LIMITED.survey.fingerprint)) == records(store, LIMITED) == QUOTA
    assert left(store, LIMITED) == set(token_hashes(LIMITED.survey.fingerprint, set(links) - used))


def test_a_batch_for_two_surveys_stores_the_one_and_decides_the_other(stores: list[Store]) -> None:
    first, second, _ = stores
    (link,) = first.invite(LIMITED.survey.fingerprint, 1)
    known = response(OPEN, 1)
    assert first.write([known], TODAY) == [Outcome.STORED]
    batch = [response(LIMITED, 2, link), known, response(OPEN, 3), response(LIMITED, 4, link)]
    assert second.write(batch[:3], TODAY) == [Outcome.STORED, Outcome.REPEATED, Outcome.STORED]
    assert first.write(batch[3:], TODAY) == [Outcome.UNKNOWN_TOKEN]
    assert [records(first, survey) for survey in (OPEN, LIMITED)] == [2, 1]


def test_a_survey_closed_by_one_is_closed_for_all(stores: list[Store]) -> None:
    first, second, third = stores
    assert second.write([response(OPEN, 1)], TODAY) == [Outcome.STORED]
    first.close_survey(OPEN.survey.fingerprint)
    for store in (second, third):
        assert store.write([response(OPEN, 2)], TODAY) == [Outcome.CLOSED]


def test_only_the_last_server_that_stops_erases_the_order(stores: list[Store]) -> None:
    stores[0].tidy(TODAY)
    for store in stores:
        store.write([response(OPEN, 1)], TODAY)
    unsettled = []
    for store in stores:
        store.leave()
        everything, erased = erased_records(store)
        unsettled.append(everything - erased)
    assert unsettled == [3, 3, 0]


def test_a_server_that_starts_beside_others_does_not_rewrite_what_they_store(
    stores: list[Store], url: str
) -> None:
    stores[0].write([response(OPEN, 1)], TODAY)
    stores[1].tidy(TODAY)
    assert erased_records(stores[1]) == (1, 0)
    for store in stores:
        store.close()
    until_given_up(url, _WRITE_LOCK)
    alone = Store(url)
    alone.claim()
    alone.tidy(TODAY)
    assert erased_records(alone) == (1, 1)
    alone.close()


def test_maintenance_moves_to_another_server_when_the_one_that_does_it_dies(
    stores: list[Store], url: str
) -> None:
    first, second, _ = stores
    first.write([response(OPEN, n) for n in range(40)], TODAY)
    dies = psycopg.connect(url, autocommit=True)
    dies.execute(LOCK, (_MAINTENANCE_LOCK,))
    assert not second.tidy(TODAY), "to be tried again soon"
    assert erased_records(second) == (40, 0)
    assert second.order_erased, "nothing failed"
    dies.close()
    until_given_up(url, _MAINTENANCE_LOCK)
    assert second.tidy(TODAY)
    assert erased_records(second) == (40, 40)


def test_a_server_that_ends_maintenance_lets_another_one_begin_at_once(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before PostgreSQL notices that its session was closed: here it stays open."""
    first, second, _ = (store.database for store in stores)
    kept: list[Connection] = []
    monkeypatch.setattr(first, "release", kept.append)
    with first.maintaining() as one, second.maintaining() as other:
        assert one
        assert not other
    with second.maintaining() as other:
        assert other
    for connection in kept:
        connection.close()


def test_closing_a_survey_waits_for_maintenance_and_says_so_if_it_does_not_end(
    stores: list[Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.store.PATIENCE", 0.1)
    stores[0].write([response(OPEN, 1)], TODAY)
    with closing(psycopg.connect(url, autocommit=True)) as other:
        other.execute(LOCK, (_MAINTENANCE_LOCK,))
        with pytest.raises(Unavailable, match="another server is erasing the order"):
            stores[1].close_survey(OPEN.survey.fingerprint)
    assert stores[2].write([response(OPEN, 1)], TODAY) == [Outcome.CLOSED]


def test_a_server_that_stalls_within_a_transaction_delays_the_others_only_for_a_moment(
    url: str,
) -> None:
    with ExitStack() as stack:
        stalls, other = (
            stack.enter_context(closing(Store(url, write_seconds=4.0))) for _ in range(2)
        )
        stalls.register(OPEN)
        stalls.claim()
        assert stalls._held is not None
        transaction = stalls._held.begin()
        assert stalls._held.scalar(text("SHOW jit")) == "off", "compiling may take seconds"
        stalls._held.execute(text("SELECT number FROM surveys FOR UPDATE"))
        assert other.write([response(OPEN, 1)], TODAY) == [Outcome.STORED]
        with pytest.raises(Unavailable), stalls.database.translating_errors():
            transaction.commit()
        stalls._release()
        assert stalls.write([response(OPEN, 2)], TODAY) == [Outcome.STORED]


def test_who_holds_the_lock_alone_keeps_this_one_out(url: str) -> None:
    store = store_of(url)
    store.database.write_seconds = 0.1
    with closing(psycopg.connect(url, autocommit=True)) as other:
        other.execute(LOCK, (_WRITE_LOCK,))
        with pytest.raises(Unavailable, match="timeout"):
            store.claim()
    store.claim()
    store.close()


def test_no_batch_reads_a_whole_table(url: str) -> None:
    """Without statistics or with those of a small table PostgreSQL prefers that.

    It would keep the plan when the table has grown.
    """
    batches, size = 20, 50
    store = store_of(url)
    store.register(LIMITED)
    links = store.invite(LIMITED.survey.fingerprint, QUOTA)
    for link in responses(LIMITED, links[:20]):
        assert store.write([link], TODAY) == [Outcome.STORED]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE responses, tokens, surveys")
    for link in responses(LIMITED, links[20:40]):
        assert store.write([link], TODAY) == [Outcome.STORED]
    for _ in range(batches):
        sent = [response(OPEN, number) for number in range(size)]
        assert store.write(sent, TODAY) == [Outcome.STORED] * size
    store.close()
    scans = (
        "SELECT sum(idx_scan), sum(seq_scan), sum(idx_tup_fetch) FROM pg_stat_user_tables "
        "WHERE schemaname = current_schema() AND relname IN ('responses', 'tokens')"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        until = time.monotonic() + SECONDS
        by_key, whole, rows = 0, 0, 0
        while by_key < batches * size:  # counts arrive a moment after the end of a session
            assert time.monotonic() < until
            by_key, whole, rows = connection.execute(scans).fetchone() or (0, 0, 0)
    assert whole <= 2, "each table once, when its key was made"
    assert rows <= 2 * 40, "only the links that were used"
