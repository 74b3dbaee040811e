from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import matrix, related, truthful, unrelated
from tacit.errors import DataError, DesignError
from tacit.privacy import Limits, Rule, prior_of, report
from tacit.privacy.published_model import known_conditions, unknown_conditions

ROUNDINGS = 1e-12
SCHEMA = Schema([Attribute("A1", [0, 1]), Attribute("A2", [0, 1])])
DESIGN = Design(SCHEMA, [Group(["A1"], related(0.8)), Group(["A2"], unrelated(0.6, [0.5, 0.5]))])
TABLE = np.array([[0.3, 0.2], [0.1, 0.4]])
#: Zhan & Matwin, section 4.2: their example of four rules.
EXAMPLE = [
    Rule({"A1": 1}, "A2", 1, 0.8),
    Rule({"A1": 1}, "A2", 0, 0.6),
    Rule({"A1": 0}, "A2", 1, 0.4),
    Rule({"A1": 0}, "A2", 0, 0.3),
]


def test_known_conditions_weigh_confidence_by_how_often_a_rule_applies() -> None:
    found = known_conditions(EXAMPLE, DESIGN, prior_of(TABLE, DESIGN))
    assert abs(found["A2"] - (0.5 * (0.8 + 0.6) + 0.5 * (0.4 + 0.3))) <= ROUNDINGS
    supported = [Rule({"A1": 1}, "A2", 1, 0.8, support=0.25)]
    assert known_conditions(supported, DESIGN, prior_of(TABLE, DESIGN)) == {"A2": 0.2}


def test_unknown_conditions_follow_the_reported_records() -> None:
    found = unknown_conditions(EXAMPLE, DESIGN, prior_of(TABLE, DESIGN))
    first, second = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([[0.8, 0.2], [0.2, 0.8]])
    reported = first @ TABLE @ second.T
    kept = [second[c, c] * TABLE[:, c].sum() / (second[c] @ TABLE.sum(axis=0)) for c in (0, 1)]
    conditional = reported / reported.sum(axis=1, keepdims=True)
    expected = sum(conditional[a, c] * kept[c] for a in (0, 1) for c in (0, 1))
    assert abs(found["A2"] - expected) <= ROUNDINGS


def test_of_an_estimated_prior_rules_recover_the_upper_end() -> None:
    rng = np.random.default_rng(8)
    true = np.stack(np.unravel_index(rng.choice(4, 500, p=TABLE.ravel()), (2, 2)), axis=1)
    estimate = reconstruct(disguise(true, DESIGN, rng), DESIGN).table(SCHEMA.names)
    told = EXAMPLE[:1]
    drawn = prior_of(estimate, DESIGN)
    single = prior_of(drawn.table(SCHEMA.names)[:, 0].reshape(2, 2), DESIGN)
    for recovered in (known_conditions, unknown_conditions):
        central = recovered(told, DESIGN, single)["A2"]
        assert central < recovered(told, DESIGN, drawn, 0.5)["A2"]
        assert recovered(told, DESIGN, drawn, 0.5)["A2"] < recovered(told, DESIGN, drawn)["A2"]


def test_rules_over_a_joint_matrix_follow_its_reports() -> None:
    joint = matrix(np.full((4, 4), 0.125) + 0.5 * np.eye(4))
    design = Design(SCHEMA, [Group(["A2", "A1"], joint)])
    found = unknown_conditions(EXAMPLE[:1], design, prior_of(TABLE, design))
    reported = 0.5 * TABLE + 0.125
    kept = (0.5 + 2 * 0.125) * TABLE[:, 1].sum() / reported[:, 1].sum()
    expected = reported[1, 1] / reported[1].sum() * kept
    assert abs(found["A2"] - expected) <= ROUNDINGS


def test_rules_that_tie_too_much_together_leave_the_best_guess_open() -> None:
    limits = Limits(max_cells=3)
    found = report(DESIGN, {"A1": [0.5, 0.5], "A2": [0.4, 0.6]}, rules=EXAMPLE, limits=limits)
    assert found.after_mining["A2"].accuracy_with_model is None
    assert found.after_mining["A2"].rec_known > 0
    assert found.tables()[1].rows[0][-1] == ""


def test_after_mining_is_before_less_the_largest_recoverability_and_not_below_0() -> None:
    small = [Rule({"A1": 1}, "A2", 1, 0.2)]
    smaller = [Rule({"A1": 1}, "A2", 1, 0.1)]
    found = report(DESIGN, TABLE, rules=[small, smaller]).after_mining["A2"]
    assert found.rec_known == pytest.approx(0.1, abs=ROUNDINGS)
    assert found.pse_known == found.pse_before - found.rec_known
    assert report(DESIGN, TABLE, rules=EXAMPLE).after_mining["A2"].pse_known == 0


def test_a_model_that_repeats_the_prior_tells_an_adversary_nothing_new() -> None:
    shares = TABLE / TABLE.sum(axis=1, keepdims=True)
    rules = [Rule({"A1": a}, "A2", c, shares[a, c]) for a in (0, 1) for c in (0, 1)]
    found = report(DESIGN, TABLE, rules=rules).after_mining["A2"]
    assert abs(found.accuracy_with_model - found.accuracy_before) <= ROUNDINGS


def test_a_model_helps_an_adversary_who_knows_the_margins_only() -> None:
    table = np.array([[0.45, 0.05], [0.05, 0.45]])
    margins = {"A1": table.sum(axis=1), "A2": table.sum(axis=0)}
    shares = table / table.sum(axis=1, keepdims=True)
    rules = [Rule({"A1": a}, "A2", c, shares[a, c]) for a in (0, 1) for c in (0, 1)]
    design = Design(SCHEMA, [Group(["A1"], related(0.95)), Group(["A2"], related(0.6))])
    told = report(design, margins, rules=rules).after_mining["A2"]
    known = report(design, table)
    assert told.accuracy_with_model == pytest.approx(
        known.attributes["A2"].from_record.accuracy, abs=ROUNDINGS
    )
    assert told.accuracy_with_model > told.accuracy_before + 0.001


def test_a_certain_rule_on_an_undisguised_condition_gives_the_answer_away() -> None:
    design = Design(SCHEMA, [Group(["A1"], truthful()), Group(["A2"], related(0.6))])
    rules = [Rule({"A1": a}, "A2", a, 1.0) for a in (0, 1)]
    assert report(design, TABLE, rules=rules).after_mining["A2"].accuracy_with_model == 1


def test_anything_with_the_names_of_a_rule_is_one_and_conditions_may_allow_several() -> None:
    rule = SimpleNamespace(
        conditions={"A1": [0, 1]}, attribute="A2", category=1, confidence=0.5, support=None
    )
    assert known_conditions([rule], DESIGN, prior_of(TABLE, DESIGN)) == {"A2": 0.5}


def test_a_rule_without_conditions_always_applies() -> None:
    rule = Rule({}, "A2", 1, 0.6)
    assert known_conditions([rule], DESIGN, prior_of(TABLE, DESIGN)) == {"A2": 0.6}
    found = report(DESIGN, TABLE, rules=[rule]).after_mining["A2"]
    assert 0 < found.rec_unknown < 1


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule({"A3": 1}, "A2", 1, 0.5), "rule 1: unknown attribute 'A3'"),
        (Rule({"A1": 2}, "A2", 1, 0.5), "rule 1: unknown category 2"),
        (Rule({"A1": 1}, "A2", 7, 0.5), "rule 1: unknown category 7"),
        (Rule({"A2": 1}, "A2", 1, 0.5), "one of its conditions"),
        (Rule({"A1": 1}, "A2", 1, 1.5), "confidence must lie between 0 and 1"),
        (Rule({"A1": 1}, "A2", 1, 0.5, -1), "support must lie between 0 and 1"),
        ("A1 => A2", "rule 1 has no 'conditions'"),
    ],
)
def test_a_rule_that_does_not_fit_is_an_error_that_names_it(rule: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        report(DESIGN, TABLE, rules=[rule])


def test_rules_about_categories_that_are_not_reported_are_refused() -> None:
    coin = matrix([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    design = Design(SCHEMA, [Group(["A1"], related(0.8)), Group(["A2"], coin)])
    with pytest.raises(DesignError, match="categories of its own"):
        report(design, TABLE, rules=EXAMPLE)
