"""The report: sections of text, comparisons with published numbers and charts, as one HTML page.

The page loads nothing from elsewhere. Figures are also SVG files; every number is in a CSV file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tacit import __version__
from tacit.output.plot_style import svg
from tacit.output.table import Markup, Table
from tacit.papers.runner import Plan, Rows, Value
from tacit.records import write_text

#: Shown at a theta that carries no information.
NO_ESTIMATE = "no estimate exists"


@dataclass(frozen=True)
class Check:
    """A published number beside ours.

    `published` is the number in the paper, None if it prints none; `reference` was measured before.
    `within` is the tolerance. `why` explains the difference.
    """

    what: str
    ours: float | None
    published: float | None = None
    reference: float | None = None
    within: float | None = None
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the published number, or minus the reference if none is published."""
        other = self.reference if self.published is None else self.published
        return None if other is None or self.ours is None else self.ours - other

    @property
    def holds(self) -> bool | None:
        """Whether ours is within tolerance; None if there is none."""
        other = self.reference if self.reference is not None else self.published
        if other is None or self.within is None or self.ours is None:
            return None
        return abs(self.ours - other) <= self.within


#: x and y of a curve; a y of None is a place where no estimate exists.
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Curve:
    """A line of a chart through points in any order."""

    label: str
    points: Sequence[Point]
    colour: int = 0
    dashed: bool = False
    marks: bool = True

    @property
    def ordered(self) -> list[Point]:
        """The points by rising x."""
        return sorted(self.points, key=lambda point: point[0])


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; `name` names its files."""

    name: str
    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log: bool = False
    level: tuple[str, float] | None = None


@dataclass(frozen=True)
class Section:
    """One paper; `summary` is for the summary, `text` has the paragraphs of its own section.

    `tables` has the name of each table's file.
    """

    name: str
    title: str
    paper: str
    text: Sequence[str]
    checks: Sequence[Check] = ()
    charts: Sequence[Chart] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    summary: str = ""


def section_of(
    name: str,
    checks: Sequence[Check],
    charts: Sequence[Chart],
    tables: Mapping[str, Table],
    **values: Any,
) -> Section:
    """The section of a paper, with these values in its texts.

    The file of its texts has title, source, summary and paragraphs, with blank lines between.
    """
    content = _file("texts", f"{name}.txt").format(**values)
    texts = [" ".join(part.split()) for part in content.split("\n\n")]
    title, paper, summary, *paragraphs = texts
    return Section(name, title, paper, paragraphs, checks, charts, tables, summary)


def matching(rows: Rows, **values: Value) -> Rows:
    """The rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def points(rows: Rows, y: str, x: str = "theta", **values: Value) -> list[Point]:
    """Points of the rows with these values."""
    return [(float(row[x]), row[y]) for row in matching(rows, **values)]


def by_theta(rows: Rows, y: str, **values: Value) -> dict[str, Any]:
    """The y of each theta, written as a text has it, of the rows with these values."""
    return {str(row["theta"]): row[y] for row in matching(rows, **values)}


def table_of(title: str, rows: Rows) -> Table:
    """Rows under the names of their values."""
    heads = tuple(rows[0])
    return Table(heads, [[row[name] for name in heads] for row in rows], title)


#: Rows of a table that the page shows; all of them are in its CSV file.
SHOWN = 40
#: Tables of at most so many rows are open.
OPEN = 15


def page(sections: Sequence[Section], pictures: Mapping[str, str], plan: Plan) -> str:
    """The whole page; `pictures` are SVG elements by the name of their chart."""
    if plan.small:
        size = "A small part of the papers' repeats: numbers vary more than they should."
    else:
        size = "As many repeats as the papers had, unless a section says otherwise."
    table = summary_table(sections)
    rows, summaries = [], ""
    for section, (title, *counts, largest, where) in zip(sections, table.rows, strict=True):
        link = Markup(f'<a href="#{escape(section.name)}">{escape(title)}</a>')
        rows.append((link, *counts, signed(largest), where))
        if section.summary:
            summaries += f"<p><b>{escape(title)}.</b> {escape(section.summary)}</p>"
    return _file("page.html").format(
        style=_file("report.css"),
        size=size,
        table=_wide(replace(table, rows=rows), cards=True),
        summaries=summaries,
        version=__version__,
        seed=plan.seed,
        sections="".join(_section(section, pictures) for section in sections),
    )


def _file(*names: str) -> str:
    return files("tacit.papers").joinpath(*names).read_text(encoding="utf-8")


def summary_table(sections: Sequence[Section]) -> Table:
    """A row per paper: how many numbers are within tolerance, and the largest difference."""
    rows = []
    for section in sections:
        compared = [check for check in section.checks if check.holds is not None]
        compared_to = [check for check in section.checks if check.difference is not None]
        largest = max(compared_to, key=lambda check: abs(check.difference or 0), default=None)
        difference, where = (None, "") if largest is None else (largest.difference, largest.what)
        within = sum(check.holds is True for check in compared)
        rows.append((section.title, len(compared), within, difference, where))
    heads = ("paper", "numbers compared", "within tolerance", "largest difference", "where")
    return Table(heads, rows, align="lrrrl")


def checks_table(section: Section) -> Table:
    """A row per number that is compared."""
    within = {True: "yes", False: "no", None: ""}
    rows = [
        (c.what, c.published, c.reference, c.ours, c.difference, within[c.holds], c.why)
        for c in section.checks
    ]
    heads = ("what", "published", "measured before", "ours", "difference", "within tolerance")
    return Table((*heads, "why"), rows)


def _wide(table: Table, cards: bool = False) -> str:
    return f'<div class="wide" tabindex="0">{table.html(cards)}</div>'


def _section(section: Section, pictures: Mapping[str, str]) -> str:
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in section.text)
    charts = "".join(_chart(chart, pictures[chart.name]) for chart in section.charts)
    tables = "".join(_table(name, table) for name, table in section.tables.items())
    return (
        f'<section><h2 id="{escape(section.name)}">{escape(section.title)}</h2>'
        f'<p class="small">{escape(section.paper)}</p>{text}{_checks(section)}'
        f'<div class="charts">{charts}</div>{tables}</section>'
    )


def _checks(section: Section) -> str:
    """The numbers of a paper beside ours; reasons are letters, explained below the table."""
    table = checks_table(section)
    reasons = list(dict.fromkeys(check.why for check in section.checks if check.why))
    rows = [
        (
            *numbers,
            signed(difference),
            Markup(f'<b class="{within}">{within}</b>'),
            chr(ord("a") + reasons.index(why)) if why else "",
        )
        for *numbers, difference, within, why in table.rows
    ]
    said = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    return (
        f"<h3>Beside the published numbers</h3>{_wide(replace(table, rows=rows), cards=True)}"
        f'<ol type="a" class="small">{said}</ol>'
    )


def _chart(chart: Chart, picture: str) -> str:
    said = f"{chart.title}: {chart.y} by {chart.x}"
    return (
        f'<figure role="img" aria-label="{escape(said)}"><figcaption>{escape(chart.title)}'
        f'</figcaption>{picture}<p class="small">{escape(chart.name)}.csv</p></figure>'
    )


def _table(name: str, table: Table) -> str:
    """The first rows; a mean of ours is missing only if no estimate exists."""
    missing = [NO_ESTIMATE if "mean" in h and "published" not in h else None for h in table.heads]
    shown = Table(
        [head.replace("_", " ") for head in table.heads],
        [
            [none if cell is None else cell for cell, none in zip(row, missing, strict=True)]
            for row in table.rows[:SHOWN]
        ],
    )
    rest = len(table.rows) - SHOWN
    more = f'<p class="small">{rest:,} more rows in the file</p>' if rest > 0 else ""
    is_open = " open" if len(table.rows) <= OPEN else ""
    return (
        f"<details{is_open}><summary>{escape(table.title)} "
        f'<span class="file">({escape(name)}.csv)</span></summary>{_wide(shown)}{more}</details>'
    )


def signed(difference: float | None) -> str:
    """A difference with its sign; never minus zero."""
    return "" if difference is None else f"{round(difference, 4) + 0.0:+.4f}"


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
            own_names = rf"\g<1>{chart.name}-"
            pictures[chart.name] = re.sub(r'(\bid="|url\(#|href="#)', own_names, picture)
            rows: list[Any] = []
            for curve in chart.curves:
                rows += [(curve.label, x, y) for x, y in curve.ordered]
            if chart.level is not None:
                rows.append((chart.level[0], None, chart.level[1]))
            tables[chart.name] = Table(("curve", chart.x, chart.y), rows)
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.csv())
    write_text(folder / "report.html", page(sections, pictures, plan))


def draw(chart: Chart) -> Figure:
    """The figure of a chart; it marks places where no estimate exists."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for curve in chart.curves:
        axes.plot(
            [x for x, _ in curve.ordered],
            [math.nan if y is None else y for _, y in curve.ordered],
            color=COLOURS[curve.colour % len(COLOURS)],
            marker=MARKERS[curve.colour % len(MARKERS)] if curve.marks else None,
            ms=3.5,
            lw=1.4,
            ls="--" if curve.dashed else "-",
            label=curve.label,
        )
    if chart.level is not None:
        name, height = chart.level
        axes.axhline(height, color="#999999", lw=0.8, ls=":", label=name)
    points = [point for curve in chart.curves for point in curve.points]
    for gap in sorted({x for x, y in points if y is None}):
        axes.axvline(gap, color="#999999", lw=0.8, ls=(0, (1, 3)))
        axes.text(
            gap, 0.02, f" {NO_ESTIMATE}", rotation=90, fontsize=7, color="#666666",
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
