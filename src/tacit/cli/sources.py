"""Where commands get reported records from: a file, or the database of a published survey."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import show
from tacit.cli.notes import note
from tacit.cli.survey_store import open_store
from tacit.counting import PatternTable, count, count_records
from tacit.design import Design
from tacit.errors import DataError
from tacit.files import check_origin, is_database, read_design_origin

OptionalData = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]",
        help="Reported records: .csv, .csv.gz or .parquet; or give --database instead.",
    ),
]
FromDatabase = Annotated[
    str | None,
    typer.Option(
        help="Instead of DATA: the database of the published survey, a file or "
        "postgresql://USER@HOST/NAME. TACIT_DATABASE is used if neither is given."
    ),
]


def given_source(data: Path | None, database: str | None) -> Path | str | None:
    """The file or the database that was given, if any."""
    if data is not None and database is not None:
        raise DataError(f"give the records {data} or --database, not both")
    if data is not None and is_database(data):
        raise DataError(f"{data}: is a database of responses; give it as --database {data}")
    return data if data is not None else database


def needed_source(data: Path | None, database: str | None) -> Path | str:
    """The file or the database that was given, else the database that TACIT_DATABASE names."""
    found = given_source(data, database) or os.environ.get("TACIT_DATABASE")
    if not found:
        raise DataError("no records: give a file of reported records or a --database")
    return found


def counted(design_file: Path, design: Design, records: Path | str) -> PatternTable:
    """Count the reported records of this design, in a file (Path) or a database (str)."""
    if isinstance(records, str):
        from tacit.survey import read_published

        published = read_published(design_file)
        with open_store(records, there=True) as store:
            codes = store.codes(published.survey.fingerprint)
        if not len(codes):
            raise DataError(f"no answers yet to {design_file} in this database")
        return count(codes, design.reported)
    if not check_origin(records, read_design_origin(design_file), str(design_file)):
        note(f"{records} does not say which design made it; make sure that {design_file} did")
    with show.progress("counting") as tell:
        return count_records(records, design.reported, tell)
