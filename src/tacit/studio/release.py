"""Release: results from batches of records, so that watching them reveals nobody's report.

Somebody who looks at the results before and after each answer would read every report. So results
come from a stored count table, which is replaced only when enough new records have arrived: the
difference of two tables that follow each other then mixes at least that many reports, whose order
of arrival the store has erased.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from tacit.counting import PatternTable
from tacit.counting.count_file import read_counts
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.sampling.incomplete_patterns import IncompletePatterns, answers_of
from tacit.service.store import Store
from tacit.studio.day_counts import DayCounts
from tacit.survey import Published

#: New records in a release, at least, and as a share of those released before.
FEWEST_NEW, SHARE_NEW = 32, 8
#: Records without which nothing is shown.
FEWEST_SHOWN = 100
#: Tables of a release that are kept in memory, and releases; others are read from their files.
_MOST_KEPT, _MOST_RELEASES = 200, 8

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Release:
    """The records of a survey whose results are shown."""

    survey: Published
    counts: PatternTable
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def reconstruction(self) -> Reconstruction:
        """Estimates from these records."""
        return reconstruct(self.counts, self.survey.design)

    def once(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What `make` returns, computed once per release: its records never change."""
        if key not in self._kept:
            made = make()
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = made
            return made
        found: _Value = self._kept[key]
        return found


class Releases:
    """The releases of all surveys, as count files in a folder; `tell` is told of each."""

    def __init__(
        self, store: Store, folder: Path, tell: Callable[[Release], None] = lambda _: None
    ) -> None:
        self._store, self._folder, self._tell = store, folder, tell
        self._days = DayCounts(store, folder)
        self._kept: dict[str, Release] = {}
        self._locks: dict[str, threading.Lock] = {}

    def newest(self, survey: Published) -> Release | None:
        """The newest release, made now if enough records are new; None if there are too few.

        While one request makes a release, others get the one before.
        """
        lock = self._locks.setdefault(survey.slug, threading.Lock())
        before = self._kept.get(survey.slug)
        if not lock.acquire(blocking=before is None):
            return before
        try:
            return self._newest(survey)
        finally:
            lock.release()

    def forget(self, survey: Published) -> None:
        """Delete all files of a survey that was deleted: its release, finished days, history."""
        with self._locks.setdefault(survey.slug, threading.Lock()):
            self._kept.pop(survey.slug, None)
            for path in self._folder.glob(f"{survey.survey.fingerprint}*"):
                path.unlink(missing_ok=True)

    def _newest(self, survey: Published) -> Release | None:
        before = self._stored(survey)
        released = 0 if before is None else before.counts.n_records
        waiting = self._store.state(survey.survey.fingerprint).records - released
        if waiting < missing(released):
            return before
        counted = self._days.counted(survey, self._path(survey))
        counted.write(self._path(survey))
        return self._keep(Release(survey, released_answers(survey, counted.table)))

    def _stored(self, survey: Published) -> Release | None:
        if survey.slug not in self._kept and self._path(survey).exists():
            counts = read_counts(self._path(survey)).table
            self._keep(Release(survey, released_answers(survey, counts)))
        return self._kept.get(survey.slug)

    def _keep(self, release: Release) -> Release:
        self._tell(release)
        for slug in [*self._kept][: max(0, len(self._kept) - _MOST_RELEASES + 1)]:
            self._kept.pop(slug, None)
        self._kept[release.survey.slug] = release
        return release

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}.counts"


def released_answers(survey: Published, counts: PatternTable) -> PatternTable:
    """The table of reports from one that may have a category for missing answers as well."""
    found = answers_of(counts, survey.design.reported)
    complete = isinstance(found, IncompletePatterns) and not found.absent.any()
    return found.whole if complete and isinstance(found, IncompletePatterns) else found


def missing(released: int) -> int:
    """How many new records the next release needs."""
    return max(FEWEST_NEW, released // SHARE_NEW) if released else FEWEST_SHOWN
