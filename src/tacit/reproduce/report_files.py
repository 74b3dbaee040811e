"""write_report: the page, its figures as SVG files and every number as CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tacit.files import write_text
from tacit.privacy.privacy_plots import svg
from tacit.reproduce.charts import draw
from tacit.reproduce.report_page import CHECKS, SUMMARY, check_row, page, summary_rows
from tacit.reproduce.section import Chart, Section
from tacit.reproduce.study_settings import Plan, Value

PAGE = "report.html"


def write_report(sections: Sequence[Section], plan: Plan, folder: Path) -> None:
    """Write everything but what the settings keep."""
    pictures = {}
    for chart in (chart for section in sections for chart in section.charts):
        picture = svg(draw(chart))
        write_text(folder / f"{chart.name}.svg", picture)
        _write(folder / f"{chart.name}.csv", ("curve", chart.x, chart.y), _points(chart))
        pictures[chart.name] = _renamed(picture, chart.name)
    for section in sections:
        checks = map(check_row, section.checks)
        _write(folder / f"{section.name}-checks.csv", CHECKS, checks)
        for table in section.tables:
            _write(folder / f"{table.name}.csv", table.header, table.rows)
    _write(folder / "summary.csv", SUMMARY, summary_rows(sections))
    write_text(folder / PAGE, page(sections, pictures, plan))


def _points(chart: Chart) -> Iterable[tuple[Value, ...]]:
    for one in chart.curves:
        for x, y in zip(one.x, one.y, strict=True):
            yield one.label, x, y
    if chart.level is not None:
        yield chart.level[0], None, chart.level[1]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """A CSV file; an empty cell is a number that does not exist."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, stream.getvalue())


def _renamed(picture: str, name: str) -> str:
    """The same with names of its own, since several stand on one page."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", picture)
