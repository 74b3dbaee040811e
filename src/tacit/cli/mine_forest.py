"""`tacit mine forest`: reported records in, a forest of random trees out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import ModelOut, Target
from tacit.cli.mine_tree import Criterion, CriterionName, MaxDepth
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sources import ReportedRecords
from tacit.mine.summaries import classifier_summary
from tacit.output.number_text import number_of
from tacit.records import write_text

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


@grouped_options
def forest(
    *,
    target: Target,
    out: ModelOut,
    trees: NumberOfTrees = 100,
    criterion: CriterionName = Criterion.GINI,
    max_features: TriedAttributes = None,
    max_depth: MaxDepth = None,
    seed: Seed = 0,
    records: ReportedRecords,
    output: Output,
) -> None:
    """Learn a forest, the mean of many random trees, from reported records.

    Example: [bold]tacit mine forest survey.json reported.csv --target income --out all.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    design = records.design_with(target, out)
    model = mine.Forest(design, target, trees, criterion.value, max_features, max_depth, seed)
    model.check_arguments()
    patterns = records.counted()
    with show.progress("growing trees") as tell:
        model.fit(patterns, progress=tell)
    content = learnt(model, output.level)
    write_text(out, mine.model_to_json(model), private=True)
    output.print(lambda: content, lambda: _render(out, model, content))


def learnt(model: Forest, level: float) -> dict[str, Any]:
    """A summary of a forest, as plain values for the screen and for JSON."""
    return classifier_summary(
        "forest-summary",
        model,
        level,
        criterion=model.criterion,
        n_records=model.prior().n_records,
        trees=len(model.trees_),
        leaves=model.get_n_leaves(),
        importances=model.importances().columns(),
    )


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
