"""The report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from tacit import __version__
from tacit.reproduce.section import NO_ESTIMATE, Chart, Check, Section, Table
from tacit.reproduce.study_settings import Plan, Value

#: Rows of a table that the page shows; all of them are in its CSV file.
SHOWN = 40
#: Tables of at most so many rows stand open.
OPEN = 15

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 68rem;
  padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { max-width: 46rem; }
.small { color: #555; font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td { white-space: nowrap; }
th { text-align: right; } th:first-child, td.why, th.why { text-align: left; }
tbody th { font-weight: 500; text-align: left; min-width: 9rem; }
ol.small { max-width: 46rem; padding-left: 1.5rem; }
td.why { white-space: normal; min-width: 16rem; color: #555; }
.yes { color: #00664b; } .no { color: #a63d00; font-weight: 600; }
.charts { display: grid; gap: 1rem 2rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; break-inside: avoid; }
figcaption { font-weight: 600; font-size: .95rem; }
figure svg { width: 100%; max-width: 34rem; height: auto; }
summary { cursor: pointer; }
.file { color: #555; font-size: .9rem; }
@media (max-width: 40rem) { table { font-size: .78rem; } th, td { padding: .2rem .3rem; }
  tbody th { min-width: 6.5rem; }
  .cards, .cards tbody { display: block; font-size: .9rem; } .cards thead { display: none; }
  .cards tr { display: block; border-bottom: 1px solid #ddd; padding: .4rem 0; }
  .cards th, .cards td { display: flex; justify-content: space-between; gap: 1rem; border: 0;
    padding: .05rem 0; white-space: normal; }
  .cards td:empty { display: none; } .cards td::before { content: attr(data-name); color: #555; } }
@media print { html { font-size: 9pt; } body { max-width: none; padding: 0; }
  h2 { break-before: page; margin-top: 0; border: 0; }
  h2, h3, figcaption, summary { break-after: avoid; } tr { break-inside: avoid; }
  p, ol.small { max-width: none; } .wide { overflow: visible; } td { white-space: normal; }
  table { font-size: 8pt; } th, td { padding: .1rem .3rem; }
  .charts { grid-template-columns: 1fr 1fr; } .cards tbody th { min-width: 14rem; } }
"""


def page(sections: Sequence[Section], pictures: Mapping[str, str], plan: Plan) -> str:
    """The whole page; `pictures` are SVG elements by the name of their chart."""
    body = "".join(_section(section, pictures) for section in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The papers, reproduced</title><style>{_STYLE}</style></head><body>"
        f"<h1>The papers, reproduced</h1>{_summary(sections, plan)}{body}</body></html>\n"
    )


def summary_rows(sections: Sequence[Section]) -> list[tuple[Value, ...]]:
    """One row a paper: how many numbers are as near as asked, and the largest difference."""
    rows: list[tuple[Value, ...]] = []
    for section in sections:
        asked = [check for check in section.checks if check.holds is not None]
        known = [check for check in section.checks if check.difference is not None]
        largest = max(known, key=lambda check: abs(check.difference or 0), default=None)
        held = sum(check.holds is True for check in asked)
        rows.append(
            (
                section.title,
                len(asked),
                held,
                None if largest is None else largest.difference,
                "" if largest is None else largest.what,
            )
        )
    return rows


SUMMARY = ("paper", "numbers compared", "as near as asked", "largest difference", "where")
CHECKS = ("what", "published", "measured before", "ours", "difference", "as near as asked", "why")


def check_row(check: Check) -> tuple[Value, ...]:
    """A check as a row under CHECKS."""
    held = {True: "yes", False: "no", None: ""}[check.holds]
    numbers = (check.published, check.reference, check.ours, check.difference)
    return (check.what, *numbers, held, check.why)


def _summary(sections: Sequence[Section], plan: Plan) -> str:
    if plan.quick or plan.repeats is not None:
        size = "A small part of the papers' repeats: numbers vary more than they should."
    else:
        size = "As many repeats as the papers had, save where a section says otherwise."
    said = (
        "The experiments of the papers as they are described, beside tacit's own answer. Where a "
        "paper prints no number, ours is held against one measured before. "
    )
    rows = [
        f'<tr><th scope="row"><a href="#{_text(section.name)}">{_text(title)}</a></th>'
        + _cells(SUMMARY[1:4], (_number(asked), _number(held), _signed(largest)))
        + f'<td class="why" data-name="{SUMMARY[4]}">{_text(where)}</td></tr>'
        for section, (title, asked, held, largest, where) in zip(
            sections, summary_rows(sections), strict=True
        )
    ]
    head = _head(SUMMARY, last="where")
    found = "".join(
        f"<p><b>{_text(section.title)}.</b> {_text(section.found)}</p>"
        for section in sections
        if section.found
    )
    return (
        f"<p>{said}{size}</p>"
        f'<div class="wide"><table class="cards">{head}<tbody>{"".join(rows)}</tbody></table></div>'
        f'{found}<p class="small">tacit {__version__}, seed {plan.seed}. Every number and every '
        "curve is also in a CSV file beside this page; figures are there as SVG files.</p>"
    )


def _cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Cells that know the names of their columns, for narrow screens."""
    pairs = zip(names, cells, strict=True)
    return "".join(f'<td data-name="{_text(name)}">{cell}</td>' for name, cell in pairs)


def _section(section: Section, pictures: Mapping[str, str]) -> str:
    said = "".join(f"<p>{_text(sentence)}</p>" for sentence in section.said)
    charts = "".join(_chart(chart, pictures[chart.name]) for chart in section.charts)
    tables = "".join(_table(table) for table in section.tables)
    return (
        f'<section><h2 id="{_text(section.name)}">{_text(section.title)}</h2>'
        f'<p class="small">{_text(section.paper)}</p>{said}{_checks(section)}'
        f'<div class="charts">{charts}</div>{tables}</section>'
    )


def _checks(section: Section) -> str:
    rows = []
    reasons = list(dict.fromkeys(check.why for check in section.checks if check.why))
    for check in section.checks:
        name, *numbers, held, _ = check_row(check)
        mark = f'<b class="{held}">{held}</b>' if held else ""
        letter = chr(ord("a") + reasons.index(check.why)) if check.why else ""
        told = (*map(_number, numbers[:-1]), _signed(numbers[-1]), mark, letter)
        cells = _cells(CHECKS[1:], told)
        rows.append(f'<tr><th scope="row">{_text(name)}</th>{cells}</tr>')
    body = "".join(rows)
    said = "".join(f"<li>{_text(reason)}</li>" for reason in reasons)
    return (
        '<h3>Beside the published numbers</h3><div class="wide" tabindex="0">'
        f'<table class="cards">{_head(CHECKS)}<tbody>{body}</tbody></table></div>'
        f'<ol type="a" class="small">{said}</ol>'
    )


def _chart(chart: Chart, picture: str) -> str:
    said = f"{chart.title}: {chart.y} by {chart.x}"
    return (
        f'<figure role="img" aria-label="{_text(said)}"><figcaption>{_text(chart.title)}'
        f'</figcaption>{picture}<p class="small">{_text(chart.name)}.csv</p></figure>'
    )


def _table(table: Table) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_number(row[0])}</th>'
        + "".join(
            f"<td>{_number(value, _absent(name))}</td>"
            for name, value in zip(table.header[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in table.rows[:SHOWN]
    )
    rest = len(table.rows) - SHOWN
    more = f'<p class="small">{rest:,} more rows in the file</p>' if rest > 0 else ""
    shown = " open" if len(table.rows) <= OPEN else ""
    return (
        f"<details{shown}><summary>{_text(table.title)} "
        f'<span class="file">({_text(table.name)}.csv)</span></summary>'
        f'<div class="wide" tabindex="0"><table>{_head(table.header)}<tbody>{rows}</tbody></table>'
        f"</div>{more}</details>"
    )


def _head(names: Sequence[str], last: str | None = None) -> str:
    cells = "".join(
        f'<th scope="col" class="why">{_text(name)}</th>'
        if name == last
        else f'<th scope="col">{_text(name.replace("_", " "))}</th>'
        for name in names
    )
    return f"<thead><tr>{cells}</tr></thead>"


def _absent(column: str) -> str:
    """What stands where a column has no number: a mean of ours is missing for one reason alone."""
    return NO_ESTIMATE if "mean" in column and "published" not in column else ""


def _number(value: Value, none: str = "") -> str:
    """A number to read: four digits."""
    if value is None:
        return _text(none)
    if isinstance(value, float):
        return _text(f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.2e}")
    return _text(value)


def _signed(value: Value) -> str:
    """A difference to read; one of nothing has no minus."""
    return "" if value is None else _text(f"{round(float(value), 4) + 0.0:+.4f}")


def _text(value: object) -> str:
    return html.escape(str(value))
