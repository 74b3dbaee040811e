"""The privacy report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.privacy import rounding
from tacit.privacy.figure import svg
from tacit.privacy.tables import MINED, STAR, mined_rows, repeated_rows

if TYPE_CHECKING:
    from tacit.privacy.report import Report

_STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 60rem;
  padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.told { font-size: 1.1rem; padding-left: 1.2rem; }
.told li { margin: .4rem 0; }
.warning { border-left: .3rem solid #d55e00; background: #fdf3ec; padding: .6rem .9rem;
  margin: .6rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; }
th:first-child { text-align: left; } th[colspan] { text-align: center; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
svg { max-width: 100%; height: auto; }
.small, dl { color: #444; font-size: .92rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; }
code { overflow-wrap: anywhere; }
"""

_WORDS = (
    ("epsilon", "A report changes the odds of any two true answers by at most exp(epsilon)."),
    ("PSE", "How often a guess misses that is drawn from what the report makes likely."),
    ("MAP privacy", "How often even the best guess misses."),
    ("worst", "The most certain that any report can make anyone of a true answer."),
    ("bits", "What a report tells of the truth on average."),
)


def page(report: Report) -> str:
    """The whole page."""
    parts = [
        "<h1>How private is an answer?</h1>",
        _list(report.sentences),
        *(f'<p class="warning" role="note">{_text(said)}</p>' for said in report.warnings),
        f'<p class="small">{_text(report.basis())}</p>',
        "<h2>How often a guess is right</h2>",
        f'<div class="wide" role="img" aria-label="{_text(_described(report))}">'
        f"{svg(report.figure())}</div>",
        "<h2>The figures</h2>",
        _figures(report),
        _glossary(),
        "<h2>Every answer that can be sent</h2>",
        _answers(report),
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


def _text(value: object) -> str:
    return html.escape(str(value))


def _list(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(said)}</li>" for said in sentences)
    return f'<ul class="told">{items}</ul>'


def _described(report: Report) -> str:
    return "; ".join(
        f"{name}: {rounding.up(100 * scope.from_record.accuracy, 0)} of 100"
        for name, scope in (*report.attributes.items(), ("whole record", report.record))
    )


def _figures(report: Report) -> str:
    _, *body = report.rows()
    above = (
        '<tr><td></td><td></td><th colspan="4" scope="colgroup">by its own report</th>'
        '<th colspan="3" scope="colgroup">by the whole reported record</th></tr>'
    )
    head = ["", "epsilon", "PSE", "MAP privacy", "worst", "bits", "PSE", "MAP privacy", "worst"]
    groups = "; ".join(
        f"group {i}: {', '.join(g.names)} (smallest PSE {rounding.down(g.weakest or 0)})"
        for i, g in enumerate(report.groups, start=1)
    )
    return _table(head, body, above) + f'<p class="small">{_text(groups)}.</p>'


def _table(head: Sequence[str], body: Sequence[Sequence[str]], above: str = "") -> str:
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    rows = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in body
    )
    table = f"<table><thead>{above}<tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'


def _glossary() -> str:
    said = "".join(f"<dt>{_text(word)}</dt><dd>{_text(what)}</dd>" for word, what in _WORDS)
    return f"<dl>{said}</dl>"


def _answers(report: Report) -> str:
    rows = [
        [
            f"{name}: {answer.reported}",
            rounding.down(100 * answer.hidden, 1) if answer.own else "",
            str(answer.guess),
            rounding.up(100 * answer.certainty, 1),
            rounding.down(100 * answer.sent, 1),
        ]
        for name, found in report.answers.items()
        for answer in found
    ]
    head = ["sent", "lying by chance, %", "likeliest truth", "it is, %", "how many send it, %"]
    return _table(head, rows)


def _optional(report: Report) -> list[str]:
    """What was asked for beyond the design: a published model, repeated participation."""
    parts = []
    if report.after_mining:
        head, *rows = mined_rows(report.after_mining)
        parts += ["<h2>After a model is published</h2>", f"<p>{_text(MINED)}</p>"]
        parts.append(_table(head, rows))
    if report.repeated is not None:
        head, *rows = repeated_rows(report.repeated)
        said = f"<p>{_text(report.repeated.caption())}</p>"
        parts += ["<h2>Taking part more than once</h2>", said, _table(head, rows)]
        parts.append(f'<p class="small">{_text(STAR)}</p>')
    return parts
