"""DayCounts: the count table of all records, of which finished days are counted only once.

A day is finished if the store has records of a later one. The table of the finished days of a
survey is kept in a count file that names each day and its number of records, and so is that of the
last count. The larger one of which the store still has as many records of each day is continued:
only other days are read. If that does not add up to all records, everything is counted again.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path

from tacit.collect.store import Store
from tacit.core.arrays import Codes
from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import FileError, StoreError
from tacit.records import Origin, count
from tacit.records.count_file import CountedPart, StoredCounts, read_counts
from tacit.survey import Published


class DayCounts:
    """Counts the records of surveys; tables of finished days are files in a folder."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder

    def counted(self, survey: Published, last: Path) -> StoredCounts:
        """The count table of all records that are stored now; `last` is that of the last count.

        Its parts are the days.
        """
        base = self._base(survey, last)
        try:
            return self._continued(survey, base)
        except StoreError:
            if base is None:
                raise
            return self._continued(survey, None)

    def _base(self, survey: Published, last: Path) -> StoredCounts | None:
        """The larger table of days that have not changed."""
        found = self._store.days(survey.survey.fingerprint)
        for path in (last, self._path(survey)):
            table = _kept(path)
            if table is not None and _days(table).items() <= found.items():
                return table
        return None

    def _continued(self, survey: Published, base: StoredCounts | None) -> StoredCounts:
        known = {} if base is None else _days(base)
        days = self._store.codes_by_day(survey.survey.fingerprint, known)
        newest = max([*known, *days])
        if newest not in known:
            finished = {day: days.pop(day) for day in [*days] if day < newest}
            if finished or known:
                base = _added(survey, base, finished)
                self._keep(survey, base)
        return _added(survey, base, days)

    def _keep(self, survey: Published, finished: StoredCounts) -> None:
        before = _kept(self._path(survey))
        if before is None or before.parts != finished.parts:
            finished.write(self._path(survey))

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}-days.counts"


def _added(survey: Published, base: StoredCounts | None, days: dict[str, Codes]) -> StoredCounts:
    """A table with the records of more days; `days` is empty afterwards, to free their memory."""
    tables = [] if base is None else [base.table]
    parts = () if base is None else base.parts
    for day in [*days]:
        tables.append(count(days.pop(day), _schema(survey)))
        parts += (CountedPart(day, f"{day} {tables[-1].n_records}"),)
    return StoredCounts(reduce(add, tables), Origin(survey.fingerprint, survey.title), parts)


def _schema(survey: Published) -> Schema:
    """That of all tables of a survey: with a category for missing answers if some may be."""
    reported = survey.design.reported
    return reported if survey.stored == reported else with_no_answer(reported)


def _kept(path: Path) -> StoredCounts | None:
    """The counts in a file; None if it is damaged or does not say which days it has."""
    try:
        found = read_counts(path) if path.exists() else None
    except FileError:
        return None  # count again
    whole = found is not None and sum(_days(found).values()) == found.table.n_records
    return found if whole else None


def _days(counts: StoredCounts) -> dict[str, int]:
    """The days of a table, with their numbers of records."""
    return {part.name: int(part.mark.partition(" ")[2]) for part in counts.parts}
