"""write_report: the page, its figures as SVG files and every number as CSV files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tacit.output.table import Table
from tacit.papers.report_page import checks_table, page, summary_table
from tacit.papers.section import NO_ESTIMATE, Chart, Curve, Section
from tacit.papers.study_settings import Plan
from tacit.privacy.page import svg
from tacit.records import write_text

PAGE = "report.html"
#: Colours that are distinct for colour-blind readers (Okabe & Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7b5ea7", "#6b6b6b")
MARKERS = "os^Dv"
#: Small enough to be readable on a phone.
SIZE = (5.0, 3.7)


def write_report(sections: Sequence[Section], plan: Plan, folder: Path) -> None:
    """Write everything except the results of the settings, which the runner keeps."""
    pictures = {}
    tables = {"summary": summary_table(sections)}
    for section in sections:
        tables |= {f"{section.name}-checks": checks_table(section), **section.tables}
        for chart in section.charts:
            picture = svg(draw(chart))
            write_text(folder / f"{chart.name}.svg", picture)
            # Names of its own, since several stand on one page.
            pictures[chart.name] = re.sub(
                r'(\bid="|url\(#|href="#)', rf"\g<1>{chart.name}-", picture
            )
            rows: list[Any] = [(one.label, x, y) for one in chart.curves for x, y in one.ordered]
            if chart.level is not None:
                rows.append((chart.level[0], None, chart.level[1]))
            tables[chart.name] = Table(("curve", chart.x, chart.y), rows)
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.csv())
    write_text(folder / PAGE, page(sections, pictures, plan))


def draw(chart: Chart) -> Figure:
    """The figure of a chart; it marks places where no estimate exists."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for one in chart.curves:
        _draw(axes, one)
    if chart.level is not None:
        name, height = chart.level
        axes.axhline(height, color="#999999", lw=0.8, ls=":", label=name)
    points = [point for one in chart.curves for point in one.points]
    for place in sorted({x for x, y in points if y is None}):
        axes.axvline(place, color="#999999", lw=0.8, ls=(0, (1, 3)))
        axes.text(
            place, 0.02, f" {NO_ESTIMATE}", rotation=90, fontsize=7, color="#666666",
            transform=axes.get_xaxis_transform(), va="bottom", ha="left",
        )  # fmt: skip
    if chart.log:
        axes.set_yscale("log")
    if all(float(x).is_integer() for x, _ in points):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _draw(axes: Any, one: Curve) -> None:
    axes.plot(
        [x for x, _ in one.ordered],
        [math.nan if y is None else y for _, y in one.ordered],
        color=COLOURS[one.colour % len(COLOURS)],
        marker=MARKERS[one.colour % len(MARKERS)] if one.marks else None,
        ms=3.5,
        lw=1.4,
        ls="--" if one.dashed else "-",
        label=one.label,
    )
