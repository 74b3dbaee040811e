"""Shares of those who were asked are unbiased, and their intervals cover, over 500 surveys.

Every assertion has a false-alarm rate of 10^-6. Negative controls: shares among the reports as they
are, and among the reports of those who report the condition, fail the same test.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm, pearsonr

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    forced,
    reconstruct,
    related,
    truthful,
)
from tacit.core.arrays import Array, Codes
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.reconstruction import inversion
from tests.support.chance import FALSE_ALARM, looks_like

SURVEYS, PEOPLE, SEED = 500, 1500, 20_261_117
#: Shares of smokers, of heavy ones among them, and of each brand among these.
SMOKE, MANY, BRANDS = 0.35, 0.3, (0.5, 0.3, 0.2)
SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("packs", ["few", "many", DOES_NOT_APPLY]),
        Attribute("brand", ["red", "blue", "green", DOES_NOT_APPLY]),
    ]
)
DESIGN = Design(
    SCHEMA,
    [
        Group(["smokes"], related("4/5")),
        Group(["packs"], forced("3/4", ["1/3", "1/3", "1/3"])),
        Group(["brand"], related("4/5")),
    ],
    {"packs": {"smokes": ["yes"]}, "brand": {"smokes": ["yes"], "packs": ["few", "many"]}},
)
#: What is estimated: MANY, BRANDS[1], the share of those who are not asked, and among everybody
#: the share with many packs, from the table of this question.
TRUTHS = (MANY, BRANDS[1], 1 - SMOKE, SMOKE * MANY)
#: Two-sided test of a mean.
FAR = float(norm.isf(FALSE_ALARM / 2))


def people(rng: np.random.Generator, n: int = PEOPLE) -> Codes:
    smokes = (rng.random(n) < SMOKE).astype(np.uint8)
    packs = np.where(smokes == 1, rng.random(n) < MANY, 2).astype(np.uint8)
    brand = np.where(smokes == 1, rng.choice(3, n, p=BRANDS), 3).astype(np.uint8)
    return np.column_stack([smokes, packs, brand])


class Simulated(NamedTuple):
    """Of each survey: estimates of the TRUTHS, whether their intervals cover, and other estimates
    of MANY."""

    many: Array
    blue: Array
    unasked: Array
    heavy: Array
    covers: Array
    direct: Array
    naive: Array
    by_report: Array


@cache
def simulated() -> Simulated:
    rng = np.random.default_rng(SEED)
    rows = []
    for _ in range(SURVEYS):
        reported = disguise(people(rng), DESIGN, rng)
        found = reconstruct(reported, DESIGN)
        joint = found.table(["smokes", "packs"])
        asked = (found.asked("packs"), 1), (found.asked("brand"), 1)
        tables = (*asked, (joint, (0, 2)), (found.table(["packs"]), 1))
        ends = [(low[cell], high[cell]) for own, cell in tables for low, high in [own.interval()]]
        raw = found.table(["smokes", "packs"], inversion).value
        packs = reported[:, 1]
        rows.append(
            [
                *(own.value[cell] for own, cell in tables),
                *(low <= truth <= high for (low, high), truth in zip(ends, TRUTHS, strict=True)),
                raw[1, 1] / raw[1, :2].sum(),
                (packs == 1).sum() / (packs < 2).sum(),
                (packs[reported[:, 0] == 1] == 1).mean(),
            ]
        )
    columns = np.array(rows, float).T
    return Simulated(*columns[:4], columns[4:8], *columns[8:])


def is_unbiased(estimates: Array, truth: float) -> bool:
    """Whether the mean of the surveys could be the truth; wrong once in a million if it is."""
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    return bool(abs(estimates.mean() - truth) < FAR * error)


def test_shares_of_those_asked_are_unbiased() -> None:
    found = simulated()
    assert is_unbiased(found.many, MANY)
    assert is_unbiased(found.blue, BRANDS[1])
    assert is_unbiased(found.unasked, 1 - SMOKE)
    assert is_unbiased(found.heavy, SMOKE * MANY)


def test_taking_the_reports_as_they_are_is_biased() -> None:
    """Negative control."""
    found = simulated()
    assert not is_unbiased(found.naive, MANY)
    assert not is_unbiased(found.by_report, MANY)


def test_intervals_cover() -> None:
    covered = simulated().covers.sum(axis=1)
    assert looks_like(covered, SURVEYS, np.full(4, 0.95))
    assert not looks_like(covered, SURVEYS, np.full(4, 0.80)), "the test can fail"


def test_structural_zeros_make_the_share_more_precise() -> None:
    """Than the ratio of unrestricted estimates: variances of pairs by Pitman and Morgan (1939)."""
    own, other = simulated().many, simulated().direct
    found = pearsonr(other - own, other + own)
    assert found.statistic > 0
    assert found.pvalue < FALSE_ALARM


# Frequencies --------------------------------------------------------------------------------

EACH = 30_000


@pytest.mark.parametrize("name", ["packs", "brand"])
def test_every_pair_of_true_and_reported_occurs_as_often_as_the_channel_says(name: str) -> None:
    """With "does not apply", which `disguise` fills in."""
    size, place = SCHEMA[name].size, SCHEMA.index(name)
    true = np.zeros((size * EACH, 3), np.uint8)
    true[:, place] = np.repeat(np.arange(size), EACH)
    not_asked = true[:, place] == size - 1
    true[:, 0] = ~not_asked
    true[not_asked, 1], true[not_asked, 2] = 2, 3
    reported = disguise(true, DESIGN, np.random.default_rng(SEED))
    counts = np.zeros((size, size), int)
    np.add.at(counts, (reported[:, place], true[:, place]), 1)
    channel = DESIGN.channel([name]).matrix
    assert looks_like(counts, EACH, channel)
    # Negative control: a channel that is slightly wrong.
    wrong = channel.copy()
    wrong[-1, -1] -= 0.02
    wrong[0, -1] += 0.02
    assert not looks_like(counts, EACH, wrong)


def test_an_undisguised_does_not_apply_is_detected() -> None:
    """Negative control: the design that sends who was asked as it is."""
    groups = [*DESIGN.groups[:1], Group(["packs", "brand"], truthful())]
    leaking = Design(SCHEMA, groups, DESIGN.asked_if)
    true = np.tile(np.array([[0, 2, 3]], np.uint8), (EACH, 1))
    reported = disguise(true, leaking, np.random.default_rng(SEED))
    counts = np.bincount(reported[:, 1], minlength=3)
    assert not looks_like(counts, EACH, DESIGN.channel(["packs"]).matrix[:, 2])
