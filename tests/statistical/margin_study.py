"""Coverage of cells and groups of undisguised attributes, with redrawn true records.

python -m tests.statistical.margin_study [--runs 4000] [--seed 1] [--part cells|groups|drawn|widths]

cells:  P(a, b), b undisguised, summed over all outcomes: n 50 to 5,000, P(a, b) .001 to .3
groups: P(a | b) in groups of 1 to 100, summed over all outcomes
drawn:  both by simulation, where outcomes are too many: numbers as reports, attributes disguised
        together, two undisguised attributes; the least coverage of all cells
widths: of P(a, b), by those of an exact interval: the largest probability of an estimate over all
        shares of b is tested (Barnard, 1947)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from tacit import Attribute, Design, Group, Schema
from tacit.core.arrays import Array
from tacit.core.channel import (
    Coin,
    christofides,
    forced,
    kuk,
    mangat,
    matrix,
    related,
    triangular,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.core.design import ProductChannel
from tacit.reconstruction import Estimate, inversion
from tacit.reconstruction.events import conditional_shares
from tacit.reconstruction.interval import Interval
from tacit.reconstruction.tables import TableProblem
from tests.statistical.inference_study import run_parts, show, stacked

LEVEL = 0.95
BINARY: dict[str, Coin] = {
    "related .6": related("0.6"),
    "related .8": related("0.8"),
    "triangular 1/4": triangular("1/4"),
    "forced sixths": forced("4/6", ["1/2", "1/2"]),
    "unrelated .7": unrelated("0.7", ["0.9", "0.1"]),
    "mangat .7": mangat("0.7"),
    "truthful": truthful(),
}
#: P(a, b), and shares of a among the people of b.
CELLS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SHARES = (0.002, 0.02, 0.1, 0.3, 0.5, 0.8, 0.98, 1.0)
#: Outcomes that are less likely are left out, and count as not covered.
_RARE = 1e-10
_NEAR, _MOST_INSIDE = 1e-9, 1500


class Outcomes(NamedTuple):
    """How many of n records are in the group, how many of these report yes, and the chance."""

    inside: Array
    yes: Array
    chance: Array


def yes_design(coin: Coin, groups: int) -> Design:
    """A yes/no question, and an undisguised attribute with so many categories."""
    schema = Schema([Attribute("a", ["no", "yes"]), Attribute("b", range(groups))])
    return Design(schema, [Group(["a"], coin), Group(["b"], truthful())])


def cell_outcomes(n: int, share: float, reported: float) -> Outcomes:
    """All likely outcomes of n records, of whom a share is in the group."""
    inside = np.arange(n + 1)
    inside = inside[binom.pmf(inside, n, share) > _RARE]
    m = np.repeat(inside, inside + 1)
    yes = np.concatenate([np.arange(k + 1) for k in inside])
    chance = binom.pmf(m, n, share) * binom.pmf(yes, m, reported)
    likely = chance > _RARE / 10
    return Outcomes(*(each[likely].astype(np.float64) for each in (m, yes, chance)))


def intervals(coin: Coin, outcomes: Outcomes, n: int, given: bool = False) -> Interval:
    """The intervals of P(a = yes, b), or P(a = yes | b), of many surveys of n records at once.

    Each survey is a category of b, whose cells have intervals of their own.
    """
    surveys = max(2, len(outcomes.yes))
    counts = np.zeros((surveys, 2))
    counts[: len(outcomes.yes)] = np.stack([outcomes.inside - outcomes.yes, outcomes.yes], axis=1)
    channel = yes_design(coin, surveys).channel(["b", "a"])
    joint = inversion(TableProblem(counts, channel, 2, n))
    found = conditional_shares(joint, 1, "", undisguised=True) if given else joint
    lower, upper = found.interval(LEVEL)
    return Interval(*(limit[: len(outcomes.yes), 1] for limit in (lower, upper)))


def exact_coverage(coin: Coin, outcomes: Outcomes, n: int, truth: float) -> float:
    """How often the interval of P(a = yes, b) has the truth."""
    lower, upper = intervals(coin, outcomes, n)
    inside = (lower <= truth + _NEAR) & (truth <= upper + _NEAR)
    return float(outcomes.chance @ inside)


def reported_share(coin: Coin, share: float) -> float:
    """How many report yes if a share would say it without disguise."""
    return float(yes_design(coin, 2).channel(["a"]).disguised(np.array([1 - share, share]))[1])


def settings(n: int) -> Iterator[tuple[float, float]]:
    """P(a, b) and P(a | b), for groups of b that are not too many to sum over."""
    for cell in CELLS:
        for share in SHARES:
            if cell <= share and n * cell / share <= _MOST_INSIDE:
                yield cell, share


def cells(runs: int, rng: Any, sizes: Sequence[int] = (50, 200, 1000, 5000)) -> None:
    """Least coverage of P(a, b)."""
    for name, coin in BINARY.items():
        for n in sizes:
            found = [
                (exact_coverage(coin, outcomes, n, cell), cell, share)
                for cell, share in settings(n)
                for outcomes in [cell_outcomes(n, cell / share, reported_share(coin, share))]
            ]
            least, cell, share = min(found)
            show(f"cells   {name:15} n={n:4} least {least:.4f} of {len(found)} at {cell}, {share}")


def groups(runs: int, rng: Any, sizes: Sequence[int] = (1, 2, 3, 5, 10, 19, 30, 100)) -> None:
    """Least coverage of P(a | b)."""
    shares = np.r_[0, CELLS, np.linspace(0.02, 1, 50)]
    for name, coin in BINARY.items():
        for m in sizes:
            yes = np.arange(m + 1.0)
            lower, upper = intervals(coin, Outcomes(np.full(m + 1, float(m)), yes, yes), 5000, True)
            found = []
            for share in shares.tolist():
                chance = binom.pmf(yes, m, reported_share(coin, share))
                inside = (lower <= share + _NEAR) & (share <= upper + _NEAR)
                found.append((float(chance @ inside), share))
            show("groups  {:15} m={:4} least {:.4f} at {:.3f}".format(name, m, *min(found)))


def drawn_designs(groups: int = 2) -> dict[str, Design]:
    """Designs whose outcomes are too many to sum over; b is undisguised and has these groups."""
    number = {
        "kuk, two cards": kuk("0.8", "0.3", 2),
        "christofides": christofides(["1/2", "1/3", "1/6"]),
        "matrix, 3 reports": matrix([["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]),
    }
    b, a = Attribute("b", range(groups)), Attribute("a", ["no", "yes"])
    plain, other = Group(["b"], truthful()), Attribute("c", ["no", "yes"])
    one, pair = Schema([b, a]), Schema([b, a, other])
    many = Schema([b, Attribute("a", ["low", "mid", "high"]), other])
    together = {
        "two in a group": Design(pair, [plain, Group(["a", "c"], related("0.85"))]),
        "two coins": Design(
            pair, [plain, Group(["a"], related("0.85")), Group(["c"], triangular("1/4"))]
        ),
        "three answers, two undisguised": Design(
            many, [Group(["a"], uniform_perturbation("0.6")), Group(["b", "c"], truthful())]
        ),
    }
    alone = {name: Design(one, [Group(["a"], coin), plain]) for name, coin in number.items()}
    return alone | together


def drawn_shares(design: Design, share: float) -> Array:
    """P(a) or P(a, c), also among the people of b; the last answer to a has this share."""
    size = design.schema["a"].size
    a = np.append(np.full(size - 1, (1 - share) / (size - 1)), share)
    if "c" not in design.schema:
        return a
    first = np.arange(size) == 0
    return np.asarray(a[:, None] * np.stack([0.7 + 0.2 * first, 0.3 - 0.2 * first], axis=1))


class Drawn(NamedTuple):
    """The least coverage of cells, and of shares among the people of b."""

    cells: float
    shares: float


def drawn_coverage(name: str, n: int, inside: float, share: float, runs: int, rng: Any) -> Drawn:
    """Coverage of P(a, .., b) and P(a, .. | b) if P(b) = inside, in surveys of n people."""
    design = drawn_designs()[name]
    shares = drawn_shares(design, share)
    channel = design.channel(design.schema.names)
    square = all(factor.channel.inverse is not None for factor in channel.factors)
    table = np.multiply.outer([1 - inside, inside], shares)
    expected = channel.disguised(table)
    if square:
        found = _drawn_together(name, n, inside, expected[1] / inside, runs, rng)
    else:
        found = _drawn_one_by_one(channel, n, expected, runs, rng)
    least = []
    for limits, true in zip(found, (inside * shares, shares), strict=True):
        covered = (limits.lower <= true + _NEAR) & (true <= limits.upper + _NEAR)
        least.append(float(covered.mean(axis=0).min()))
    return Drawn(*least)


def _drawn_together(
    name: str, n: int, inside: float, reported: Array, runs: int, rng: Any
) -> tuple[Interval, Interval]:
    """Intervals of all surveys at once: each is a category of b, with intervals of its own."""
    design = drawn_designs(runs)[name]
    people = rng.binomial(n, inside, runs)
    counts = rng.multinomial(people, reported.ravel() / reported.sum()).astype(float)
    counts = counts.reshape(runs, *reported.shape)
    channel = design.channel(design.schema.names)
    joint = inversion(TableProblem(counts, channel, counts.ndim, n))
    assert joint.score is not None
    records = people.reshape(-1, *[1] * reported.ndim) * np.ones(joint.value.shape)
    return joint.interval(LEVEL), joint.with_score(joint.score.given(records)).interval(LEVEL)


def _drawn_one_by_one(
    channel: ProductChannel, n: int, expected: Array, runs: int, rng: Any
) -> tuple[Interval, Interval]:
    """Intervals of surveys whose weights depend on all of their reports."""
    joint: list[Estimate] = []
    for counts in rng.multinomial(n, expected.ravel() / expected.sum(), runs):
        problem = TableProblem(counts.reshape(expected.shape).astype(float), channel, 2, n)
        joint.append(inversion(problem))
    given = [conditional_shares(table, 1, "", undisguised=True) for table in joint]
    cells, shares = (
        Interval(*(limit[:, 1] for limit in stacked(found))) for found in (joint, given)
    )
    return cells, shares


def drawn(runs: int, rng: Any, sizes: Sequence[int] = (50, 500, 5000)) -> None:
    """Least coverage of P(a, .., b) and P(a, .. | b) over their cells."""
    for name, n in itertools.product(drawn_designs(), sizes):
        for people, share in itertools.product((3, 10, 30, 100), (0.01, 0.1, 0.3)):
            if people < n:
                found = drawn_coverage(name, n, people / n, share, runs, rng)
                show(
                    f"drawn   {name:31} n={n:4} group {people:3} share {share:4} "
                    f"cells {found.cells:.4f} shares {found.shares:.4f}"
                )


def exact_intervals(coin: Coin, outcomes: Outcomes, n: int) -> Interval:
    """An exact interval of P(a, b), by the probability of the estimate at the worst P(b)."""
    no, yes = (reported_share(coin, share) for share in (0.0, 1.0))
    value = np.clip((outcomes.yes - no * outcomes.inside) / (yes - no) / n, 0, 1).round(9)
    levels, which = np.unique(value, return_inverse=True)
    grid = np.unique(np.r_[0, np.geomspace(1e-4, 1, 80), np.linspace(0.01, 1, 100)])
    kept = np.zeros((len(grid), len(levels)), bool)
    for place, cell in enumerate(grid):
        low, high = np.zeros(len(levels)), np.zeros(len(levels))
        for share in cell + (1 - cell) * np.r_[0, np.geomspace(1e-3, 1, 30)]:
            report = no + (yes - no) * (cell / share if share > 0 else 0)
            chance = binom.pmf(outcomes.inside, n, share)
            chance = chance * binom.pmf(outcomes.yes, outcomes.inside, report)
            below = np.cumsum(np.bincount(which, chance))
            low, high = np.maximum(low, below), np.maximum(high, 1 - np.r_[0, below[:-1]])
        kept[place] = (low > (1 - LEVEL) / 2) & (high > (1 - LEVEL) / 2)
    lower = grid[kept.argmax(axis=0)]
    return Interval(lower[which], grid[len(grid) - 1 - kept[::-1].argmax(axis=0)][which])


def widths(runs: int, rng: Any, sizes: Sequence[int] = (50,)) -> None:
    """The largest ratio of mean widths over shares of a and b."""
    for n in sizes:
        whole = all_outcomes(n)
        for name, coin in BINARY.items():
            ours, exact = intervals(coin, whole, n), exact_intervals(coin, whole, n)
            ratios = []
            for inside in (0.02, 0.1, 0.3, 0.6, 0.95):
                for share in SHARES:
                    report = reported_share(coin, share)
                    chance = binom.pmf(whole.inside, n, inside)
                    chance = chance * binom.pmf(whole.yes, whole.inside, report)
                    mean = [float(chance @ (own.upper - own.lower)) for own in (ours, exact)]
                    ratios.append((mean[0] / mean[1], inside, share))
            show(
                "widths  {:15} n={:4} largest ratio {:.3f} at {}, {}".format(name, n, *max(ratios))
            )


def all_outcomes(n: int) -> Outcomes:
    """All outcomes of n records, however likely."""
    inside = np.repeat(np.arange(n + 1.0), np.arange(1, n + 2))
    yes = np.concatenate([np.arange(m + 1.0) for m in range(n + 1)])
    return Outcomes(inside, yes, np.ones(len(yes)))


PARTS = {"cells": cells, "groups": groups, "drawn": drawn, "widths": widths}

if __name__ == "__main__":
    run_parts(PARTS)
