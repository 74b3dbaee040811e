"""Options that say how people were sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.cli.option_groups import option
from tacit.cli.sources import ReportedRecords, check_made_by, counted, widened
from tacit.errors import DataError, unknown
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.reconstruction.sampling import ERROR_METHODS
from tacit.reconstruction.sampling.incomplete_patterns import count_answers
from tacit.reconstruction.sampling.sample_columns import SamplingArguments
from tacit.records.engine_choice import is_counts
from tacit.records.record_files import record_files


@dataclass(frozen=True)
class DrawnPeople:
    """Weights, strata and clusters: names of undisguised columns."""

    weights: str | None = option(None, metavar="COLUMN", help="The design weight of each record.")
    strata: str | None = option(None, metavar="COLUMN", help="The stratum of each record.")
    clusters: str | None = option(
        None, metavar="COLUMN", help="The cluster of each record, within strata."
    )
    errors: str | None = option(
        None,
        metavar="|".join(ERROR_METHODS),
        help="How errors are estimated; linearised by default.",
    )

    def __post_init__(self) -> None:
        """Raise for an unknown method of errors, and for one without a sample."""
        if self.errors is None:
            return
        if self.errors not in ERROR_METHODS:
            raise DataError(unknown("errors", self.errors, ERROR_METHODS))
        if not self._columns():
            raise DataError("--errors goes with --weights, --strata or --clusters")

    def _columns(self) -> dict[str, Any]:
        names = ("weights", "strata", "clusters")
        return {n: getattr(self, n) for n in names if getattr(self, n) is not None}

    @property
    def arguments(self) -> SamplingArguments:
        """The arguments of `reconstruct` that the options stand for."""
        found: Any = self._columns()
        if self.errors is not None:
            found["errors"] = ERROR_METHODS[self.errors]
        chosen: SamplingArguments = found
        return chosen


@dataclass(frozen=True)
class DrawnSample(DrawnPeople):
    """The same, also from a finite population."""

    fpc: str | None = option(
        None,
        metavar="COLUMN|NUMBER",
        help="How many clusters (or people, without --clusters) the population of each "
        "stratum has.",
    )

    def _columns(self) -> dict[str, Any]:
        return super()._columns() | ({} if self.fpc is None else {"fpc": _number(self.fpc)})

    def reconstructed(
        self, records: ReportedRecords, columns: Sequence[str] = ()
    ) -> Reconstruction:
        """The reconstruction of reported records, also of a sample, also with missing answers.

        `columns` are undisguised columns that are used as attributes.
        """
        design_file, design, source = records.design_file, records.design, records.source
        if not self._columns():
            wide = widened(design, source, columns)
            plain = count_answers(
                lambda schema: counted(design_file, design, source, schema), wide.reported
            )
            return Reconstruction(plain, wide)
        if isinstance(source, str) and "#" not in source:
            raise DataError(
                "the database of a survey has no sampling weights, strata or clusters; export the "
                "records and join them to the sample"
            )
        if isinstance(source, Path) and not is_counts(source):
            check_made_by(design_file, record_files(source), str(source))
        return reconstruct(source, design, columns, **self.arguments)


def _number(text: str) -> float | str:
    """A number, or the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text
