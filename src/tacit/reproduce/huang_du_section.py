"""What the report says of Huang & Du."""

from __future__ import annotations

from tacit.reproduce.huang_du import CASES, DELTAS, METHODS, NAME, Case
from tacit.reproduce.section import Chart, Check, Curve, Section, curve, table_of
from tacit.reproduce.study_settings import Results, Rows
from tacit.table import Table

#: Smallest privacy as the paper states it, by delta: Warner's scheme and their search.
WARNER = {0.6: 0.6, 0.7: 0.5, 0.8: 0.4, 0.9: 0.22}
SEARCH = {0.6: 0.4, 0.7: 0.3, 0.8: 0.22, 0.9: 0.17}
#: Measured for Warner's scheme.
MEASURED = {0.6: 0.599, 0.7: 0.510, 0.8: 0.385, 0.9: 0.226}
#: Charts are cut above so many times the largest error of the exact front.
_CUT = 20


def section(results: Results) -> Section:
    """Every front, and the ranges."""
    rows = [row for found in results.values() for row in found]
    return Section(
        NAME,
        "Optimal channels",
        "Z. Huang and W. Du, OptRR: Optimizing Randomized Response Schemes for Privacy-Preserving "
        "Data Mining, ICDE 2008",
        (
            "One attribute of ten categories, 10,000 records; delta bounds what a report may make "
            "an adversary believe. Privacy is how often the best guess from a report is wrong. The "
            "normal distribution is cut into ten equal bins of [-3, 3], which gives the ranges the "
            "paper states for Warner's scheme; gamma(1, 2) up to its .999 point and the ages of "
            "Adult, the first attribute, into ten equal bins.",
            "Warner is the classic scheme, Spea2 the search of the paper, Square the best matrices "
            "that report the true categories by gradient, Exact channels that no other channel "
            "beats, with a proof. An adversary is right at most with probability delta, so privacy "
            "starts at 1 - delta: ours reach it.",
            "With the iterative estimator (their Figure 5d) the error is the mean over drawn data "
            "sets; it is smaller than that of inversion where shares would turn negative.",
        ),
        tuple(_checks(rows)),
        tuple(_charts(rows)),
        {"huang-du-ranges": _ranges(rows), "huang-du": table_of("Every front", rows)},
        _found(rows),
    )


def _found(rows: Rows) -> str:
    """The summary's sentences."""

    def told(method: str) -> str:
        return ", ".join(f"{_least(rows, f'normal-{delta}', method):.4f}" for delta in DELTAS)

    return (
        "The smallest privacy at delta .6, .7, .8 and .9 for the normal distribution is "
        f"{told('Warner')} with Warner's scheme (published .6, .5, .4, .22), {told('Spea2')} with "
        f"the paper's search (.4, .3, .22, .17) and {told('Exact')} with exact channels, "
        "which is the limit, 1 - delta."
    )


def _least(rows: Rows, case: str, method: str) -> float:
    """The smallest privacy of a front."""
    own = [row for row in rows if (row["case"], row["method"]) == (case, method)]
    return min(float(row["privacy"] or 0) for row in own)


def _checks(rows: Rows) -> list[Check]:
    made = []
    for delta in DELTAS:
        case = f"normal-{delta}"
        made += [
            Check(
                f"smallest privacy of Warner, delta {delta}",
                _least(rows, case, "Warner"),
                WARNER[delta],
                MEASURED[delta],
                0.005,
                "The paper reads it off a figure; theta runs over a grid.",
            ),
            Check(
                f"smallest privacy of Exact, delta {delta}",
                _least(rows, case, "Exact"),
                SEARCH[delta],
                round(1 - delta, 10),
                0.001,
                "The published number is that of their search; the limit is 1 - delta.",
            ),
        ]
    return made


def _ranges(rows: Rows) -> Table:
    body = [(case.name, *(_least(rows, case.name, method) for method in METHODS)) for case in CASES]
    return Table(("case", *METHODS), body, "Smallest privacy of every front")


def _charts(rows: Rows) -> list[Chart]:
    found = [_chart(rows, case.name, case.title, "mse") for case in CASES]
    again = [_iterative(rows, case) for case in CASES if case.iterative]
    return found + again


def _iterative(rows: Rows, case: Case) -> Chart:
    title = f"{case.title}, iterative estimator"
    return _chart(rows, f"{case.name}-iterative", title, "iterative_mse")


def _chart(rows: Rows, case: str, title: str, key: str) -> Chart:
    own = [row for row in rows if row["case"] == case]
    top = _CUT * max(float(row[key] or 0) for row in own if row["method"] == "Exact")
    shown = [row for row in own if float(row[key] or 0) <= top]
    curves: list[Curve] = [
        curve(
            method,
            [
                (float(row["privacy"] or 0), float(row[key] or 0))
                for row in shown
                if row["method"] == method
            ],
            colour,
            dashed=method == "Warner",
            marks=method in ("Square", "Exact"),
        )
        for colour, method in enumerate(METHODS)
    ]
    return Chart(
        f"huang-du-{case}", title, "privacy", "mean squared error", tuple(curves), log=True
    )
