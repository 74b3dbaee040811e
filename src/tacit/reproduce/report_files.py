"""write_report: the page, its figures as SVG files and every number as CSV files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tacit.files import write_text
from tacit.privacy.privacy_plots import svg
from tacit.reproduce.charts import draw
from tacit.reproduce.report_page import checks_table, page, summary_table
from tacit.reproduce.section import Chart, Section
from tacit.reproduce.study_settings import Plan, Value
from tacit.table import Table

PAGE = "report.html"


def write_report(sections: Sequence[Section], plan: Plan, folder: Path) -> None:
    """Write everything except the results of the settings, which the runner keeps."""
    pictures = {}
    tables = {"summary": summary_table(sections)}
    for section in sections:
        tables |= {f"{section.name}-checks": checks_table(section), **section.tables}
        for chart in section.charts:
            picture = svg(draw(chart))
            write_text(folder / f"{chart.name}.svg", picture)
            pictures[chart.name] = _renamed(picture, chart.name)
            tables[chart.name] = _points(chart)
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.csv())
    write_text(folder / PAGE, page(sections, pictures, plan))


def _points(chart: Chart) -> Table:
    rows: list[tuple[Value, ...]] = [
        (one.label, x, y) for one in chart.curves for x, y in zip(one.x, one.y, strict=True)
    ]
    if chart.level is not None:
        rows.append((chart.level[0], None, chart.level[1]))
    return Table(("curve", chart.x, chart.y), rows)


def _renamed(picture: str, name: str) -> str:
    """The same with names of its own, since several stand on one page."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", picture)
