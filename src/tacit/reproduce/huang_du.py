"""Huang & Du (2008): fronts of privacy and error for one attribute of ten categories.

OptRR: Optimizing Randomized Response Schemes for Privacy-Preserving Data Mining, section VI.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import gamma, norm

from tacit.arrays import Array
from tacit.datasets import load_adult
from tacit.frames import numbers
from tacit.optimize import Exact, Front, Spea2, Square, Warner, front
from tacit.optimize.search_method import SearchMethod
from tacit.reconstruction.likelihood import maximise
from tacit.reproduce.study_settings import Plan, Rows, Setting, Tell, setting

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
        shares = np.diff(norm.cdf(np.linspace(-3, 3, CATEGORIES + 1)))
    elif name == "gamma":
        end = gamma.ppf(0.999, 1.0, scale=2.0)
        shares = np.diff(gamma.cdf(np.linspace(0, end, CATEGORIES + 1), 1.0, scale=2.0))
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
    points = QUICK_POINTS if plan.quick else POINTS
    sizes = {"Warner": 200 if plan.quick else 1000, "Spea2": generations, **points}
    draws = QUICK_DRAWS if plan.quick else DRAWS
    return [
        setting(
            NAME, f"{case.name}-{method.lower()}", STEPS, plan, SECONDS[method] * sizes[method],
            case=case.name, method=method, size=sizes[method], delta=case.delta,
            draws=draws if case.iterative else 0,
        )
        for method in sorted(METHODS, key=("Spea2", "Square", "Exact", "Warner").index)
        for case in CASES
    ]  # fmt: skip


def run(one: Setting, tell: Tell) -> Rows:
    """The front and, for some cases, its error with the iterative estimator."""
    method = _method(one["method"], one["size"], one.seed)
    found = front(
        prior_of(one["case"]),
        RECORDS,
        one["delta"],
        method=method,
        progress=lambda done: tell(int(STEPS * done)),
    )
    rows: Rows = [
        {
            "case": one["case"],
            "method": one["method"],
            "privacy": float(found.privacy[i]),
            "mse": float(found.mse[i]),
            "lower_bound": float(found.lower_bound[i]),
            "reported": len(found.channels[i]),
            "iterative_mse": None,
        }
        for i in _thinned(len(found), 100)
    ]
    return rows + _iterative(one, found) if one["draws"] else rows


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


def _iterative(one: Setting, found: Front) -> Rows:
    """Mean squared error of the iterative estimate (eq. 3), over drawn data sets."""
    prior = prior_of(one["case"])
    rows: Rows = []
    for i in _thinned(len(found), CHANNELS):
        matrix = np.asarray(found.channels[i])
        rng = one.rng(i)
        drawn = rng.multinomial(RECORDS, matrix @ prior, size=one["draws"]) / RECORDS
        errors = [np.mean((_estimate(matrix, shares) - prior) ** 2) for shares in drawn]
        rows.append(
            {
                "case": f"{one['case']}-iterative",
                "method": one["method"],
                "privacy": float(found.privacy[i]),
                "mse": float(found.mse[i]),
                "lower_bound": float(found.lower_bound[i]),
                "reported": len(matrix),
                "iterative_mse": float(np.mean(errors)),
            }
        )
    return rows


def _estimate(matrix: Array, shares: Array) -> Array:
    """The maximum-likelihood distribution of true categories."""
    start = np.full(matrix.shape[1], 1 / matrix.shape[1])
    return maximise(
        lambda table: matrix @ table, lambda table: matrix.T @ table, shares, start
    ).value
