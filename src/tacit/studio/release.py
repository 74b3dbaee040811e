"""Release: results from batches of records, so that watching them reveals nobody's report.

Somebody who looks at the results before and after each answer would read every report. So results
come from a stored count table, which is replaced only when enough new records have arrived: the
difference of two tables that follow each other then mixes at least that many reports, whose order
of arrival the store has erased.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tacit.counting import PatternTable
from tacit.counting.count_file import StoredCounts, read_counts
from tacit.files import Origin
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.sampling.incomplete_patterns import answers_of, count_codes, with_missing
from tacit.service.store import Store
from tacit.survey import Published

#: New records in a release, at least, and as a share of those released before.
FEWEST_NEW, SHARE_NEW = 32, 8
#: Records without which nothing is shown.
FEWEST_SHOWN = 100


@dataclass(frozen=True)
class Release:
    """The records of a survey whose results are shown."""

    survey: Published
    counts: PatternTable

    @cached_property
    def reconstruction(self) -> Reconstruction:
        """Estimates from these records."""
        return reconstruct(self.counts, self.survey.design)


class Releases:
    """The releases of all surveys, as count files in a folder."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._kept: dict[str, Release] = {}
        self._lock = threading.Lock()  # two requests must not make two releases

    def newest(self, survey: Published) -> Release | None:
        """The newest release, made now if enough records are new; None if there are too few."""
        with self._lock:
            return self._newest(survey)

    def forget(self, survey: Published) -> None:
        """Delete the release of a survey that was deleted."""
        with self._lock:
            self._kept.pop(survey.slug, None)
            self._path(survey).unlink(missing_ok=True)

    def _newest(self, survey: Published) -> Release | None:
        before = self._stored(survey)
        released = 0 if before is None else before.counts.n_records
        waiting = self._store.state(survey.survey.fingerprint).records - released
        if waiting < missing(released):
            return before
        codes = self._store.codes(survey.survey.fingerprint)
        table = count_codes(codes, survey.design.reported)
        origin = Origin(survey.fingerprint, survey.title)
        StoredCounts(with_missing(table), origin).write(self._path(survey))
        self._kept[survey.slug] = Release(survey, table)
        return self._kept[survey.slug]

    def _stored(self, survey: Published) -> Release | None:
        if survey.slug not in self._kept and self._path(survey).exists():
            counts = read_counts(self._path(survey)).table
            table = answers_of(counts, survey.design.reported)
            self._kept[survey.slug] = Release(survey, table)
        return self._kept.get(survey.slug)

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}.counts"


def missing(released: int) -> int:
    """How many new records the next release needs."""
    return max(FEWEST_NEW, released // SHARE_NEW) if released else FEWEST_SHOWN
