"""Intervals of rules cover although the same records chose the tree; every log-odds has one.

True records are drawn anew for each survey. A true coverage of 95 % gives fewer covered intervals
than `LEAST` with probability 1e-6 at most. Negative controls do: plain intervals of rules, log-odds
intervals of a wrong level. `interval_study` measures the same on random populations and designs.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Attribute, Design, Group, Schema, related
from tacit.core.arrays import Array
from tacit.mine import DecisionTree, NaiveBayes, split_records
from tacit.records import PatternTable
from tests.statistical.interval_study import plain, stated, true_figures, true_log_odds
from tests.support.chance import FALSE_ALARM
from tests.support.populations import surveyed

LEVEL, WRONG_LEVEL, SURVEYS, SEED, RECORDS = 0.95, 0.5, 60, 4242, 2000
LEAST = int(binom.ppf(FALSE_ALARM, SURVEYS, LEVEL))
FEWER = 40  # surveys of naive Bayes
SCHEMA = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(8)])
DESIGN = Design(
    SCHEMA, [Group(SCHEMA.names[:4], related(0.8)), Group(SCHEMA.names[4:], related(0.8))]
)
NOISY = Design(SCHEMA, [Group([name], related(0.6)) for name in SCHEMA.names])


def crowd() -> Array:
    """Two questions go with the first, weakly; the others have nothing to do with it."""
    joint = np.full((2,) * len(SCHEMA), 0.5 ** len(SCHEMA))
    first, second, third = np.indices(joint.shape)[:3]
    joint = joint * np.where(first == second, 1.15, 0.85) * np.where(first == third, 1.1, 0.9)
    return np.asarray(joint / joint.sum())


TRUE = crowd()


def surveys(design: Design) -> list[PatternTable]:
    rng = np.random.default_rng(SEED)
    return [surveyed(TRUE, design, RECORDS, rng) for _ in range(SURVEYS)]


@pytest.mark.slow
def test_all_intervals_of_a_tree_s_rules_cover_although_their_records_chose_the_tree() -> None:
    """Plain intervals miss most often where the confidence is largest: noise made it so."""
    together, apart, honest, leaves = 0, 0, 0, 0
    for number, reported in enumerate(surveys(DESIGN)):
        model = DecisionTree(DESIGN, "q0", caution=1, max_depth=3).fit(reported)
        rules = model.rules().known
        truth = np.array([true_figures(rule, SCHEMA, TRUE) for rule in rules])
        together += bool(_covers([stated(rule) for rule in rules], truth).all())
        apart += bool(_covers([plain(rule) for rule in rules], truth)[_extreme(rules)])
        kept, others = split_records(reported, DESIGN, np.random.default_rng(number))
        own = model.fit(others).rules(kept).known
        truth = np.array([true_figures(rule, SCHEMA, TRUE) for rule in own])
        honest += bool(_covers([stated(rule) for rule in own], truth)[0, 1])
        leaves += len(rules)
    assert leaves > 4 * SURVEYS
    assert together >= LEAST, together / SURVEYS
    assert honest >= LEAST, honest / SURVEYS
    assert apart < LEAST, apart / SURVEYS


def _extreme(rules: object) -> tuple[int, int]:
    """The confidence of the rule that stands out most."""
    return int(np.argmax([rule.confidence for rule in rules])), 1  # type: ignore[attr-defined]


def _covers(limits: list[tuple[object, object]], truth: Array) -> Array:
    lower, upper = np.moveaxis(np.array(limits), 2, 0)
    return np.asarray((lower - 1e-9 <= truth) & (truth <= upper + 1e-9))


@pytest.mark.slow
def test_every_attribute_has_log_odds_that_cover_and_says_so_if_it_is_not_used() -> None:
    covered, control, unused = np.zeros(len(SCHEMA)), np.zeros(len(SCHEMA)), 0
    least = binom.ppf(FALSE_ALARM, FEWER, LEVEL)
    for reported in surveys(NOISY)[:FEWER]:
        model = NaiveBayes(NOISY, "q0").fit(reported)
        for place, name in enumerate(SCHEMA.names[1:], start=1):
            others = tuple(axis for axis in range(1, len(SCHEMA)) if axis != place)
            truth = true_log_odds(TRUE.sum(axis=others))[1, 1]
            found = model.log_odds(name)
            lower, upper = (limit[1, 1] for limit in found.interval(LEVEL))
            assert upper > lower
            covered[place] += lower <= truth <= upper
            lower, upper = (limit[1, 1] for limit in found.interval(WRONG_LEVEL))
            control[place] += lower <= truth <= upper
            assert np.isfinite(found.value).all()
            assert (np.isfinite(found.stderr) & (found.stderr > 0)).all()
            if name in model.parameters_.unused:
                unused += 1
                assert "not used for prediction" in str(found)
                assert any(name in note and "not used" in note for note in model.notes())
    assert unused > 0.5 * FEWER * (len(SCHEMA) - 1)
    assert (covered[1:] >= least).all(), covered / FEWER
    assert (control[1:] < least).all(), control / FEWER
