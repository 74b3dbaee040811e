"""`tacit privacy`: how private the answers of a design are, in sentences and in figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from typer import Option

from tacit import Design, reconstruct
from tacit import survey as surveys
from tacit.cli import show
from tacit.cli.arguments import DesignFile, Picture
from tacit.cli.sources import FromDatabase, counted, given_source
from tacit.errors import DataError, FileError
from tacit.privacy import Comparison, Limits, Report, compare_schemes, prior_of, report
from tacit.privacy.comparison import THETAS, Point
from tacit.privacy.prior import prior_from_json
from tacit.privacy.published_model import rules_from_json
from tacit.privacy.report_text import wording_of
from tacit.records import designs, files


def privacy(
    *,
    design_file: DesignFile,
    prior: Path | None = None,
    reported: Path | None = None,
    database: FromDatabase = None,
    rules: Path | None = None,
    repeat: int | None = Option(None, min=1),
    seed: int = Option(0, min=0),
    compare: bool = False,
    html: Path | None = None,
    figure: Picture = None,
    out: Path | None = None,
    output: show.Output,
) -> None:
    """Show how private the answers of a design are.

    First in sentences for respondents, then in figures for each attribute, each group and the
    whole record, for adversaries from weak to strong. Privacy is rounded down, risk up.

    Example: [bold]tacit privacy survey.json --prior prior.json --html privacy.html[/bold]

    Example: [bold]tacit privacy survey.json --reported reported.csv[/bold]

    Example: [bold]tacit privacy survey.json --compare --figure schemes.svg[/bold]

    Parameters
    ----------
    prior
        Distribution of the true answers (JSON): one for each attribute, or joint tables. Every
        category equally likely if left out.
    reported
        Reported records to estimate the prior from: .csv, .csv.gz or .parquet.
    rules
        Rules of a published model (JSON).
    repeat
        How often one person takes part; of a survey, its waves if left out.
    seed
        Seed of the random draws.
    compare
        Instead: privacy over theta for 1 to 4 groups, related against unrelated.
    html
        Also write the report as a page.
    out
        Also write the figures: .csv, .csv.gz or .parquet.
    """
    design = designs.read_design(design_file)
    sources = (design_file, prior, reported, rules)
    files.check_apart(html, *sources)
    files.check_figure(figure, *sources)
    files.check_out(out, *sources)
    if compare and (rules, repeat, html) != (None, None, None):
        raise DataError("--compare goes without --rules, --repeat and --html")
    records = given_source(reported, database)
    if prior is not None and records is not None:
        raise DataError("give --prior or --reported, not both: a prior is known or estimated")
    known_prior: Any = None
    if records is not None:
        known_prior = reconstruct(counted(design_file, design, records), design)
    elif prior is not None:
        if prior.suffix.lower() in (".csv", ".gz", ".parquet"):
            raise FileError(f"{prior}: a prior is a JSON file; give reported records as --reported")
        known_prior = designs.read_described(prior, prior_from_json, "prior")
    limits = Limits(level=output.level, rng=np.random.default_rng(seed))
    result: Report | Comparison
    if compare:
        result = _compared(design, known_prior, limits)
    else:
        published = [] if rules is None else designs.read_described(rules, rules_from_json, "rules")
        wording = None
        if json.loads(designs.read_text(design_file)).get("tacit") == "published-survey":
            survey = surveys.read_published(design_file).survey
            wording, repeat = wording_of(survey), repeat or survey.waves
        with show.progress("measuring") as tell:
            limits = replace(limits, progress=tell)
            result = report(
                design, known_prior, rules=published, repeats=repeat, limits=limits, wording=wording
            )
        if html is not None:
            files.write_text(html, result.to_html())
    show.write_also(result, figure, out)
    output.show(result)


def _compared(design: Design, prior: Any, limits: Limits) -> Comparison:
    stacked = prior_of(prior, design, limits.rng, limits.priors)
    points: list[Point] = []
    with show.progress("comparing") as tell:
        for theta in THETAS:
            points += compare_schemes(design.schema, stacked, thetas=[theta], limits=limits).points
            tell(float(theta))
    return Comparison(tuple(points), stacked.source, not stacked.ties_all)
