"""Figures of privacy, and the privacy report as one HTML page that loads nothing from elsewhere.

Figures are drawn without a display and without global state.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tacit.output import rounding
from tacit.output.plot_style import BLUE, GREY, INK, RED, plain, short_label, svg
from tacit.output.table import Table
from tacit.privacy import report_text
from tacit.privacy.scopes import of_100_up

if TYPE_CHECKING:
    from tacit.privacy.comparison import Comparison
    from tacit.privacy.report import Report


#: Attributes shown; more would not be read.
_SHOWN = 30


def guesses(report: Report) -> Figure:
    """For each attribute and the record: how often the best guess is right, of 100."""
    names = list(report.attributes)
    least = sorted(names, key=lambda name: -_knowing_others(report, name))[:_SHOWN]
    shown = [name for name in names if name in set(least)]
    record_disclosed = report.disclosure.record
    marked = record_disclosed.accuracy is not None or record_disclosed.limit is not None
    record = ["whole record"] if len(names) > 1 and marked else []
    figure = Figure(figsize=(5.4, 2.1 + 0.36 * len([*shown, *record])), layout="constrained")
    axes = figure.add_subplot()
    _mark(axes, report, shown)
    labels = [short_label(report.wording.question(name)) for name in shown]
    axes.set_yticks(range(len(shown) + len(record)), [*labels, *record])
    axes.set_ylim(len(shown) + len(record) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("best guess is right, in 100 cases")
    if len(shown) < len(names):
        axes.set_title(f"the {len(shown)} least private of {len(names)}", fontsize="medium")
    plain(axes, "x")
    figure.legend(loc="outside upper left", ncols=1, frameon=False)
    return figure


def _mark(axes: Axes, report: Report, shown: Sequence[str]) -> None:
    """A mark per adversary; none where a figure is not known."""
    before = [report.attributes[n].alone.largest_prior for n in shown]
    alone = [report.attributes[n].alone.accuracy for n in shown]
    others = [_knowing_others(report, name, 0.0) for name in shown]
    disclosed = [report.disclosure.attributes[n] for n in shown]
    if len(report.attributes) > 1:
        disclosed.append(report.disclosure.record)
    whole = [scope.accuracy or 0.0 for scope in disclosed]
    bounds = [scope.limit or 0.0 for scope in disclosed]
    ends = map(max, alone, others, whole)
    lines = [100 * share for share in before], [100 * share for share in ends]
    axes.hlines(range(len(shown)), *lines, color=GREY, linewidth=1, zorder=1)
    ring: dict[str, Any] = {"facecolor": "none", "edgecolor": BLUE, "linewidth": 1.8}
    at_most = "the whole record, at most (any dependence)"
    marks: list[tuple[str, list[float], dict[str, Any]]] = [
        ("without a report", before, dict(marker="|", s=90, color=INK)),
        ("its own report", alone, dict(s=60, zorder=5, **ring)),
        ("the whole reported record", whole, dict(marker="D", s=40, color=RED, zorder=3)),
        (at_most, bounds, dict(marker=4, s=50, color=GREY, zorder=2)),
        ("the other true answers known", others, dict(marker="^", s=34, color=INK, zorder=4)),
    ]
    for label, shares, style in marks:
        points = [(100 * share, line) for line, share in enumerate(shares) if share]
        if points:
            axes.scatter(*zip(*points, strict=True), label=label, **style)


def _knowing_others(report: Report, name: str, missing: float = 1.0) -> float:
    """How often a guess is right if the other true answers are known, or `missing`."""
    knowing = report.knowing_others[name]
    return missing if knowing is None else knowing.accuracy


def curves(comparison: Comparison) -> Figure:
    """PSE of an attribute and MAP privacy of a record over theta, a line a scheme."""
    keys = list(dict.fromkeys((p.scheme, p.groups) for p in comparison.points))
    schemes = list(dict.fromkeys(scheme for scheme, _ in keys))
    most = max(groups for _, groups in keys)
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for scheme, groups in keys:
        colour, marker = (BLUE, RED, INK, GREY)[schemes.index(scheme) % 4], (groups - 1) % 8
        style: dict[str, Any] = {"color": colour, "marker": "o^sDv*PX"[marker], "markersize": 4}
        label = f"{scheme}, {groups} {'group' if groups == 1 else 'groups'}"
        line = comparison.curve(scheme, groups, "map_record")
        right.plot(*line, label=label, alpha=0.35 + 0.65 * groups / most, **style)
        if groups == min(g for s, g in keys if s == scheme):
            left.plot(*comparison.curve(scheme, groups, "pse"), **style)
    left.set_title("one answer: PSE, any grouping")
    right.set_title("whole record: MAP privacy")
    for axes in (left, right):
        axes.set_xlabel("theta")
        axes.set_ylim(bottom=0)
        plain(axes, "both")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure


def page(report: Report) -> str:
    """The whole page."""
    first, title = report.disclosure.warning, report.wording.title
    items = "".join(f"<li>{_text(said)}</li>" for said in report.sentences)
    lead = [
        *([] if title is None else [f'<p class="survey">{_text(title)}</p>']),
        *([] if first is None else [_warning(first)]),
        f'<ul class="told">{items}</ul>',
        *(_warning(said) for said in report.warnings if said != first),
        f'<p class="small">{_text(report.basis())}</p>',
    ]
    template = (files("tacit.privacy") / "page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        lead="\n".join(lead),
        described=_text(_described(report)),
        figure=svg(report.plot()),
        guesses=_named(report, report_text.adversary_table(report, "best guess right")),
        certainty=_named(report, report_text.adversary_table(report, "most certain")),
        adversaries=_glossary(report_text.columns(report)),
        answers=_answers(report),
        analysts="\n".join([_analysts(report), *_optional(report)]),
        fingerprint=report.design.fingerprint,
    )


def _warning(said: str) -> str:
    return f'<p class="warning" role="note">{_text(said)}</p>'


def _text(value: object) -> str:
    return html.escape(str(value))


def _described(report: Report) -> str:
    """The figure in words."""
    phrases = []
    for name, scope in report.attributes.items():
        knowing = report.knowing_others[name]
        share = "a number not known" if knowing is None else str(of_100_up(knowing.accuracy))
        phrases.append(
            f"{report.wording.question(name)}: {of_100_up(scope.alone.accuracy)} of 100 from its "
            f"own report, {share} if other answers are known"
        )
    return "; ".join(phrases)


def _analysts(report: Report) -> str:
    groups = "; ".join(
        f"group {i}: {', '.join(g.names)} (smallest PSE {rounding.down(g.weakest or 0)})"
        for i, g in enumerate(report.groups, start=1)
        if len(g.names) > 1
    )
    groups_note = f'<p class="small">{_text(groups)}.</p>' if groups else ""
    table = report_text.analyst_table(report)
    star = f'<p class="small">{_text(report_text.signs(table))}</p>'
    return _named(report, table) + star + groups_note + _glossary(report_text.FIGURE_WORDS.items())


def _named(report: Report, table: Table) -> str:
    """A table with questions instead of the names of attributes."""
    rows = [[report.wording.question(name), *cells] for name, *cells in table.rows]
    return _wide(Table(["", *table.heads[1:]], rows))


def _wide(table: Table) -> str:
    return f'<div class="wide" tabindex="0">{table.html()}</div>'


def _glossary(words: Iterable[tuple[str, str]]) -> str:
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
        for name, answers in report.answers.items()
        for answer in answers
    ]
    head = ["sent", "truth is another, %", "likeliest truth", "it is, %", "how many send it, %"]
    return _wide(Table(head, rows))


def _optional(report: Report) -> list[str]:
    """What was asked for beyond the design: a published model, repeated participation."""
    parts = []
    if report.after_mining:
        parts += ["<h2>After a model is published</h2>", f"<p>{_text(report_text.MINED)}</p>"]
        parts.append(_named(report, report_text.mined_table(report.after_mining)))
    if report.repeated is not None:
        table = report_text.repeated_table(report.repeated, report.prior.ties_all)
        said = f"<p>{_text(report.repeated.caption())}</p>"
        parts += ["<h2>Taking part more than once</h2>", said, _named(report, table)]
        parts.append(f'<p class="small">{_text(report_text.REPEATED_STAR)}</p>')
    return parts
