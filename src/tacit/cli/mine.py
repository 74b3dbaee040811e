"""`tacit mine`: reported records in, a model out."""

from __future__ import annotations

import enum
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import ModelOut, Target, command_group
from tacit.cli.mine_clusters import clusters
from tacit.cli.mine_forest import forest
from tacit.cli.mine_joint import joint
from tacit.cli.mine_rules import rules
from tacit.cli.mine_tree import tree
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sources import ReportedRecords
from tacit.mine.summaries import bayes_summary
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table
from tacit.records import write_text

if TYPE_CHECKING:
    from tacit.mine import NaiveBayes

mine_commands = command_group(
    "Learn a model from reported records.\n\n"
    "Example: [bold]tacit mine nb survey.json reported.csv --target income --out model.json[/bold]"
)


#: The methods of naive Bayes by name.
BayesMethod = enum.StrEnum("BayesMethod", ["LIKELIHOOD", "PAIRS", "LITERAL"])


@mine_commands.command("nb")
@grouped_options
def naive_bayes(
    *,
    target: Target,
    out: ModelOut,
    alpha: Annotated[
        float, typer.Option(help="Records added to every category (Laplace's rule).")
    ] = 1.0,
    method: Annotated[
        BayesMethod,
        typer.Option(
            help="likelihood: from whole reports; pairs: from tables of the class and one "
            "attribute; literal: as the papers print it."
        ),
    ] = BayesMethod.LIKELIHOOD,
    records: ReportedRecords,
    output: Output,
) -> None:
    """Learn naive Bayes from reported records.

    Example: [bold]tacit mine nb survey.json reported.csv --target income --out model.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    design = records.design_with(target, out)
    model = mine.NaiveBayes(design, target, alpha, getattr(mine, method.value))
    model.fit(records.counted())
    content = bayes_summary(model, output.level)
    write_text(out, mine.model_to_json(model), private=True)
    output.print(lambda: content, lambda: _render(out, model, content))


mine_commands.command("tree")(tree)
mine_commands.command("forest")(forest)
mine_commands.command("rules")(rules)
mine_commands.command("clusters")(clusters)
mine_commands.command("joint")(joint)


def _render(file: Path, model: NaiveBayes, content: dict[str, Any]) -> None:
    show.console().print(
        f"wrote {file}: naive Bayes for {model.target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['method']}\n",
        soft_wrap=True,
    )
    shown = model.prior().to_table(content["level"])
    show.print_table(replace(shown, title=""))
    heads = ("log-odds of", "attribute", "category", *shown.heads[1:])
    show.print_table(Table(heads, list(map(_row, content["log_odds"])), align="lllrrr"))
    for note in content["notes"]:
        show.console().print(f"note: {note}", soft_wrap=True)


def _row(cell: dict[str, Any]) -> list[str]:
    labels = [str(cell[key]) for key in ("class", "attribute", "category")]
    numbers = decimals(cell["estimate"], cell["stderr"]), decimals(cell["stderr"])
    return [*labels, *numbers, span(cell["lower"], cell["upper"])]
