"""`tacit mine clusters`: reported records in, latent classes out."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Level, ModelOut
from tacit.cli.sources import FromDatabase, OptionalData, counted, needed_source
from tacit.errors import FileError
from tacit.files import check_apart, check_out, read_design, write_frame, write_text
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from tacit.mine import LatentClass


class NumberCriterion(enum.StrEnum):
    """How the number of classes is chosen."""

    BIC = "bic"
    HELD_OUT = "held-out"


NumberOfClasses = Annotated[
    int | None, typer.Option(help="How many classes; chosen by --criterion if left out.")
]
CriterionName = Annotated[
    NumberCriterion,
    typer.Option(
        help="bic: the smallest BIC; held-out: the fewest classes within one standard error of "
        "the largest likelihood of reports that were held out."
    ),
]
Starts = Annotated[int, typer.Option(help="Random starts of the search.")]
Seed = Annotated[int, typer.Option(help="Seed of the starts and of what is held out.")]
TableOut = Annotated[
    Path | None, typer.Option(help="Also write the profiles: .csv, .csv.gz or .parquet.")
]


def clusters(
    design_file: DesignFile,
    out: ModelOut,
    data: OptionalData = None,
    classes: NumberOfClasses = None,
    criterion: CriterionName = NumberCriterion.BIC,
    starts: Starts = 10,
    seed: Seed = 0,
    table: TableOut = None,
    level: Level = 0.95,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Find latent classes of the true records in reported ones.

    Example: [bold]tacit mine clusters survey.json reported.csv --out classes.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    check_level(level)
    design = read_design(design_file)
    records = needed_source(data, database)
    check_apart(out, data, design_file)
    if table is not None:
        check_out(table, data, design_file)
        if table.resolve() == out.resolve():
            raise FileError(f"{table}: is where the model goes; write the table to another file")
    patterns = counted(design_file, design, records)
    named = criterion.value.replace("-", "_")
    model = mine.LatentClass(design, classes, named, n_init=starts, random_state=seed)
    with show.progress("clustering") as tell:
        model.fit(patterns, progress=tell)
    content = learnt(model, level)
    if table is not None:
        write_frame(table, pa.table(model.profiles_.columns(level)))
    write_text(out, mine.model_to_json(model))
    typer.echo(show.json_text(content)) if as_json else _render(out, model)


def learnt(model: LatentClass, level: float) -> dict[str, Any]:
    """A summary of latent classes, as plain values for JSON."""
    names = ("n_classes", "n_parameters", "bic", "held_out", "behind", "behind_stderr")
    selection = [
        {name: getattr(one, name) for name in names} | {"log_likelihood": one.fit.log_likelihood}
        for one in model.selection_
    ]
    return {
        "tacit": "latent-classes-summary",
        "version": 1,
        "design": model.fingerprint_,
        "n_records": model.profiles_.n_records,
        "n_classes": len(model.classes_),
        "log_likelihood": model.log_likelihood_,
        "bic": model.bic_,
        "level": level,
        "selection": selection,
        "profiles": model.profiles_.columns(level),
        "notes": model.notes(),
    }


def _render(file: Path, model: LatentClass) -> None:
    from tacit.mine.class_number import selection_table

    out, shown = show.console(), model.profiles_.to_table()
    out.print(f"wrote {file}: {shown.title}\n", soft_wrap=True)
    if model.selection_:
        out.print(show.table(selection_table(model.selection_)), "")
    out.print(show.table(shown), "")
    for note in model.notes():
        out.print(f"note: {note}", soft_wrap=True)
