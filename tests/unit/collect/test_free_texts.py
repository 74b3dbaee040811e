"""Free texts are stored apart from records, on both databases, and nothing links the two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from tacit.collect.http import Refused
from tacit.collect.store import Outcome, Store
from tacit.collect.store.values import id_of
from tacit.collect.submission import SubmissionValidator
from tacit.errors import SurveyError
from tests.support.asking import compact, submission
from tests.support.free_text_surveys import FREE, FREE_INVITED, response_with
from tests.support.page_surveys import OPEN, published, yes_no
from tests.support.postgres import Cluster

TODAY = date(2027, 3, 31)
FINGERPRINT = FREE.survey.fingerprint


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(Store(url)) as made:
        made.register(FREE)
        made.register(FREE_INVITED)
        yield made


def test_texts_come_back_with_their_questions_and_without_their_records(store: Store) -> None:
    batch = [response_with(FREE, f"text {n}", "😀" if n % 2 else "") for n in range(20)]
    assert store.write(batch, TODAY) == [Outcome.STORED] * 20
    found = store.texts(FINGERPRINT)
    assert sorted(found) == sorted(
        [("more", f"text {n}") for n in range(20)] + [("__proto__", "😀")] * 10
    )
    assert store.texts(FREE_INVITED.survey.fingerprint) == []
    assert len(store.codes(FINGERPRINT)) == 20


def test_the_table_has_no_day_and_no_id_of_a_record(store: Store) -> None:
    batch = [response_with(FREE, "hello") for _ in range(9)]
    store.write(batch, TODAY)
    with store.database.reading() as connection:
        columns = {column["name"] for column in inspect(connection).get_columns("texts")}
        ids = [bytes(own) for own in connection.scalars(text("SELECT id FROM texts"))]
    assert columns == {"survey", "id", "name", "text"}
    records = {id_of(one) for one in batch}
    assert len(set(ids)) == 9
    assert records.isdisjoint(ids)


def test_a_retry_stores_a_text_once_and_also_if_only_the_record_was_stored(store: Store) -> None:
    one = response_with(FREE, "once")
    assert store.write([one._replace(texts=())], TODAY) == [Outcome.STORED]
    for _ in range(2):
        assert store.write([one], TODAY) == [Outcome.REPEATED]
        assert store.texts(FINGERPRINT) == [("more", "once")]


def test_texts_of_refused_records_are_not_stored(store: Store) -> None:
    fingerprint = FREE_INVITED.survey.fingerprint
    (token,) = store.invite(fingerprint, 1)
    used = response_with(FREE_INVITED, "mine", token=token)
    other = response_with(FREE_INVITED, "not mine", token=token)
    assert store.write([used], TODAY) == [Outcome.STORED]
    assert store.write([other], TODAY) == [Outcome.UNKNOWN_TOKEN]
    store.close_survey(fingerprint)
    assert store.write([response_with(FREE_INVITED, "late", token="x")], TODAY) == [Outcome.CLOSED]
    assert store.texts(fingerprint) == [("more", "mine")]


def test_rows_are_in_the_order_of_their_ids_once_the_order_is_erased(cluster: Cluster) -> None:
    """Negative control: before, PostgreSQL has them in the order of arrival."""
    with closing(Store(cluster.url())) as store:
        store.register(FREE)
        for n in range(12):
            store.write([response_with(FREE, f"text {n}")], TODAY)
        sql = "SELECT id, text, xmin::text FROM texts ORDER BY ctid"

        def rows() -> list[Any]:
            with store.database.reading() as connection:
                return [tuple(row) for row in connection.execute(text(sql))]

        before = rows()
        assert [own for _, own, _ in before] == [f"text {n}" for n in range(12)]
        store.erase_order()
        after = rows()
        assert [own for own, _, _ in after] == sorted(own for own, _, _ in before)
        assert len({number for _, _, number in after}) == 1
        with store.database.reading() as connection:
            records = connection.scalars(text("SELECT DISTINCT xmin::text FROM responses")).all()
        assert len(records) == 1


def test_a_backup_has_the_texts(store: Store, tmp_path: Path) -> None:
    store.write([response_with(FREE, "kept")], TODAY)
    store.backup(tmp_path / "copy.db")
    with closing(Store(tmp_path / "copy.db")) as copy:
        assert copy.texts(FINGERPRINT) == [("more", "kept")]


# What is accepted ---------------------------------------------------------------------------


def sent(**changed: Any) -> dict[str, Any]:
    return submission(FREE, **changed)


def test_texts_are_taken_and_empty_ones_left_out() -> None:
    body = sent(texts={"more": "  so\nmuch 😀 ", "__proto__": " \n"})
    found = SubmissionValidator(FREE).validate(compact(body))
    assert [(own.name, own.text) for own in found.texts] == [("more", "so\nmuch 😀")]
    assert SubmissionValidator(FREE).validate(compact(sent())).texts == ()


@pytest.mark.parametrize(
    ("texts", "detail"),
    [
        ({"more": "x"}, "texts must have the keys more, __proto__"),
        ({"more": "", "__proto__": "", "x": ""}, "texts must have the keys"),
        ([], "texts must have the keys"),
        ({"more": None, "__proto__": ""}, "the text 'more' must be a text without control"),
        ({"more": "a\0b", "__proto__": ""}, "the text 'more' must be a text without control"),
        ({"more": "\ud800", "__proto__": ""}, "the text 'more' must be a text without control"),
        ({"more": "", "__proto__": "xxxx"}, "the text '__proto__' may have at most 3 letters"),
        ({"more": "", "__proto__": "😀😀"}, "the text '__proto__' may have at most 3 letters"),
    ],
)
def test_other_texts_are_refused(texts: Any, detail: str) -> None:
    body = json.dumps(sent() | {"texts": texts}).encode()
    with pytest.raises(Refused) as refused:
        SubmissionValidator(FREE).validate(body)
    assert detail in json.loads(refused.value.response.body)["detail"]


@pytest.mark.parametrize("key", ["", "0" * 31, "G" * 32, None])
def test_a_wrong_key_is_refused(key: Any) -> None:
    with pytest.raises(Refused):
        SubmissionValidator(FREE).validate(json.dumps(sent() | {"text_key": key}).encode())


def test_a_survey_without_free_texts_accepts_none() -> None:
    body = submission(OPEN) | {"text_key": "0" * 32, "texts": {}}
    with pytest.raises(Refused) as refused:
        SubmissionValidator(OPEN).validate(compact(body))
    assert "keys must be fingerprint, key, record and padding" in str(refused.value.response.body)


def test_any_text_has_the_length_of_none() -> None:
    written = ["", "x", "ä" * 200, "\u2028" * 200, '"\\' * 100, "\n\t" * 100, "😀" * 100]
    lengths = set()
    for own in written:
        body = compact(sent(texts={"more": own, "__proto__": ""}))
        lengths.add(len(body))
        SubmissionValidator(FREE).validate(body)
    assert len(lengths) == 1


# The survey file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([{"name": "a", "text": "?"}], r"free_texts\[0\]\.name: the name 'a' is taken"),
        ([{"name": "x", "text": "?"}] * 2, r"free_texts\[1\]\.name: the name 'x' is taken"),
        ([{"name": "x", "text": "?", "letters": 0}], r"free_texts\[0\]\.letters: "),
        ([{"name": "x", "text": "?", "letters": 2001}], r"free_texts\[0\]\.letters: "),
        ([{"name": "x"}], r"free_texts\[0\]: the key 'text' is missing"),
        ([{"name": f"x{i}", "text": "?"} for i in range(6)], "may have at most 5 items"),
        ([], "needs at least 1 item"),
    ],
)
def test_mistakes_in_free_texts_are_named(fields: Any, said: str) -> None:
    with pytest.raises(SurveyError, match=said):
        published({"questions": [yes_no("a", sensitive=False)], "free_texts": fields})


def test_a_survey_without_free_texts_has_no_such_key() -> None:
    assert "free_texts" not in OPEN.to_json()
    assert FREE.design.reported.names == ("a", "b")
