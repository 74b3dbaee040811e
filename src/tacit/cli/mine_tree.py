"""`tacit mine tree`: reported records in, a decision tree out."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import ModelOut, Target
from tacit.cli.option_groups import Output, grouped_options, option
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, FileError
from tacit.mine.summaries import tree_summary
from tacit.output.number_text import UNKNOWN, number_of
from tacit.output.table import Table
from tacit.records import check_figure, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from tacit.core.design import Design
    from tacit.mine import DecisionTree
    from tacit.records import PatternTable

#: How many rules are shown, and how many lines of the tree.
STRONGEST, LINES = 10, 30


#: What a split is worth, by name.
Criterion = enum.StrEnum("Criterion", ["ENTROPY", "GINI"])
CriterionName = Annotated[
    Criterion,
    typer.Option(
        help="entropy: ID3, a branch for each category; gini: CART, one category against the "
        "others."
    ),
]
MaxDepth = Annotated[int | None, typer.Option(help="The most conditions to a leaf.")]


@dataclass(frozen=True)
class TreeOptions:
    """What is learnt, and how the tree is grown."""

    target: Target
    criterion: CriterionName = Criterion.ENTROPY
    caution: float | None = option(
        None,
        help="Grow from unbiased tables; a split must exceed noise by so many standard "
        "errors. 0: the papers' procedure.",
        show_default="by likelihood",
    )
    max_depth: MaxDepth = None

    def model(self, design: Design) -> DecisionTree:
        """The model, not yet fitted."""
        from tacit import mine  # scikit-learn is slow to start

        settings = self.criterion.value, self.caution, self.max_depth
        return mine.DecisionTree(design, self.target, *settings)


@dataclass(frozen=True)
class OtherRecords:
    """Records that the tree is not grown from."""

    prune: Path | None = option(
        None,
        metavar="VALIDATION",
        help="Other reported records: cut subtrees that do not help on them.",
    )
    honest: float | None = option(
        None,
        metavar="SHARE",
        help="Keep this share of the records, drawn at random, out of growth: support and "
        "confidence come from them. Default: all records do both, with wider intervals.",
    )

    def check(self, data: Path | None) -> None:
        """Raise if the tree would be pruned on the records that it is grown from."""
        prune = self.prune
        if prune and data and prune.exists() and data.exists() and prune.samefile(data):
            raise DataError(f"{prune}: the tree is learnt from these records; prune it on others")

    def divided(
        self, patterns: PatternTable, design: Design
    ) -> tuple[PatternTable | None, PatternTable]:
        """The records to estimate from, always the same ones, and those to grow the tree from."""
        if self.honest is None:
            return None, patterns
        import numpy as np

        from tacit import mine

        try:
            return mine.split_records(patterns, design, np.random.default_rng(0), self.honest)
        except DataError as error:
            raise DataError(f"--honest: {error}") from None


FigureOut = Annotated[Path | None, typer.Option(help="Also draw the tree: .svg, .png or .pdf.")]


@grouped_options
def tree(
    *,
    options: TreeOptions,
    out: ModelOut,
    others: OtherRecords,
    figure: FigureOut = None,
    records: ReportedRecords,
    output: Output,
) -> None:
    """Learn a decision tree from reported records.

    Example: [bold]tacit mine tree survey.json reported.csv --target income --out tree.json[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    design = records.design_with(options.target, out, others.prune)
    check_figure(figure, *records.files, others.prune)
    if figure is not None and figure.resolve() == out.resolve():
        raise FileError(f"{figure}: is where the model goes; draw to another file")
    others.check(records.data)
    patterns = records.counted()
    validation = None if others.prune is None else records.counted(others.prune)
    kept, patterns = others.divided(patterns, design)
    grown = options.model(design).fit(patterns)
    model = grown if validation is None else mine.reduced_error(grown, validation)
    content = tree_summary(model, output.level, kept)
    if validation is not None:
        content["pruned"] = {"leaves": grown.get_n_leaves(), "n_records": validation.n_records}
    saved = mine.model_to_json(model)
    if figure is not None:
        show.write_figure(figure, model.figure())
    write_text(out, saved, private=True)
    output.print(lambda: content, lambda: _render(out, model, content, kept))


def _render(
    file: Path, model: DecisionTree, content: dict[str, Any], kept: PatternTable | None
) -> None:
    out = show.console()
    out.print(
        f"wrote {file}: decision tree for {model.target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['criterion']}",
        soft_wrap=True,
    )
    leaves, pruned = content["leaves"], content["pruned"]
    size = f"{leaves:,} leaves, at most {number_of(content['depth'], 'condition')} to one"
    out.print(f"{'1 leaf' if leaves == 1 else size}; +- is one standard error")
    if pruned is not None:
        before = number_of(pruned["leaves"], "leaf", "leaves")
        out.print(f"pruned from {before} on {number_of(pruned['n_records'], 'reported record')}")
    out.print()
    depth = model.tree_.depth
    fitting = [deep for deep in range(content["depth"] + 1) if (depth <= deep).sum() <= LINES]
    shown = max([1, *fitting])
    out.print(model.text(shown, kept), soft_wrap=True)
    hidden = int((depth[model.tree_.leaves] > shown).sum())
    if hidden:
        out.print(
            f"(shown to {shown} of {number_of(content['depth'], 'condition')}: {hidden:,} of "
            f"{leaves:,} leaves are hidden)"
        )
    out.print()
    _render_rules(out, content)
    for note in content["notes"]:
        out.print(f"note: {note}", soft_wrap=True)


def _render_rules(out: Console, content: dict[str, Any]) -> None:
    """The first rules as a table."""
    rules = content["rules"]
    interval = f"{show.percent(content['level'])} interval"
    numbers = ("support", interval, "confidence", interval)
    classes = [str(rule["category"]) for rule in rules] + [str(content["target"])]
    room = out.width - sum(len(name) + 2 for name in numbers) - max(map(len, classes)) - 2
    rows = [_row(rule, room) for rule in rules[:STRONGEST]]
    heads = ("rule", str(content["target"]), *numbers)
    out.print(show.table(Table(heads, rows, align="llrrrr")))
    if len(rules) > STRONGEST:
        out.print(f"... {number_of(len(rules) - STRONGEST, 'more rule')}; --json has all")
    out.print(content["rules_origin"])
    out.print()


def _row(rule: dict[str, Any], room: int) -> list[str]:
    """Conditions, wrapped between them; the class; numbers in percent."""
    conditions = [
        f"{name} = {' or '.join(map(str, labels))}" for name, labels in rule["conditions"].items()
    ]
    lines = [""]
    for condition in conditions:
        if lines[-1] and len(lines[-1]) + 2 + len(condition) > room:
            lines[-1] += ","
            lines.append(condition)
        else:
            lines[-1] += f", {condition}" if lines[-1] else condition
    row = ["\n".join(lines) or "always", str(rule["category"])]
    return row + [cell for name in ("support", "confidence") for cell in _numbers(rule, name)]


def _numbers(rule: dict[str, Any], name: str) -> list[str]:
    """A share and its interval in percent; unknown if the interval is too wide to say anything."""
    from tacit.mine.tree.tree_rules import is_informative

    stderr, lower, upper = (rule[f"{name}_{end}"] for end in ("stderr", "lower", "upper"))
    if not is_informative(stderr, lower, upper):
        return [UNKNOWN] * 2
    return [f"{100 * rule[name]:.1f} %", f"{100 * lower:.1f} .. {100 * upper:.1f}"]
