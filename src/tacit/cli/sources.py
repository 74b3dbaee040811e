"""Where commands get reported records from, and options that say how people were sampled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from tacit import Design, Schema, reconstruct
from tacit.cli import show
from tacit.cli.arguments import DesignFile, MemoryLimit, open_store
from tacit.cli.notes import note
from tacit.errors import DataError, unknown
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.sampling import ERROR_METHODS
from tacit.records import count_codes, designs, engines, files, patterns
from tacit.records.count_file import counts_of_design
from tacit.records.paths import ARROW, is_counts, record_files

FromDatabase = Annotated[
    str | None,
    Option(
        help="Instead of DATA: the database of the published survey, a file or "
        "postgresql://USER@HOST/NAME; with #TABLE, a table of reported records. TACIT_DATABASE "
        "is used if neither is given."
    ),
]


@dataclass(frozen=True)
class ReportedRecords:
    """What a command reads: a design, and records that were reported under it.

    Parameters
    ----------
    data
        Reported records: .csv, .csv.gz or .parquet, a glob, a directory, or a count file (.counts);
        or give --database instead.
    """

    design_file: DesignFile
    data: Path | None = Argument(None, metavar="[DATA]")
    database: FromDatabase = None
    memory: MemoryLimit = None

    def __post_init__(self) -> None:
        """Raise if the design cannot be read, or if no records are given."""
        _ = self.design, self.source

    @cached_property
    def design(self) -> Design:
        """The design."""
        return designs.read_design(self.design_file)

    @cached_property
    def source(self) -> Path | str:
        """The file or the database that was given, else the database that TACIT_DATABASE names."""
        source = given_source(self.data, self.database) or os.environ.get("TACIT_DATABASE")
        if not source:
            raise DataError("no records: give a file of reported records or a --database")
        return source

    @property
    def files(self) -> tuple[Path | None, Path]:
        """The files that are read; no output may overwrite them."""
        return self.data, self.design_file

    def design_with(self, target: str, out: Path, *read: Path | None) -> Design:
        """The design; raise if it has no such target, or if `out` is one of the files read."""
        self.design.schema.index(target)
        files.check_apart(out, *self.files, *read)
        return self.design

    def counted(self, other: Path | None = None) -> patterns.PatternTable:
        """Count the records, or those of another file of this design."""
        return counted(self.design_file, self.design, other or self.source)


def given_source(data: Path | None, database: str | None) -> Path | str | None:
    """The file or the database that was given, if any."""
    if data is not None and database is not None:
        raise DataError(f"give the records {data} or --database, not both")
    if data is not None and designs.is_database(data):
        raise DataError(f"{data}: is a database of responses; give it as --database {data}")
    return data if data is not None else database


def counted(
    design_file: Path, design: Design, records: Path | str, schema: Schema | None = None
) -> patterns.PatternTable:
    """Count the reported records of this design, in a file (Path) or a database (str).

    `schema` is given if it is not the design's.
    """
    if isinstance(records, str) and "#" not in records:  # the database of a service, not a table
        from tacit.survey import read_published

        published = read_published(design_file)
        with open_store(records, there=True) as store:
            codes = store.codes(published.survey.fingerprint)
        if not len(codes):
            raise DataError(f"no answers yet to {design_file} in this database")
        return count_codes(codes, design.reported)
    if isinstance(records, Path):
        if is_counts(records):
            counts = counts_of_design(records, design.fingerprint)
            return patterns.answers_of(counts, design.reported)
        check_made_by(design_file, record_files(records), str(records))
    with show.progress("counting") as tell:
        return engines.count_records(records, schema or design.reported, tell)


def is_stored(records: Path | str) -> bool:
    """Whether these are counts or the database of a service: attributes of the design alone."""
    return is_counts(records) if isinstance(records, Path) else "#" not in records


def check_made_by(design_file: Path, files: Sequence[Path], shown: str) -> None:
    """Raise if a file holds reports of another design; note if one does not name its design."""
    origin = designs.read_design_origin(design_file)
    noted = [
        path.suffix not in ARROW and designs.check_origin(path, origin, str(design_file))
        for path in files
    ]
    if not all(noted):
        note(f"{shown} does not say which design made it; make sure that {design_file} did")


@dataclass(frozen=True)
class DrawnPeople:
    """How people were sampled: the undisguised columns of weights, strata and clusters.

    Parameters
    ----------
    weights
        The design weight of each record.
    strata
        The stratum of each record.
    clusters
        The cluster of each record, within strata.
    errors
        How errors are estimated; linearised by default.
    """

    weights: str | None = Option(None, metavar="COLUMN")
    strata: str | None = Option(None, metavar="COLUMN")
    clusters: str | None = Option(None, metavar="COLUMN")
    errors: str | None = Option(None, metavar="|".join(ERROR_METHODS))

    def __post_init__(self) -> None:
        """Raise for an unknown method of errors, and for one without a sample."""
        if self.errors is not None and self.errors not in ERROR_METHODS:
            raise DataError(unknown("errors", self.errors, ERROR_METHODS))
        if list(self.arguments) == ["errors"]:
            raise DataError("--errors goes with --weights, --strata or --clusters")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `reconstruct` that the options stand for."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return given | ({"errors": ERROR_METHODS[self.errors]} if self.errors else {})


@dataclass(frozen=True)
class DrawnSample(DrawnPeople):
    """The same, also from a finite population.

    Parameters
    ----------
    fpc
        How many clusters (or people, without --clusters) the population of each stratum has.
    """

    fpc: str | None = Option(None, metavar="COLUMN|NUMBER")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `reconstruct`; a population is a number or a column."""
        return super().arguments | ({"fpc": _number(self.fpc)} if self.fpc is not None else {})

    def reconstructed(
        self, records: ReportedRecords, columns: Sequence[str] = ()
    ) -> Reconstruction:
        """The reconstruction of reported records, also of a sample, also with missing answers.

        `columns` are undisguised columns that are used as attributes.
        """
        design_file, design, source = records.design_file, records.design, records.source
        if not self.arguments:
            if is_stored(source):
                for name in columns:
                    design.schema.index(name)
            wide = engines.with_columns(source, design, columns) if columns else design
            plain = patterns.count_answers(
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
