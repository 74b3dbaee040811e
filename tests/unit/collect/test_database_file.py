"""One writer per database file, whatever name it is opened by; no write to a file that is gone."""

from __future__ import annotations

import os
import subprocess
from datetime import date
from pathlib import Path

import pytest

from tacit.collect.store import Outcome, Store
from tacit.errors import StoreError, Unavailable
from tests.support.published import published, response

TODAY = date(2027, 3, 31)
SURVEY = published()


def _held(path: Path) -> Store:
    store = Store(path)
    store.register(SURVEY)
    store.claim()
    return store


def test_a_symbolic_link_to_the_database_does_not_allow_a_second_writer(tmp_path: Path) -> None:
    first = _held(tmp_path / "survey.db")
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(tmp_path / "survey.db")
    second = Store(link)
    with pytest.raises(StoreError, match="another server writes"):
        second.claim()
    first.close()
    assert second.write([response(SURVEY)], TODAY) == [Outcome.STORED]
    second.close()


def test_a_hard_link_to_the_database_does_not_allow_a_second_writer(tmp_path: Path) -> None:
    first = _held(tmp_path / "survey.db")
    os.link(tmp_path / "survey.db", tmp_path / "link.db")
    with pytest.raises(StoreError, match="more than one name"):
        Store(tmp_path / "link.db")
    first.close()


def test_a_symbolic_link_that_is_pointed_elsewhere_is_noticed(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "survey.db")
    store = _held(link)
    Store(tmp_path / "other.db").close()
    (tmp_path / "new").symlink_to(tmp_path / "other.db")
    (tmp_path / "new").rename(link)
    with pytest.raises(Unavailable, match=r"link.db was deleted, moved or replaced"):
        store.write([response(SURVEY)], TODAY)
    store.close()


@pytest.mark.parametrize("end", ["", "-wal", "-shm", ".lock"])
def test_a_file_that_is_deleted_and_created_again_is_not_the_same(tmp_path: Path, end: str) -> None:
    path = tmp_path / "survey.db"
    store = _held(path)
    beside = Path(f"{path}{end}")
    content = beside.read_bytes()
    beside.rename(tmp_path / "kept")  # so that its number is not given to the new file
    beside.write_bytes(content)
    with pytest.raises(Unavailable, match=f"survey.db{end} was deleted, moved or replaced"):
        store.write([response(SURVEY)], TODAY)
    (tmp_path / "kept").rename(beside)
    assert store.write([response(SURVEY)], TODAY) == [Outcome.STORED]
    store.close()


def test_a_missing_file_is_not_created_by_a_later_connection(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = Store(path)
    store.database.close()
    path.unlink()
    with pytest.raises(Unavailable, match="deleted"):
        store.published()
    assert not path.exists()


def test_what_other_commands_write_is_not_taken_for_damage(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = _held(path)
    store.write([response(SURVEY, n) for n in range(40)], TODAY)
    other = Store(path)
    other.erase_order()
    other.register(published(title="Another"))
    other.database.forget_links()
    other.close()
    assert store.write([response(SURVEY)], TODAY) == [Outcome.STORED]
    store.close()


def _copied_over(source: Path, target: Path) -> None:
    """By another process: closing a file ends all locks that a process has on it."""
    subprocess.run(["cp", source, target], check=True)


@pytest.mark.slow
def test_a_copy_put_under_the_writer_is_not_mixed_with_pages_from_its_cache(
    tmp_path: Path,
) -> None:
    """A copy may hold the same records on other pages: old pages would destroy it."""
    path, copied = tmp_path / "survey.db", tmp_path / "copied.db"
    store = _held(path)
    old = [response(SURVEY, n) for n in range(600)]
    for first in range(0, 600, 20):
        store.write(old[first : first + 20], TODAY)
    _copied_over(path, copied)
    store.erase_order()
    assert store.write(old, TODAY) == [Outcome.REPEATED] * 600  # its cache holds the new pages
    _copied_over(copied, path)
    for first in range(600, 900, 10):
        new = [response(SURVEY, n) for n in range(first, first + 10)]
        assert store.write(new, TODAY) == [Outcome.STORED] * 10
    store.erase_order()
    assert sorted(store.codes(SURVEY.survey.fingerprint)[:, 1]) == list(range(900))
    store.close()


def test_nothing_is_stored_in_a_backup_that_is_restored_under_the_writer(tmp_path: Path) -> None:
    """It has the same records, but it keeps no log: nobody else would see what is in ours."""
    path, backup = tmp_path / "survey.db", tmp_path / "backup.db"
    store = _held(path)
    store.write([response(SURVEY, n) for n in range(600)], TODAY)
    store.erase_order()
    store.backup(backup)
    _copied_over(backup, path)
    with pytest.raises(Unavailable, match="overwritten while it was open"):
        store.write([response(SURVEY)], TODAY)
    store.close()
    again = Store(path)
    assert len(again.codes(SURVEY.survey.fingerprint)) == 600
    again.close()


def test_an_older_copy_is_not_taken_for_our_own_change_when_the_log_is_emptied(
    tmp_path: Path,
) -> None:
    path, older = tmp_path / "survey.db", tmp_path / "older.db"
    store = _held(path)
    _copied_over(path, older)
    store.write([response(SURVEY, n) for n in range(40)], TODAY)
    store.erase_order()
    _copied_over(older, path)
    store.database.forget_links()  # as a quiet server does
    with pytest.raises(Unavailable, match="overwritten while it was open"):
        store.write([response(SURVEY, 40)], TODAY)
    store.close()


def test_nothing_is_stored_in_an_older_copy_if_sqlite_notices_the_damage_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes just after it was verified, while a program copies an older one over it."""
    path, older, half = (tmp_path / name for name in ("survey.db", "older.db", "half.db"))
    half.write_bytes(b"\1" * 8192)
    store = _held(path)
    _copied_over(path, older)
    store.write([response(SURVEY, n) for n in range(600)], TODAY)
    store.database.forget_links()
    with monkeypatch.context() as patched:
        patched.setattr(store.database, "_verify", lambda connection: None)
        assert store._held is not None
        store._held.exec_driver_sql("PRAGMA shrink_memory")
        store._held.rollback()
        _copied_over(half, path)
        with pytest.raises(Unavailable, match=r"not a database|malformed"):
            store.write([response(SURVEY, 600)], TODAY)
    _copied_over(older, path)
    for _ in range(2):
        with pytest.raises(Unavailable, match="overwritten while it was open"):
            store.write([response(SURVEY, 601)], TODAY)
    store.close()


def test_a_proof_leaves_no_rows_and_writes_more_than_the_batch_would(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = _held(path)
    before = path.stat().st_size
    store.test_write(100)
    assert path.stat().st_size - before > 2 * 100 * 4096
    with store.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM tokens").scalar() == 0
    store.close()
