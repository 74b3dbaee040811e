"""Release: results from batches of records, so that watching them reveals nobody's report.

Somebody who looks at the results before and after each answer would read every report. So results
come from stored count tables, and two tables that follow each other differ by many records:

While a survey is open, a new table is made when enough records have arrived since the last one. It
leaves out `HELD_BACK` of them, drawn at random, so that the final table, which has all records,
differs from the last one by at least as many. These tables are for single questions: counts of one
question cannot be tied to those of another.

Tables of several questions and models come from the final table, after closing, and from one
earlier table at most: the snapshot, which the owner may freeze while the survey is open. The final
table has them as `earlier`, and hides cells that grew by a few people (see `disclosure`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.collect.store import Store
from tacit.core.arrays import Codes
from tacit.core.label_codes import with_no_answer
from tacit.errors import DataError, FileError, StoreError
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.records import Origin, PatternTable, answers_of, count
from tacit.records.count_file import CountedPart, StoredCounts, read_counts
from tacit.records.keys import ordered_keys
from tacit.survey import Published

#: New records in a release, at least, and as a share of those released before.
FEWEST_NEW, SHARE_NEW = 32, 8
#: Records that a release of an open survey leaves out.
HELD_BACK = 32
#: Records without which nothing is shown.
FEWEST_SHOWN = 100
#: Tables of a release that are kept in memory, and releases; others are read from their files.
_MOST_KEPT, _MOST_RELEASES = 200, 16
#: Endings of the files of a survey.
_SHOWN, _SNAPSHOT, _FINAL = "-shown.counts", ".counts", "-final.counts"

_LACKING = "the database lacks records whose results were shown before"

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Release:
    """The records of a survey whose results are shown.

    While the survey is `open`, only single questions may be shown. `earlier` is the snapshot of
    which tables of several questions were shown before.
    """

    survey: Published
    counts: PatternTable
    open: bool = False
    earlier: Release | None = None
    #: The reports that every record has, if others may hold anything.
    answered: frozenset[str] | None = None
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def reconstruction(self) -> Reconstruction:
        """Estimates from these records."""
        return replace(reconstruct(self.counts, self.survey.design), answered=self.answered)

    def once(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What `make` returns, computed once per release: its records never change."""
        if key not in self._kept:
            value = make()
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = value
            return value
        stored: _Value = self._kept[key]
        return stored


class Releases:
    """The releases of all surveys, as count files in a folder; `tell` is told of each."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        tell: Callable[[Release], None] = lambda _: None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._store, self._folder, self._tell, self._today = store, folder, tell, today
        self._days = DayCounts(store, folder)
        self._kept: dict[Path, Release] = {}
        self._newest_of: dict[str, Release] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._day_counts: dict[str, tuple[int, dict[str, int]]] = {}

    def today(self) -> date:
        """The current day."""
        return self._today()

    def day_counts(self, survey: Published, records: int) -> dict[str, int]:
        """How many records each day has; counted again if their number has changed."""
        before, counts = self._day_counts.get(survey.slug, (None, {}))
        if before != records:
            counts = self._store.days(survey.survey.fingerprint)
            self._day_counts[survey.slug] = records, counts
        return counts

    def newest(self, survey: Published) -> Release | None:
        """The newest release, made now if enough records are new; None if there are too few.

        While one request makes a release, others get the one before.
        """
        lock = self._locks.setdefault(survey.slug, threading.Lock())
        before = self._newest_of.get(survey.slug)
        if not lock.acquire(blocking=before is None):
            return before
        try:
            if not self._path(survey, _FINAL).exists():
                self._make_due(survey)
            release = self._stored(survey, _FINAL) or self._stored(survey, _SHOWN)
            if release is not None:
                self._newest_of[survey.slug] = release
            return release
        finally:
            lock.release()

    def comparable(self, survey: Published) -> Release | None:
        """The release of tables of several questions: the final one, or before it the snapshot."""
        newest = self.newest(survey)
        return self.snapshot(survey) if newest is None or newest.open else newest

    def snapshot(self, survey: Published) -> Release | None:
        """The release that was frozen while the survey was open; None if there is none."""
        return self._stored(survey, _SNAPSHOT)

    def freeze(self, survey: Published) -> Release:
        """Make the snapshot from the release that is shown; this can be done once."""
        shown = self.newest(survey)
        with self._locks[survey.slug]:
            if self._path(survey, _FINAL).exists():  # perhaps made meanwhile
                raise DataError("the survey is closed: everything can be compared already")
            if self._path(survey, _SNAPSHOT).exists():
                raise DataError("there is a snapshot already, and there can be only one")
            if shown is None:
                raise DataError(f"a snapshot needs {FEWEST_SHOWN} records whose results are shown")
            stored = read_counts(self._path(survey, _SHOWN))
            StoredCounts(stored.table, stored.origin).write(self._path(survey, _SNAPSHOT))
        snapshot = self.snapshot(survey)
        assert snapshot is not None, "it was written"
        return snapshot

    def forget(self, survey: Published) -> None:
        """Delete all files of a survey that was deleted: its releases, finished days, history."""
        with self._locks.setdefault(survey.slug, threading.Lock()):
            self._newest_of.pop(survey.slug, None)
            for ending in (_SHOWN, _SNAPSHOT, _FINAL):
                self._kept.pop(self._path(survey, ending), None)
            for path in self._folder.glob(f"{survey.survey.fingerprint}*"):
                path.unlink(missing_ok=True)

    def _make_due(self, survey: Published) -> None:
        """Write the next release if it is due: the final one, or one for an open survey."""
        shown, final = self._path(survey, _SHOWN), self._path(survey, _FINAL)
        release = self._stored(survey, _SHOWN)
        closed = self._closed(survey)
        records = self._store.state(survey.survey.fingerprint).records
        released = 0 if release is None else release.counts.n_records
        if records < (FEWEST_SHOWN if closed else next_release_at(released)):
            return
        counted = self._days.counted(survey)
        if not closed:
            counted = _with_most_of(read_counts(shown) if shown.exists() else None, counted)
        _give_back_memory()
        StoredCounts(counted.table, counted.origin).write(final if closed else shown)
        self._kept.pop(shown, None)
        del counted
        _give_back_memory()

    def _closed(self, survey: Published) -> bool:
        """Whether no record can arrive any more.

        A day ends earlier on one clock than on another, so a survey whose last day is over is
        closed in the database first. A quota is kept by the database.
        """
        terms, state = survey.survey, self._store.state(survey.survey.fingerprint)
        if state.open and terms.closes is not None and self._today() > terms.closes:
            self._store.close_survey(terms.fingerprint)
            return True
        return not state.open or (terms.quota is not None and state.records >= terms.quota)

    def _stored(self, survey: Published, ending: str) -> Release | None:
        path = self._path(survey, ending)
        if path in self._kept:
            return self._kept[path]
        if not path.exists():
            return None
        counts = answers_of(read_counts(path).table, survey.design.reported)
        earlier = self.snapshot(survey) if ending == _FINAL else None
        release = Release(survey, counts, ending == _SHOWN, earlier)
        if ending != _SNAPSHOT:
            self._tell(release)
        for other in [*self._kept][: max(0, len(self._kept) - _MOST_RELEASES + 1)]:
            self._kept.pop(other, None)
        self._kept[path] = release
        return release

    def _path(self, survey: Published, ending: str) -> Path:
        return self._folder / f"{survey.survey.fingerprint}{ending}"


def next_release_at(released: int) -> int:
    """How many records an open survey has when the next release is made."""
    new = max(FEWEST_NEW, released // SHARE_NEW) if released else FEWEST_SHOWN
    return released + new + HELD_BACK


def _with_most_of(before: StoredCounts | None, counted: StoredCounts) -> StoredCounts:
    """All records but a few, which are drawn at random from those that the table before has not."""
    whole = counted.table
    rest = whole.counts if before is None else whole.counts - _same_patterns(before.table, whole)
    if (rest < 0).any():
        raise StoreError(_LACKING)
    rng = np.random.default_rng()
    drawn = rng.multivariate_hypergeometric(rest, HELD_BACK, method="marginals")
    return StoredCounts(whole.with_counts(whole.counts - drawn), counted.origin, counted.parts)


def _same_patterns(part: PatternTable, whole: PatternTable) -> npt.NDArray[np.int64]:
    """How often each pattern of a table occurs in a part of its records."""
    if part.schema != whole.schema:
        raise StoreError(_LACKING)
    both = np.concatenate([whole.patterns.T, part.patterns.T], axis=1).T
    keys = ordered_keys(both, whole.schema.sizes)
    own, others = keys[: len(whole)], keys[len(whole) :]
    places = np.minimum(np.searchsorted(own, others), len(own) - 1)
    if (own[places] != others).any():
        raise StoreError(_LACKING)
    counts = np.zeros(len(own), np.int64)
    counts[places] = part.counts
    return counts


def _give_back_memory() -> None:
    """Return freed memory to the system; glibc keeps what was freed in pieces."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class DayCounts:
    """The count table of all records of a survey, of which finished days are counted only once.

    A day is finished if the store has records of a later one. The table of the finished days of a
    survey is stored in a count file that names each day and its number of records. If the store
    still has as many records of each, only other days are read. If that does not add up to all
    records, everything is counted again.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder

    def counted(self, survey: Published) -> StoredCounts:
        """The count table of all records that are stored now; its parts are the days."""
        finished = _kept(self._path(survey))
        days = self._store.days(survey.survey.fingerprint)
        if finished is not None and _days(finished).items() <= days.items():
            with suppress(StoreError):
                return self._continued(survey, finished)
        return self._continued(survey, None)

    def _continued(self, survey: Published, base: StoredCounts | None) -> StoredCounts:
        counted_days = {} if base is None else _days(base)
        days = self._store.codes_by_day(survey.survey.fingerprint, counted_days)
        _give_back_memory()
        newest = max([*counted_days, *days])
        finished = {day: days.pop(day) for day in [*days] if day < newest}
        if finished:
            base = _added(survey, base, finished)
            base.write(self._path(survey))
        return _added(survey, base, days)

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}-days.counts"


def _added(survey: Published, base: StoredCounts | None, days: dict[str, Codes]) -> StoredCounts:
    """A table with the records of more days; `days` is empty afterwards, to free their memory."""
    reported = survey.design.reported  # with a category for missing answers if some may be
    schema = reported if survey.stored == reported else with_no_answer(reported)
    tables = [] if base is None else [base.table]
    parts = () if base is None else base.parts
    for day in [*days]:
        tables.append(count(days.pop(day), schema))
        parts += (CountedPart(day, f"{day} {tables[-1].n_records}"),)
    return StoredCounts(reduce(add, tables), Origin(survey.fingerprint, survey.title), parts)


def _kept(path: Path) -> StoredCounts | None:
    """The counts in a file; None if it is damaged or does not say which days it has."""
    try:
        counts = read_counts(path) if path.exists() else None
    except FileError:
        return None  # count again
    whole = counts is not None and sum(_days(counts).values()) == counts.table.n_records
    return counts if whole else None


def _days(counts: StoredCounts) -> dict[str, int]:
    """The days of a table, with their numbers of records."""
    return {part.name: int(part.mark.partition(" ")[2]) for part in counts.parts}
