"""A damaged record is refused, never exported or copied as if it were an answer."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from tacit.collect.store import Store
from tacit.errors import FileError, StoreError
from tests.support.published import response
from tests.support.writers import INVITED, OPEN, TODAY, store_of

FINGERPRINT = OPEN.survey.fingerprint
N = 100
#: What a flipped bit may change in a row, for both databases: 3 of 100 records.
DAMAGES = {
    "codes": "codes = {flipped_codes}",
    "id": "id = {flipped_id}",
    "day": "day = '2027-03-30'",
    "checksum": "checksum = {flipped_checksum}",
    "survey": "survey = 2",
}
#: Other bytes for a column, in the SQL of each database; a record of another row would do as well.
FLIPPED = {
    "sqlite": {
        "flipped_codes": "CAST(x'01' || substr(codes, 2) AS BLOB)",
        "flipped_id": "CAST(substr(id, 1, 15) || x'5e' AS BLOB)",
        "flipped_checksum": "CAST(substr(checksum, 1, 3) || x'5e' AS BLOB)",
    },
    "postgresql": {
        "flipped_codes": "set_byte(codes, 0, 1)",
        "flipped_id": "set_byte(id, 15, 94)",
        "flipped_checksum": "set_byte(checksum, 3, 94)",
    },
}


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """Two surveys; one holds 100 records, all of whose first code is 0."""
    made = store_of(url)
    made.write([response(OPEN, 2 * n) for n in range(N)], TODAY)
    made.erase_order()
    yield made
    made.close()


def _damage(store: Store, what: str) -> None:
    kind = store.database.engine.dialect.name
    with store.database.writing() as connection:
        rows = connection.execute(text("SELECT id, checksum FROM responses")).all()
        ids = [bytes(own) for own, checksum in rows if bytes(checksum)[3] != 0x5E]
        change = text(f"UPDATE responses SET {DAMAGES[what].format(**FLIPPED[kind])} WHERE id = :i")
        for own in [own for own in ids if own[15] != 0x5E][:3]:
            connection.execute(change, {"i": own})


@pytest.mark.parametrize("what", ["codes", "id", "day", "checksum"])
def test_a_flipped_bit_is_not_exported_or_copied(store: Store, tmp_path: Path, what: str) -> None:
    assert len(store.codes(FINGERPRINT)) == N
    _damage(store, what)
    with pytest.raises(StoreError) as error:
        store.codes(FINGERPRINT)
    said = str(error.value)
    assert f"3 of 100 records of survey {OPEN.slug} are damaged" in said
    assert "backup" in said
    with pytest.raises(StoreError, match=r"3 of 100 records .* are damaged"):
        store.backup(tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()
    assert len(store.codes(INVITED.survey.fingerprint)) == 0, "another survey is not concerned"


def test_records_that_moved_to_another_survey_are_missed_there_and_refused_here(
    store: Store,
) -> None:
    _damage(store, "survey")
    with pytest.raises(StoreError, match=r"97 records of survey .* are left of 100"):
        store.codes(FINGERPRINT)
    with pytest.raises(StoreError, match=r"3 of 3 records .* are damaged"):
        store.codes(INVITED.survey.fingerprint)


def test_a_whole_backup_passes(store: Store, tmp_path: Path) -> None:
    before = store.codes(FINGERPRINT)
    store.backup(tmp_path / "backup.db")
    copy = Store(tmp_path / "backup.db")
    assert np.array_equal(copy.codes(FINGERPRINT), before)
    copy.close()


@pytest.mark.slow
def test_no_flipped_bit_of_a_sqlite_file_changes_an_export_unnoticed(tmp_path: Path) -> None:
    """Any bit of the file: the export is refused, or it is what it was before."""
    path = tmp_path / "survey.db"
    store = store_of(path)
    store.write([response(OPEN, n) for n in range(N)], TODAY)
    store.erase_order()
    whole = store.codes(FINGERPRINT)
    store.close()
    content = bytearray(path.read_bytes())
    pages = [range(4096 * (page - 1), 4096 * page) for page in _pages_of(path, "responses")]
    used = [at for page in pages for at in page if content[at]]
    chance = random.Random(4)
    refused = 0
    for _ in range(300):
        at, bit = chance.choice(used), chance.randrange(8)
        content[at] ^= 1 << bit
        path.write_bytes(content)
        content[at] ^= 1 << bit
        refused += _refused(path, whole)
    assert refused > 150, "most of these bits belong to a record"


def _pages_of(path: Path, table: str) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,))
        return [number for (number,) in found]


def _refused(path: Path, whole: np.ndarray) -> bool:
    try:
        store = Store(path)
    except StoreError:
        return True
    try:
        found = store.codes(FINGERPRINT)
    except StoreError:
        return True
    finally:
        store.close()
    assert np.array_equal(found, whole)
    return False


def test_an_unwritable_place_is_still_named_as_such(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        store.backup(tmp_path / "none" / "backup.db")
