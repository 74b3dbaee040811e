"""Finished days are counted once; what is counted is always all that is stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.collect.store import Store
from tacit.core.arrays import Codes
from tacit.errors import StoreError
from tacit.records import PatternTable, count_reported
from tacit.records.count_file import StoredCounts, read_counts
from tacit.studio.release import DayCounts
from tests.support.studio import reports, send, survey


class WatchedStore(Store):
    """A store that notes which days it leaves out."""

    left_out: list[dict[str, int]]

    def codes_by_day(
        self, fingerprint: str, known: Mapping[str, int] | None = None
    ) -> dict[str, Codes]:
        self.left_out.append(dict(known or {}))
        return super().codes_by_day(fingerprint, known)


@pytest.fixture
def store(url: str) -> Any:
    made = WatchedStore(url)
    made.left_out = []
    made.register(survey())
    yield made
    made.close()


def assert_all(table: PatternTable, store: Store) -> None:
    whole = count_reported(store.codes(survey().survey.fingerprint), survey().design)
    np.testing.assert_array_equal(table.patterns, whole.patterns)
    np.testing.assert_array_equal(table.counts, whole.counts)


def add(store: Store, n: int, day: int) -> None:
    send(store, survey(), reports(survey(), n, seed=day), date(2027, 1, day))


class Counting:
    """Counts as releases do."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._days, self._store = DayCounts(store, folder), store

    def again(self) -> None:
        found = self._days.counted(survey())
        assert_all(found.table, self._store)


def test_only_days_with_new_records_are_read_again(store: WatchedStore, tmp_path: Path) -> None:
    counts = Counting(store, tmp_path)
    add(store, 40, 1)
    add(store, 40, 2)
    add(store, 50, 3)
    counts.again()
    add(store, 7, 3)  # the newest day goes on
    counts.again()
    add(store, 9, 4)  # the third day is finished now: it is read for the last time
    Counting(store, tmp_path).again()  # also after a restart
    add(store, 9, 4)
    add(store, 9, 5)  # something was added to the fourth day, then came the fifth
    counts.again()
    add(store, 9, 5)
    counts.again()
    assert [sorted(int(day[-2:]) for day in days) for days in store.left_out] == [
        [],
        [1, 2],
        [1, 2],
        [1, 2, 3],
        [1, 2, 3, 4],
    ]


def test_a_record_of_a_finished_day_is_not_lost(store: WatchedStore, tmp_path: Path) -> None:
    counts = Counting(store, tmp_path)
    add(store, 40, 1)
    add(store, 40, 2)
    counts.again()
    add(store, 1, 1)  # a server whose clock is late
    counts.again()
    add(store, 1, 2)
    counts.again()
    assert [len(days) for days in store.left_out] == [0, 0, 1]


def test_damaged_and_older_files_are_made_again(store: WatchedStore, tmp_path: Path) -> None:
    counts = Counting(store, tmp_path)
    add(store, 40, 1)
    add(store, 40, 2)
    counts.again()
    for path in tmp_path.glob("*.counts"):
        path.write_bytes(path.read_bytes()[:100])
    counts.again()
    for path in tmp_path.glob("*.counts"):  # without the names of days
        whole = read_counts(path)
        StoredCounts(whole.table, whole.origin).write(path)
    counts.again()
    assert store.left_out == [{}, {}, {}]


def test_a_record_that_arrives_between_two_queries_is_counted(
    store: WatchedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counting(store, tmp_path)
    add(store, 40, 1)
    add(store, 40, 2)
    counts.again()
    seen = store.days(survey().survey.fingerprint)
    add(store, 1, 1)
    monkeypatch.setattr(store, "days", lambda _: seen)
    counts.again()
    assert [len(days) for days in store.left_out] == [0, 1, 0]


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    with_damage = Store(tmp_path / "survey.db")
    with_damage.register(survey())
    add(with_damage, 40, 1)
    add(with_damage, 40, 2)
    with sqlite3.connect(tmp_path / "survey.db") as connection:
        connection.execute("UPDATE responses SET checksum = x'00000000'")
    with pytest.raises(StoreError, match="damaged"):
        DayCounts(with_damage, tmp_path).counted(survey())
    with_damage.close()


def test_a_missing_record_is_refused(store: WatchedStore, tmp_path: Path) -> None:
    add(store, 40, 1)
    with pytest.raises(StoreError, match="left of"):
        store.codes_by_day(survey().survey.fingerprint, {"2026-01-01": 1})
