"""Testing trees: exact for any number of groups, and the same as by copies of records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.channel import matrix, related, truthful, uniform_perturbation
from tacit.errors import DataError
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import DecisionTree

SCHEMA = Schema([*(Attribute(f"a{i}", [0, 1]) for i in range(4)), Attribute("c", ["x", "y", "z"])])
JOINT = matrix([["3/4" if i == j else "1/20" for j in range(6)] for i in range(6)])
DESIGNS = {
    "truthful": [Group(SCHEMA.names, truthful())],
    "joint matrix": [Group(["a0", "c"], JOINT), Group(["a1", "a2", "a3"], related("4/5"))],
    "three groups": [
        Group(["c"], uniform_perturbation("9/10")),
        Group(["a0", "a1"], related("4/5")),
        Group(["a2", "a3"], related("7/10")),
    ],
}


class ByCopies:
    """The same model, but it does not tell what a report counts."""

    def __init__(self, model: DecisionTree) -> None:
        self.predict, self.classes_ = model.predict, model.classes_
        self.target, self.features_ = model.target, model.features_


def records(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 2, (n, 4))
    classes = np.where(rng.random(n) < 0.8, answers[:, 0] + answers[:, 1], rng.integers(0, 3, n))
    return np.column_stack([answers, classes]).astype(np.uint8)


@pytest.mark.parametrize("groups", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_what_leaves_tell_is_what_copies_of_records_tell(groups: Any, criterion: str) -> None:
    design = Design(SCHEMA, groups)
    learnt, tested = (
        disguise(records(3000, seed), design, np.random.default_rng(seed)) for seed in (1, 2)
    )
    model = DecisionTree(design, "c", criterion).fit(learnt)
    assert model.get_n_leaves() > 2
    for measure in (accuracy, confusion, recall):
        ours, copies = (measure(m, tested, design) for m in (model, ByCopies(model)))
        np.testing.assert_allclose(ours.value, copies.value, atol=1e-12)
        np.testing.assert_allclose(ours.stderr, copies.stderr, rtol=1e-9)


@pytest.mark.slow
def test_a_design_of_twenty_groups_can_be_tested_and_scored() -> None:
    schema = Schema([Attribute(f"a{i}", ["x", "y", "z"]) for i in range(20)])
    design = Design(schema, [Group([name], uniform_perturbation("4/5")) for name in schema.names])
    rng = np.random.default_rng(3)
    true = rng.integers(0, 3, (12_000, 20)).astype(np.uint8)
    true[:, 0] = np.where(rng.random(12_000) < 0.9, true[:, 1], true[:, 0])
    reported = disguise(true, design, rng)
    model = DecisionTree(design, "a0").fit(reported[:8000])
    found = accuracy(model, reported[8000:], design)
    labels = np.array(schema["a0"].categories)
    right = np.mean(model.predict(true[8000:, 1:]) == labels[true[8000:, 0]])
    assert abs(float(found) - right) < 5 * float(found.stderr) < 0.1
    assert model.score(reported[8000:]) == float(found)


def test_changing_caution_after_fitting_changes_no_standard_error() -> None:
    design = Design(SCHEMA, DESIGNS["three groups"])
    model = DecisionTree(design, "c", caution=0).fit(
        disguise(records(2000, 5), design, np.random.default_rng(5))
    )
    before = model.prior().stderr
    np.testing.assert_array_equal(model.set_params(caution=2.0).prior().stderr, before)


def test_too_large_a_category_of_undisguised_records_is_a_clear_error() -> None:
    with pytest.raises(DataError, match="category 5000 is too large: number the categories"):
        DecisionTree().fit([[0], [5000]], [0, 1])
