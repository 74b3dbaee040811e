"""`tacit privacy`: how private the answers of a design are, in sentences and in figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Level
from tacit.counting import count_records
from tacit.design import Design
from tacit.errors import DataError, FileError
from tacit.files import check_apart, read_described, read_design, write_text
from tacit.reconstruction import reconstruct

if TYPE_CHECKING:
    from tacit.privacy import Report

PriorFile = Annotated[
    Path | None,
    typer.Option(
        "--prior",
        help="What is known of the true answers: JSON, a distribution for each attribute or "
        "joint tables. Every category equally likely if left out.",
    ),
]
Reported = Annotated[
    Path | None,
    typer.Option(
        "--reported",
        help="Reported records to estimate the prior from: .csv, .csv.gz or .parquet.",
    ),
]
RulesFile = Annotated[
    Path | None, typer.Option("--rules", help="Rules of a published model (JSON).")
]
Repeat = Annotated[
    int | None, typer.Option("--repeat", min=1, help="How often one person takes part.")
]
Html = Annotated[Path | None, typer.Option("--html", help="Also write the report as a page.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="For what is drawn: other draws.")]


def privacy(
    design_file: DesignFile,
    prior: PriorFile = None,
    reported: Reported = None,
    rules: RulesFile = None,
    repeat: Repeat = None,
    level: Level = 0.95,
    seed: Seed = 0,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say how private the answers of a design are.

    First in sentences for respondents, then in figures for each attribute, each group and the
    whole record. Privacy is rounded down, risk up.

    Example: [bold]tacit privacy survey.json --prior prior.json --html privacy.html[/bold]

    Example: [bold]tacit privacy survey.json --reported reported.csv[/bold]
    """
    from tacit.privacy import Limits, report
    from tacit.privacy.reading import rules_from_json

    design = read_design(design_file)
    if html is not None:
        for source in (design_file, prior, reported, rules):
            check_apart(html, source or design_file)
    known = _prior(design, prior, reported)
    told = [] if rules is None else read_described(rules, rules_from_json, "rules")
    limits = Limits(level=level, rng=np.random.default_rng(seed))
    found = report(design, known, rules=told, repeats=repeat, limits=limits)
    if html is not None:
        write_text(html, found.to_html())
    if as_json:
        typer.echo(found.to_json(), nl=False)
    else:
        _render(found)


def _prior(design: Design, prior: Path | None, reported: Path | None) -> Any:
    from tacit.privacy.reading import prior_from_json

    if prior is not None and reported is not None:
        raise DataError("give --prior or --reported, not both: a prior is known or estimated")
    if reported is not None:
        with show.progress("counting") as tell:
            return reconstruct(count_records(reported, design.reported, tell), design)
    if prior is None:
        return None
    if prior.suffix.lower() in (".csv", ".gz", ".parquet"):
        raise FileError(f"{prior}: a prior is a JSON file; give reported records as --reported")
    return read_described(prior, prior_from_json, "prior")


def _render(found: Report) -> None:
    out = show.console()
    for said in found.sentences:
        out.print(said)
    for said in found.warnings:
        out.print(f"\nwarning: {said}")
    out.print(f"\n{found.basis()}\n")
    for header, *rows in found.tables():
        columns = [(name, "right" if i else "left") for i, name in enumerate(header)]
        out.print(show.table(columns, rows), "")
    out.print("* with the whole reported record in hand")
