"""The tables of a report as rows of text, rounded outward, for every way to show them.

Two tables compare the adversaries, from weak to strong, by how often their best guess is right
and by the largest posterior that any report can lead to. A third one, for analysts, holds the
figures of the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tacit.output import rounding
from tacit.output.table import Table
from tacit.privacy.published_rules import AfterMining
from tacit.privacy.repeated import Repeated
from tacit.privacy.risk import FIGURES, Figures
from tacit.privacy.scopes import Scope
from tacit.privacy.whole_record import NO_LIMIT, Disclosed

if TYPE_CHECKING:
    from tacit.privacy.report import Report

UNKNOWN = "not known"
#: The same in the table for analysts, which has many narrow columns.
SHORT_UNKNOWN = "?"
#: What the columns of the adversaries mean.
_COLUMNS = (
    ("no report", "Knows only how common each answer is."),
    ("own report", "Sees the report of this answer alone."),
    (
        "whole record",
        "Sees all reported answers of a person, and knows how answers go together.",
    ),
    ("at most", "The same, an upper bound for any dependence between answers."),
    (
        "others known",
        "Also knows the person's other true answers, as a colleague or a spouse may.",
    ),
)
_WITH_MODEL = ("with model", "Sees all reported answers and holds the published model.")
_UNRELATED = (
    " Answers to different questions are taken as unrelated here; if they go together, the others "
    "may give the answer away."
)
_ESTIMATED = (
    " Estimated from the reported records; dependence that they do not show may give the answer "
    "away."
)
_NOT_IN_MODEL = " Answers that its rules do not tie together are taken as unrelated here."
#: What the figures for analysts mean.
FIGURE_WORDS = (
    ("best guess right", "How often the most probable true answer is the true one."),
    ("most certain", "The largest probability of a true answer that any report can lead to."),
    ("epsilon", "A report changes the odds between any two true answers by at most exp(epsilon)."),
    ("PSE", "How often a guess drawn from the posterior is wrong (Zhan & Matwin)."),
    ("MAP", "How often the best guess is wrong: MAP privacy (Huang & Du)."),
    ("bits", "What a report tells about the true answer on average."),
)
_SIGNS = "* sees the whole reported record   + also knows the person's other true answers"
REPEATED_STAR = "* sees the whole reported records"
MINED = (
    "PSE after a model is published: PSE less what its rules recover, for someone who knows their "
    "conditions and for someone who does not (Zhan & Matwin)."
)


def tables(report: Report) -> list[Table]:
    """All tables of a report."""
    found = [guess_table(report), certainty_table(report), analyst_table(report)]
    if report.after_mining:
        found.append(mined_table(report.after_mining))
    if report.repeated is not None:
        found.append(repeated_table(report.repeated, report.prior.ties_all))
    return found


def notes(report: Report) -> list[str]:
    """What the tables mean."""
    words = [f"{name}: {what}" for name, what in (*columns(report), *FIGURE_WORDS)]
    found = [*words, signs(analyst_table(report))]
    if report.after_mining:
        found.append(MINED)
    if report.repeated is not None:
        found += [REPEATED_STAR, report.repeated.caption()]
    return found


def columns(report: Report) -> list[tuple[str, str]]:
    """The columns that compare adversaries, and what they mean."""
    *known, (others, what) = _COLUMNS
    estimated = "" if report.disclosure.assessment is None else _ESTIMATED
    what += _UNRELATED if report.takes_unrelated else estimated
    found = [*known, (others, what)]
    if report.after_mining:
        name, what = _WITH_MODEL
        found.append((name, what if report.prior.ties_all else what + _NOT_IN_MODEL))
    return found


def guess_table(report: Report) -> Table:
    """How often the best guess is right, by adversary."""
    return _by_adversary(
        report,
        "best guess right",
        lambda figures: figures.accuracy,
        _estimate,
        lambda held: held.bound,
        lambda mined: mined.accuracy_with_model,
    )


def certainty_table(report: Report) -> Table:
    """The largest posterior, by adversary."""
    return _by_adversary(
        report,
        "most certain",
        lambda figures: figures.worst_posterior,
        lambda held: _shown(held.worst_posterior),
        lambda held: held.worst_bound,
        lambda mined: mined.worst_with_model,
    )


def _by_adversary(
    report: Report,
    title: str,
    of: Callable[[Figures], float],
    estimate: Callable[[Disclosed], str],
    bound: Callable[[Disclosed], float | None],
    with_model: Callable[[AfterMining], float | None],
) -> Table:
    mined = report.after_mining
    rows = []
    for name, scope in report.attributes.items():
        held, others = report.disclosure.attributes[name], report.knowing_others[name]
        last = [_shown(with_model(mined[name]), "") if name in mined else ""] if mined else []
        rows.append(
            [
                name,
                rounding.up(scope.alone.largest_prior),
                rounding.up(of(scope.alone)),
                estimate(held),
                _limit(bound(held)),
                _shown(None if others is None else of(others)),
                *last,
            ]
        )
    for name, group in _several(report):
        own = of(group.alone) if report.prior.ties(group.names) else None
        figures = report.held(group)
        whole = None if figures is None else of(figures)
        before = _shown(group.alone.largest_prior if report.prior.ties(group.names) else None)
        cells = [before, _shown(own), _shown(whole), "", "", *([""] if mined else [])]
        rows.append([name, *cells])
    if len(report.attributes) > 1:
        held = report.disclosure.record
        before = _shown(report.record.alone.largest_prior if report.prior.ties_all else None)
        cells = [before, "", estimate(held), _limit(bound(held)), "", *([""] if mined else [])]
        rows.append(["record", *cells])
    return Table([title, *(name for name, _ in columns(report))], rows)


def _estimate(held: Disclosed) -> str:
    """The best guess from the whole record, with the range of its estimate."""
    if held.accuracy is None or held.span is None:
        return _shown(held.accuracy)
    low, high = held.span
    return f"{rounding.up(held.accuracy, 2)} ({rounding.down(low, 2)} to {rounding.up(high, 2)})"


def _shown(value: float | None, missing: str = UNKNOWN) -> str:
    """A figure of risk, or `missing` if there is none."""
    return missing if value is None else rounding.up(value)


def _limit(bound: float | None) -> str:
    """An upper bound; empty if not computed, and in words if it limits nothing."""
    if bound is None:
        return ""
    return rounding.up(bound) if bound < NO_LIMIT else "no limit"


def _several(report: Report) -> list[tuple[str, Scope]]:
    """Groups of several attributes, numbered; others are their attribute."""
    numbered = enumerate(report.groups, start=1)
    return [(f"group {i}", group) for i, group in numbered if len(group.names) > 1]


def analyst_table(report: Report) -> Table:
    """The papers' figures: own report, whole record (*), other true answers known (+)."""
    rows = []
    for name, scope in report.attributes.items():
        held, others = report.disclosure.attributes[name], report.knowing_others[name]
        rows.append(
            [
                name,
                rounding.epsilon(scope.epsilon),
                *_own(scope.alone),
                *_held(held),
                *_own(others)[:2],
            ]
        )
    for name, group in _several(report):
        own = _own(group.alone if report.prior.ties(group.names) else None)
        figures = report.held(group)
        whole = [SHORT_UNKNOWN] * 2 if figures is None else _own(figures)[:2]
        rows.append([name, rounding.epsilon(group.epsilon), *own, *whole, "", ""])
    if report.epsilon_disguised is not None:
        rows.append(["disguised", rounding.epsilon(report.epsilon_disguised), *[""] * 7])
    if len(report.attributes) > 1:
        whole = _held(report.disclosure.record)
        bits = rounding.up(report.record.alone.information) if report.prior.ties_all else ""
        cells = [rounding.epsilon(report.record.epsilon), "", "", bits, *whole, "", ""]
        rows.append(["record", *cells])
    return Table(("", "epsilon", "PSE", "MAP", "bits", "PSE*", "MAP*", "PSE+", "MAP+"), rows)


def signs(table: Table) -> str:
    """What the signs in the table for analysts mean."""
    unknown = any(SHORT_UNKNOWN in row for row in table.rows)
    return f"{_SIGNS}   {SHORT_UNKNOWN} not known" if unknown else _SIGNS


def _own(figures: Figures | None) -> list[str]:
    """PSE, MAP privacy and bits."""
    if figures is None:
        return [SHORT_UNKNOWN] * 3
    shown = [
        rounding.down(figures.pse),
        rounding.down(figures.map_privacy),
    ]
    return [*shown, rounding.up(figures.information)]


def _held(held: Disclosed) -> list[str]:
    """PSE and MAP privacy, at the pessimistic end of the range."""
    if held.accuracy is None:
        return [SHORT_UNKNOWN] * 2
    right = held.accuracy if held.span is None else held.span[1]
    return [
        SHORT_UNKNOWN if held.pse is None else rounding.down(held.pse),
        rounding.down(max(1 - right, 0.0)),
    ]


def scope_columns(report: Report) -> dict[str, list[Any]]:
    """Columns of numbers: own report, whole record (_from_record), others known (_knowing_others).

    What is not known is None.
    """
    disclosed = report.disclosure
    scopes: list[tuple[str, str, Scope, Disclosed | None]] = [
        *(("attribute", n, s, disclosed.attributes[n]) for n, s in report.attributes.items()),
        *(("group", f"group {i}", s, None) for i, s in enumerate(report.groups, start=1)),
        ("record", "record", report.record, disclosed.record),
    ]
    columns: dict[str, list[Any]] = {}
    for kind, name, scope, held in scopes:
        row = {"scope": kind, "name": name, "epsilon": scope.epsilon, "exact": scope.exact}
        alone = scope.alone if report.prior.ties(scope.names) else None
        whole = report.held(scope)
        others = report.knowing_others.get(name) if kind == "attribute" else None
        for end, figures in (("", alone), ("_from_record", whole), ("_knowing_others", others)):
            row |= {f + end: getattr(figures, f, None) for f in FIGURES}
        row["accuracy_from_record"] = getattr(held, "accuracy", None)
        row["accuracy_bound"] = getattr(held, "bound", None)
        for column, value in row.items():
            columns.setdefault(column, []).append(value)
    return columns


def mined_table(found: Mapping[str, AfterMining]) -> Table:
    """PSE before and after a model is published."""
    rows = [
        [
            name,
            *map(rounding.down, (mined.pse_before, mined.pse_known, mined.pse_unknown)),
        ]
        for name, mined in found.items()
    ]
    return Table(("model published", "PSE before", "after, known", "after, unknown"), rows)


def repeated_table(found: Repeated, known: bool) -> Table:
    """After several reports of one person; `known`: how answers go together."""
    head = [f"{found.reports} reports", "epsilon", "PSE", "MAP", "worst", "PSE*", "MAP*", "worst*"]
    rows = [
        [
            name,
            rounding.epsilon(epsilon),
            *_three(own),
            *(_three(found.from_record[name]) if known else [UNKNOWN] * 3),
        ]
        for (name, own), epsilon in zip(
            found.attributes.items(), found.epsilon.values(), strict=True
        )
    ]
    record = _three(found.record) if known else [UNKNOWN] * 3
    last = ["record", rounding.epsilon(found.record_epsilon), "", "", "", *record]
    return Table(head, [*rows, last])


def _three(figures: Figures | None) -> list[str]:
    """PSE, MAP privacy and worst posterior; empty where they could not be computed."""
    if figures is None:
        return ["", "", ""]
    return [
        rounding.down(figures.pse),
        rounding.down(figures.map_privacy),
        rounding.up(figures.worst_posterior),
    ]
