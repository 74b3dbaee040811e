"""The store, on both databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import Date, DateTime, event, inspect, text

from tacit.collect.store import Outcome, Response, Store, SurveyState, packed, unpacked
from tacit.errors import DataError, StoreError
from tests.support.postgres import Cluster
from tests.support.published import published, response, responses

TODAY = date(2027, 3, 31)
OPEN = published()
INVITED = published(access="invited")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = Store(url)
    for survey in (OPEN, INVITED):
        made.register(survey)
    yield made
    made.close()


def fingerprint_of(survey: object) -> str:
    return survey.survey.fingerprint  # type: ignore[attr-defined]


def test_what_was_stored_comes_back(store: Store) -> None:
    batch = [response(OPEN, number) for number in range(50)]
    assert store.write(batch, TODAY) == [Outcome.STORED] * 50
    codes = store.codes(fingerprint_of(OPEN))
    assert sorted(codes[:, 1]) == list(range(50))
    assert np.array_equal(codes[:, 0], codes[:, 1] % 2)
    assert store.state(fingerprint_of(OPEN)) == SurveyState(True, 50, 0, 0)


def test_surveys_do_not_mix(store: Store) -> None:
    tokens = store.invite(fingerprint_of(INVITED), 3)
    mixed = [*responses(INVITED, tokens), response(OPEN, 7), response(OPEN, 8)]
    assert store.write(mixed, TODAY) == [Outcome.STORED] * 5
    assert sorted(store.codes(fingerprint_of(OPEN))[:, 1]) == [7, 8]
    assert sorted(store.codes(fingerprint_of(INVITED))[:, 1]) == [0, 1, 2]


def test_no_records_are_an_empty_array(store: Store) -> None:
    assert store.codes(fingerprint_of(OPEN)).shape == (0, 2)


def test_a_retry_is_stored_once_in_the_same_batch_and_later(store: Store) -> None:
    one = response(OPEN)
    assert store.write([one, one], TODAY) == [Outcome.STORED, Outcome.REPEATED]
    assert store.write([one], TODAY) == [Outcome.REPEATED]
    assert store.state(fingerprint_of(OPEN)).records == 1


def test_the_same_key_with_other_codes_is_refused(store: Store) -> None:
    one = response(OPEN)
    other = one._replace(codes=packed([1, 5], OPEN.design.reported))
    assert store.write([one, other], TODAY) == [Outcome.STORED, Outcome.CHANGED]
    assert store.write([other], TODAY) == [Outcome.CHANGED]


def test_the_same_key_may_serve_two_surveys(store: Store) -> None:
    one = response(OPEN)
    (token,) = store.invite(fingerprint_of(INVITED), 1)
    other = Response(fingerprint_of(INVITED), one.key, one.codes, token)
    assert store.write([one, other], TODAY) == [Outcome.STORED] * 2


def test_a_token_is_spent_once(store: Store) -> None:
    (token,) = store.invite(fingerprint_of(INVITED), 1)
    first, second = (response(INVITED, n, token) for n in (1, 2))
    assert store.write([first, second], TODAY) == [Outcome.STORED, Outcome.UNKNOWN_TOKEN]
    assert store.write([second, first], TODAY) == [Outcome.UNKNOWN_TOKEN, Outcome.REPEATED]
    assert store.state(fingerprint_of(INVITED)) == SurveyState(True, 1, 1, 0)


def test_a_check_of_a_link_sees_what_another_server_stored_and_uses_nothing(
    store: Store, url: str
) -> None:
    survey = fingerprint_of(INVITED)
    used, unused = store.invite(survey, 2)
    state = store.state(survey)
    with closing(Store(url)) as other:
        assert [other.link_usable(survey, token) for token in (used, unused)] == [True, True]
        assert store.state(survey) == state
        store.write([response(INVITED, 0, used)], TODAY)
        answers = [other.link_usable(survey, token) for token in (used, unused, "never issued")]
        assert answers == [False, True, False]
        assert not other.link_usable(fingerprint_of(OPEN), unused)
        assert not other.link_usable("0" * 64, unused)
    assert store.write([response(INVITED, 0, unused)], TODAY) == [Outcome.STORED]


def test_without_a_token_or_with_an_invented_one_nothing_is_stored(store: Store) -> None:
    store.invite(fingerprint_of(INVITED), 1)
    batch = [response(INVITED), response(INVITED, 0, "invented"), response(INVITED, 0, "\udc80")]
    assert store.write(batch, TODAY) == [Outcome.UNKNOWN_TOKEN] * 3
    assert store.state(fingerprint_of(INVITED)) == SurveyState(True, 0, 1, 1)


def test_a_token_of_another_survey_is_unknown(store: Store) -> None:
    other = published(access="invited", title="Other")
    store.register(other)
    (token,) = store.invite(fingerprint_of(other), 1)
    assert store.write([response(INVITED, 0, token)], TODAY) == [Outcome.UNKNOWN_TOKEN]


def test_tokens_differ_and_revoked_ones_are_unknown(store: Store) -> None:
    tokens = store.invite(fingerprint_of(INVITED), 100)
    assert len(set(tokens)) == 100
    store.revoke(fingerprint_of(INVITED), tokens[:60])
    assert store.state(fingerprint_of(INVITED)) == SurveyState(True, 0, 40, 40)
    batch = [response(INVITED, 0, tokens[0]), response(INVITED, 0, tokens[99])]
    assert store.write(batch, TODAY) == [Outcome.UNKNOWN_TOKEN, Outcome.STORED]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_the_number_of_links_is_a_whole_number_from_1(store: Store, n: object) -> None:
    with pytest.raises(DataError, match="whole number from 1"):
        store.invite(fingerprint_of(INVITED), n)  # type: ignore[arg-type]


def test_the_quota_is_exact_and_repeats_are_still_acknowledged(store: Store) -> None:
    few = published(quota=3)
    store.register(few)
    batch = [response(few, number) for number in range(5)]
    assert store.write(batch, TODAY) == [Outcome.STORED] * 3 + [Outcome.FULL] * 2
    assert store.write(batch, TODAY) == [Outcome.REPEATED] * 3 + [Outcome.FULL] * 2


def test_a_full_survey_keeps_its_tokens(store: Store) -> None:
    few = published(quota=1, access="invited")
    store.register(few)
    tokens = store.invite(fingerprint_of(few), 2)
    assert store.write(list(responses(few, tokens)), TODAY) == [Outcome.STORED, Outcome.FULL]
    assert store.state(fingerprint_of(few)) == SurveyState(True, 1, 2, 1)


def test_answers_are_taken_from_the_first_to_the_last_day(store: Store) -> None:
    dated = published(opens="2027-03-30", closes="2027-03-31")
    store.register(dated)
    outcomes = [store.write([response(dated)], date(2027, 3, day))[0] for day in (29, 30, 31)]
    assert outcomes == [Outcome.NOT_YET_OPEN, Outcome.STORED, Outcome.STORED]
    assert store.write([response(dated)], date(2027, 4, 1)) == [Outcome.CLOSED]


def test_a_closed_survey_takes_nothing_but_acknowledges_what_it_has(store: Store) -> None:
    one = response(OPEN)
    store.write([one], TODAY)
    store.close_survey(fingerprint_of(OPEN))
    assert store.write([one, response(OPEN)], TODAY) == [Outcome.REPEATED, Outcome.CLOSED]
    assert store.state(fingerprint_of(OPEN)) == SurveyState(False, 1, 0, 0)


def test_an_unknown_survey_is_an_outcome_of_its_own(store: Store) -> None:
    other = published(title="Never registered")
    assert store.write([response(other)], TODAY) == [Outcome.UNKNOWN_SURVEY]
    for ask in (store.state, store.codes, store.close_survey):
        with pytest.raises(StoreError, match="has no survey"):
            ask(fingerprint_of(other))


def test_surveys_come_back_as_registered_and_once(store: Store, url: str) -> None:
    store.register(OPEN)
    assert store.published() == (OPEN, INVITED)
    other = Store(url)
    assert other.published() == (OPEN, INVITED)
    other.close()


def test_the_order_of_records_reveals_nothing_and_stays(store: Store) -> None:
    store.write([response(OPEN, number) for number in range(200)], TODAY)
    before = store.codes(fingerprint_of(OPEN))
    store.erase_order()
    assert np.array_equal(store.codes(fingerprint_of(OPEN)), before)
    assert not np.array_equal(before[:, 1], np.sort(before[:, 1]))


def test_no_column_is_finer_than_a_day(store: Store) -> None:
    found = inspect(store.database.engine)
    kinds = [c["type"] for table in found.get_table_names() for c in found.get_columns(table)]
    assert not any(isinstance(kind, DateTime) for kind in kinds)
    assert sum(isinstance(kind, Date) for kind in kinds) == 1


def test_only_one_may_write_to_a_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "survey.db")
    store.register(OPEN)
    store.claim()
    second = Store(tmp_path / "survey.db")
    with pytest.raises(StoreError, match="another server writes to this database; stop it first"):
        second.write([response(OPEN)], TODAY)
    assert second.state(fingerprint_of(OPEN)).records == 0
    store.close()
    assert second.write([response(OPEN)], TODAY) == [Outcome.STORED]
    second.close()


def test_a_newer_database_is_refused(store: Store, url: str) -> None:
    with store.database.writing() as connection:
        connection.execute(text("UPDATE tacit_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="has layout '9999', this tacit knows up to '0004'"):
        Store(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://me@somewhere/x", "not a database that tacit knows"),
        ("sqlite://", "not a database that tacit knows"),
        ("sqlite:///missing/x.db", "its folder does not exist"),
        (".", "is a folder"),
        ("postgresql://me:secret@host:port/x", "malformed"),
    ],
)
def test_an_address_that_is_no_database_is_refused(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as error:
        Store(url)
    assert "secret" not in str(error.value)


def test_a_database_that_does_not_answer_is_an_error_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the database does not answer") as error:
        Store(f"postgresql://me:secret@/x?host={tmp_path}")
    assert "secret" not in str(error.value)


def test_an_unresponsive_host_times_out(cluster: Cluster) -> None:
    store = Store(cluster.url())
    with store.database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        given = driver.info.get_parameters()
    store.close()
    assert given["tcp_user_timeout"] == "10000"
    assert (given["keepalives_idle"], given["keepalives_interval"]) == ("5", "1")


def test_the_state_is_known_without_counting_links(store: Store) -> None:
    store.invite(fingerprint_of(INVITED), 3)
    said: list[str] = []
    event.listen(
        store.database.engine, "before_cursor_execute", lambda *given: said.append(given[2])
    )
    assert store.state(fingerprint_of(INVITED)) == SurveyState(True, 0, 3, 3)
    assert said
    assert not any("tokens" in statement for statement in said)


def test_a_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("a letter, not a database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(path)


def test_stored_records_that_do_not_fit_are_refused() -> None:
    reported = OPEN.design.reported
    with pytest.raises(StoreError, match="not a category"):
        unpacked([packed([1, 1000], reported)], reported)
    with pytest.raises(StoreError, match="does not have 2 attributes"):
        unpacked([b"\0"], reported)


def test_a_backup_does_not_wait_for_a_server_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.collect.store.sqlite.PATIENCE", 0.0)
    path = tmp_path / "survey.db"
    with closing(Store(path)) as store:
        store.register(OPEN)
        store.write([response(OPEN, number) for number in range(5)], TODAY)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with closing(Store(path, must_exist=True)) as reader:
                assert len(reader.codes(fingerprint_of(OPEN))) == 5
                reader.backup(tmp_path / "backup.db")
    with closing(Store(tmp_path / "backup.db")) as copy:
        assert len(copy.codes(fingerprint_of(OPEN))) == 5
