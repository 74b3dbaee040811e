"""Huang & Du (2008): fronts of privacy and error for one attribute of ten categories.

OptRR: Optimizing Randomized Response Schemes for Privacy-Preserving Data Mining, section VI.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtr

from tacit.core.arrays import Array
from tacit.core.frames import numbers
from tacit.datasets import load_adult
from tacit.optimize import Exact, Front, Spea2, Square, Warner, front
from tacit.optimize.problem import SearchMethod
from tacit.output.table import Table
from tacit.papers import report
from tacit.papers.runner import Plan, Results, Rows, Setting, Tell
from tacit.reconstruction.likelihood import most_likely

NAME = "huang-du"
RECORDS = 10_000
CATEGORIES = 10
DELTAS = (0.6, 0.7, 0.8, 0.9)
#: Of the distributions other than the normal one (section VI-C2); the paper gives none for Adult.
DELTA = 0.75
METHODS = ("Warner", "Spea2", "Square", "Exact")
#: The paper gives 20,000 generations.
GENERATIONS, QUICK_GENERATIONS = 20_000, 100
POINTS, QUICK_POINTS = {"Square": 16, "Exact": 30}, {"Square": 2, "Exact": 5}
#: Data sets drawn for each channel with the iterative estimator, and channels of each front.
DRAWS, QUICK_DRAWS = 20, 3
CHANNELS = 12
#: Approximate time of a step per generation or point.
SECONDS = {"Warner": 5e-5, "Spea2": 9e-5, "Square": 0.03, "Exact": 5e-3}
#: Steps of the progress of a front.
STEPS = 20
#: Smallest privacy as the paper states it, by delta: Warner's scheme and their search.
WARNER = {0.6: 0.6, 0.7: 0.5, 0.8: 0.4, 0.9: 0.22}
SEARCH = {0.6: 0.4, 0.7: 0.3, 0.8: 0.22, 0.9: 0.17}
#: Measured for Warner's scheme.
MEASURED = {0.6: 0.599, 0.7: 0.510, 0.8: 0.385, 0.9: 0.226}
#: Charts are cut above so many times the largest error of the exact front.
_CUT = 20


@dataclass(frozen=True)
class Case:
    """A prior and a bound on the worst posterior."""

    name: str
    title: str
    delta: float
    iterative: bool = False


CASES = (
    *(Case(f"normal-{d}", f"normal, delta {d}", d) for d in DELTAS),
    Case("gamma", "gamma(1, 2), delta 0.75", DELTA, iterative=True),
    Case("uniform", "uniform, delta 0.75", DELTA),
    Case("adult-age", "Adult's first attribute (age), delta 0.75", DELTA),
)


@cache
def prior_of(name: str) -> Array:
    """Ten categories: equal bins of the normal on [-3, 3], of gamma(1, 2) up to its .999 point, of
    the ages of Adult; or uniform. The normal bins give the ranges that the paper states.
    """
    if name.startswith("normal"):
        shares = np.diff(ndtr(np.linspace(-3, 3, CATEGORIES + 1)))
    elif name == "gamma":
        end = gammaincinv(1.0, 0.999)
        shares = np.diff(gammainc(1.0, np.linspace(0, end, CATEGORIES + 1)))
    elif name == "uniform":
        shares = np.full(CATEGORIES, 1 / CATEGORIES)
    else:
        ages = numbers(load_adult()["age"])
        edges = np.linspace(ages.min(), ages.max(), CATEGORIES + 1)
        shares = np.histogram(ages, edges)[0] / len(ages)
    return np.asarray(shares / shares.sum())


def settings(plan: Plan) -> list[Setting]:
    """A setting per case and method; the longest first."""
    generations = QUICK_GENERATIONS if plan.quick else GENERATIONS
    sizes = {"Warner": 200 if plan.quick else 1000, "Spea2": generations}
    sizes |= QUICK_POINTS if plan.quick else POINTS
    draws = QUICK_DRAWS if plan.quick else DRAWS
    return [
        plan.setting(
            NAME, f"{case.name}-{method.lower()}", STEPS, SECONDS[method] * sizes[method],
            case=case.name, method=method, size=sizes[method], delta=case.delta,
            draws=draws if case.iterative else 0,
        )
        for method in sorted(METHODS, key=("Spea2", "Square", "Exact", "Warner").index)
        for case in CASES
    ]  # fmt: skip


def run(setting: Setting, tell: Tell) -> Rows:
    """The front and, for some cases, its error with the iterative estimator."""
    method = _method(setting["method"], setting["size"], setting.seed)
    channels = front(
        prior_of(setting["case"]),
        RECORDS,
        setting["delta"],
        method=method,
        progress=lambda done: tell(int(STEPS * done)),
    )
    rows = [_row(setting, channels, i) for i in _thinned(len(channels), 100)]
    if setting["draws"]:
        rows += [_row(setting, channels, i, again=True) for i in _thinned(len(channels), CHANNELS)]
    return rows


def _method(name: str, size: int, seed: int) -> SearchMethod:
    match name:
        case "Warner":
            return Warner(size)
        case "Spea2":
            return Spea2(generations=size, seed=seed)
        case "Square":
            return Square(size, starts=0 if size < POINTS[name] else 1, seed=seed)
        case _:
            return Exact(size)


def _thinned(size: int, most: int) -> list[int]:
    """At most so many places, evenly spaced, with both ends."""
    return [int(i) for i in np.unique(np.linspace(0, size - 1, min(size, most)).round())]


def _row(setting: Setting, channels: Front, i: int, again: bool = False) -> dict[str, Any]:
    """A channel of a front; `again` with the mean squared error of the iterative estimate (eq. 3),
    over drawn data sets.
    """
    matrix, error = np.asarray(channels.channels[i]), None
    if again:
        prior = prior_of(setting["case"])
        drawn = setting.rng(i).multinomial(RECORDS, matrix @ prior, size=setting["draws"]) / RECORDS
        errors = [np.mean((most_likely(matrix, shares) - prior) ** 2) for shares in drawn]
        error = float(np.mean(errors))
    return {
        "case": f"{setting['case']}-iterative" if again else setting["case"],
        "method": setting["method"],
        "privacy": float(channels.privacy[i]),
        "mse": float(channels.mse[i]),
        "lower_bound": float(channels.lower_bound[i]),
        "reported": len(matrix),
        "iterative_mse": error,
    }


def section(results: Results) -> report.Section:
    """Every front, and the ranges."""
    rows = [row for setting_rows in results.values() for row in setting_rows]
    least = {
        method: ", ".join(f"{_least(rows, f'normal-{delta}', method):.4f}" for delta in DELTAS)
        for method in METHODS
    }
    body = [(case.name, *(_least(rows, case.name, method) for method in METHODS)) for case in CASES]
    ranges = Table(("case", *METHODS), body, "Smallest privacy of every front")
    tables = {"huang-du-ranges": ranges, "huang-du": report.table_of("Every front", rows)}
    return report.section_of(NAME, _checks(rows), list(_charts(rows)), tables, least=least)


def _least(rows: Rows, case: str, method: str) -> float:
    """The smallest privacy of a front."""
    return float(min(row["privacy"] for row in report.matching(rows, case=case, method=method)))


def _checks(rows: Rows) -> list[report.Check]:
    figure = "The paper reads it off a figure; theta runs over a grid."
    search = "The published number is that of their search; the limit is 1 - delta."
    limits = {delta: round(1 - delta, 10) for delta in DELTAS}
    compared = (
        ("Warner", WARNER, MEASURED, 0.005, figure),
        ("Exact", SEARCH, limits, 0.001, search),
    )
    checks = []
    for delta, (method, published, reference, within, why) in product(DELTAS, compared):
        what = f"smallest privacy of {method}, delta {delta}"
        ours = _least(rows, f"normal-{delta}", method)
        checks.append(report.Check(what, ours, published[delta], reference[delta], within, why))
    return checks


def _charts(rows: Rows) -> Iterator[report.Chart]:
    cases = [(case.name, case.title, "mse") for case in CASES]
    cases += [
        (f"{case.name}-iterative", f"{case.title}, iterative estimator", "iterative_mse")
        for case in CASES
        if case.iterative
    ]
    for case, title, key in cases:
        top = _CUT * max(row[key] for row in report.matching(rows, case=case, method="Exact"))
        shown = [row for row in report.matching(rows, case=case) if row[key] <= top]
        curves = [
            report.Curve(
                method,
                report.points(shown, key, "privacy", method=method),
                colour,
                dashed=method == "Warner",
                marks=method in ("Square", "Exact"),
            )
            for colour, method in enumerate(METHODS)
        ]
        name = f"{NAME}-{case}"
        yield report.Chart(name, title, "privacy", "mean squared error", curves, log=True)
