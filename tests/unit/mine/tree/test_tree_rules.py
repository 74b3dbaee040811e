"""TreeRules: what they say, what they know of themselves, and how often they are right about it.

Coverage is counted over surveys: the number of intervals of nominal 95 % that hold the truth must
look like draws of a binomial distribution, with the false-alarm rate of `tests.support.chance`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, uniform_perturbation
from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.mine import DecisionTree
from tacit.mine.tree.growth import NONE, Tree
from tacit.mine.tree.view import TreeRule, TreeRules, TreeView, rules
from tacit.privacy import report
from tacit.records import PatternTable
from tests.support.chance import looks_like
from tests.support.grids import thinned
from tests.support.tables import cells_of, reported_table

LEVEL, SURVEYS, SEED = 0.95, 400, 1618
SCHEMA = Schema(
    [
        Attribute("size", ["small", "mid", "tall"]),
        Attribute("ill", ["no", "yes"]),
        Attribute("smokes", ["no", "yes"]),
    ]
)
#: P(size, ill, smokes).
TRUE = np.array(
    [[[0.18, 0.10], [0.04, 0.06]], [[0.12, 0.06], [0.05, 0.07]], [[0.05, 0.06], [0.06, 0.15]]]
)


@dataclass(frozen=True, eq=False)
class Crowd:
    """A design and surveys of a crowd whose answers are known."""

    design: Design
    n: int = 20_000

    def surveys(self, n_surveys: int, seed: int = SEED) -> Iterator[PatternTable]:
        schema = self.design.schema
        expected = reported_table(self.design, TRUE).ravel()
        patterns = np.asfortranarray(cells_of(schema.attributes), dtype=np.uint8)
        rng = np.random.default_rng(seed)
        for counts in rng.multinomial(self.n, expected / expected.sum(), n_surveys):
            seen = counts > 0
            yield PatternTable(schema, np.asfortranarray(patterns[seen]), counts[seen])

    def model(self, criterion: str = "entropy") -> DecisionTree:
        (learning,) = self.surveys(1, SEED + 1)
        return DecisionTree(self.design, "ill", criterion).fit(learning)


TWO_GROUPS = Crowd(
    Design(SCHEMA, [Group(["size", "ill"], related("4/5")), Group(["smokes"], related("3/4"))])
)
ONE_GROUP = Crowd(Design(SCHEMA, [Group(SCHEMA.names, uniform_perturbation("3/5"))]))


def true_figures(rule: TreeRule) -> tuple[float, float]:
    """True support and confidence of a rule."""
    table = TRUE
    for axis, attribute in enumerate(SCHEMA):
        if attribute.name in rule.conditions:
            codes = [attribute.code(label) for label in rule.conditions[attribute.name]]
            table = table.take(codes, axis=axis)
    support = table.sum()
    return float(support), float(table[:, SCHEMA["ill"].code(rule.category)].sum() / support)


def shares(value: list[list[float]], covariance: list[Array] | None = None) -> Tree:
    """CART on size: tall, or else mid or not; and what is known at its five nodes."""
    own = np.array(value)
    spread = [np.diag(v) - np.outer(v, v) for v in np.maximum(own, 0)]
    return Tree(
        attribute=np.array([0, NONE, 0, NONE, NONE]),
        parent=np.array([NONE, 0, 0, 2, 2]),
        child=np.array([[2, 2, 1], [NONE] * 3, [4, 3, 4], [NONE] * 3, [NONE] * 3]),
        value=own,
        covariance=np.array(spread) / 100 if covariance is None else np.array(covariance),
        label_source=np.array([0, 1, 2, 3, 4]),
        n_records=100,
    )


CART = shares([[0.6, 0.4], [0.11, 0.21], [0.49, 0.19], [0.19, 0.11], [0.3, 0.08]])


def test_conditions_on_one_attribute_are_joined_into_what_they_leave() -> None:
    found = [rule.conditions for rule in rules(TreeView(CART, SCHEMA, "ill"))]
    assert found == [{"size": ("tall",)}, {"size": ("mid",)}, {"size": ("small",)}]
    assert [rule.category for rule in rules(TreeView(CART, SCHEMA, "ill"))] == ["yes", "no", "no"]


def test_errors_are_those_of_counting_where_records_are_true() -> None:
    """Of 30 records 19 are right: sqrt(.3 * .7 / 100) and sqrt(19 * 11 / 30^3)."""
    rule = rules(TreeView(CART, SCHEMA, "ill"))[1]
    assert rule.support == pytest.approx(0.3, rel=1e-12)
    assert rule.support_stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=1e-12)
    assert rule.confidence == pytest.approx(19 / 30, rel=1e-12)
    assert rule.confidence_stderr == pytest.approx(math.sqrt(19 * 11 / 30**3), rel=1e-12)


def test_a_pure_leaf_of_few_records_is_not_certain() -> None:
    """Of 3 records all are right; with one more of either kind, 4 of 5 would be."""
    pure = shares([[0.6, 0.4], [0, 0.03], [0.6, 0.37], [0.3, 0.18], [0.3, 0.19]])
    rule = rules(TreeView(pure, SCHEMA, "ill"))[0]
    assert rule.confidence == 1
    assert rule.confidence_stderr == pytest.approx(math.sqrt(0.8 * 0.2 / 5), rel=1e-12)


def test_values_and_intervals_stay_between_none_and_all() -> None:
    wild = shares([[0.6, 0.4], [-0.02, 0.07], [0.62, 0.33], [0.3, 0.16], [0.32, 0.17]])
    rule = rules(TreeView(wild, SCHEMA, "ill"))[0]
    assert rule.confidence == 1
    for lower, upper in (rule.support_interval(0.999), rule.confidence_interval(0.999)):
        assert 0 <= lower <= upper <= 1


@pytest.mark.parametrize("none", [[0.0, 0.0], [-0.01, 0.005]])
def test_confidence_is_unknown_where_support_is_not_positive(none: list[float]) -> None:
    empty = shares([[0.6, 0.4], none, [0.6, 0.4], [0.3, 0.2], [0.3, 0.2]])
    found = rules(TreeView(empty, SCHEMA, "ill"))
    assert found[0].support == 0
    assert math.isnan(found[0].confidence)
    assert all(math.isnan(limit) for limit in found[0].confidence_interval())
    assert found[0].to_dict()["confidence"] is None
    assert "confidence unknown" in str(found[0])
    assert list(found.known) == list(found[1:])


def test_a_leaf_whose_conditions_are_at_odds_gives_no_rule() -> None:
    child = CART.child.copy()
    child[2] = [3, 3, 4]
    odd = Tree(
        CART.attribute,
        CART.parent,
        child,
        CART.value,
        CART.covariance,
        CART.label_source,
        CART.n_records,
    )
    found = [rule.conditions["size"] for rule in rules(TreeView(odd, SCHEMA, "ill"))]
    assert found == [("tall",), ("small", "mid")]


def test_a_tree_without_splits_is_one_rule_without_conditions() -> None:
    (rule,) = rules(TreeView(CART.cut(np.ones(5, bool)), SCHEMA, "ill"))
    assert (rule.conditions, rule.support, rule.support_stderr) == ({}, 1.0, 0.0)
    assert str(rule) == "always ill = no (support 100 % +- 0, confidence 60 % +- 5)"


def test_a_rule_reads_as_a_sentence_with_its_errors() -> None:
    conditions = {"marital": ("married",), "education": ("Bachelors", "Masters")}
    rule = TreeRule(conditions, "income", ">50K", 0.1234, 0.0049, 0.7123, 0.031, 1000)
    assert str(rule) == (
        "if marital = married and education = Bachelors or Masters then income = >50K "
        "(support 12.3 % +- 0.5, confidence 71 % +- 3)"
    )


def test_rules_are_plain_values_and_frames() -> None:
    found = rules(TreeView(CART, SCHEMA, "ill"))
    plain = json.loads(json.dumps(found.to_dict(0.9), allow_nan=False))
    assert plain[0]["conditions"] == {"size": ["tall"]}
    lower, upper = found[0].support_interval(0.9)
    assert (plain[0]["support_lower"], plain[0]["support_upper"]) == (lower, upper)
    frame = found.to_frame(backend="pandas")
    assert list(frame["conditions"]) == ["size = tall", "size = mid", "size = small"]
    assert list(frame["confidence"]) == [rule.confidence for rule in found]


def test_rules_print_as_a_table_and_in_notebooks() -> None:
    found = rules(TreeView(CART, SCHEMA, "ill"))
    origin, head, *body = str(found).splitlines()
    assert origin == found.origin()
    assert head.split()[:3] == ["if", "then", "support"]
    assert [line.split("  ")[0] for line in body] == ["size = tall", "size = mid", "size = small"]
    evil = TreeRule({"a": ("<b>",)}, "ill", "no", 0.5, 0.1, 0.5, 0.1, 10)
    assert ">a = &lt;b&gt;</th>" in TreeRules([evil])._repr_html_()
    assert "... 5 more rules" in str(TreeRules([evil] * 45))
    assert "... 5 more rules" in TreeRules([evil] * 45)._repr_html_()


@pytest.mark.parametrize("level", [0, 1, "high"])
def test_a_level_that_is_none_is_an_error(level: float) -> None:
    with pytest.raises(DataError, match="level must lie between 0 and 1"):
        rules(TreeView(CART, SCHEMA, "ill"))[0].support_interval(level)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_a_rule_is_what_the_model_predicts_where_its_conditions_hold(criterion: str) -> None:
    model = TWO_GROUPS.model(criterion)
    others = [model.features_[name] for name in ("size", "smokes")]
    codes = np.array(cells_of(others), dtype=np.uint8)
    predicted = model.predict(codes)
    (other,) = TWO_GROUPS.surveys(1, SEED + 2)
    for found in (model.rules(), model.rules(other)):
        holding = np.zeros(len(codes), int)
        for rule in found:
            holds = np.ones(len(codes), bool)
            for column, attribute in zip(codes.T, others, strict=True):
                wanted = rule.conditions.get(attribute.name, attribute.categories)
                holds &= np.isin(column, [attribute.code(label) for label in wanted])
            holding += holds
            assert (predicted[holds] == rule.category).all()
        assert (holding == 1).all()


def test_the_class_of_a_rule_is_the_model_s_whatever_other_records_say() -> None:
    model = TWO_GROUPS.model()
    (few,) = Crowd(TWO_GROUPS.design, 30).surveys(1)
    kept = [rule.category for rule in model.rules()]
    assert [rule.category for rule in model.rules(few)] == kept
    assert [int(k) for k in model.estimated_tree(few).label] != [int(k) for k in model.tree_.label]


@pytest.mark.parametrize(
    ("crowd", "criterion"),
    thinned(
        [(TWO_GROUPS, "entropy"), (ONE_GROUP, "gini")],
        [(TWO_GROUPS, "gini"), (ONE_GROUP, "entropy")],
    ),
)
@pytest.mark.slow
def test_intervals_from_other_records_cover_the_truth_of_the_crowd(
    crowd: Crowd, criterion: str
) -> None:
    model = crowd.model(criterion)
    assert model.get_n_leaves() > 2
    truth = np.array([true_figures(rule) for rule in model.rules()])
    found = [model.rules(other) for other in crowd.surveys(SURVEYS)]
    covered = sum(_covers(each, truth, 1.0) for each in found)
    assert looks_like(covered, SURVEYS, np.full(truth.shape, LEVEL)), covered / SURVEYS
    control = sum(_covers(each, truth, 0.5) for each in found)
    assert not looks_like(control, SURVEYS, np.full(truth.shape, LEVEL)), control / SURVEYS


def _covers(found: TreeRules, truth: Array, part: float) -> Array:
    """Whether each interval holds the truth, if only this part of it around its centre is taken."""
    limits = [[rule.support_interval(LEVEL), rule.confidence_interval(LEVEL)] for rule in found]
    lower, upper = np.moveaxis(np.array(limits), 2, 0)
    centre, reach = (lower + upper) / 2, part * (upper - lower) / 2
    return np.asarray(np.abs(truth - centre) <= reach).astype(int)


def test_the_table_says_which_records_chose_the_tree_and_gave_the_figures() -> None:
    model = TWO_GROUPS.model()
    (other,) = TWO_GROUPS.surveys(1, SEED + 2)
    own, others = model.rules(), model.rules(other)
    assert "the 20,000 records that also chose the tree" in str(own)
    assert "20,000 records that did not choose the tree" in str(others)
    assert own.origin() in own._repr_html_()
    assert set(own.columns()["estimated_from"]) == {"learning records"}
    assert {rule["estimated_from"] for rule in others.to_dict()} == {"other records"}
    assert "all of them hold together with probability 90 %" in own.to_table(0.9).text()
    assert TreeRules().origin() == "no rules"


def test_intervals_are_wider_if_their_records_chose_the_tree() -> None:
    for chosen, given in zip(
        rules(TreeView(CART, SCHEMA, "ill")),
        rules(TreeView(CART, SCHEMA, "ill"), False),
        strict=True,
    ):
        assert (chosen.support, chosen.confidence) == (given.support, given.confidence)
        assert chosen.support_interval().lower < given.support_interval().lower
        assert chosen.confidence_interval().upper > given.confidence_interval().upper


def test_privacy_takes_the_rules_of_one_model_or_of_several() -> None:
    first, second = TWO_GROUPS.model(), TWO_GROUPS.model("gini")
    prior = {a.name: margin for a, margin in zip(SCHEMA, _margins(), strict=True)}
    alone = report(TWO_GROUPS.design, prior, rules=first.rules()).after_mining["ill"]
    recovered = sum(rule.support * rule.confidence for rule in first.rules())
    assert alone.rec_known == pytest.approx(recovered, rel=1e-12)
    both = report(TWO_GROUPS.design, prior, rules=[first.rules(), second.rules()])
    assert both.after_mining["ill"].rec_known >= alone.rec_known


def _margins() -> list[Array]:
    every = range(TRUE.ndim)
    return [TRUE.sum(axis=tuple(other for other in every if other != axis)) for axis in every]


def test_privacy_takes_the_prior_of_a_tree_with_leaves_of_no_records() -> None:
    empty = shares([[0.6, 0.4], [-0.01, 0.0], [0.61, 0.4], [0.3, 0.2], [0.31, 0.2]])
    told = rules(TreeView(empty, SCHEMA, "ill")).known
    assert report(TWO_GROUPS.design, rules=told).after_mining["ill"].rec_known > 0


def test_a_model_of_true_records_gives_rules_too() -> None:
    rng = np.random.default_rng(SEED)
    cells = rng.choice(TRUE.size, 500, p=TRUE.ravel())
    codes = np.stack(np.unravel_index(cells, TRUE.shape), axis=1)
    model = DecisionTree(max_depth=1).fit(codes[:, [0, 2]], codes[:, 1])
    found = model.rules()
    counted = [(model.apply(codes[:, [0, 2]]) == leaf).mean() for leaf in model.tree_.leaves]
    np.testing.assert_allclose([rule.support for rule in found], counted, rtol=1e-12)
    assert {rule.attribute for rule in found} == {"class"}


def test_reports_of_a_frame_are_taken_as_by_fit() -> None:
    rng = np.random.default_rng(SEED)
    cells = rng.choice(TRUE.size, 2000, p=TRUE.ravel())
    codes = np.stack(np.unravel_index(cells, TRUE.shape), axis=1).astype(np.uint8)
    reported = disguise(codes, TWO_GROUPS.design, rng)
    found = TWO_GROUPS.model().rules(reported)
    assert {rule.n_records for rule in found} == {2000}
