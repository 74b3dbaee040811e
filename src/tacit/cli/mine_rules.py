"""`tacit mine rules`: reported records in, association rules out."""

from __future__ import annotations

import enum
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Level, event
from tacit.cli.sources import FromDatabase, OptionalData, counted, needed_source
from tacit.files import check_apart, check_out, read_design, write_frame, write_text
from tacit.number_text import UNKNOWN, number_of
from tacit.reconstruction.interval import check_level
from tacit.table import Table

if TYPE_CHECKING:
    from tacit.mine.error_control import ErrorControl
    from tacit.mine.itemset_rules import AssociationRules

#: How many rules are shown, and which of their numbers.
STRONGEST, NUMBERS = 10, ("support", "confidence", "lift")


class ControlKind(enum.StrEnum):
    """The error controls by name."""

    FDR = "fdr"
    FAMILYWISE = "familywise"
    PLAIN = "plain"


MinSupport = Annotated[
    float,
    typer.Option("--min-support", help="The least share of true records that have an itemset."),
]
MinConfidence = Annotated[
    float,
    typer.Option("--min-confidence", help="The least share of records for which a rule holds."),
]
Items = Annotated[
    str | None,
    typer.Option(
        "--items",
        help="Categories that may occur, such as smokes=yes,income=low. By default the last one "
        "of each yes/no attribute and every one of the others.",
    ),
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", help="The most items in conditions and conclusion.")
]
ControlName = Annotated[
    ControlKind,
    typer.Option(
        "--control",
        help="fdr: the expected share of wrong claims is at most --error; familywise: the "
        "probability of any wrong one; plain: every estimate at the threshold, no error rate.",
    ),
]
Error = Annotated[float, typer.Option("--error", help="The error rate of --control.")]
Split = Annotated[
    bool,
    typer.Option(
        "--split",
        help="Select rules from one half of the records and estimate them from the other: the "
        "intervals then account for the selection.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the split.")]
RulesOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Also write the rules: .json (for tacit privacy --rules), .csv, .csv.gz or .parquet.",
    ),
]


def rules(
    design_file: DesignFile,
    min_support: MinSupport,
    data: OptionalData = None,
    min_confidence: MinConfidence = 0.5,
    items: Items = None,
    max_length: MaxLength = None,
    control: ControlName = ControlKind.FDR,
    error: Error = 0.05,
    split: Split = False,
    seed: Seed = 0,
    out: RulesOut = None,
    level: Level = 0.95,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Find association rules in reported records.

    Example: [bold]tacit mine rules survey.json reported.csv --min-support 0.1 --split[/bold]
    """
    from tacit import mine  # scikit-learn is slow to start
    from tacit.mine.itemset_search import ItemsetSearch

    check_level(level)
    design = read_design(design_file)
    records = needed_source(data, database)
    chosen = None if items is None else event(items, design.schema, "--items")
    search = ItemsetSearch(min_support, chosen, max_length, _control(control, error))
    _check_out(out, data, design_file)
    patterns = counted(design_file, design, records)
    others = None
    if split:
        patterns, others = mine.split_records(patterns, design, np.random.default_rng(seed))
    with show.progress("mining") as tell:
        found = search.run(patterns, design, tell)
    if others is not None:
        found = found.estimated_on(others)
    mined = mine.association_rules(found, min_confidence)
    _write(mined, out, level)
    typer.echo(show.json_text(mined.to_dict(level))) if as_json else _render(mined, out, level)


def _control(control: ControlKind, error: float) -> ErrorControl:
    from tacit import mine

    match control:
        case ControlKind.FDR:
            return mine.FalseDiscovery(error)
        case ControlKind.FAMILYWISE:
            return mine.FamilyWise(error)
    return mine.PlainThreshold()


def _check_out(out: Path | None, *sources: Path | None) -> None:
    if out is not None and out.suffix.lower() == ".json":
        check_apart(out, *sources)
    else:
        check_out(out, *sources)


def _write(mined: AssociationRules, out: Path | None, level: float) -> None:
    if out is None:
        return
    if out.suffix.lower() == ".json":
        write_text(out, show.json_text(mined.to_dict(level)) + "\n")
    else:
        write_frame(out, mined.to_frame(level, "pyarrow"))


def _render(mined: AssociationRules, file: Path | None, level: float) -> None:
    out = show.console()
    if file is not None:
        out.print(f"wrote {file}: {number_of(len(mined), 'association rule')}", soft_wrap=True)
    out.print(f"{mined.itemsets.claim}\n{mined.title}\n", soft_wrap=True)
    if not len(mined):
        return
    heads = ("rule", *(f"{name}\n{show.percent(level)} interval" for name in NUMBERS))
    columns = mined.columns(level)
    rows = [
        _row({name: values[place] for name, values in columns.items()})
        for place in range(min(STRONGEST, len(mined)))
    ]
    out.print(show.table(Table(heads, rows)))
    if len(mined) > STRONGEST:
        more = number_of(len(mined) - STRONGEST, "more rule")
        out.print(f"... {more}; --json and --out have all")


def _row(rule: dict[str, Any]) -> list[str]:
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
