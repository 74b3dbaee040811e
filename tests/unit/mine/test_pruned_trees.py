"""Pruning and the choice of depth, on disguised records alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful, unrelated
from tacit.errors import DataError
from tacit.evaluate import accuracy
from tacit.mine import (
    DecisionTree,
    NaiveBayes,
    choose_depth,
    cost_complexity,
    cost_complexity_path,
    model_from_json,
    model_to_json,
    reduced_error,
)
from tacit.mine.pruned_trees import leaf_prices, right_by_depth
from tacit.mine.tree.growth import NodeWalk
from tacit.mine.tree.tables import TreeReports
from tacit.reconstruction import reconstruct

SCHEMA = Schema([*(Attribute(f"a{i}", ["no", "yes"]) for i in range(6)), Attribute("c", [0, 1, 2])])
DESIGNS = {
    "truthful": Design(SCHEMA, [Group(SCHEMA.names, truthful())]),
    "one related group": Design(SCHEMA, [Group(SCHEMA.names, related("4/5"))]),
    "mixed": Design(
        SCHEMA,
        [
            Group(["a0", "a1", "c"], related("9/10")),
            Group(["a2", "a3"], unrelated("4/5", ["1/2", "1/2"])),
            Group(["a4", "a5"], truthful()),
        ],
    ),
}
every_design = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)


def true_records(n: int, seed: int) -> Any:
    """The class depends on a0, and where that is no on a1 and a2 together; the rest is noise."""
    rng = np.random.default_rng(seed)
    answers = rng.random((n, 6)) < 0.5
    clear = rng.random(n) < 0.85
    classes = np.where(answers[:, 0], 0, 1 + (answers[:, 1] & answers[:, 2]))
    return np.column_stack([answers, np.where(clear, classes, rng.integers(0, 3, n))]).astype(
        np.uint8
    )


def grown(design: Design, n: int = 4000, seed: int = 1, **options: Any) -> DecisionTree:
    reports = disguise(true_records(n, seed), design, np.random.default_rng(seed))
    return DecisionTree(design, "c", **options).fit(reports)


def validation(design: Design, n: int = 2000) -> Any:
    return disguise(true_records(n, 9), design, np.random.default_rng(9))


@every_design
def test_reduced_error_shrinks_a_full_tree_and_does_not_harm_it(design: Design) -> None:
    model = grown(design, caution=0)
    pruned = reduced_error(model, validation(design))
    fresh = true_records(20_000, 5)
    right = [np.mean(m.predict(fresh[:, :-1]) == fresh[:, -1]) for m in (model, pruned)]
    assert pruned.get_n_leaves() * 3 <= model.get_n_leaves()
    assert right[1] > right[0] - 0.01, "a hundredth is three standard errors of the difference"


@pytest.mark.parametrize("name", ["truthful", "mixed"])  # the other one is tested by draws
def test_the_gain_of_a_subtree_is_the_difference_of_the_accuracies(name: str) -> None:
    design = DESIGNS[name]
    model, reports = grown(design), validation(design)
    whole = accuracy(model, reports, design)
    alone = accuracy(model.cut(np.arange(len(model.tree_)) == 0), reports, design)
    found = TreeReports.of(reconstruct(reports, design).patterns, design, "c")
    below = right_by_depth(model.tree_, found, model.get_depth())
    means = below @ found.shares
    np.testing.assert_allclose(means[[0, -1]], [alone.value, whole.value], atol=1e-12)
    spread = (found.shares @ below[-1] ** 2 - means[-1] ** 2) / found.n_records
    np.testing.assert_allclose(np.sqrt(spread), whole.stderr, rtol=1e-9)


def test_children_of_a_node_together_weigh_what_the_node_does() -> None:
    design = DESIGNS["mixed"]
    model = grown(design)
    reports = TreeReports.of(reconstruct(validation(design), design).patterns, design, "c")
    root = NodeWalk.root(model.tree_, reports)
    rows = root.tables
    own = np.bincount(rows.pattern, rows.by_row()[:, 1], len(reports.shares))
    below = sum(
        np.bincount(child.tables.pattern, child.tables.by_row()[:, 1], len(reports.shares))
        for child in root.children()
    )
    np.testing.assert_allclose(below, own, atol=1e-12)


def test_a_subtree_that_the_validation_records_contradict_is_cut() -> None:
    design = DESIGNS["truthful"]
    model = grown(design, n=60, caution=0)
    assert reduced_error(model, validation(design)).get_n_leaves() < model.get_n_leaves()


def test_pruning_gives_a_new_model_and_leaves_the_old_one() -> None:
    design = DESIGNS["one related group"]
    model = grown(design, caution=0)
    before = model.get_n_leaves()
    pruned = reduced_error(model, validation(design))
    assert model.get_n_leaves() == before
    assert type(pruned) is DecisionTree
    assert pruned.get_params() == model.get_params()
    assert pruned.prior().value == pytest.approx(model.prior().value)


def brute_force_prices(model: DecisionTree) -> list[tuple[float, int]]:
    """Breiman's weakest links, one at a time, every subtree counted again."""
    tree, found = model.tree_, []
    alpha = -np.inf
    while len(tree) > 1:
        wrong = tree.value.sum(axis=1) - tree.value[np.arange(len(tree)), tree.label]
        inner = np.flatnonzero(tree.attribute >= 0)
        inside = {t: [n for n in tree.leaves if t in _above(tree, n)] for t in inner}
        links = [(wrong[t] - wrong[inside[t]].sum()) / (len(inside[t]) - 1) for t in inner]
        alpha = max(alpha, min(links))
        tree = tree.cut(np.isin(np.arange(len(tree)), inner[np.array(links) <= alpha + 1e-15]))
        found.append((alpha, len(tree.leaves)))
    return found


def _above(tree: Any, node: int) -> set[int]:
    path = set()
    while node:
        node = int(tree.parent[node])
        path.add(node)
    return path


@every_design
def test_prices_are_those_of_the_weakest_links(design: Design) -> None:
    model = grown(design, n=600, caution=0)
    alphas, leaves = cost_complexity_path(model)
    expected = dict(brute_force_prices(model))
    for alpha, left in expected.items():
        near = alphas[np.abs(alphas - alpha).argmin()]
        assert near == pytest.approx(alpha, abs=1e-12)
        last = np.flatnonzero(alphas <= near + 1e-12)[-1]
        assert leaves[last] == left


@every_design
def test_every_price_of_the_path_gives_the_leaves_it_says(design: Design) -> None:
    model = grown(design, n=600, caution=0)
    alphas, leaves = cost_complexity_path(model)
    assert (alphas >= 0).all()
    assert [cost_complexity(model, alpha).get_n_leaves() for alpha in alphas] == leaves.tolist()


def test_a_saved_model_cannot_be_pruned_by_records_it_does_not_hold() -> None:
    design = DESIGNS["truthful"]
    saved = model_from_json(model_to_json(grown(design))).set_params(design=design)
    with pytest.raises(DataError, match="does not contain its reports"):
        reduced_error(saved, validation(design))


def test_a_higher_price_gives_a_smaller_tree_down_to_the_root() -> None:
    model = grown(DESIGNS["one related group"], caution=0)
    sizes = [cost_complexity(model, alpha).get_n_leaves() for alpha in (0, 1e-3, 1e-2, 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert np.isinf(leaf_prices(model.tree_)[model.tree_.leaves]).all()


@pytest.mark.slow
@every_design
def test_the_depth_is_chosen_by_cross_validation(design: Design) -> None:
    reports = disguise(true_records(6000, 3), design, np.random.default_rng(3))
    found = choose_depth(DecisionTree(design, "c"), reports, folds=4, deepest=5)
    assert found.accuracy.shape == found.stderr.shape == (6,)
    assert found.best >= 3, "the class depends on three attributes"
    assert found.chosen == 3
    assert "chosen" in str(found)
    again = choose_depth(DecisionTree(design, "c"), reports, folds=4, deepest=5)
    np.testing.assert_array_equal(again.accuracy, found.accuracy)


def test_cross_validation_does_not_test_on_what_it_learnt() -> None:
    design = DESIGNS["truthful"]
    rng = np.random.default_rng(4)
    noise = np.column_stack([rng.integers(0, 2, (300, 6)), rng.integers(0, 3, 300)])
    found = choose_depth(DecisionTree(design, "c"), noise.astype(np.uint8), deepest=6)
    learnt = DecisionTree(design, "c").fit(noise.astype(np.uint8))
    assert found.accuracy[-1] < 0.45
    assert learnt.score(noise.astype(np.uint8)) > 0.45


BAD = {
    "caution": (lambda m, r: reduced_error(m, r, -1), "caution must be a number from 0 up, got -1"),
    "alpha": (lambda m, r: cost_complexity(m, float("nan")), "alpha must be a number from 0 up"),
    "folds": (lambda m, r: choose_depth(m, r, folds=1), "folds must be a whole number from 2 up"),
    "deepest": (lambda m, r: choose_depth(m, r, deepest=-1), "deepest must be a whole number"),
    "few": (lambda m, r: choose_depth(m, r[:3]), "5 folds need at least 5 records, got 3"),
    "plain": (lambda m, r: choose_depth(DecisionTree(), r), "with a design and a target"),
}


@pytest.mark.parametrize(("call", "said"), BAD.values(), ids=BAD)
def test_bad_arguments_are_one_clear_error(call: Any, said: str) -> None:
    design = DESIGNS["truthful"]
    with pytest.raises(DataError, match=said):
        call(grown(design, n=200), validation(design))


def test_pruning_is_for_trees() -> None:
    design = DESIGNS["truthful"]
    model = NaiveBayes(design, "c").fit(validation(design))
    with pytest.raises(DataError, match="DecisionTree"):
        reduced_error(model, validation(design))  # type: ignore[arg-type]
