"""The tables of a report as rows of text, rounded outward, for every way to show them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from tacit.privacy import rounding
from tacit.privacy.repeated import Repeated
from tacit.privacy.risk import FIGURES, Figures
from tacit.privacy.rules import AfterMining
from tacit.privacy.scopes import Scope, Scopes

Rows = list[list[str]]

STAR = "* with the whole reported record in hand"
MINED = (
    "Model published: PSE less what the model's rules recover, for one who knows their conditions "
    "and one who does not (Zhan & Matwin); best guess: how often it is right with the model and "
    "the whole reported record in hand."
)


def scope_rows(scopes: Scopes) -> Rows:
    """Every attribute, every group and the record; starred: the whole reported record in hand."""
    head = ["", "epsilon", "PSE", "MAP", "worst", "bits", "PSE*", "MAP*", "worst*"]
    return [head, *([name, *_cells(scope)] for _, name, scope in _named(scopes))]


def scope_columns(scopes: Scopes) -> dict[str, list[Any]]:
    """The same as columns of numbers; those by the whole reported record end in _from_record."""
    columns: dict[str, list[Any]] = {}
    for kind, name, scope in _named(scopes):
        row = {"scope": kind, "name": name, "epsilon": scope.epsilon, "exact": scope.exact}
        row |= {figure: getattr(scope.alone, figure) for figure in FIGURES}
        row |= {f"{figure}_from_record": getattr(scope.from_record, figure) for figure in FIGURES}
        for column, value in row.items():
            columns.setdefault(column, []).append(value)
    return columns


def _named(scopes: Scopes) -> list[tuple[str, str, Scope]]:
    """Kind, name and figures of every scope."""
    return [
        *(("attribute", name, scope) for name, scope in scopes.attributes.items()),
        *(("group", f"group {i}", scope) for i, scope in enumerate(scopes.groups, start=1)),
        ("record", "record", scopes.record),
    ]


def _cells(scope: Scope) -> list[str]:
    bits = rounding.up(scope.alone.information)
    own, held = _three(scope.alone), _three(scope.from_record)
    return [rounding.epsilon(scope.epsilon), *own, bits, *held]


def _three(figures: Figures | None) -> list[str]:
    """PSE, MAP privacy and worst posterior; empty where they could not be computed."""
    if figures is None:
        return ["", "", ""]
    return [
        rounding.down(figures.pse),
        rounding.down(figures.map_privacy),
        rounding.up(figures.worst_posterior),
    ]


def mined_rows(found: Mapping[str, AfterMining]) -> Rows:
    """Before and after a model is published."""
    head = ["model published", "PSE before", "after, known", "after, unknown", "best guess"]
    return [
        head,
        *(
            [
                name,
                rounding.down(mined.pse_before),
                rounding.down(mined.pse_known),
                rounding.down(mined.pse_unknown),
                "" if mined.accuracy_with_model is None else rounding.up(mined.accuracy_with_model),
            ]
            for name, mined in found.items()
        ),
    ]


def repeated_rows(found: Repeated) -> Rows:
    """After several reports of one person."""
    head = [f"{found.reports} reports", "epsilon", "PSE", "MAP", "worst", "PSE*", "MAP*", "worst*"]
    rows = [
        [name, rounding.epsilon(epsilon), *_three(own), *_three(found.from_record[name])]
        for (name, own), epsilon in zip(
            found.attributes.items(), found.epsilon.values(), strict=True
        )
    ]
    record = _three(found.record)
    return [head, *rows, ["record", rounding.epsilon(found.record_epsilon), *record, *record]]


def as_html(rows: Rows) -> str:
    """Rows as a table for a notebook."""
    head, *body = (
        "".join(f"<{cell}>{html.escape(text)}</{cell}>" for text in row)
        for cell, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
    )
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def aligned(rows: Rows) -> list[str]:
    """Rows as lines of text, the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
