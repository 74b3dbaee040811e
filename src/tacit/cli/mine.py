"""`tacit mine`: reported records in, a model out."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, ModelOut, Target, command_group, event, table_out
from tacit.cli.models import Seed, check_synthesis, write_synthetic
from tacit.cli.options import Output, grouped_options, option
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, FileError
from tacit.mine.summaries import bayes_summary, classes_summary, classifier_summary, tree_summary
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.table import Table
from tacit.records import check_apart, check_figure, check_out, write_frame, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from tacit.core.design import Design
    from tacit.core.schema import Schema
    from tacit.mine import ChowLiuTree, DecisionTree, Forest, LatentClass, NaiveBayes
    from tacit.mine.error_control import ErrorControl
    from tacit.mine.fidelity import Fidelity
    from tacit.mine.itemset_rules import AssociationRules
    from tacit.mine.itemset_search import ItemsetSearch
    from tacit.records import PatternTable

mine_commands = command_group(
    "Learn a model from reported records.\n\n"
    "Example: [bold]tacit mine nb survey.json reported.csv --target income --out model.json[/bold]"
)


# tacit mine nb

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
    output.print(lambda: content, lambda: _render_bayes(out, model, content))


def _render_bayes(file: Path, model: NaiveBayes, content: dict[str, Any]) -> None:
    show.console().print(
        f"wrote {file}: naive Bayes for {model.target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['method']}\n",
        soft_wrap=True,
    )
    shown = model.prior().to_table(content["level"])
    show.print_table(replace(shown, title=""))
    heads = ("log-odds of", "attribute", "category", *shown.heads[1:])
    show.print_table(Table(heads, list(map(_log_odds_row, content["log_odds"])), align="lllrrr"))
    for note in content["notes"]:
        show.console().print(f"note: {note}", soft_wrap=True)


def _log_odds_row(cell: dict[str, Any]) -> list[str]:
    labels = [str(cell[key]) for key in ("class", "attribute", "category")]
    numbers = decimals(cell["estimate"], cell["stderr"]), decimals(cell["stderr"])
    return [*labels, *numbers, span(cell["lower"], cell["upper"])]


# tacit mine tree

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
        from tacit import mine

        try:
            return mine.split_records(patterns, design, np.random.default_rng(0), self.honest)
        except DataError as error:
            raise DataError(f"--honest: {error}") from None


FigureOut = Annotated[Path | None, typer.Option(help="Also draw the tree: .svg, .png or .pdf.")]


@mine_commands.command("tree")
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
    output.print(lambda: content, lambda: _render_tree(out, model, content, kept))


def _render_tree(
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
    rows = [_rule_row(rule, room) for rule in rules[:STRONGEST]]
    heads = ("rule", str(content["target"]), *numbers)
    out.print(show.table(Table(heads, rows, align="llrrrr")))
    if len(rules) > STRONGEST:
        out.print(f"... {number_of(len(rules) - STRONGEST, 'more rule')}; --json has all")
    out.print(content["rules_origin"])
    out.print()


def _rule_row(rule: dict[str, Any], room: int) -> list[str]:
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
    from tacit.mine.tree.view import is_informative

    stderr, lower, upper = (rule[f"{name}_{end}"] for end in ("stderr", "lower", "upper"))
    if not is_informative(stderr, lower, upper):
        return [UNKNOWN] * 2
    return [f"{100 * rule[name]:.1f} %", f"{100 * lower:.1f} .. {100 * upper:.1f}"]


# tacit mine forest

NumberOfTrees = Annotated[int, typer.Option(min=1, help="How many random trees.")]
TriedAttributes = Annotated[
    int | None,
    typer.Option(
        min=1, help="Attributes that each node tries.", show_default="the square root of all"
    ),
]
ForestSeed = Annotated[int, typer.Option(min=0, help="Seed of the resamples and the attributes.")]


@mine_commands.command("forest")
@grouped_options
def forest(
    *,
    target: Target,
    out: ModelOut,
    trees: NumberOfTrees = 100,
    criterion: CriterionName = Criterion.GINI,
    max_features: TriedAttributes = None,
    max_depth: MaxDepth = None,
    seed: ForestSeed = 0,
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
    content = _forest_summary(model, output.level)
    write_text(out, mine.model_to_json(model), private=True)
    output.print(lambda: content, lambda: _render_forest(out, model, content))


def _forest_summary(model: Forest, level: float) -> dict[str, Any]:
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


def _render_forest(file: Path, model: Forest, content: dict[str, Any]) -> None:
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


# tacit mine rules

#: The numbers of a rule that are shown.
NUMBERS = ("support", "confidence", "lift")


class ControlKind(enum.StrEnum):
    """The error controls by name."""

    FDR = "fdr"
    FAMILYWISE = "familywise"
    PLAIN = "plain"


@dataclass(frozen=True)
class RuleOptions:
    """Which itemsets and rules are found."""

    min_support: Annotated[
        float, typer.Option(help="The least share of true records that have an itemset.")
    ]
    min_confidence: float = option(0.5, help="The least share of records for which a rule holds.")
    items: str | None = option(
        None,
        help="Categories that may occur, such as smokes=yes,income=low. By default the last "
        "one of each yes/no attribute and every one of the others.",
    )
    max_length: int | None = option(None, help="The most items in conditions and conclusion.")
    control: ControlKind = option(
        ControlKind.FDR,
        help="fdr: the expected share of wrong claims is at most --error; familywise: the "
        "probability of any wrong one; plain: every estimate at the threshold, no error rate.",
    )
    error: float = option(0.05, help="The error rate of --control.")

    def search(self, schema: Schema) -> ItemsetSearch:
        """The search for frequent itemsets."""
        from tacit.mine.itemset_search import ItemsetSearch  # scikit-learn is slow to start

        chosen = None if self.items is None else event(self.items, schema, "--items")
        return ItemsetSearch(self.min_support, chosen, self.max_length, self._control())

    def _control(self) -> ErrorControl:
        from tacit import mine

        match self.control:
            case ControlKind.FDR:
                return mine.FalseDiscovery(self.error)
            case ControlKind.FAMILYWISE:
                return mine.FamilyWise(self.error)
        return mine.PlainThreshold()


@dataclass(frozen=True)
class SplitOptions:
    """Whether rules are selected from some records and estimated from others."""

    split: bool = option(
        False,
        "--split",
        help="Select rules from one half of the records and estimate them from the other: "
        "the intervals then account for the selection.",
    )
    seed: int = option(0, min=0, help="Seed of the split.")

    def divided(
        self, patterns: PatternTable, design: Design
    ) -> tuple[PatternTable, PatternTable | None]:
        """The records to select from, and those to estimate from if they are others."""
        from tacit import mine

        if not self.split:
            return patterns, None
        return mine.split_records(patterns, design, np.random.default_rng(self.seed))


RulesOut = Annotated[
    Path | None,
    typer.Option(
        help="Also write the rules: .json (for tacit privacy --rules), .csv, .csv.gz or .parquet."
    ),
]


@mine_commands.command("rules")
@grouped_options
def rules(
    *,
    options: RuleOptions,
    split: SplitOptions,
    out: RulesOut = None,
    records: ReportedRecords,
    output: Output,
) -> None:
    """Find association rules in reported records.

    Example: [bold]tacit mine rules survey.json reported.csv --min-support 0.1 --split[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start

    design, level = records.design, output.level
    search = options.search(design.schema)
    _check_rules_out(out, *records.files)
    patterns, others = split.divided(records.counted(), design)
    with show.progress("mining") as tell:
        itemsets = search.run(patterns, design, tell)
    if others is not None:
        itemsets = itemsets.estimated_on(others)
    mined = mine.association_rules(itemsets, options.min_confidence)
    _write_rules(mined, out, level)
    output.print(lambda: mined.to_dict(level), lambda: _render_association_rules(mined, out, level))


def _check_rules_out(out: Path | None, *sources: Path | None) -> None:
    if out is not None and out.suffix.lower() == ".json":
        check_apart(out, *sources)
    else:
        check_out(out, *sources)


def _write_rules(mined: AssociationRules, out: Path | None, level: float) -> None:
    if out is None:
        return
    if out.suffix.lower() == ".json":
        write_text(out, show.json_text(mined.to_dict(level)) + "\n", private=True)
    else:
        write_frame(out, mined.to_frame(level, "pyarrow"), private=True)


def _render_association_rules(mined: AssociationRules, file: Path | None, level: float) -> None:
    out = show.console()
    if file is not None:
        out.print(f"wrote {file}: {number_of(len(mined), 'association rule')}", soft_wrap=True)
    out.print(f"{mined.itemsets.claim}\n{mined.title}\n", soft_wrap=True)
    if not len(mined):
        return
    heads = ("rule", *(f"{name}\n{show.percent(level)} interval" for name in NUMBERS))
    columns = mined.columns(level)
    rows = [
        _association_row({name: values[position] for name, values in columns.items()})
        for position in range(min(STRONGEST, len(mined)))
    ]
    out.print(show.table(Table(heads, rows)))
    if len(mined) > STRONGEST:
        more = number_of(len(mined) - STRONGEST, "more rule")
        out.print(f"... {more}; --json and --out have all")


def _association_row(rule: dict[str, Any]) -> list[str]:
    """A rule in words; each number over its interval: shares in percent, the lift as a factor."""
    row = [f"if {rule['conditions']}\nthen {rule['conclusion']}".replace(", ", ",\n   ")]
    for name in NUMBERS:
        value, lower, upper = (rule[f"{name}{end}"] for end in ("", "_lower", "_upper"))
        if math.isnan(value):
            row.append(UNKNOWN)
        elif name == "lift":
            row.append(f"{value:.2f}\n{lower:.2f} .. {upper:.2f}")
        else:
            row.append(f"{100 * value:.1f} %\n{100 * lower:.1f} .. {100 * upper:.1f}")
    return row


# tacit mine clusters


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


ProfilesOut = Annotated[Path | None, table_out("profiles")]


@mine_commands.command("clusters")
@grouped_options
def clusters(
    *,
    out: ModelOut,
    options: ClassOptions,
    table: ProfilesOut = None,
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
    output.print(lambda: content, lambda: _render_classes(out, model))


def _render_classes(file: Path, model: LatentClass) -> None:
    from tacit.mine.latent_class import selection_table

    out, shown = show.console(), model.profiles_.to_table()
    out.print(f"wrote {file}: {shown.title}\n", soft_wrap=True)
    if model.selection_:
        out.print(show.table(selection_table(model.selection_)), "")
    out.print(show.table(shown), "")
    for note in model.notes():
        out.print(f"note: {note}", soft_wrap=True)


# tacit mine joint

ErrorRate = Annotated[
    float,
    typer.Option(
        help="Probability that any edge connects attributes that are independent, at most."
    ),
]
EdgesOut = Annotated[Path | None, table_out("edges")]


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


@mine_commands.command("joint")
@grouped_options
def joint(
    *,
    out: ModelOut,
    error: ErrorRate = 0.05,
    table: EdgesOut = None,
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
        typer.echo(show.json_text(_joint_summary(model, fidelity)))
    else:
        _render_joint(out, model, fidelity)
        if synthesize is not None:
            typer.echo(f"wrote {records}: {number_of(synthesize, 'synthetic record')}")


def _joint_summary(model: ChowLiuTree, fidelity: Fidelity) -> dict[str, Any]:
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


def _render_joint(file: Path, model: ChowLiuTree, fidelity: Fidelity) -> None:
    out, shown = show.console(), model.model_.to_table()
    out.print(f"wrote {file}: {shown.title}\n", soft_wrap=True)
    if shown.rows:
        out.print(show.table(shown), "")
    show.print_table(fidelity.to_table())
    for note in [*model.notes(), *fidelity.notes()]:
        out.print(f"note: {note}", soft_wrap=True)
