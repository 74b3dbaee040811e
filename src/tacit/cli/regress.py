"""`tacit regress`: reported records and a formula in, coefficients out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import regression
from tacit.cli import show
from tacit.cli.sources import DrawnPeople, ReportedRecords, check_made_by, is_stored
from tacit.errors import DataError
from tacit.records import check_out, read_frame, write_frame
from tacit.records.paths import ARROW, record_files
from tacit.regression.coefficients import CoefficientTable


def regress(
    *,
    formula: str,
    linear: bool = False,
    ordered: bool = False,
    robust: bool = False,
    effects: bool = False,
    people: DrawnPeople,
    out: Path | None = None,
    records: ReportedRecords,
    output: show.Output,
) -> None:
    """Regress an answer on others and on covariates, from reported records.

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ age + job"[/bold]

    Example: [bold]tacit regress survey.json reported.csv --formula "smokes ~ job" --effects[/bold]

    Parameters
    ----------
    formula
        outcome ~ terms, such as 'smokes ~ age + C(region)': attributes of the design and other
        columns of DATA. Expressions in a formula are Python code that is run.
    linear
        Least squares, for an outcome of numbers.
    ordered
        Proportional odds, for an outcome of ordered categories.
    robust
        Sandwich standard errors.
    effects
        Also average marginal effects.
    out
        Also write the coefficients: .csv, .csv.gz or .parquet.
    """
    if linear and (ordered or robust or effects):
        raise DataError("--linear has sandwich errors and no --ordered, --robust or --effects")
    check_out(out, records.data)
    design, sample = records.design, people.arguments
    source = _records(records)
    fits: list[CoefficientTable] = []
    if linear:
        fits.append(regression.linear(formula, source, design, **sample))
    else:
        fit = regression.logit(formula, source, design, None, ordered, robust, **sample)
        fits += [fit, fit.marginal_effects()] if effects else [fit]
    alpha = 1 - output.level
    if out is not None:
        write_frame(out, fits[0].to_frame(alpha, backend="pyarrow"))
    header = {"tacit": "regression", "version": 1, "design": design.fingerprint, "formula": formula}
    output.show(_Fits(fits, "results"), alpha, **header)


def _records(records: ReportedRecords) -> Any:
    """Records as a regression takes them: a frame, counts, or what an engine counts."""
    source = records.source
    if is_stored(source):
        return records.counted()
    if isinstance(source, str):
        return source
    files = record_files(source)
    check_made_by(records.design_file, files, str(source))
    return read_frame(source) if files == [source] and source.suffix not in ARROW else source


class _Fits(show.Several):
    """Coefficients, and effects below; the first column says which."""

    def columns(self, *arguments: Any) -> dict[str, list[Any]]:
        titles = [fit.title for fit in self.results for _ in fit.names]
        return {"table": titles} | super().columns(*arguments)
