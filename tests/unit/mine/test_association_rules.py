from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tacit import Design, disguise, reconstruct
from tacit.errors import DataError, FileError
from tacit.mine import FamilyWise, PlainThreshold, association_rules, itemsets, split_records
from tacit.mine.apriori import Itemsets
from tacit.privacy import Rule, prior_of, report
from tacit.privacy.published_model import known_conditions, rules_from_json
from tests.unit.mine.test_itemsets import MASK, SCHEMA, TRUE, people, reported

NUMBERS = 1e-12


def mined(design: Design = MASK, control: Any = None, n: int = 4000) -> Itemsets:
    control = control or PlainThreshold()
    return itemsets(reported(design, n), design, 0.05, control=control)


def test_rules_are_all_ways_to_part_a_set_that_reach_the_confidence() -> None:
    found = mined()
    supports = {frozenset(one.items.items()): one.support for one in found}
    expected = {}
    for items, support in supports.items():
        for size in range(1, len(items)):
            for conclusion in combinations(sorted(items), size):
                confidence = support / supports[items - set(conclusion)]
                if confidence >= 0.4:
                    expected[items - set(conclusion), frozenset(conclusion)] = confidence
    rules = association_rules(found, 0.4, max_conclusions=None)
    ours = {
        (
            frozenset((name, label) for name, (label,) in rule.conditions.items()),
            frozenset(rule.conclusion.items()),
        ): rule.confidence
        for rule in rules
    }
    assert ours.keys() == expected.keys()
    assert max(abs(ours[key] - min(expected[key], 1)) for key in ours) < NUMBERS
    assert {len(rule.conclusion) for rule in rules} == {1, 2}
    assert {len(rule.conclusion) for rule in association_rules(found, 0.4)} == {1}


def test_errors_follow_from_the_table_of_the_three_answers_by_the_delta_method() -> None:
    """Differentiate numerically the figures as functions of the reconstructed table."""
    records = reported()
    estimate = reconstruct(records, MASK).table(["bread", "butter", "size"])
    covariance, table = estimate.covariance, estimate.value
    rules = association_rules(itemsets(records, MASK, 0.05, control=PlainThreshold()), 0.1)
    rule = next(r for r in rules if len(r.conditions) == 2 and r.attribute == "size")
    code = SCHEMA["size"].code(rule.category)

    def figures(cells: Any) -> Any:
        given = cells[1, 1].sum()
        both = cells[1, 1, code]
        return np.array([both, both / given, both / given / cells[:, :, code].sum()])

    step = 1e-6
    slopes = []
    for cell in np.ndindex(table.shape):
        up, down = table.copy(), table.copy()
        up[cell] += step
        down[cell] -= step
        slopes.append((figures(up) - figures(down)) / (2 * step))
    slope = np.array(slopes).T
    spread = covariance.reshape(table.size, table.size)
    expected = np.sqrt(np.diag(slope @ spread @ slope.T))
    ours = [rule.support_stderr, rule.confidence_stderr, rule.lift_stderr]
    assert np.abs(figures(table) - [rule.support, rule.confidence, rule.lift]).max() < NUMBERS
    assert np.abs(ours / expected - 1).max() < 1e-6


def test_a_rule_is_claimed_only_if_its_confidence_stands_out() -> None:
    few = itemsets(reported(n=400), MASK, 0.05, control=PlainThreshold())
    careful = itemsets(reported(n=400), MASK, 0.05, control=FamilyWise(0.01))
    assert len(association_rules(careful, 0.5)) < len(association_rules(few, 0.5))


def test_intervals_contain_the_estimates_and_keep_their_bounds() -> None:
    rules = association_rules(mined(n=300), 0.0)
    numbers = {name: np.array(values) for name, values in rules.numbers(0.9).items()}
    for name, most in (("support", 1), ("confidence", 1), ("lift", np.inf)):
        lower, upper = numbers[f"{name}_lower"], numbers[f"{name}_upper"]
        assert ((lower >= 0) & (lower <= numbers[name]) & (numbers[name] <= upper)).all()
        assert (upper <= most).all()


def test_a_confidence_of_1_has_an_interval_of_some_length() -> None:
    records = people(200)
    records[:, 1] = records[:, 0]
    rules = association_rules(itemsets(records, TRUE, 0.2, control=PlainThreshold()), 0.9)
    numbers = rules.numbers()
    sure = [i for i, value in enumerate(numbers["confidence"]) if value == 1]
    assert sure
    assert all(0.9 < numbers["confidence_lower"][i] < 0.99 for i in sure)


def test_figures_come_from_the_other_part_but_the_rules_do_not() -> None:
    first, second = split_records(reported(), MASK, np.random.default_rng(5))
    found = itemsets(first, MASK, 0.05)
    own, other = association_rules(found, 0.4), association_rules(found.estimated_on(second), 0.4)
    assert own.sides == other.sides
    assert own[0].support != other[0].support
    assert "so intervals are too short" in own.title
    assert "selected from" in str(other)
    truth = reconstruct(second, MASK)
    for rule in other:
        event = {name: label for name, (label,) in rule.conditions.items()} | dict(rule.conclusion)
        assert abs(rule.support - float(truth.probability(event).value)) < NUMBERS


def test_rules_print_as_a_table_and_convert_to_a_frame() -> None:
    rules = association_rules(mined(), 0.4)
    frame = rules.to_frame(backend="pyarrow").to_pydict()
    assert frame["confidence"] == sorted(frame["confidence"], reverse=True)
    assert set(frame) >= {"conditions", "conclusion", "support", "lift_lower", "lift_upper"}
    assert rules._repr_html_().startswith("<table>")
    assert "if" in repr(rules).splitlines()[1]
    assert str(rules[0]).startswith("if ")
    json.dumps(rules.to_dict(), allow_nan=False)


# Privacy ------------------------------------------------------------------------------------------


def test_published_rules_cost_privacy_as_the_rules_they_stand_for() -> None:
    rules = association_rules(mined(), 0.4)
    plain = [
        Rule(r.conditions, r.attribute, r.category, r.confidence, r.conditions_support)
        for r in rules
    ]
    prior = prior_of(None, MASK)
    assert known_conditions(rules, MASK, prior) == known_conditions(plain, MASK, prior)
    read = rules_from_json(json.dumps(rules.to_dict()))
    assert known_conditions(read, MASK, prior) == known_conditions(plain, MASK, prior)
    costly = report(MASK, rules=rules).to_dict()  # type: ignore[arg-type]
    assert costly == report(MASK, rules=plain).to_dict()


def test_the_support_of_the_conditions_counts_not_that_of_the_whole_rule() -> None:
    rule = association_rules(mined(), 0.4)[0]
    found = known_conditions([rule], MASK, prior_of(None, MASK))[rule.attribute]
    assert found == pytest.approx(rule.confidence * rule.conditions_support, abs=NUMBERS)
    assert found > rule.confidence * rule.support + 0.01


def test_rules_with_several_conclusions_have_no_single_one_to_measure() -> None:
    rules = association_rules(mined(), 0.3, max_conclusions=None)
    several = [rule for rule in rules if len(rule.conclusion) > 1]
    with pytest.raises(DataError, match="rule 1 has no 'attribute'"):
        known_conditions(several, MASK, prior_of(None, MASK))
    with pytest.raises(FileError, match="concludes on several attributes at once"):
        rules_from_json(json.dumps(rules.to_dict()))


def test_an_estimated_share_outside_0_and_1_is_read_as_the_nearest_share() -> None:
    item = {"conditions": {"bread": ["yes"]}, "attribute": "butter", "category": "yes"}
    item |= {"confidence": 0.5, "support": -0.01, "conditions_support": -0.02}
    prior = prior_of(None, MASK)
    assert known_conditions(rules_from_json(json.dumps([item])), MASK, prior) == {"butter": 0}
    read = rules_from_json(json.dumps([item | {"conditions_support": "much"}]))
    with pytest.raises(DataError, match="rule 1: conditions_support must be a number"):
        known_conditions(read, MASK, prior)


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-0.1, 1.1, "0.5", True, float("nan")])
def test_a_confidence_lies_between_0_and_1(value: Any) -> None:
    with pytest.raises(DataError, match="min_confidence must lie between 0 and 1"):
        association_rules(mined(), value)


@pytest.mark.parametrize("value", [0, 1.5, True])
def test_the_number_of_conclusions_is_whole(value: Any) -> None:
    with pytest.raises(DataError, match="max_conclusions must be a whole number from 1 up"):
        association_rules(mined(), max_conclusions=value)


def test_without_a_frequent_itemset_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"no frequent itemset: none of \d+ tested .* lower"):
        association_rules(itemsets(reported(), MASK, 0.99))


def test_rules_need_itemsets() -> None:
    with pytest.raises(DataError, match=r"what tacit\.mine\.itemsets returns"):
        association_rules(disguise(people(), MASK), 0.5)  # type: ignore[arg-type]


def test_single_items_give_no_rules() -> None:
    found = itemsets(reported(), MASK, 0.1, max_length=1)
    assert len(association_rules(found)) == 0
