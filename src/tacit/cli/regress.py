"""`tacit regress`: reported records and a formula in, coefficients out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import DataFile, DesignFile
from tacit.cli.notes import note
from tacit.cli.option_groups import Output, grouped_options
from tacit.cli.sample_options import DrawnPeople
from tacit.design import Design
from tacit.errors import DataError
from tacit.files import (
    check_origin,
    check_out,
    read_design,
    read_design_origin,
    read_frame,
    write_frame,
)
from tacit.regression.coefficient_table import CoefficientTable

Formula = Annotated[
    str,
    typer.Option(
        help="outcome ~ terms, such as 'smokes ~ age + C(region)': attributes of the design and "
        "other columns of DATA. Expressions in a formula are Python code that is run."
    ),
]


@dataclass(frozen=True)
class RegressionOptions:
    """The kind of regression."""

    linear: Annotated[
        bool, typer.Option("--linear", help="Least squares, for an outcome of numbers.")
    ] = False
    ordered: Annotated[
        bool,
        typer.Option("--ordered", help="Proportional odds, for an outcome of ordered categories."),
    ] = False
    robust: Annotated[bool, typer.Option("--robust", help="Sandwich standard errors.")] = False
    effects: Annotated[bool, typer.Option("--effects", help="Also average marginal effects.")] = (
        False
    )

    def __post_init__(self) -> None:
        """Raise if options do not go together."""
        if self.linear and (self.ordered or self.robust or self.effects):
            raise DataError("--linear has sandwich errors and no --ordered, --robust or --effects")

    def fits(
        self, formula: str, records: Any, design: Design, people: DrawnPeople
    ) -> list[CoefficientTable]:
        """The coefficients, and the marginal effects if they are wanted."""
        from tacit import regression

        how = people.arguments
        if self.linear:
            return [regression.linear(formula, records, design, **how)]
        fit = regression.logit(formula, records, design, None, self.ordered, self.robust, **how)
        return [fit, fit.marginal_effects()] if self.effects else [fit]


Out = Annotated[
    Path | None, typer.Option(help="Also write the coefficients: .csv, .csv.gz or .parquet.")
]


@grouped_options
def regress(
    *,
    design_file: DesignFile,
    data: DataFile,
    formula: Formula,
    options: RegressionOptions,
    people: DrawnPeople,
    out: Out = None,
    output: Output,
) -> None:
    """Regress an answer on others and on covariates, from reported records.

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ age + job"[/bold]

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ job" --effects[/bold]
    """
    check_out(out, data)
    design = read_design(design_file)
    if not check_origin(data, read_design_origin(design_file), str(design_file)):
        note(f"{data} does not say which design made it; make sure that {design_file} did")
    fits = options.fits(formula, read_frame(data), design, people)
    alpha = 1 - output.level
    if out is not None:
        write_frame(out, fits[0].to_frame(alpha, "pyarrow"))
    header = {"tacit": "regression", "version": 1, "design": design.fingerprint}

    def content() -> dict[str, Any]:
        return header | {"formula": formula, "results": [each.to_dict(alpha) for each in fits]}

    output.print(content, lambda: _render(fits, alpha))


def _render(fits: list[CoefficientTable], alpha: float) -> None:
    """The tables, each with its notes below."""
    for fit in fits:
        shown = fit.summary(alpha)
        show.print_table(shown)
        if shown.note:
            show.console().print(shown.note, "", sep="\n", soft_wrap=True)
