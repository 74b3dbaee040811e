"""`tacit regress`: reported records and a formula in, coefficients out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.arguments import AsJson, DesignFile, Level
from tacit.cli.output_format import AsFormat, OutputFormat, Results, chosen_format
from tacit.cli.sources import (
    FromDatabase,
    OptionalData,
    check_made_by,
    counted,
    is_stored,
    needed_source,
)
from tacit.design import Design
from tacit.errors import DataError
from tacit.files import check_out, read_design, read_frame, write_frame
from tacit.files.record_files import ARROW, record_files
from tacit.reconstruction.interval import check_level
from tacit.regression.coefficient_table import CoefficientTable

Formula = Annotated[
    str,
    typer.Option(
        help="outcome ~ terms, such as 'smokes ~ age + C(region)': attributes of the design and "
        "other columns of DATA. Expressions in a formula are Python code that is run."
    ),
]
Linear = Annotated[bool, typer.Option("--linear", help="Least squares, for an outcome of numbers.")]
Ordered = Annotated[
    bool, typer.Option("--ordered", help="Proportional odds, for an outcome of ordered categories.")
]
Robust = Annotated[bool, typer.Option("--robust", help="Sandwich standard errors.")]
Effects = Annotated[bool, typer.Option("--effects", help="Also average marginal effects.")]
Out = Annotated[
    Path | None, typer.Option(help="Also write the coefficients: .csv, .csv.gz or .parquet.")
]


def regress(
    design_file: DesignFile,
    data: OptionalData = None,
    *,
    formula: Formula,
    linear: Linear = False,
    ordered: Ordered = False,
    robust: Robust = False,
    effects: Effects = False,
    level: Level = 0.95,
    as_format: AsFormat = OutputFormat.TEXT,
    as_json: AsJson = False,
    out: Out = None,
    database: FromDatabase = None,
) -> None:
    """Regress an answer on others and on covariates, from reported records.

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ age + job"[/bold]

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ job" --effects[/bold]
    """
    from tacit import regression

    if linear and (ordered or robust or effects):
        raise DataError("--linear has sandwich errors and no --ordered, --robust or --effects")
    output = chosen_format(as_format, as_json)
    check_level(level)
    check_out(out, data)
    design = read_design(design_file)
    records = _records(design_file, design, needed_source(data, database))
    fits: list[CoefficientTable] = []
    if linear:
        fits.append(regression.linear(formula, records, design))
    else:
        fit = regression.logit(formula, records, design, ordered=ordered, robust=robust)
        fits += [fit, fit.marginal_effects()] if effects else [fit]
    alpha = 1 - level
    if out is not None:
        write_frame(out, fits[0].to_frame(alpha, "pyarrow"))
    header = {"tacit": "regression", "version": 1, "design": design.fingerprint}
    header |= {"formula": formula}
    Results(
        lambda: [each.summary(alpha) for each in fits],
        lambda: _columns(fits, alpha),
        lambda: header | {"results": [each.to_dict(alpha) for each in fits]},
    ).show(output)


def _records(design_file: Path, design: Design, source: Path | str) -> Any:
    """Records as a regression takes them: a frame, counts, or what an engine counts."""
    if is_stored(source):
        return counted(design_file, design, source)
    if isinstance(source, str):
        return source
    files = record_files(source)
    check_made_by(design_file, files, str(source))
    return read_frame(source) if files == [source] and source.suffix not in ARROW else source


def _columns(fits: Sequence[CoefficientTable], alpha: float) -> dict[str, list[Any]]:
    """Coefficients, and effects below; the first column says which."""
    own = [each.columns(alpha) for each in fits]
    titles = [fit.title for fit in fits for _ in fit.names]
    return {"table": titles} | {key: [v for each in own for v in each[key]] for key in own[0]}
