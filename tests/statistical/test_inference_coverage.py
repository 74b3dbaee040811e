"""Intervals hold for rare answers, few records and comparisons; tests reject as often as stated.

`inference_study` measures all this with more surveys and designs. Here a correct program fails an
assertion once in a million, or never where coverage is computed without chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, chi2_contingency, ncx2

from tacit import Design, Group, Schema, related
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.evaluate import accuracy, recall
from tacit.reconstruction import Estimate, inversion, likelihood_ratio, pearson, wald
from tacit.reconstruction.hypotheses import Independence
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.reconstruction.tables import TableProblem
from tests.statistical.inference_study import (
    BOTH,
    DESIGNS,
    ITEMS,
    TABLE,
    Best,
    covered,
    rejections,
    stacked,
    surveys,
)
from tests.support.chance import FALSE_ALARM
from tests.support.families import attributes_of

SEED, LEVEL, FLOOR = 20, 0.95, 0.93
BINOMIAL = {name: coin for name, coin in ITEMS.items() if not name.startswith("matrix")}
SHARES = np.r_[0, np.geomspace(1e-4, 0.02, 12), np.linspace(0.02, 0.5, 25)]


def outcomes(coin: Coin, n: int) -> tuple[list[Estimate], Array]:
    """The estimates of all outcomes of n reports, and their chances for each share."""
    channel = Design(Schema(attributes_of((2,))), [Group(["a0"], coin)]).channel(["a0"])
    counts = [np.array([n - i, i], float) for i in range(n + 1)]
    reported = [channel.disguised(np.array([1 - p, p]))[1] for p in SHARES]
    chances = np.array([binom.pmf(np.arange(n + 1), n, q) for q in reported])
    return [inversion(TableProblem(c, channel, 1, n)) for c in counts], chances


def exact_coverage(interval: Interval, chances: Array) -> Array:
    lower, upper = interval.lower[:, 1, None], interval.upper[:, 1, None]
    inside = (lower <= SHARES + 1e-9) & (upper + 1e-9 >= SHARES)
    return np.asarray(np.sum(chances.T * inside, axis=0))


@pytest.mark.parametrize("name", BINOMIAL)
@pytest.mark.parametrize("n", [20, 50, 200])
def test_one_item_is_covered_for_every_share(name: str, n: int) -> None:
    estimates, chances = outcomes(BINOMIAL[name], n)
    assert exact_coverage(stacked(estimates), chances).min() >= LEVEL - 1e-9


@pytest.mark.parametrize("name", ["truthful", "no never reports yes", "unrelated .7"])
def test_normal_intervals_would_miss_rare_shares(name: str) -> None:
    """The negative control of the test above."""
    estimates, chances = outcomes(BINOMIAL[name], 50)
    value, stderr = (np.stack([getattr(e, k) for e in estimates]) for k in ("value", "stderr"))
    plain = Interval(*(np.clip(limit, 0, 1) for limit in normal_interval(value, stderr, LEVEL)))
    assert exact_coverage(plain, chances).min() < FLOOR


@pytest.mark.parametrize("name", ["truthful", "related, two groups", "unrelated"])
def test_accuracy_and_recall_of_20_records_are_covered(name: str) -> None:
    model, design, rng = Best(TABLE), DESIGNS[name], np.random.default_rng(SEED)
    given = [(model, rec.patterns, design, "a0") for rec in surveys(design, TABLE, 20, 300, rng)]
    right = np.where(model.best == np.arange(2)[:, None], TABLE, 0.0).sum(axis=1)
    accuracies, recalls = [accuracy(*g) for g in given], [recall(*g) for g in given]
    least = binom.ppf(FALSE_ALARM, 300, FLOOR) / 300
    assert covered(stacked(accuracies), right.sum()) >= least
    limits = stacked(recalls)
    assert (covered(limits, right / TABLE.sum(axis=1)) >= least).all()
    assert (limits.lower >= 0).all()
    assert (limits.upper <= 1).all()
    assert (limits.upper > limits.lower).all()


@pytest.mark.parametrize("name", ["related, one group", "truthful groups"])
def test_differences_between_groups_are_covered(name: str) -> None:
    share = TABLE[1] / TABLE.sum(axis=0)
    truth, hits, short = share[2] - share[0], 0, 0
    between: Any = ({"a1": "c2"}, {"a1": "c0"})
    for rec in surveys(DESIGNS[name], TABLE, 1000, 150, np.random.default_rng(SEED)):
        found = rec.difference({"a0": "c1"}, between=between)
        lower, upper = found.interval(LEVEL)
        hits += bool(lower <= truth <= upper)
        short += bool(abs(float(found) - truth) < 0.4 * (upper - lower) / 2)
    assert hits >= binom.ppf(FALSE_ALARM, 150, 0.94)
    assert short < binom.ppf(FALSE_ALARM, 150, 0.94)  # intervals of 40 % of the width do not


@pytest.mark.parametrize("method", [likelihood_ratio, pearson, wald])
def test_independence_is_rejected_as_often_as_stated(method: Any) -> None:
    """The negative control takes reports for the truth: one coin for both makes them dependent."""
    design = Design(DESIGNS["truthful"].schema, [Group(BOTH, related("0.85"))])
    null, runs = np.outer([0.68, 0.32], [0.5, 0.3, 0.2]), 250
    found, naive = 0, 0
    for rec in surveys(design, null, 2000, runs, np.random.default_rng(SEED)):
        found += rec.independence(BOTH, method=method).pvalue < 0.05
        table = rec.patterns.marginal(BOTH)
        naive += chi2_contingency(table, correction=False).pvalue < 0.05
    most = binom.isf(FALSE_ALARM / 2, runs, 0.05)
    assert found <= most < naive


def test_a_dependence_is_found_about_as_often_as_expected() -> None:
    """The power is that of the noncentral chi-squared distribution, within three points.

    The negative control has twice the records.
    """
    table = np.outer([0.68, 0.32], [0.5, 0.3, 0.2]) + np.outer([1, -1], [0.5, 0.2, -0.7]) * 0.03
    rng, runs, n = np.random.default_rng(SEED), 400, 2000
    design = DESIGNS["related, two groups"]
    channel = design.channel(BOTH)
    problem = TableProblem(n * channel.disguised(table), channel, 2, n)
    strength = likelihood_ratio(problem, Independence("independence", ((0,), (1,)))).statistic
    power = ncx2.sf(chi2.isf(0.05, 2), 2, strength)
    found = sum(
        rec.independence(BOTH).pvalue < 0.05 for rec in surveys(design, table, n, runs, rng)
    )
    tails = FALSE_ALARM / 2, 1 - FALSE_ALARM / 2
    powers = (power - 0.03, power + 0.03)
    few, many = (binom.ppf(t, runs, p) for t, p in zip(tails, powers, strict=True))
    assert few <= found <= many
    assert not few <= runs * ncx2.sf(chi2.isf(0.05, 2), 2, 2 * strength) <= many


@pytest.mark.parametrize("name", ["related .6 each, rare", "uniform .5 each", "three related .7"])
def test_no_default_test_rejects_more_often_than_stated_in_small_surveys(name: str) -> None:
    runs = 500
    found = rejections(name, 50, runs, np.random.default_rng(SEED))
    most = binom.isf(FALSE_ALARM, runs, 0.065) / runs
    assert [kind for kind, share in found.items() if share > most] == []


def test_wald_would_reject_three_independent_questions_too_often() -> None:
    """The negative control: variances at the estimate instead of under the hypothesis."""
    runs = 500
    found = rejections("three in one group", 50, runs, np.random.default_rng(SEED), method=wald)
    assert found["independence"] > binom.isf(FALSE_ALARM, runs, 0.065) / runs
