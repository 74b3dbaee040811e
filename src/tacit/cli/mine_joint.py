"""`tacit mine joint`: reported records in, their joint distribution out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, ModelOut, table_out
from tacit.cli.option_groups import grouped_options, option
from tacit.cli.query import Seed, check_synthesis, write_synthetic
from tacit.cli.sources import ReportedRecords
from tacit.errors import FileError
from tacit.output.number_text import number_of
from tacit.records import check_apart, check_out, write_frame, write_text

if TYPE_CHECKING:
    from tacit.mine import ChowLiuTree
    from tacit.mine.fidelity import Fidelity

ErrorRate = Annotated[
    float,
    typer.Option(
        help="Probability that any edge connects attributes that are independent, at most."
    ),
]
TableOut = Annotated[Path | None, table_out("edges")]


@dataclass(frozen=True)
class Synthesis:
    """Synthetic records to draw, if any."""

    synthesize: int | None = option(
        None, metavar="N", help="Also draw so many synthetic true records."
    )
    records: Path | None = option(
        None, help="Where synthetic records are written: .csv, .csv.gz or .parquet."
    )
    seed: Seed = None

    def write(self, model: ChowLiuTree) -> None:
        """Write the records."""
        if self.synthesize is not None and self.records is not None:
            write_synthetic(model, self.synthesize, self.records, self.seed)


@grouped_options
def joint(
    *,
    out: ModelOut,
    error: ErrorRate = 0.05,
    table: TableOut = None,
    synthesis: Synthesis,
    as_json: AsJson = False,
    reported: ReportedRecords,
) -> None:
    """Learn the joint distribution of the true records as a tree, from reported ones.

    Example: [bold]tacit mine joint survey.json reported.csv --out joint.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    check_apart(out, *reported.files)
    synthesize, records = synthesis.synthesize, synthesis.records
    check_synthesis(synthesize, records)
    written = [path.resolve() for path in (out, table, records) if path is not None]
    if len(set(written)) < len(written):
        raise FileError("--out, --table and --records name the same file; give each its own")
    for path in (table, records):
        check_out(path, *reported.files)
    model = mine.ChowLiuTree(reported.design, error)
    model.check_arguments()
    model.fit(reported.counted())
    fidelity = model.fidelity()
    if table is not None:
        write_frame(table, pa.table(model.model_.edge_columns()))
    write_text(out, mine.model_to_json(model), private=True)
    synthesis.write(model)
    if as_json:
        typer.echo(show.json_text(learnt(model, fidelity)))
    else:
        _render(out, model, fidelity)
        if synthesize is not None:
            typer.echo(f"wrote {records}: {number_of(synthesize, 'synthetic record')}")


def learnt(model: ChowLiuTree, fidelity: Fidelity) -> dict[str, Any]:
    """A summary of the tree, as plain values for JSON."""
    return {
        "tacit": "chow-liu-tree-summary",
        "version": 1,
        "design": model.fingerprint_,
        "n_records": model.model_.n_records,
        "error": model.model_.error,
        "edges": model.model_.edge_columns(),
        "fidelity": fidelity.to_dict(),
        "notes": [*model.notes(), *fidelity.notes()],
    }


def _render(file: Path, model: ChowLiuTree, fidelity: Fidelity) -> None:
    out, shown = show.console(), model.model_.to_table()
    out.print(f"wrote {file}: {shown.title}\n", soft_wrap=True)
    if shown.rows:
        out.print(show.table(shown), "")
    show.print_table(fidelity.to_table())
    for note in [*model.notes(), *fidelity.notes()]:
        out.print(f"note: {note}", soft_wrap=True)
