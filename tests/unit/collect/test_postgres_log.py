"""What a PostgreSQL server keeps beside the tables: its log, and what its settings add to it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import httpx
import psycopg
import pytest

from tacit.collect.store import Outcome, Response, Store
from tacit.collect.store.postgres import RISKS
from tacit.collect.store.values import id_of, token_hash
from tests.support.postgres import Cluster
from tests.support.published import response, responses
from tests.support.serving import serving
from tests.support.writers import INVITED, OPEN, TODAY, store_of

#: Logs all that an error can say: the statement, its parameters and the values in question.
_TALKATIVE = {
    "log_min_messages": "notice",
    "log_min_error_statement": "notice",
    "log_error_verbosity": "verbose",
    "log_parameter_max_length_on_error": "-1",
}


@pytest.fixture(scope="module")
def talkative(cluster: Cluster) -> Iterator[Cluster]:
    made = Cluster(**_TALKATIVE)
    yield made
    made.remove()


def _said(cluster: Cluster) -> str:
    return (cluster.folder / "log").read_text(errors="replace")


def _sent(tokens: list[str]) -> list[Response]:
    """3,000 submissions: new ones, repeats, changed ones, used and invented links, two surveys."""
    chance = random.Random(12)
    new = [*responses(INVITED, tokens), *(response(OPEN, n) for n in range(500))]
    chance.shuffle(new)
    old = [
        *chance.sample(new, 700),
        *(one._replace(codes=response(OPEN, 999).codes) for one in chance.sample(new, 600)),
        *(response(INVITED, 1, token) for token in chance.sample(tokens, 300)),
        *(response(INVITED, 1, f"invented{n}") for n in range(300)),
    ]
    for one in old:
        new.insert(chance.randrange(len(new) + 1), one)
    return new + chance.sample(new, 100)


def test_repeats_used_links_and_mixed_batches_leave_no_line_in_the_servers_log(
    talkative: Cluster,
) -> None:
    store = store_of(talkative.url())
    tokens = store.invite(INVITED.survey.fingerprint, 500)
    sent = _sent(tokens)
    before = len(_said(talkative))
    outcomes: list[Outcome] = []
    chance = random.Random(7)
    while len(outcomes) < len(sent):
        size = chance.choice((1, 1, 2, 7, 60))
        outcomes += store.write(sent[len(outcomes) : len(outcomes) + size], TODAY)
    said = _said(talkative)[before:]
    store.close()
    assert {o.value for o in outcomes} == {"stored", "repeated", "changed", "unknown token"}
    assert said.count("ERROR") == 0
    assert said.count("STATEMENT") == 0
    found = said.lower()
    marks = [id_of(one).hex() for one in sent] + [one.key.hex() for one in sent]
    marks += [token_hash(one.survey, one.token).hex() for one in sent if one.token is not None]
    assert [mark for mark in marks if mark in found] == []


def test_the_log_of_the_test_above_would_show_an_id(talkative: Cluster) -> None:
    url = talkative.url()
    store = store_of(url)
    one = response(OPEN, 3)
    store.write([one], date(2027, 3, 31))
    again = "INSERT INTO responses SELECT * FROM responses"
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(again)
    store.close()
    assert id_of(one).hex() in _said(talkative)
    assert again in _said(talkative)


#: A setting that keeps order or time, for each one that PostgreSQL has without extensions.
_RISKY = {
    "log_statement": "mod",
    "log_duration": "on",
    "log_min_duration_statement": "250",
    "log_min_duration_sample": "0",
    "log_transaction_sample_rate": "0.5",
    "track_commit_timestamp": "on",
    "archive_mode": "on",
    "wal_level": "logical",
    "wal_recycle": "on",
    "wal_keep_size": "64MB",
}
_OF_EXTENSIONS = {"auto_explain.log_min_duration", "pgaudit.log"}


@contextmanager
def _cluster(**settings: str) -> Iterator[Cluster]:
    made = Cluster(**settings)
    try:
        yield made
    finally:
        made.remove()


def _warnings(url: str) -> list[str]:
    store = Store(url)
    try:
        return store.database.warnings()
    finally:
        store.close()


def _named(said: Sequence[str]) -> list[str]:
    """The settings that warnings name first."""
    return [line.removeprefix("PostgreSQL: ").split(" is ")[0] for line in said]


def test_a_careful_server_and_a_file_need_no_warning(url: str) -> None:
    assert _warnings(url) == []


def test_each_setting_that_keeps_order_or_time_is_warned_of_when_serving(
    tmp_path: Path,
    cluster: Cluster,
) -> None:
    assert _RISKY.keys() == RISKS.keys() - _OF_EXTENSIONS
    with _cluster(**_RISKY, archive_command="true") as risky:
        url = risky.url()
        with serving(tmp_path, [OPEN], "--database", url, "--log", "json") as served:
            assert httpx.get(f"{served.origin}/health/ready").status_code == 200
            assert served.stop() == 0
        said = _warnings(url)
        assert _named(said) == list(_RISKY)
        assert served.output[1:] == [f"warning: {line}\n" for line in said]
        assert [line for line in said if f'"why": "{line}"' not in "".join(served.log)] == []
        with psycopg.connect(risky.address, autocommit=True) as connection:
            connection.execute("SELECT pg_create_physical_replication_slot('copy')")
        assert "replication slots (copy) keep" in _warnings(url)[-1]
        assert len(_warnings(url)) == len(said) + 1


def test_a_role_that_may_not_end_a_segment_is_warned_of(cluster: Cluster) -> None:
    url = cluster.url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE modest LOGIN")
        (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
        connection.execute(f"GRANT ALL ON SCHEMA {schema} TO modest")
    (said,) = _warnings(url.replace("//tacit@", "//modest@"))
    assert "this role may not end a segment of the write-ahead log" in said
