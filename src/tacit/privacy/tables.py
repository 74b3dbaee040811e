"""The tables of a report as rows of text, rounded outward, for every way to show them."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.privacy import rounding
from tacit.privacy.repeated import Repeated
from tacit.privacy.risk import Figures
from tacit.privacy.rules import AfterMining
from tacit.privacy.scopes import Scope, Scopes

Rows = list[list[str]]


def scope_rows(scopes: Scopes) -> Rows:
    """Every attribute, every group and the record; starred: the whole reported record in hand."""
    head = ["", "epsilon", "PSE", "MAP", "worst", "bits", "PSE*", "MAP*", "worst*"]
    named = [
        *scopes.attributes.items(),
        *((f"group {number}", scope) for number, scope in enumerate(scopes.groups, start=1)),
        ("record", scopes.record),
    ]
    return [head, *([name, *_cells(scope)] for name, scope in named)]


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
