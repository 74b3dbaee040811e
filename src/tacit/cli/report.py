"""`tacit report`: the results of a survey as one HTML or PDF file."""

from __future__ import annotations

from pathlib import Path

from typer import echo

from tacit import survey as surveys
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError, FileError
from tacit.output.number_text import number_of
from tacit.records import check_apart, write_bytes


def report(
    *,
    records: ReportedRecords,
    out: Path,
    compare: list[str] | None = None,
    regress: list[str] | None = None,
) -> None:
    """Write the results of a published survey as a report for a paper's appendix.

    The methods with references, and for each question a table and a figure: a PDF, or one HTML file
    without script, which loads nothing.

    Comparisons and regressions hide groups of fewer than 20 people, as the studio does.

    Example: [bold]tacit report published.json --database survey.db --out report.pdf[/bold]

    Parameters
    ----------
    out
        The report to write: .html or .pdf.
    compare
        A comparison to add, as in the address of the studio's page, such as
        "row=smokes&column=site"; may be repeated.
    regress
        A regression to add, such as "outcome=smokes&with=site&with=age"; may be repeated.
    """
    kind = out.suffix.lower()
    if kind not in (".html", ".htm", ".pdf"):
        raise FileError(f"{out}: the report is HTML or PDF; name it .html or .pdf")
    check_apart(out, *records.files)
    published = surveys.read_published(records.design_file)
    from tacit.studio.analyses import COMPARISON, REGRESSION, Analysis
    from tacit.studio.release import Release
    from tacit.studio.report import analysis_result, survey_report, survey_report_pdf

    counts = records.counted()
    if not counts.n_records:
        raise DataError(f"no answers yet to {records.design_file}: nothing to report")
    release = Release(published, counts)
    analyses = [
        *(Analysis(COMPARISON, query) for query in compare or ()),
        *(Analysis(REGRESSION, query) for query in regress or ()),
    ]
    for analysis in analyses:
        analysis_result(analysis, release)  # one that cannot be made is an error here
    make = survey_report_pdf if kind == ".pdf" else survey_report
    content = make(release, analyses, release)
    write_bytes(out, content.encode() if isinstance(content, str) else content, private=True)
    echo(f"wrote {out}: {number_of(counts.n_records, 'record')}")
