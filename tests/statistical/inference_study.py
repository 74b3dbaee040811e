"""Coverage of intervals, size and power of tests, by simulation with redrawn true records.

python -m tests.statistical.inference_study --runs 4000 --seed 1 [--part items|models|groups|tests]
    [--size 500]

items:  one item of any family, every share in [0, .5], 20 records on: the least coverage
models: accuracy, recall, confusion and prior, 20 records on
groups: conditional shares, difference, ratio and odds ratio between groups
tests:  independence: how often it is rejected when it holds (5 %), and its power
sizes:  the default tests of two and three questions, from 50 records on: how often they reject
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, chi2, ncx2

from tacit import Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import (
    Coin,
    forced,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import NaiveBayes
from tacit.reconstruction import (
    Estimate,
    Reconstruction,
    inversion,
    likelihood_ratio,
    pearson,
    reconstruct,
    wald,
)
from tacit.reconstruction.comparisons import GroupShares
from tacit.reconstruction.hypotheses import Independence, NoTrend
from tacit.reconstruction.interval import Interval, ScoreTest, score_interval
from tacit.reconstruction.tables import TableProblem
from tacit.records import PatternTable
from tests.support.families import attributes_of

LEVEL, ALPHA = 0.95, 0.05
ITEMS: dict[str, Coin] = {
    "truthful": truthful(),
    "related .7": related("0.7"),
    "related .95": related("0.95"),
    "unrelated .7": unrelated("0.7", ["0.9", "0.1"]),
    "forced sixths": forced("4/6", ["1/2", "1/2"]),
    "no never reports yes": matrix([["1", "0.3"], ["0", "0.7"]]),
    "matrix 3 reports": matrix([["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]),
    "matrix, little noise": matrix([["0.99", "0.02"], ["0", "0.97"], ["0.01", "0.01"]]),
}
THREE = {
    "three, little noise": matrix(
        [["0.98", "0.01", "0.02"], ["0.01", "0.98", "0"], ["0.01", "0.01", "0.98"]]
    ),
    "three, uniform .6": uniform_perturbation("0.6"),
}
SCHEMA = Schema(attributes_of((2, 3)))
BOTH = list(SCHEMA.names)
PERSONAL = {"a0": ["1/2", "1/2"], "a1": ["1/5", "3/10", "1/2"]}
DESIGNS = {
    "truthful": Design(SCHEMA, [Group(BOTH, truthful())]),
    "related, one group": Design(SCHEMA, [Group(BOTH, related("0.85"))]),
    "related, two groups": Design(
        SCHEMA, [Group(["a0"], related("0.85")), Group(["a1"], related("0.9"))]
    ),
    "unrelated": Design(SCHEMA, [Group(BOTH, unrelated("0.7", PERSONAL))]),
    "truthful groups": Design(SCHEMA, [Group(["a0"], related("0.8")), Group(["a1"], truthful())]),
    "mixed": Design(
        SCHEMA,
        [Group(["a0"], forced("4/6", ["1/2", "1/2"])), Group(["a1"], uniform_perturbation("0.8"))],
    ),
}
TABLE = np.array([[0.38, 0.20, 0.10], [0.12, 0.10, 0.10]])
RARE = np.array([[0.48, 0.29, 0.18], [0.02, 0.01, 0.02]])


def show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def surveys(design: Design, table: Array, n: int, runs: int, rng: Any) -> Iterator[Reconstruction]:
    """Reconstructions of surveys of n people drawn from this table, and disguised."""
    channel = design.channel(design.schema.names)
    expected = np.maximum(channel.disguised(table), 0)
    cells = np.indices(expected.shape).reshape(expected.ndim, -1).T.astype(np.uint8)
    for counts in rng.multinomial(n, expected.ravel() / expected.sum(), runs):
        seen = counts > 0
        patterns = PatternTable(design.reported, cells[seen], counts[seen].astype(np.int64))
        yield reconstruct(patterns, design)


def stacked(estimates: list[Estimate]) -> Interval:
    """The intervals of many surveys at once."""
    scores = [e.score for e in estimates if e.score is not None]
    center = np.stack([s.center for s in scores])
    n, n_all = (
        np.stack([np.broadcast_to(getattr(s, k), s.center.shape) for s in scores])
        for k in ("n_records", "n_all")
    )
    noise, skew = (np.stack([getattr(s, k) for s in scores], axis=1) for k in ("noise", "skew"))
    return score_interval(ScoreTest(center, noise, skew, n, n_all), LEVEL)


def covered(interval: Interval, truth: Any) -> Array:
    near = 1e-9
    inside = (interval.lower <= truth + near) & (truth <= interval.upper + near)
    return np.asarray(np.mean(inside, axis=0))


def items(runs: int, rng: Any) -> None:
    """The least coverage over shares from 0 to 1/2; exact where two answers are reported."""
    shares = np.r_[0, np.geomspace(1e-4, 0.02, 30), np.linspace(0.02, 0.5, 40)]
    for name, coin in ITEMS.items():
        design = Design(Schema(attributes_of((2,))), [Group(["a0"], coin)])
        channel = design.channel(["a0"])
        for n in (20, 50, 200, 1000):
            if channel.reported.sizes == (2,):
                found = _exact(channel, n, shares)
            else:
                found = np.array(
                    [_drawn(channel, [1 - p, p], n, runs, rng)[1] for p in shares[::3]]
                )
            show(f"items   {name:22} n={n:5} least {found.min():.4f} most {found.max():.4f}")
    for name, coin in THREE.items():
        design = Design(Schema(attributes_of((3,))), [Group(["a0"], coin)])
        channel = design.channel(["a0"])
        for n in (50, 500):
            tables = [[0.8 * (1 - p), 0.2 * (1 - p), p] for p in shares[::4]]
            found = np.array([_drawn(channel, table, n, runs, rng)[2] for table in tables])
            show(f"items   {name:22} n={n:5} least {found.min():.4f} most {found.max():.4f}")


def _exact(channel: Any, n: int, shares: Array) -> Array:
    """Coverage of the second category, summed over all outcomes."""
    counts = [np.array([n - i, i], float) for i in range(n + 1)]
    lower, upper = stacked([inversion(TableProblem(c, channel, 1, n)) for c in counts])
    reported = [channel.disguised(np.array([1 - p, p]))[1] for p in shares]
    chances = [binom.pmf(np.arange(n + 1), n, q) for q in reported]
    inside = (lower[:, 1, None] <= shares + 1e-9) & (shares <= upper[:, 1, None] + 1e-9)
    return np.asarray(np.sum(np.array(chances).T * inside, axis=0))


def _drawn(channel: Any, truth: Any, n: int, runs: int, rng: Any) -> Array:
    expected = channel.disguised(np.array(truth))
    counts = rng.multinomial(n, expected / expected.sum(), runs).astype(float)
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    lower, upper = stacked([inversion(TableProblem(c, channel, 1, n)) for c in distinct])
    both = Interval(lower[which.ravel()], upper[which.ravel()])
    return covered(both, np.array(truth))


class Best:
    """The best classifier of the first attribute of a table by the second."""

    def __init__(self, table: Array) -> None:
        self.best = table.argmax(axis=0)

    def predict(self, codes: Any) -> Any:
        return self.best[codes[:, 0]]


def models(runs: int, rng: Any, sizes: Sequence[int] = (20, 50, 500)) -> None:
    """Accuracy, confusion, recall, and the prior of naive Bayes."""
    table = np.array([[0.40, 0.22, 0.06], [0.06, 0.08, 0.18]])
    model = Best(table)
    right = np.where(model.best == np.arange(2)[:, None], table, 0.0)
    for name, design in DESIGNS.items():
        for n in sizes:
            kinds = ("accuracy", "confusion", "recall", "prior")
            found: dict[str, list[Estimate]] = {kind: [] for kind in kinds}
            for place, rec in enumerate(surveys(design, table, n, runs, rng)):
                given = (model, rec.patterns, design, "a0")
                found["accuracy"].append(accuracy(*given))
                found["confusion"].append(confusion(*given))
                found["recall"].append(recall(*given))
                if place < runs // 20:
                    found["prior"].append(NaiveBayes(design, "a0").fit(_records(rec)).prior())
            joint = np.stack([[(row * (model.best == v)).sum() for v in (0, 1)] for row in table])
            truths = {
                "accuracy": right.sum(),
                "confusion": joint,
                "recall": right.sum(axis=1) / table.sum(axis=1),
                "prior": table.sum(axis=1),
            }
            for kind, estimates in found.items():
                least = covered(stacked(estimates), truths[kind])
                show(f"models  {name:20} n={n:4} {kind:10} {np.round(least, 4).ravel().tolist()}")


def _records(rec: Reconstruction) -> Any:
    return np.repeat(rec.patterns.patterns, rec.patterns.counts, axis=0)


def groups(runs: int, rng: Any, sizes: Sequence[int] = (50, 200, 1000)) -> None:
    """P(a0 = c1 | a1 = c2), and its comparison with the group a1 = c0."""
    for truth_name, table in (("common", TABLE), ("rare", RARE)):
        share = table[1] / table.sum(axis=0)
        odds = share / (1 - share)
        truths = {
            "difference": share[2] - share[0],
            "ratio": share[2] / share[0],
            "odds_ratio": odds[2] / odds[0],
        }
        for name, design in DESIGNS.items():
            for n in sizes:
                found = list(_compared(design, table, n, runs, rng))
                limits = stacked([each.shares for each in found])
                hits = {"given": covered(limits, share[[2, 0]])[0] * len(found)}
                for kind, truth in truths.items():
                    hits[kind] = sum(
                        _holds(each, Interval(low, up), kind, truth)
                        for each, low, up in zip(found, *limits, strict=True)
                    )
                shown = " ".join(f"{kind} {own / runs:.4f}" for kind, own in hits.items())
                show(f"groups  {truth_name:7} {name:20} n={n:4} {shown}")


def _compared(design: Design, table: Array, n: int, runs: int, rng: Any) -> Iterator[GroupShares]:
    between: Any = ({"a1": "c2"}, {"a1": "c0"})
    for rec in surveys(design, table, n, runs, rng):
        yield rec._compared({"a0": "c1"}, between)


def _holds(each: GroupShares, limits: Interval, kind: str, truth: float) -> bool:
    known = replace(each, shares=replace(each.shares, interval_of=lambda _: limits))
    lower, upper = getattr(known, kind)().interval(LEVEL)
    return bool(lower <= truth + 1e-9 and truth <= upper + 1e-9)


def tests(runs: int, rng: Any) -> None:
    """Size and power of the test of independence."""
    null = np.outer([0.68, 0.32], [0.5, 0.3, 0.2])
    direction = np.outer([1, -1], [0.5, 0.2, -0.7]) * 0.05
    n = 2000
    hypothesis = Independence("independence", ((0,), (1,)))
    critical = chi2.isf(ALPHA, 2)
    wanted = brentq(lambda nc: ncx2.sf(critical, 2, nc) - 0.6, 0.1, 50)
    for name, design in DESIGNS.items():
        channel = design.channel(BOTH)

        def noncentral(t: float, method: Callable[..., Any] = likelihood_ratio) -> float:
            expected = channel.disguised(null + t * direction) * n  # noqa: B023
            problem = TableProblem(expected, channel, 2, n)  # noqa: B023
            return float(method(problem, hypothesis).statistic)

        t = brentq(lambda t: noncentral(t) - wanted, 1e-3, 2.8, xtol=1e-4)
        for method in (likelihood_ratio, pearson, wald):
            rejected = {}
            for kind, table in (("size", null), ("power", null + t * direction)):
                found = [
                    rec.independence(BOTH, method=method).pvalue < ALPHA
                    for rec in surveys(design, table, n, runs, rng)
                ]
                rejected[kind] = np.mean(found)
            power = ncx2.sf(critical, 2, noncentral(t, method))
            show(
                f"tests   {name:20} {method.__name__:17} size {rejected['size']:.4f} "
                f"power {rejected['power']:.4f} asymptotic {power:.4f}"
            )


def _of_each(schema: Schema, coins: Sequence[Coin]) -> Design:
    return Design(schema, [Group([n], c) for n, c in zip(schema.names, coins, strict=True)])


YES_NO, THREE_BY_THREE = Schema(attributes_of((2, 2))), Schema(attributes_of((3, 3)))
TRIPLE, MIXED_TRIPLE = Schema(attributes_of((2, 2, 2))), Schema(attributes_of((2, 3, 2)))
#: Design and margins of each question; some shares are rare, some disguises strong.
NULLS: dict[str, tuple[Design, list[list[float]]]] = {
    **{name: (design, [[0.68, 0.32], [0.5, 0.3, 0.2]]) for name, design in DESIGNS.items()},
    "related .6 each, rare": (
        _of_each(YES_NO, [related("0.6")] * 2),
        [[0.95, 0.05], [0.9, 0.1]],
    ),
    "related .6, one group": (
        Design(YES_NO, [Group(list(YES_NO.names), related("0.6"))]),
        [[0.8, 0.2], [0.7, 0.3]],
    ),
    "related .6, truthful": (
        _of_each(YES_NO, [related("0.6"), truthful()]),
        [[0.9, 0.1], [0.7, 0.3]],
    ),
    "uniform .5 each": (
        _of_each(THREE_BY_THREE, [uniform_perturbation("1/2")] * 2),
        [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]],
    ),
    "three truthful": (
        Design(TRIPLE, [Group(list(TRIPLE.names), truthful())]),
        [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]],
    ),
    "three related .7": (
        _of_each(TRIPLE, [related("0.7")] * 3),
        [[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]],
    ),
    "three mixed": (
        _of_each(TRIPLE, [forced("4/6", ["1/2", "1/2"]), related("0.8"), truthful()]),
        [[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]],
    ),
    "three in one group": (
        Design(MIXED_TRIPLE, [Group(list(MIXED_TRIPLE.names), related("0.8"))]),
        [[0.8, 0.2], [0.5, 0.3, 0.2], [0.6, 0.4]],
    ),
}


def _product(margins: Sequence[Sequence[float]]) -> Array:
    return reduce(np.multiply.outer, [np.array(margin) for margin in margins])


def rejections(
    name: str, n: int, runs: int, rng: Any, method: Callable[..., Any] = pearson
) -> dict[str, float]:
    """How often the tests of independence and of a trend reject at 5 % if they hold."""
    design, margins = NULLS[name]
    channel, axes = design.channel(design.schema.names), len(margins)
    expected = np.maximum(channel.disguised(_product(margins)), 0).ravel()
    drawn = rng.multinomial(n, expected / expected.sum(), runs)
    distinct, times = np.unique(drawn, axis=0, return_counts=True)
    blocks = tuple((axis,) for axis in range(axes))
    hypotheses: dict[str, Any] = {"independence": Independence("", blocks)}
    if axes == 2:
        scores = (np.arange(len(margins[0]), dtype=float), np.arange(len(margins[1]), dtype=float))
        hypotheses["trend"] = NoTrend("", blocks, (), scores)
    shape = channel.reported.sizes
    problems = [
        TableProblem(own.reshape(shape).astype(float), channel, axes, n) for own in distinct
    ]
    return {
        kind: float(times @ [method(problem, own).pvalue < ALPHA for problem in problems]) / runs
        for kind, own in hypotheses.items()
    }


def sizes(runs: int, rng: Any, sizes: Sequence[int] = (50, 100, 500, 2000)) -> None:
    """Size of the default tests, and the least expected number of a report."""
    for name, (design, margins) in NULLS.items():
        least = design.channel(design.schema.names).disguised(_product(margins)).min()
        for n in sizes:
            found = rejections(name, n, runs, rng)
            shown = " ".join(f"{kind} {share:.4f}" for kind, share in found.items())
            show(f"sizes   {name:22} n={n:5} expected {n * least:6.1f} {shown}")


PARTS = {"items": items, "models": models, "groups": groups, "tests": tests, "sizes": sizes}


def run_parts(parts: Mapping[str, Callable[..., None]]) -> None:
    """The command line of a study: all of its parts, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=parts, action="append")
    parser.add_argument("--size", type=int, action="append", help="records of a survey")
    given = parser.parse_args()
    more = {"sizes": given.size} if given.size else {}
    for part in given.part or parts:
        parts[part](given.runs, np.random.default_rng(given.seed), **more)


if __name__ == "__main__":
    run_parts(PARTS)
