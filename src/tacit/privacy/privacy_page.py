"""The privacy report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.output import rounding
from tacit.output.table import Table
from tacit.privacy import report_tables
from tacit.privacy.privacy_plots import svg
from tacit.privacy.sent_answers import of_100_up

if TYPE_CHECKING:
    from tacit.privacy.report import Report

_STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 60rem;
  padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.survey { font-size: 1.1rem; color: #444; margin: 0 0 1rem; }
.told { font-size: 1.1rem; padding-left: 1.2rem; }
.told li { margin: .4rem 0; }
.warning { border-left: .3rem solid #d55e00; background: #fdf3ec; padding: .6rem .9rem;
  margin: .6rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; }
tbody th { white-space: normal; min-width: 8rem; max-width: 18rem; font-weight: 500; }
th:first-child { text-align: left; } th[colspan] { text-align: center; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
svg { max-width: 100%; height: auto; }
.small, dl { color: #444; font-size: .92rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; }
code { overflow-wrap: anywhere; }
"""


def page(report: Report) -> str:
    """The whole page."""
    first = report.disclosure.warning
    title = report.wording.title
    told = "".join(f"<li>{_text(said)}</li>" for said in report.sentences)
    parts = [
        "<h1>How private is an answer?</h1>",
        *([] if title is None else [f'<p class="survey">{_text(title)}</p>']),
        *([] if first is None else [_warning(first)]),
        f'<ul class="told">{told}</ul>',
        *(_warning(said) for said in report.warnings if said != first),
        f'<p class="small">{_text(report.basis())}</p>',
        "<h2>How often a guess is right</h2>",
        f'<div class="wide" role="img" aria-label="{_text(_described(report))}">'
        f"{svg(report.figure())}</div>",
        "<h2>Who can guess how much</h2>",
        "<p>How often the best guess is right, from 0 (never) to 1 (always):</p>",
        _named(report, report_tables.guess_table(report)),
        "<p>The most certain that any report can make someone of a true answer:</p>",
        _named(report, report_tables.certainty_table(report)),
        _glossary(report_tables.columns(report)),
        "<h2>Every answer that can be sent</h2>",
        _answers(report),
        "<h2>For analysts</h2>",
        _analysts(report),
        *_optional(report),
        f'<p class="small">Design <code>{report.design.fingerprint}</code></p>',
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>How private is an answer?</title>\n<style>{_STYLE}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def _warning(said: str) -> str:
    return f'<p class="warning" role="note">{_text(said)}</p>'


def _text(value: object) -> str:
    return html.escape(str(value))


def _described(report: Report) -> str:
    """The figure in words."""
    told = []
    for name, scope in report.attributes.items():
        known = report.knowing_others[name]
        share = "a number not known" if known is None else str(of_100_up(known.accuracy))
        told.append(
            f"{report.wording.question(name)}: {of_100_up(scope.alone.accuracy)} of 100 from its "
            f"own report, {share} if other answers are known"
        )
    return "; ".join(told)


def _analysts(report: Report) -> str:
    groups = "; ".join(
        f"group {i}: {', '.join(g.names)} (smallest PSE {rounding.down(g.weakest or 0)})"
        for i, g in enumerate(report.groups, start=1)
        if len(g.names) > 1
    )
    told = f'<p class="small">{_text(groups)}.</p>' if groups else ""
    table = report_tables.analyst_table(report)
    star = f'<p class="small">{_text(report_tables.signs(table))}</p>'
    return _named(report, table) + star + told + _glossary(report_tables.FIGURE_WORDS)


def _named(report: Report, table: Table) -> str:
    """A table with questions instead of the names of attributes."""
    rows = [[report.wording.question(name), *cells] for name, *cells in table.rows]
    return _wide(Table(["", *table.heads[1:]], rows))


def _wide(table: Table) -> str:
    return f'<div class="wide" tabindex="0">{table.html()}</div>'


def _glossary(words: Sequence[tuple[str, str]]) -> str:
    said = "".join(f"<dt>{_text(word)}</dt><dd>{_text(what)}</dd>" for word, what in words)
    return f"<dl>{said}</dl>"


def _answers(report: Report) -> str:
    wording = report.wording
    rows = [
        [
            f"{wording.question(name)} “{wording.label(name, answer.reported)}”",
            rounding.down(100 * answer.hidden, 1) if answer.own else "",
            wording.label(name, answer.guess),
            rounding.up(100 * answer.certainty, 1),
            rounding.down(100 * answer.sent, 1),
        ]
        for name, found in report.answers.items()
        for answer in found
    ]
    head = ["sent", "truth is another, %", "likeliest truth", "it is, %", "how many send it, %"]
    return _wide(Table(head, rows))


def _optional(report: Report) -> list[str]:
    """What was asked for beyond the design: a published model, repeated participation."""
    parts = []
    if report.after_mining:
        parts += ["<h2>After a model is published</h2>", f"<p>{_text(report_tables.MINED)}</p>"]
        parts.append(_named(report, report_tables.mined_table(report.after_mining)))
    if report.repeated is not None:
        table = report_tables.repeated_table(report.repeated, report.prior.ties_all)
        said = f"<p>{_text(report.repeated.caption())}</p>"
        parts += ["<h2>Taking part more than once</h2>", said, _named(report, table)]
        parts.append(f'<p class="small">{_text(report_tables.REPEATED_STAR)}</p>')
    return parts
