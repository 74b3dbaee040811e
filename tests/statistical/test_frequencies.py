"""Reported frequencies are those of the channel, for every family and both random sources.

Every (true, reported) pair of whole groups gets an exact binomial test, Bonferroni-corrected:
a correct program fails an assertion once in 10^6 (tests/support/chance.py). Beside each stands a
channel that is slightly wrong and must fail.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Attribute, Design, Group, Schema, crosswise, disguise, frapp, matrix, related
from tacit.core.arrays import Array
from tacit.core.exact_draws import Draws, source_of
from tests.support.chance import FALSE_ALARM, looks_like, smallest_p_value
from tests.support.families import CASES, Case
from tests.support.tables import brute_force

EACH = 30_000  # records of every true cell
SEED = 20_240_607
OFF = 0.03  # what the wrong channel moves from the likeliest report to the least likely one

sources = pytest.mark.parametrize("seed", [SEED, None], ids=["generator", "entropy"])


def rng_of(seed: int | None) -> np.random.Generator | None:
    return None if seed is None else np.random.default_rng(seed)


def pair_counts(design: Design, seed: int | None, order: Any = "C") -> Any:
    """Counts of (reported, true) whole records, EACH records of every true cell."""
    sizes = design.schema.sizes
    cells = int(np.prod(sizes))
    true = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1).astype(np.uint8)
    reported = disguise(np.asarray(np.tile(true, (EACH, 1)), order=order), design, rng_of(seed))
    places = np.ravel_multi_index(tuple(reported.T.astype(np.intp)), design.reported.sizes)
    of_true = np.tile(np.arange(cells), EACH)
    reports = int(np.prod(design.reported.sizes))
    flat = np.bincount(places * cells + of_true, minlength=reports * cells)
    return flat.reshape(reports, cells)


def slightly_wrong(M: Array) -> Array:
    """OFF moved from the largest to the smallest entry of every column."""
    wrong, columns = M.copy(), np.arange(M.shape[1])
    wrong[M.argmax(axis=0), columns] -= OFF
    wrong[M.argmin(axis=0), columns] += OFF
    return wrong


@sources
@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs_occur_as_often_as_the_strategies_say(case: Case, seed: int | None) -> None:
    expected = np.asarray(brute_force(case.coin, case.attributes), dtype=np.float64)
    counts = pair_counts(case.design, seed)
    assert looks_like(counts, EACH, expected)
    assert not looks_like(counts, EACH, slightly_wrong(expected))


def yes_no(d: int) -> list[Attribute]:
    return [Attribute(f"b{i}", ["no", "yes"]) for i in range(d)]


TALL = [["3/4", "1/8"], ["1/8", "3/4"], ["1/8", "1/8"]]
GROUPED = {
    "yes/no groups that share their odds": Design(
        Schema(yes_no(4)),
        [Group(["b0", "b2"], related("2/3")), Group(["b3", "b1"], related("2/3"))],
    ),
    "yes/no groups in a row": Design(
        Schema(yes_no(4)), [Group(["b0"], related(0.7)), Group(["b1", "b2", "b3"], related(0.7))]
    ),
    "all kinds": Design(
        Schema([*yes_no(3), Attribute("c", ["x", "y", "z"])]),
        [
            Group(["c"], frapp("1/2")),
            Group(["b2"], matrix(TALL)),
            Group(["b1"], crosswise("1/4")),
            Group(["b0"], related("2/3")),
        ],
    ),
    "a merged report": Design(
        Schema([*yes_no(2), Attribute("c", ["x", "y"])]),
        [
            Group(["c", "b0"], matrix([["3/5" if i == j else "1/10" for j in range(4)]
                                       for i in range(4)] + [["1/10"] * 4])),
            Group(["b1"], related("1/3")),
        ],
    ),
}  # fmt: skip


@sources
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", GROUPED)
def test_groups_throw_independent_coins(name: str, order: str, seed: int | None) -> None:
    design = GROUPED[name]
    channel = design.channel(design.schema.names)
    axes = [channel.reported.names.index(n) for n in design.reported.names]
    table = channel.matrix.reshape(*channel.reported.sizes, -1)
    expected = table.transpose([*axes, len(axes)]).reshape(-1, table.shape[-1])
    counts = pair_counts(design, seed, order)
    assert looks_like(counts, EACH, expected)
    assert not looks_like(counts, EACH, slightly_wrong(expected))


def test_groups_that_shared_one_coin_would_be_found() -> None:
    """Negative control: every single answer has the right frequencies, the pair does not."""
    schema = Schema(yes_no(2))
    shared = Design(schema, [Group(["b0", "b1"], related("2/3"))])
    apart = Design(schema, [Group(["b0"], related("2/3")), Group(["b1"], related("2/3"))])
    counts = pair_counts(shared, SEED)
    assert not looks_like(counts, EACH, apart.channel(["b0", "b1"]).matrix)
    single = counts.reshape(2, 2, 2, 2).sum(axis=(1, 3))
    assert looks_like(single, 2 * EACH, apart.channel(["b0"]).matrix)


@sources
def test_records_are_disguised_independently_of_each_other(seed: int | None) -> None:
    """Neighbouring records, also across blocks, agree in their coins as often as chance says."""
    design = Design(Schema(yes_no(1)), [Group(["b0"], related("2/3"))])
    lies = disguise(np.zeros((300_000, 1), np.uint8), design, rng_of(seed))[:, 0]
    for lag in (1, 2, 8, 1 << 16):
        first, second = np.moveaxis(
            lies[: len(lies) // (2 * lag) * 2 * lag].reshape(-1, 2, lag), 1, 0
        )
        counts = np.bincount(2 * first.ravel() + second.ravel(), minlength=4)
        assert looks_like(counts, counts.sum(), np.array([4, 2, 2, 1]) / 9)


@sources
def test_draws_from_odd_denominators_are_exact_in_frequency(seed: int | None) -> None:
    weights = [Fraction(1, 1000), Fraction(1, 7), Fraction(0), Fraction(5993, 7000)]
    drawn = Draws([weights]).draw(None, 400_000, source_of(rng_of(seed)))
    counts = np.bincount(drawn, minlength=4)
    probabilities = np.array(weights, dtype=np.float64)
    assert looks_like(counts, 400_000, probabilities)
    assert not looks_like(counts, 400_000, probabilities + np.array([0.001, -0.001, 0, 0]))


def test_the_test_fails_as_often_as_it_says() -> None:
    """The p-values of a correct coin are not smaller than they should be."""
    rng = np.random.default_rng(SEED)
    p = np.array([0.1, 0.3, 0.6])
    trials = [smallest_p_value(rng.multinomial(500, p), 500, p) for _ in range(2000)]
    for level in (0.5, 0.1, 0.01):
        alarms = np.count_nonzero(np.array(trials) < level)
        assert binom.sf(alarms - 1, len(trials), level) >= FALSE_ALARM
