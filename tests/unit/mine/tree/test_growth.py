"""grow and follow: how the rule works, and that a grown tree reads other reports as its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    matrix,
    reconstruct,
    related,
    truthful,
    unrelated,
)
from tacit.core.arrays import Array
from tacit.mine import DecisionTree
from tacit.mine.tree import cells, tables
from tacit.mine.tree.growth import CRITERIA, NONE, GrowthSettings, Tree, branches_of, follow, grow
from tacit.mine.tree.tables import TreeReports
from tacit.records import count

SCHEMA = Schema(
    [
        Attribute("ill", ["no", "yes"]),
        Attribute("smokes", ["no", "yes"]),
        Attribute("region", ["north", "east", "south"]),
        Attribute("owns", ["no", "yes"]),
    ]
)
HALF = ["1/2", "1/2"]
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.2], [0.1, 0.1, 0.7]]
DESIGNS = {
    "one related group": [Group(SCHEMA.names, related(0.8))],
    "class by itself": [Group(["ill"], truthful()), Group(SCHEMA.names[1:], related(0.8))],
    "three families": [
        Group(["ill", "smokes"], unrelated(0.6, HALF)),
        Group(["region"], matrix(THREE)),
        Group(["owns"], related(0.9)),
    ],
    "undisguised": [Group(SCHEMA.names, truthful())],
}
every_design = pytest.mark.parametrize("name", DESIGNS)
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)
ROUNDING: dict[str, Any] = dict(rtol=0, atol=1e-12)


def true_records(n: int = 6000) -> Any:
    """Owning a car tells nothing; the other two tell much."""
    rng = np.random.default_rng(2)
    ill = rng.random(n) < 0.4
    smokes = rng.random(n) < np.where(ill, 0.8, 0.2)
    region = np.where(ill, rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.choice(3, n, p=[0.1, 0.3, 0.6]))
    owns = rng.random(n) < 0.5
    return np.stack([ill, smokes, region, owns], axis=1).astype(np.uint8)


def design_of(name: str) -> Design:
    return Design(SCHEMA, DESIGNS[name])


def reports_of(name: str, seed: int = 3) -> TreeReports:
    design = design_of(name)
    reported = disguise(true_records(), design, np.random.default_rng(seed))
    return TreeReports.of(count(reported, design.reported), design, "ill")


def same(one: Tree, other: Tree) -> None:
    for field in ("attribute", "parent", "child", "label_source"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    np.testing.assert_allclose(one.value, other.value, **ROUNDING)
    np.testing.assert_allclose(one.covariance, other.covariance, **ROUNDING)


# grow --------------------------------------------------------------------------------------------


@every_design
@every_criterion
def test_what_is_looked_at_together_changes_nothing(
    name: str, criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = GrowthSettings(CRITERIA[criterion], 0.5)
    whole = grow(reports_of(name), settings)
    assert whole.depth.max() > 1
    monkeypatch.setattr(tables, "ROWS", 8)
    monkeypatch.setattr(tables, "MEMORY", 8)
    monkeypatch.setattr(cells, "ROWS", 8)
    parted = grow(reports_of(name), settings)
    same(parted, whole)
    same(follow(whole, reports_of(name)), whole)


@every_design
def test_the_first_question_is_one_that_tells_the_class(name: str) -> None:
    tree = grow(reports_of(name), GrowthSettings(CRITERIA["entropy"], 2.0))
    assert SCHEMA.names[tree.attribute[0]] in ("smokes", "region")


@every_design
def test_shares_of_children_add_up_to_those_of_their_parent(name: str) -> None:
    tree = grow(reports_of(name), GrowthSettings(CRITERIA["gini"], 0.5))
    for node in np.flatnonzero(tree.attribute != NONE):
        below = np.unique(tree.child[node][tree.child[node] != NONE])
        np.testing.assert_allclose(tree.value[below].sum(axis=0), tree.value[node], **ROUNDING)


@every_design
def test_nodes_stand_in_depth_first_order(name: str) -> None:
    tree = grow(reports_of(name), GrowthSettings(CRITERIA["entropy"], 0.5))
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    for node in range(len(tree)):
        below = [n for n in range(len(tree)) if node in _path(tree, n)]
        assert below == list(range(node, node + len(below)))


def _path(tree: Tree, node: int) -> list[int]:
    found = [node]
    while found[-1] > 0:
        found.append(int(tree.parent[found[-1]]))
    return found


def test_more_caution_never_makes_a_larger_tree() -> None:
    sizes = [
        len(grow(reports_of("one related group"), GrowthSettings(CRITERIA["gini"], caution)))
        for caution in (0.0, 0.5, 2.0, 4.0, 30.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2] > sizes[-1]


@every_criterion
def test_no_split_is_made_beyond_the_depth_allowed(criterion: str) -> None:
    for depth in range(4):
        tree = grow(
            reports_of("one related group"), GrowthSettings(CRITERIA[criterion], 0.0, depth)
        )
        assert tree.depth.max() == (depth if criterion == "gini" else min(depth, 3))


@every_criterion
def test_undisguised_leaves_are_pure_or_hold_records_that_answer_alike(criterion: str) -> None:
    tree = grow(reports_of("undisguised"), GrowthSettings(CRITERIA[criterion], 2.0))
    records = true_records()
    leaves = tree.find(records[:, 1:], 0)
    for leaf in np.unique(leaves):
        here = records[leaves == leaf]
        alike = (here[:, 1:] == here[0, 1:]).all()
        assert alike or len(np.unique(here[:, 0])) == 1


def test_records_that_are_all_of_one_class_are_not_split() -> None:
    reports = TreeReports.true(np.array([[0, 0], [0, 1]]), np.array([0.4, 0.6]), (2, 2), 0, 10)
    tree = grow(reports, GrowthSettings(CRITERIA["entropy"], 2.0))
    assert len(tree) == 1
    np.testing.assert_array_equal(tree.chances, [[1, 0]])


def test_a_class_must_lead_by_more_where_more_attributes_were_tried() -> None:
    settings = GrowthSettings(CRITERIA["entropy"], 2.0)
    leads = [settings.least_lead(n) for n in (1, 2, 5, 14, 100)]
    assert leads[0] == pytest.approx(2.0)
    assert leads == sorted(set(leads))
    assert GrowthSettings(CRITERIA["entropy"], 0.0).least_lead(14) == 0.0


def test_a_cell_must_stand_out_by_more_in_a_larger_table() -> None:
    """As rare as `caution` standard errors, divided by the cells that are free to differ."""
    settings = GrowthSettings(CRITERIA["entropy"], 2.0)
    assert settings.least_dependence(2, 2) == pytest.approx(2.0)
    for k, c in ((3, 2), (4, 3), (42, 2)):
        assert norm.sf(settings.least_dependence(k, c)) == pytest.approx(
            norm.sf(2.0) / ((k - 1) * (c - 1))
        )


# follow ------------------------------------------------------------------------------------------


@every_design
@every_criterion
def test_a_tree_read_from_its_own_reports_is_as_it_was(name: str, criterion: str) -> None:
    tree = grow(reports_of(name), GrowthSettings(CRITERIA[criterion], 0.5))
    same(follow(tree, reports_of(name)), tree)


@every_design
def test_a_tree_read_from_other_reports_has_their_shares(name: str) -> None:
    tree = grow(reports_of(name), GrowthSettings(CRITERIA["gini"], 0.5))
    other = follow(tree, reports_of(name, seed=99))
    np.testing.assert_array_equal(other.attribute, tree.attribute)
    np.testing.assert_array_equal(other.label_source, tree.label_source)
    true = true_shares(tree)
    error = np.sqrt(np.diagonal(other.covariance, axis1=1, axis2=2)) + 1e-9
    assert (np.abs(other.value - true) < 6 * error).all()
    assert name == "undisguised" or np.abs(other.value - tree.value).max() > 1e-4


def true_shares(tree: Tree) -> Array:
    """P(node, class) among the true records."""
    records = true_records()
    found = []
    for node in range(len(tree)):
        inside = np.ones(len(records), bool)
        for a, categories in tree.conditions(node):
            inside &= np.isin(records[:, a], categories)
        found.append(np.bincount(records[inside, 0], minlength=2) / len(records))
    return np.array(found)


def test_branches_are_numbered_by_their_first_category() -> None:
    child = np.array([[5, 7, 5, NONE], [NONE] * 4, [1, 2, 3, 4]])
    expected = [[0, 1, 0, NONE], [NONE] * 4, [0, 1, 2, 3]]
    np.testing.assert_array_equal(branches_of(child), expected)


def test_the_papers_procedure_has_its_errors_read_from_the_reports() -> None:
    """With caution 0 the tree is grown from the joint table; its errors are known all the same."""
    design = design_of("three families")
    reported = disguise(true_records(), design, np.random.default_rng(3))
    literal = DecisionTree(design, "ill", caution=0).fit(reported)
    known = literal.estimated_tree()
    same(known, follow(literal.tree_, reports_of("three families")))
    assert known is literal.estimated_tree()
    careful = DecisionTree(design, "ill").fit(reported)
    np.testing.assert_allclose(literal.prior().stderr, careful.prior().stderr, **ROUNDING)


@pytest.mark.parametrize("n_records", [15, 16, 17])
def test_as_many_records_as_the_joint_table_has_cells_are_not_counted_as_cells(
    n_records: int,
) -> None:
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abcd"])
    design = Design(schema, [Group(schema.names, related(0.8))])
    rng = np.random.default_rng(1)
    reported = disguise(rng.integers(0, 2, (n_records, 4)), design, rng)
    literal = DecisionTree(design, "d", caution=0).fit(reported)
    expected = reconstruct(reported, design).table(["d"]).value
    np.testing.assert_allclose(literal.tree_.value[0], expected, **ROUNDING)
