"""`tacit disguise`: true records in, reported records out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import show
from tacit.cli.arguments import DesignFile, MemoryLimit, RecordsOut, SimulationSeed
from tacit.cli.notes import note, note_seed
from tacit.output.number_text import number_of
from tacit.records import read_design, read_design_origin
from tacit.records.file_disguise import disguise_files

TrueData = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="True records: .csv, .csv.gz or .parquet, a glob or a directory."
    ),
]


def disguise_file(
    design_file: DesignFile,
    data: TrueData,
    out: RecordsOut,
    seed: SimulationSeed = None,
    memory: MemoryLimit = None,
) -> None:
    """Draw reported records from true ones, as the design says.

    Without --seed the draws come from the operating system's entropy, as they must for answers
    of real people. Columns that the design does not name are left out. Missing answers stay
    missing.

    Example: [bold]tacit disguise survey.json true.csv --out reported.parquet[/bold]
    """
    design, origin = read_design(design_file), read_design_origin(design_file)
    with show.progress("disguising") as tell:
        written = disguise_files(data, design, out, seed, origin=origin, progress=tell)
    typer.echo(f"wrote {out}: {number_of(written.records, 'reported record')}")
    if written.missing:
        note(
            f"{number_of(written.missing, 'missing answer')} passed on as missing: no coin "
            "disguises it, and everybody can see that it is missing"
        )
    note_seed(seed)
