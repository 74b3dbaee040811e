"""`tacit mine forest`: reported records in, a forest of random trees out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Level, ModelOut, Target
from tacit.cli.mine_tree import Criterion, CriterionName, MaxDepth
from tacit.cli.sources import FromDatabase, OptionalData, counted, needed_source
from tacit.files import check_apart, read_design, write_text
from tacit.number_text import number_of
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from tacit.mine import Forest

NumberOfTrees = Annotated[int, typer.Option(min=1, help="How many random trees.")]
TriedAttributes = Annotated[
    int | None,
    typer.Option(
        min=1, help="Attributes that each node tries.", show_default="the square root of all"
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the resamples and the attributes.")]


def forest(
    design_file: DesignFile,
    target: Target,
    out: ModelOut,
    data: OptionalData = None,
    trees: NumberOfTrees = 100,
    criterion: CriterionName = Criterion.GINI,
    max_features: TriedAttributes = None,
    max_depth: MaxDepth = None,
    seed: Seed = 0,
    level: Level = 0.95,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Learn a forest, the mean of many random trees, from reported records.

    Example: [bold]tacit mine forest survey.json reported.csv --target income --out all.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    check_level(level)
    design = read_design(design_file)
    records = needed_source(data, database)
    design.schema.index(target)
    check_apart(out, data, design_file)
    model = mine.Forest(design, target, trees, criterion.value, max_features, max_depth, seed)
    model.check_arguments()
    patterns = counted(design_file, design, records)
    with show.progress("growing trees") as tell:
        model.fit(patterns, progress=tell)
    content = learnt(model, level)
    write_text(out, mine.model_to_json(model))
    typer.echo(show.json_text(content)) if as_json else _render(out, model, content)


def learnt(model: Forest, level: float) -> dict[str, Any]:
    """A summary of a forest, as plain values for the screen and for JSON."""
    prior = model.prior().columns(level)
    return {
        "tacit": "forest-summary",
        "version": 1,
        "design": model.fingerprint_,
        "target": model.target,
        "criterion": model.criterion,
        "n_records": model.prior().n_records,
        "level": level,
        "trees": len(model.trees_),
        "leaves": model.get_n_leaves(),
        "prior": {"class": next(iter(prior.values())), **dict(list(prior.items())[1:])},
        "importances": model.importances().columns(),
        "notes": model.notes(),
    }


def _render(file: Path, model: Forest, content: dict[str, Any]) -> None:
    out = show.console()
    trees, leaves = number_of(content["trees"], "tree"), content["leaves"]
    out.print(
        f"wrote {file}: forest for {model.target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['criterion']}\n"
        f"{trees} with {number_of(leaves, 'leaf', 'leaves')}\n",
        soft_wrap=True,
    )
    show.print_table(replace(model.prior().to_table(content["level"]), title=""))
    show.print_table(replace(model.importances().to_table(), title=""))
    for note in content["notes"]:
        out.print(f"note: {note}", soft_wrap=True)
