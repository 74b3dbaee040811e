"""How often intervals of rules and log-odds cover the truth, on random populations and designs.

    python -m tests.statistical.interval_study --runs 1000 --seed 2000000

prints the coverage of the intervals of a tree's rules, with and without allowing for the choice of
the tree, and of the log-odds of naive Bayes. Each run draws a population, a design, true records
and their disguise. The truth comes from the joint table of the population.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.core.schema import Schema
from tacit.mine import DecisionTree, NaiveBayes, split_records
from tacit.mine.tree.view import TreeRule
from tacit.reconstruction.interval import Interval, normal_interval
from tests.support.populations import Population, population

LEVEL, DEPTH, QUESTIONS = 0.95, 3, 6
#: Runs after which the coverage so far is printed.
PORTION = 50
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Covered:
    """Whether each interval of one run covers the truth, and how wide it is."""

    kind: str
    covers: Mask
    width: Array


def true_figures(rule: TreeRule, schema: Schema, table: Array) -> tuple[float, float]:
    """Support and confidence of a rule in a population."""
    for axis, attribute in enumerate(schema):
        if attribute.name in rule.conditions:
            codes = [attribute.code(label) for label in rule.conditions[attribute.name]]
            table = table.take(codes, axis=axis)
    place = schema.index(rule.attribute)
    right = table.take(schema[rule.attribute].code(rule.category), axis=place).sum()
    return float(table.sum()), float(right / max(table.sum(), 1e-300))


def plain(rule: TreeRule) -> tuple[Interval, Interval]:
    """Intervals that ignore the choice of the tree: estimate -+ 1.96 standard errors."""
    numbers = ((rule.support, rule.support_stderr), (rule.confidence, rule.confidence_stderr))
    first, second = (normal_interval(*map(np.asarray, pair), LEVEL) for pair in numbers)
    return Interval(*np.clip(first, 0, 1)), Interval(*np.clip(second, 0, 1))


def stated(rule: TreeRule) -> tuple[Interval, Interval]:
    """The intervals as printed."""
    return rule.support_interval(LEVEL), rule.confidence_interval(LEVEL)


def of_rules(drawn: Population, seed: int) -> dict[str, Covered]:
    """Support and confidence of all rules of a tree: as stated, plain, and honest."""
    schema, target = drawn.design.schema, drawn.design.schema.names[0]
    criterion = ("entropy", "gini")[seed % 2]
    model = DecisionTree(drawn.design, target, criterion, max_depth=DEPTH)
    rules = model.fit(drawn.reported).rules().known
    kept, others = split_records(drawn.reported, drawn.design, np.random.default_rng(seed))
    honest = model.fit(others).rules(kept).known
    ways = {"stated": (rules, stated), "plain": (rules, plain), "honest": (honest, stated)}
    found = {}
    for name, (own, limits_of) in ways.items():
        limits = np.array([limits_of(rule) for rule in own]).reshape(-1, 2, 2)
        truth = np.array([true_figures(rule, schema, drawn.table) for rule in own]).reshape(-1, 2)
        found[name] = _covered(drawn, limits[..., 0], limits[..., 1], truth)
    return found


def of_log_odds(drawn: Population) -> dict[str, Covered]:
    """Log-odds of all attributes, split into those used for prediction and the others."""
    schema, target = drawn.design.schema, drawn.design.schema.names[0]
    model = NaiveBayes(drawn.design, target).fit(drawn.reported)
    found: dict[str, list[tuple[Array, Array, Array]]] = {}
    for place, name in enumerate(schema.names[1:], start=1):
        others = tuple(axis for axis in range(1, len(schema)) if axis != place)
        estimate = model.log_odds(name)
        assert np.isfinite(estimate.value).all()
        assert (np.isfinite(estimate.stderr) & (estimate.stderr > 0)).all()
        way = "not used" if name in model.parameters_.unused else model.parameters_.method
        truth = true_log_odds(drawn.table.sum(axis=others))
        found.setdefault(way, []).append((*estimate.interval(LEVEL), truth))
    columns = {way: zip(*each, strict=True) for way, each in found.items()}
    return {
        way: _covered(drawn, *(np.concatenate([a.ravel() for a in same]) for same in each))
        for way, each in columns.items()
    }


def true_log_odds(pair: Array) -> Array:
    """Log-odds of a table of class and attribute."""
    prior = pair.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(pair / prior) - np.log((pair.sum(axis=0) - pair) / (1 - prior)))


def _covered(drawn: Population, lower: Array, upper: Array, truth: Array) -> Covered:
    covers = (lower <= truth + _ROUNDING) & (truth - _ROUNDING <= upper)
    return Covered(drawn.kind, covers, upper - lower)


def study(seeds: Iterable[int]) -> dict[str, list[Covered]]:
    """What each way covered, run by run."""
    found: dict[str, list[Covered]] = {}
    for seed in seeds:
        drawn = population(seed, most_questions=QUESTIONS)
        rules = {f"rules {way}": each for way, each in of_rules(drawn, seed).items()}
        odds = {f"log-odds {way}": each for way, each in of_log_odds(drawn).items()}
        for name, each in (rules | odds).items():
            found.setdefault(name, []).append(each)
    return found


def coverage(runs: list[Covered]) -> float:
    """The mean over runs of the share of intervals that cover."""
    return float(np.mean([run.covers.mean() for run in runs if run.covers.size]))


def together(runs: list[Covered]) -> float:
    """How often all intervals of a run cover."""
    return float(np.mean([run.covers.all() for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2_000_000)
    chosen = parser.parse_args()
    start, found = time.process_time(), dict[str, list[Covered]]()
    for first in range(0, chosen.runs, PORTION):
        last = min(first + PORTION, chosen.runs)
        for name, runs in study(range(chosen.seed + first, chosen.seed + last)).items():
            found.setdefault(name, []).extend(runs)
        sys.stdout.write(f"after {last} runs, {time.process_time() - start:.0f} s of CPU\n")
        print_coverage(found)


def print_coverage(found: dict[str, list[Covered]]) -> None:
    """The coverage of each way so far, over all populations and by kind."""
    for name, runs in sorted(found.items()):
        width = np.concatenate([run.width.ravel() for run in runs])
        sys.stdout.write(
            f"{name:22s} {len(runs):5d} runs, {width.size:7d} intervals: cover "
            f"{coverage(runs):.4f}, all of a run {together(runs):.4f}; median width "
            f"{np.median(width):.3f}, unbounded {np.isinf(width).mean():.3f}\n"
        )
        for kind in sorted({run.kind for run in runs}):
            own = [run for run in runs if run.kind == kind]
            sys.stdout.write(f"    {kind:14s} {coverage(own):.4f}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
