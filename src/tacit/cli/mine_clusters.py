"""`tacit mine clusters`: reported records in, latent classes out."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from tacit.cli import show
from tacit.cli.arguments import ModelOut, table_out
from tacit.cli.option_groups import Output, grouped_options, option
from tacit.cli.sources import ReportedRecords
from tacit.errors import FileError
from tacit.mine.summaries import classes_summary
from tacit.records import check_apart, check_out, write_frame, write_text

if TYPE_CHECKING:
    from tacit.core.design import Design
    from tacit.mine import LatentClass


class NumberCriterion(enum.StrEnum):
    """How the number of classes is chosen."""

    BIC = "bic"
    HELD_OUT = "held-out"


@dataclass(frozen=True)
class ClassOptions:
    """How many classes, and how they are searched for."""

    classes: int | None = option(None, help="How many classes; chosen by --criterion if left out.")
    criterion: NumberCriterion = option(
        NumberCriterion.BIC,
        help="bic: the smallest BIC; held-out: the fewest classes within one standard error "
        "of the largest likelihood of reports that were held out.",
    )
    starts: int = option(10, help="Random starts of the search.")
    seed: int = option(0, help="Seed of the starts and of what is held out.")

    def model(self, design: Design) -> LatentClass:
        """The model, not yet fitted."""
        from tacit import mine  # scikit-learn is slow to start

        named = self.criterion.value.replace("-", "_")
        return mine.LatentClass(
            design, self.classes, named, n_init=self.starts, random_state=self.seed
        )


TableOut = Annotated[Path | None, table_out("profiles")]


@grouped_options
def clusters(
    *,
    out: ModelOut,
    options: ClassOptions,
    table: TableOut = None,
    records: ReportedRecords,
    output: Output,
) -> None:
    """Find latent classes of the true records in reported ones.

    Example: [bold]tacit mine clusters survey.json reported.csv --out classes.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    check_apart(out, *records.files)
    if table is not None:
        check_out(table, *records.files)
        if table.resolve() == out.resolve():
            raise FileError(f"{table}: is where the model goes; write the table to another file")
    patterns = records.counted()
    model = options.model(records.design)
    with show.progress("clustering") as tell:
        model.fit(patterns, progress=tell)
    content = classes_summary(model, output.level)
    if table is not None:
        write_frame(table, pa.table(model.profiles_.columns(output.level)))
    write_text(out, mine.model_to_json(model), private=True)
    output.print(lambda: content, lambda: _render(out, model))


def _render(file: Path, model: LatentClass) -> None:
    from tacit.mine.latent_class import selection_table

    out, shown = show.console(), model.profiles_.to_table()
    out.print(f"wrote {file}: {shown.title}\n", soft_wrap=True)
    if model.selection_:
        out.print(show.table(selection_table(model.selection_)), "")
    out.print(show.table(shown), "")
    for note in model.notes():
        out.print(f"note: {note}", soft_wrap=True)
