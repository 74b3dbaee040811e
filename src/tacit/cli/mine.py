"""`tacit mine`: reported records in, a model out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from typer import Option

from tacit import mine
from tacit.cli import commands, show
from tacit.cli.arguments import ModelOut, Target, event
from tacit.cli.models import Seed, check_synthesis, write_synthetic
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, FileError
from tacit.mine import latent_class, summaries
from tacit.mine.tree import view
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table
from tacit.records import PatternTable, files


@commands.CommandGroup
def mine_commands() -> None:
    """Learn a model from reported records.

    Example: [bold]tacit mine nb survey.json reported.csv --target income --out model.json[/bold]
    """


# tacit mine nb


@mine_commands.command("nb")
def naive_bayes(
    *,
    target: Target,
    out: ModelOut,
    alpha: float = 1.0,
    method: Literal["likelihood", "pairs", "literal"] = "likelihood",
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Learn naive Bayes from reported records.

    Example: [bold]tacit mine nb survey.json reported.csv --target income --out model.json[/bold]

    Parameters
    ----------
    alpha
        Records added to every category (Laplace's rule).
    method
        likelihood: from whole reports; pairs: from tables of the class and one attribute; literal:
        as the papers print it.
    """
    design = records.design_with(target, out)
    model = mine.NaiveBayes(design, target, alpha, getattr(mine, method))
    model.fit(records.counted())
    content = summaries.bayes_summary(model, output.level)
    log_odds = content["log_odds"]
    columns = {name: [cell[name] for cell in log_odds] for name in log_odds[0]}
    rows = []
    for cell in log_odds:
        labels = [str(cell[name]) for name in ("class", "attribute", "category")]
        numbers = decimals(cell["estimate"], cell["stderr"]), decimals(cell["stderr"])
        rows.append((*labels, *numbers, span(cell["lower"], cell["upper"])))
    interval = f"{100 * output.level:g} % interval"
    heads = ("log-odds of", "attribute", "category", "estimate", "std. error", interval)
    tables = [model.prior().to_table(output.level), Table(heads, rows, align="lllrrr")]
    files.write_text(out, mine.model_to_json(model), private=True)
    output.say(f"wrote {out}: naive Bayes for {target}\n")
    output.show(show.Printout(content, tables, columns))


# tacit mine tree

#: How many rules are shown, and how many lines of the tree.
STRONGEST, LINES = 10, 30


#: What a split is worth.
Criterion = Annotated[
    Literal["entropy", "gini"],
    Option(
        help="entropy: ID3, a branch for each category; gini: CART, one category against the "
        "others."
    ),
]
MaxDepth = Annotated[int | None, Option(help="The most conditions to a leaf.")]


@mine_commands.command("tree")
def tree(
    *,
    target: Target,
    criterion: Criterion = "entropy",
    caution: float | None = Option(None, show_default="by likelihood"),
    max_depth: MaxDepth = None,
    out: ModelOut,
    prune: Path | None = Option(None, metavar="VALIDATION"),
    honest: float | None = Option(None, metavar="SHARE"),
    figure: Path | None = None,
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Learn a decision tree from reported records.

    Example: [bold]tacit mine tree survey.json reported.csv --target income --out tree.json[/bold]

    Parameters
    ----------
    caution
        Grow from unbiased tables; a split must exceed noise by so many standard errors. 0: the
        papers' procedure.
    prune
        Other reported records: cut subtrees that do not help on them.
    honest
        Keep this share of the records, drawn at random, out of growth: support and confidence come
        from them. Default: all records do both, with wider intervals.
    figure
        Also draw the tree: .svg, .png or .pdf.
    """
    design = records.design_with(target, out, prune)
    files.check_figure(figure, *records.files, prune)
    if figure is not None and figure.resolve() == out.resolve():
        raise FileError(f"{figure}: is where the model goes; draw to another file")
    data = records.data
    if prune and data and prune.exists() and data.exists() and prune.samefile(data):
        raise DataError(f"{prune}: the tree is learnt from these records; prune it on others")
    patterns = records.counted()
    validation = None if prune is None else records.counted(prune)
    estimated_on = None
    if honest is not None:  # always the same records are kept out
        rng = np.random.default_rng(0)
        try:
            estimated_on, patterns = mine.split_records(patterns, design, rng, honest)
        except DataError as error:
            raise DataError(f"--honest: {error}") from None
    grown = mine.DecisionTree(design, target, criterion, caution, max_depth).fit(patterns)
    model = grown if validation is None else mine.reduced_error(grown, validation)
    content = summaries.tree_summary(model, output.level, estimated_on)
    if validation is not None:
        content["pruned"] = {"leaves": grown.get_n_leaves(), "n_records": validation.n_records}
    show.write_also(model, figure)
    files.write_text(out, mine.model_to_json(model), private=True)
    rules = view.TreeRules(summaries.strongest_rules(model.rules(estimated_on)))
    output.say(
        f"wrote {out}: decision tree for {target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['criterion']}",
        *_drawing(model, content, estimated_on),
    )
    table = rules.to_table(output.level).cut(STRONGEST, "rule", "--json has all")
    output.show(show.Printout(content, [table], rules.columns(output.level)))


def _drawing(
    model: mine.DecisionTree, content: dict[str, Any], estimated_on: PatternTable | None
) -> Iterator[str]:
    """The size of the tree, and as much of it as fits on a screen."""
    n_leaves, deepest = content["leaves"], number_of(content["depth"], "condition")
    size = "1 leaf" if n_leaves == 1 else f"{n_leaves:,} leaves, at most {deepest} to one"
    yield f"{size}; +- is one standard error"
    if content["pruned"] is not None:
        before, n_records = content["pruned"].values()
        leaves = number_of(before, "leaf", "leaves")
        yield f"pruned from {leaves} on {number_of(n_records, 'reported record')}"
    depth = model.tree_.depth
    fitting = [deep for deep in range(content["depth"] + 1) if (depth <= deep).sum() <= LINES]
    shown = max([1, *fitting])
    yield f"\n{model.text(shown, estimated_on)}"
    hidden = int((depth[model.tree_.leaves] > shown).sum())
    if hidden:
        yield f"(shown to {shown} of {deepest}: {hidden:,} of {n_leaves:,} leaves are hidden)"
    yield ""


# tacit mine forest


@mine_commands.command("forest")
def forest(
    *,
    target: Target,
    out: ModelOut,
    trees: int = Option(100, min=1),
    criterion: Criterion = "gini",
    max_features: int | None = Option(None, min=1, show_default="the square root of all"),
    max_depth: MaxDepth = None,
    seed: int = Option(0, min=0),
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Learn a forest, the mean of many random trees, from reported records.

    Example: [bold]tacit mine forest survey.json reported.csv --target income --out all.json[/bold]

    Parameters
    ----------
    trees
        How many random trees.
    max_features
        Attributes that each node tries.
    seed
        Seed of the resamples and the attributes.
    """
    design = records.design_with(target, out)
    model = mine.Forest(design, target, trees, criterion, max_features, max_depth, seed)
    model.check_arguments()
    patterns = records.counted()
    with show.progress("growing trees") as tell:
        model.fit(patterns, progress=tell)
    prior, importances = model.prior(), model.importances()
    content = summaries.classifier_summary(
        "forest-summary",
        model,
        output.level,
        criterion=model.criterion,
        n_records=prior.n_records,
        trees=len(model.trees_),
        leaves=model.get_n_leaves(),
        importances=importances.columns(),
    )
    files.write_text(out, mine.model_to_json(model), private=True)
    leaves = number_of(content["leaves"], "leaf", "leaves")
    output.say(
        f"wrote {out}: forest for {target}, from "
        f"{number_of(content['n_records'], 'reported record')}, by {content['criterion']}\n"
        f"{number_of(content['trees'], 'tree')} with {leaves}\n"
    )
    tables = [prior.to_table(output.level), importances.to_table()]
    output.show(show.Printout(content, tables, importances.columns()))


# tacit mine rules


@mine_commands.command("rules")
def rules(
    *,
    min_support: float,
    min_confidence: float = 0.5,
    items: str | None = None,
    max_length: int | None = None,
    control: Literal["fdr", "familywise", "plain"] = "fdr",
    error: float = 0.05,
    split: bool = False,
    seed: int = Option(0, min=0),
    out: Path | None = None,
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Find association rules in reported records.

    Example: [bold]tacit mine rules survey.json reported.csv --min-support 0.1 --split[/bold]

    Parameters
    ----------
    min_support
        The least share of true records that have an itemset.
    min_confidence
        The least share of records for which a rule holds.
    items
        Categories that may occur, such as smokes=yes,income=low. By default the last one of each
        yes/no attribute and every one of the others.
    max_length
        The most items in conditions and conclusion.
    control
        fdr: the expected share of wrong claims is at most --error; familywise: the probability of
        any wrong one; plain: every estimate at the threshold, no error rate.
    error
        The error rate of --control.
    split
        Select rules from one half of the records and estimate them from the other: the intervals
        then account for the selection.
    seed
        Seed of the split.
    out
        Also write the rules: .json (for tacit privacy --rules), .csv, .csv.gz or .parquet.
    """
    design, level = records.design, output.level
    allowed = None if items is None else event(items, design.schema, "--items")
    rates = {"fdr": mine.FalseDiscovery, "familywise": mine.FamilyWise}
    error_control = rates[control](error) if control in rates else mine.PlainThreshold()
    limits: Any = {"items": allowed, "max_length": max_length, "control": error_control}
    as_json = out is not None and out.suffix.lower() == ".json"
    (files.check_apart if as_json else files.check_out)(out, *records.files)
    patterns, others = records.counted(), None
    if split:
        patterns, others = mine.split_records(patterns, design, np.random.default_rng(seed))
    with show.progress("mining") as tell:
        itemsets = mine.itemsets(patterns, design, min_support, progress=tell, **limits)
    if others is not None:
        itemsets = itemsets.estimated_on(others)
    mined = mine.association_rules(itemsets, min_confidence)
    if out is not None:
        if as_json:
            files.write_text(out, show.json_text(mined.to_dict(level)) + "\n", private=True)
        else:
            files.write_frame(out, mined.to_frame(level, backend="pyarrow"), private=True)
        output.say(f"wrote {out}: {number_of(len(mined), 'association rule')}")
    table = mined.to_table(level).cut(STRONGEST, "rule", "--json and --out have all")
    table = replace(table, title=f"{itemsets.claim}\n{table.title}\n")
    output.show(show.Printout(mined.to_dict(level), [table], mined.columns(level)))


# tacit mine clusters


@mine_commands.command("clusters")
def clusters(
    *,
    out: ModelOut,
    classes: int | None = None,
    criterion: Literal["bic", "held-out"] = "bic",
    starts: int = 10,
    seed: int = 0,
    table: Path | None = None,
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Find latent classes of the true records in reported ones.

    Example: [bold]tacit mine clusters survey.json reported.csv --out classes.json[/bold]

    Parameters
    ----------
    classes
        How many classes; chosen by --criterion if left out.
    criterion
        bic: the smallest BIC; held-out: the fewest classes within one standard error of the largest
        likelihood of reports that were held out.
    starts
        Random starts of the search.
    seed
        Seed of the starts and of what is held out.
    table
        Also write the profiles: .csv, .csv.gz or .parquet.
    """
    files.check_apart(out, *records.files)
    if table is not None:
        files.check_out(table, *records.files)
        if table.resolve() == out.resolve():
            raise FileError(f"{table}: is where the model goes; write the table to another file")
    patterns = records.counted()
    number_by = criterion.replace("-", "_")
    model = mine.LatentClass(records.design, classes, number_by, n_init=starts, random_state=seed)
    with show.progress("clustering") as tell:
        model.fit(patterns, progress=tell)
    content = summaries.classes_summary(model, output.level)
    if table is not None:
        files.write_frame(table, pa.table(content["profiles"]))
    files.write_text(out, mine.model_to_json(model), private=True)
    profiles = model.shown()
    output.say(f"wrote {out}: {profiles.title}\n")
    tables = [latent_class.selection_table(model.selection_)] if model.selection_ else []
    tables.append(replace(profiles, title=""))
    output.show(show.Printout(content, tables, content["profiles"]))


# tacit mine joint


@mine_commands.command("joint")
def joint(
    *,
    out: ModelOut,
    error: float = 0.05,
    table: Path | None = None,
    synthesize: int | None = Option(None, metavar="N"),
    records: Path | None = None,
    seed: Seed = None,
    output: show.Format,
    reported: ReportedRecords,
) -> None:
    """Learn the joint distribution of the true records as a tree, from reported ones.

    Example: [bold]tacit mine joint survey.json reported.csv --out joint.json[/bold]

    Parameters
    ----------
    error
        Probability that any edge connects attributes that are independent, at most.
    table
        Also write the edges: .csv, .csv.gz or .parquet.
    synthesize
        Also draw so many synthetic true records.
    records
        Where synthetic records are written: .csv, .csv.gz or .parquet.
    """
    files.check_apart(out, *reported.files)
    check_synthesis(synthesize, records)
    written = [path.resolve() for path in (out, table, records) if path is not None]
    if len(set(written)) < len(written):
        raise FileError("--out, --table and --records name the same file; give each its own")
    for path in (table, records):
        files.check_out(path, *reported.files)
    model = mine.ChowLiuTree(reported.design, error)
    model.check_arguments()
    model.fit(reported.counted())
    fidelity = model.fidelity()
    if table is not None:
        files.write_frame(table, pa.table(model.edge_columns()))
    files.write_text(out, mine.model_to_json(model), private=True)
    if synthesize is not None and records is not None:
        write_synthetic(model, synthesize, records, seed)
    content = {
        "tacit": "chow-liu-tree-summary",
        "version": 1,
        "design": model.fingerprint_,
        "n_records": model.n_records_,
        "error": float(model.error),
        "edges": model.edge_columns(),
        "fidelity": fidelity.to_dict(),
        "notes": [*model.notes(), *fidelity.notes()],
    }
    edges = model.shown()
    output.say(f"wrote {out}: {edges.title}\n")
    tables = [replace(edges, title="")] if edges.rows else []
    tables.append(fidelity.to_table())
    output.show(show.Printout(content, tables, model.edge_columns()))
    if synthesize is not None:
        output.say(f"wrote {records}: {number_of(synthesize, 'synthetic record')}")
