"""`tacit disguise`: true records in, reported records out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import DataFile, DesignFile
from tacit.files import (
    check_out,
    check_true,
    read_batches,
    read_design,
    read_design_origin,
    writing_records,
)
from tacit.number_text import number_of
from tacit.record_disguise import disguise


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
    of real people. Columns that the design does not name are left out.

    Example: [bold]tacit disguise survey.json true.csv --out reported.parquet[/bold]
    """
    design = read_design(design_file)
    check_out(out, data)
    check_true(data, "disguise true ones")
    rng = None if seed is None else np.random.default_rng(seed)
    n_records = 0
    origin = read_design_origin(design_file)
    with (
        show.progress("disguising") as tell,
        writing_records(out, design.reported, origin=origin) as write,
    ):
        for codes in read_batches(data, design.schema, tell):
            write(disguise(codes, design, rng))
            n_records += len(codes)
    typer.echo(f"wrote {out}: {number_of(n_records, 'reported record')}")
    if seed is not None:
        typer.echo(
            f"note: drawn with seed {seed}, for simulation only: whoever knows the seed can undo "
            "the disguise; leave --seed out for answers of real people",
            err=True,
        )
