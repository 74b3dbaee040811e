"""`tacit disguise`: true records in, reported records out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import DataFile, DesignFile
from tacit.design import Design
from tacit.errors import MissingAnswersError
from tacit.files import (
    Origin,
    check_out,
    check_true,
    read_batches,
    read_design,
    read_design_origin,
    writing_records,
)
from tacit.label_codes import absent_cells, with_no_answer
from tacit.number_text import number_of
from tacit.record_disguise import absent_reports, disguise
from tacit.schema import Schema


def disguise_file(
    design_file: DesignFile,
    data: DataFile,
    out: Annotated[Path, typer.Option(help="The .csv, .csv.gz or .parquet to write.")],
    seed: Annotated[
        int | None, typer.Option(min=0, help="For simulation only: the same draws every time.")
    ] = None,
) -> None:
    """Draw reported records from true ones, as the design says.

    Without --seed the draws come from the operating system's entropy, as they must for answers
    of real people. Columns that the design does not name are left out. Missing answers stay
    missing.

    Example: [bold]tacit disguise survey.json true.csv --out reported.parquet[/bold]
    """
    design = read_design(design_file)
    check_out(out, data)
    check_true(data, "disguise true ones")
    origin = read_design_origin(design_file)
    try:
        written = _disguised(design, data, _ReportFile(out, origin, seed), design.schema)
    except MissingAnswersError:
        written = _disguised(
            design, data, _ReportFile(out, origin, seed), with_no_answer(design.schema)
        )
    typer.echo(f"wrote {out}: {number_of(written.records, 'reported record')}")
    if written.missing:
        typer.echo(
            f"note: {number_of(written.missing, 'missing answer')} passed on as missing: no coin "
            "disguises it, and everybody can see that it is missing",
            err=True,
        )
    if seed is not None:
        typer.echo(
            f"note: drawn with seed {seed}, for simulation only: whoever knows the seed can undo "
            "the disguise; leave --seed out for answers of real people",
            err=True,
        )


class _ReportFile(NamedTuple):
    """Where reports are written, and the seed of the draws."""

    out: Path
    origin: Origin
    seed: int | None


class _Written(NamedTuple):
    """How many records were written, and how many of their reports are missing."""

    records: int
    missing: int


def _disguised(design: Design, data: Path, target: _ReportFile, schema: Schema) -> _Written:
    """Disguise a file; `schema` has one more category for missing answers, or is the design's."""
    rng = None if target.seed is None else np.random.default_rng(target.seed)
    records = missing = 0
    with (
        show.progress("disguising") as tell,
        writing_records(target.out, design.reported, origin=target.origin) as write,
    ):
        for read in read_batches(data, schema, tell):
            codes, absent = absent_cells(read, design.schema)
            hidden = absent_reports(absent, design) if absent.any() else None
            write(disguise(codes, design, rng), absent=hidden)
            records += len(codes)
            missing += 0 if hidden is None else int(hidden.sum())
    return _Written(records, missing)
