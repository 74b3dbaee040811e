"""Deleting a survey: its records and links go, others stay, and nothing takes its number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tacit.collect.store import Outcome, Store, SurveyState
from tacit.errors import StoreError
from tests.support.published import published, response, responses
from tests.support.serving import files_of

TODAY = date(2027, 3, 31)
OPEN, INVITED, LATER = published(), published(access="invited"), published(title="Later")
FIRST, SECOND = OPEN.survey.fingerprint, INVITED.survey.fingerprint


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = Store(url)
    made.register(OPEN)
    made.register(INVITED)
    tokens = made.invite(SECOND, 5)
    made.write([response(OPEN, 1), *responses(INVITED, tokens[:3])], TODAY)
    yield made
    made.close()


def test_an_open_survey_is_not_deleted(store: Store) -> None:
    with pytest.raises(StoreError, match="close the survey"):
        store.delete_survey(SECOND)
    assert store.state(SECOND).records == 3


def test_records_and_links_of_a_deleted_survey_are_gone_and_others_stay(store: Store) -> None:
    store.close_survey(SECOND)
    store.delete_survey(SECOND)
    assert store.published() == (OPEN,)
    assert store.state(SECOND) == SurveyState(False, 0, 0, 0)
    with pytest.raises(StoreError, match="no survey with the fingerprint"):
        store.codes(SECOND)
    with pytest.raises(StoreError, match="no survey with the fingerprint"):
        store.invite(SECOND, 1)
    assert len(store.codes(FIRST)) == 1


def test_a_server_that_still_knows_it_stores_nothing_more(store: Store) -> None:
    store.close_survey(FIRST)
    store.delete_survey(FIRST)
    assert store.write([response(OPEN, 2)], TODAY) == [Outcome.CLOSED]
    other = Store(store.database.shown) if store.database.engine.name == "sqlite" else None
    if other is not None:
        assert other.published() == (INVITED,)
        other.close()


def test_the_next_survey_gets_another_number(store: Store) -> None:
    store.close_survey(SECOND)
    store.delete_survey(SECOND)
    store.register(LATER)
    assert store.write([response(LATER, 1)], TODAY) == [Outcome.STORED]
    assert store.published() == (OPEN, LATER)
    assert store.state(LATER.survey.fingerprint).records == 1


def test_a_deleted_survey_can_be_published_again_without_its_records(store: Store) -> None:
    store.close_survey(FIRST)
    store.delete_survey(FIRST)
    store.register(OPEN)
    assert store.published() == (OPEN, INVITED)
    assert store.state(FIRST) == SurveyState(True, 0, 0, 0)
    assert store.write([response(OPEN, 5)], TODAY) == [Outcome.STORED]


def test_nothing_of_a_deleted_record_is_left_on_the_disk(tmp_path: Path) -> None:
    database = tmp_path / "survey.db"
    store = Store(database)
    store.register(OPEN)
    batch = [response(OPEN, number) for number in range(40)]
    store.write(batch, TODAY)
    with store.database.reading() as connection:
        ids = list(connection.exec_driver_sql("SELECT id FROM responses").scalars())
    assert all(any(own in part for part in files_of(database)) for own in ids)
    store.close_survey(FIRST)
    store.delete_survey(FIRST)
    assert not any(own in part for part in files_of(database) for own in ids)
    store.close()


def test_a_backup_and_a_count_of_what_is_there_still_work(store: Store, tmp_path: Path) -> None:
    store.close_survey(SECOND)
    store.delete_survey(SECOND)
    store.backup(tmp_path / "copy.db")
    copy = Store(tmp_path / "copy.db")
    assert copy.published() == (OPEN,)
    assert len(copy.codes(FIRST)) == 1
    copy.close()
