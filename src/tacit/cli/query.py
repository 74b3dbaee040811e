"""`tacit query` and `tacit synthesize`: what a saved joint distribution says, and records of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import (
    Events,
    ModelFile,
    RecordsOut,
    Tables,
    event,
    read_joint_model,
    split,
)
from tacit.cli.option_groups import grouped_options
from tacit.cli.output_format import FormattedOutput
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.records import BATCH, check_out, writing_records

if TYPE_CHECKING:
    from tacit.mine import ChowLiuTree

Condition = Annotated[
    str | None,
    typer.Option(metavar="EVENT", help="Only among people for whom this event holds."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the synthetic records; random if left out.")
]
Number = Annotated[int, typer.Option(metavar="N", help="How many records.")]


@grouped_options
def query(
    *,
    model_file: ModelFile,
    table: Tables = None,
    where: Events = None,
    given: Condition = None,
    output: FormattedOutput,
) -> None:
    """Compute probabilities and tables from a saved joint distribution.

    A saved model of many cells has the standard errors of single attributes and of its edges only;
    those of other queries are then unknown.

    Example: [bold]tacit query joint.json --where smokes=yes --given income=high[/bold]
    """
    model = read_joint_model(model_file)
    schema = model.model_.schema
    tables = [split(names, schema.names) for names in table or []]
    events = [event(asked, schema) for asked in where or []]
    condition = None if given is None else event(given, schema, "--given")
    if not tables and not events:
        tables = [[name] for name in schema.names]
    found = [model.table(names, condition) for names in tables]
    found += [model.probability(allowed, condition) for allowed in events]
    output.show_estimates("estimates", model.fingerprint_, found)


def synthesize(model_file: ModelFile, number: Number, out: RecordsOut, seed: Seed = None) -> None:
    """Draw synthetic true records from a saved joint distribution.

    Example: [bold]tacit synthesize joint.json --number 10000 --out synthetic.csv[/bold]
    """
    check_synthesis(number, out)
    check_out(out, model_file)
    model = read_joint_model(model_file)
    write_synthetic(model, number, out, seed)
    typer.echo(f"wrote {out}: {number_of(number, 'synthetic record')}")


def check_synthesis(number: int | None, out: Path | None) -> None:
    """Raise unless a number of records and a file are given, or neither."""
    if number is not None and number < 1:
        raise DataError(f"the number of synthetic records must be 1 or more, got {number}")
    if (number is None) != (out is None):
        raise DataError("give --synthesize N and --records FILE together, or neither")


def write_synthetic(model: ChowLiuTree, number: int, out: Path, seed: int | None) -> None:
    """Write synthetic records batch by batch."""
    rng, joint = np.random.default_rng(seed), model.model_
    with show.progress("drawing") as tell, writing_records(out, joint.schema) as write:
        for start in range(0, number, BATCH):
            write(joint.draws(min(BATCH, number - start), rng))
            tell(min(1.0, (start + BATCH) / number))
