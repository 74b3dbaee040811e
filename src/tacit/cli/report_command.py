"""`tacit report`: the results of a survey as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.option_groups import grouped_options
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, FileError
from tacit.extras import optional_imports
from tacit.files import check_apart, write_text
from tacit.number_text import number_of


@grouped_options
def report(
    records: ReportedRecords,
    out: Annotated[Path, typer.Option(help="The report to write: .html.")],
) -> None:
    """Write the results of a published survey as a report for a paper's appendix.

    One HTML file without script: the methods with references, and for each question a table and a
    figure. Print it in a browser to get a PDF.

    Example: [bold]tacit report published.json --database survey.db --out report.html[/bold]
    """
    from tacit.survey import read_published

    if out.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{out}: the report is HTML; name it .html")
    check_apart(out, *records.files)
    published = read_published(records.design_file)
    with optional_imports():
        from tacit.studio.release import Release
        from tacit.studio.survey_report import survey_report
    counts = records.counted()
    if not counts.n_records:
        raise DataError(f"no answers yet to {records.design_file}: nothing to report")
    write_text(out, survey_report(Release(published, counts)))
    typer.echo(f"wrote {out}: {number_of(counts.n_records, 'record')}")
