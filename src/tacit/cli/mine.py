"""`tacit mine`: reported records in, a model out."""

from __future__ import annotations

import enum
import heapq
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import ModelOut, Target, command_group
from tacit.cli.classifier_summary import classifier_summary
from tacit.cli.mine_clusters import clusters
from tacit.cli.mine_forest import forest
from tacit.cli.mine_joint import joint
from tacit.cli.mine_rules import rules
from tacit.cli.mine_tree import tree
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sources import ReportedRecords
from tacit.files import write_text
from tacit.number_text import decimals, number_of, span
from tacit.table import Table

if TYPE_CHECKING:
    from tacit.mine import NaiveBayes

#: How many log-odds are shown.
STRONGEST = 10

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
    content = learnt(model, output.level)
    write_text(out, mine.model_to_json(model))
    output.print(lambda: content, lambda: _render(out, model, content))


mine_commands.command("tree")(tree)
mine_commands.command("forest")(forest)
mine_commands.command("rules")(rules)
mine_commands.command("clusters")(clusters)
mine_commands.command("joint")(joint)


def learnt(model: NaiveBayes, level: float) -> dict[str, Any]:
    """A summary of a model, as plain values for the screen and for JSON."""
    parameters = model.parameters_
    return classifier_summary(
        "naive-bayes-summary",
        model,
        level,
        method=parameters.method,
        n_records=parameters.n_records,
        log_odds=strongest(model, level),
    )


def strongest(model: NaiveBayes, level: float) -> list[dict[str, Any]]:
    """The log-odds that stand out most from their standard errors, strongest first.

    With two classes, those of the first are left out: they only differ in sign.
    """
    assert model.features_ is not None
    cells = []
    for name in model.features_.names:
        found = model.log_odds(name)
        classes, categories = zip(*found.cells(), strict=True)
        columns = found.columns(level)
        numbers = [columns[key] for key in ("estimate", "stderr", "lower", "upper")]
        names = ("class", "attribute", "category", "estimate", "stderr", "lower", "upper")
        rows = zip(classes, [name] * len(classes), categories, *numbers, strict=True)
        used = name not in model.parameters_.unused
        cells += [dict(zip(names, row, strict=True), used=used) for row in rows]
    kept = [c for c in cells if len(model.classes_) > 2 or c["class"] != model.classes_[0]]
    return heapq.nlargest(STRONGEST, kept, key=_strength)


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


def _strength(cell: dict[str, Any]) -> float:
    size, error = abs(cell["estimate"]), cell["stderr"]
    return size / error if error > 0 else math.inf if size else 0.0


def _row(cell: dict[str, Any]) -> list[str]:
    labels = [str(cell[key]) for key in ("class", "attribute", "category")]
    numbers = [decimals(cell[key]) for key in ("estimate", "stderr")]
    return [*labels, *numbers, span(cell["lower"], cell["upper"])]
