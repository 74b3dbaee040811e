"""`tacit mine rules`: reported records in, association rules out."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import event
from tacit.cli.option_groups import Output, grouped_options, option
from tacit.cli.sources import ReportedRecords
from tacit.output.number_text import UNKNOWN, number_of
from tacit.output.table import Table
from tacit.records import check_apart, check_out, write_frame, write_text

if TYPE_CHECKING:
    from tacit.core.design import Design
    from tacit.core.schema import Schema
    from tacit.mine.error_control import ErrorControl
    from tacit.mine.itemset_rules import AssociationRules
    from tacit.mine.itemset_search import ItemsetSearch
    from tacit.records import PatternTable

#: How many rules are shown, and which of their numbers.
STRONGEST, NUMBERS = 10, ("support", "confidence", "lift")


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
    _check_out(out, *records.files)
    patterns, others = split.divided(records.counted(), design)
    with show.progress("mining") as tell:
        found = search.run(patterns, design, tell)
    if others is not None:
        found = found.estimated_on(others)
    mined = mine.association_rules(found, options.min_confidence)
    _write(mined, out, level)
    output.print(lambda: mined.to_dict(level), lambda: _render(mined, out, level))


def _check_out(out: Path | None, *sources: Path | None) -> None:
    if out is not None and out.suffix.lower() == ".json":
        check_apart(out, *sources)
    else:
        check_out(out, *sources)


def _write(mined: AssociationRules, out: Path | None, level: float) -> None:
    if out is None:
        return
    if out.suffix.lower() == ".json":
        write_text(out, show.json_text(mined.to_dict(level)) + "\n", private=True)
    else:
        write_frame(out, mined.to_frame(level, "pyarrow"), private=True)


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
