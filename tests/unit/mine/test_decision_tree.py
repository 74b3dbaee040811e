"""DecisionTree: what it says, and its parameters (tests/contracts: what every miner takes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import Design, Group, Schema, disguise, matrix, reconstruct, related, truthful
from tacit.core.label_codes import decode
from tacit.errors import DataError
from tacit.mine import DecisionTree
from tacit.mine.tree.growth import NONE, follow
from tacit.records import count, writing_records
from tests.support.families import attributes_of
from tests.support.illness import DESIGN, FEATURES, REPORTED, SCHEMA, true_records

CRITERIA = pytest.mark.parametrize("criterion", ["entropy", "gini"])


@pytest.fixture(scope="module")
def model() -> DecisionTree:
    return DecisionTree(DESIGN, "ill").fit(REPORTED)


# What it takes --------------------------------------------------------------------------------


def test_records_to_predict_may_be_a_frame_or_codes(model: DecisionTree) -> None:
    frame = decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")
    np.testing.assert_array_equal(model.predict(frame), model.predict(FEATURES))
    np.testing.assert_array_equal(model.apply(frame[["region", "smokes"]]), model.apply(FEATURES))


def test_wide_records_may_be_codes_a_frame_or_a_file(tmp_path: Path) -> None:
    """Such records are packed and not sorted; the tree has copied what it needs."""
    schema = Schema(attributes_of((2,) * 30))
    design = Design(schema, [Group(schema.names[i::3], related(0.9)) for i in range(3)])
    rng = np.random.default_rng(4)
    ill = rng.random((20_000, 1)) < 0.5
    true = (rng.random((20_000, 30)) < np.where(ill, 0.7, 0.3)).astype(np.uint8)
    reports = disguise(true, design, rng)
    expected = DecisionTree(design, "a0", "entropy", 2, 4).fit(count(reports, schema)).tree_
    assert len(expected) > 8
    path = tmp_path / "reports.parquet"
    with writing_records(path, schema) as write:
        write(reports)
    given = reports.copy()
    for records in (given, decode(reports, schema, "pandas"), path):
        model = DecisionTree(design, "a0", "entropy", 2, 4).fit(records)
        assert model.reports_().packed
        given[:] = 0
        for name in ("attribute", "child", "label_source"):
            np.testing.assert_array_equal(getattr(model.tree_, name), getattr(expected, name))
        again = follow(model.tree_, model.reports_())
        np.testing.assert_allclose(again.value, expected.value, rtol=0, atol=1e-9)


def test_few_and_many_records_are_predicted_alike(model: DecisionTree) -> None:
    """Many records are looked up by their cell, few go down the tree."""
    cells = np.indices((2, 3)).reshape(2, -1).T
    one_by_one = np.concatenate([model.apply(cell[None]) for cell in cells])
    np.testing.assert_array_equal(model.apply(np.tile(cells, (9, 1))), np.tile(one_by_one, 9))


@pytest.mark.parametrize("target", SCHEMA.names)
@CRITERIA
def test_any_attribute_can_be_the_target(target: str, criterion: str) -> None:
    model = DecisionTree(DESIGN, target, criterion).fit(REPORTED)
    assert model.target_index_ == SCHEMA.index(target)
    assert model.features_ is not None
    assert model.features_.names == tuple(name for name in SCHEMA.names if name != target)
    assert list(model.classes_) == list(SCHEMA[target].categories)
    others = np.delete(true_records(), model.target_index_, axis=1)
    right = np.mean(model.predict(others) == model.classes_[true_records()[:, model.target_index_]])
    commonest = np.bincount(true_records()[:, model.target_index_]).max() / len(others)
    assert right > commonest


def test_a_class_reported_jointly_with_others_can_be_the_target() -> None:
    joint = np.eye(4) * 0.7 + 0.075
    groups = [Group(["ill", "smokes"], matrix((joint / joint.sum(axis=0)).tolist()))]
    design = Design(SCHEMA, [*groups, Group(["region"], truthful())])
    reports = disguise(true_records(), design, np.random.default_rng(5))
    model = DecisionTree(design, "ill").fit(reports)
    assert np.mean(model.predict(FEATURES) == "yes") > 0.1
    np.testing.assert_allclose(
        model.prior().value, reconstruct(reports, design).table(["ill"]).value, atol=1e-12
    )


def test_the_order_of_the_records_does_not_matter(model: DecisionTree) -> None:
    again = DecisionTree(DESIGN, "ill").fit(REPORTED[::-1])
    np.testing.assert_array_equal(again.tree_.attribute, model.tree_.attribute)
    np.testing.assert_allclose(again.tree_.value, model.tree_.value, rtol=0, atol=1e-12)


# What it says ---------------------------------------------------------------------------------


@CRITERIA
@pytest.mark.parametrize("caution", [0, 2, None])
def test_the_prior_is_the_reconstructed_table_of_the_class(
    criterion: str, caution: float | None
) -> None:
    fitted = DecisionTree(DESIGN, "ill", criterion, caution).fit(REPORTED)
    found, expected = fitted.prior(), reconstruct(REPORTED, DESIGN).table(["ill"])
    np.testing.assert_allclose(found.value, expected.value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.stderr, expected.stderr, rtol=1e-9)
    assert [a.name for a in found.attributes] == ["ill"]


def test_sizes_of_the_tree(model: DecisionTree) -> None:
    assert model.get_n_leaves() == len(model.tree_.leaves) > 1
    assert 1 <= model.get_depth() <= 2
    assert set(model.apply(FEATURES)) <= set(model.tree_.leaves)
    assert DecisionTree(DESIGN, "ill", max_depth=0).fit(REPORTED).get_depth() == 0


def test_known_takes_other_reports(model: DecisionTree) -> None:
    other = disguise(true_records(), DESIGN, np.random.default_rng(77))
    known = model.estimated_tree(other)
    expected = reconstruct(other, DESIGN).table(["ill"])
    np.testing.assert_allclose(known.value[0], expected.value, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(known.attribute, model.tree_.attribute)
    unbiased = DecisionTree(DESIGN, "ill", caution=2).fit(REPORTED)
    assert unbiased.estimated_tree() is unbiased.tree_


def test_notes_are_few_when_all_is_well_known(model: DecisionTree) -> None:
    assert "it is uncertain which class is the most common" not in model.notes()
    assert not any("no split" in note for note in model.notes())


def test_a_tree_of_one_leaf_says_so() -> None:
    rng = np.random.default_rng(1)
    design = Design(SCHEMA, [Group(SCHEMA.names, related(0.7))])
    fitted = DecisionTree(design, "ill", max_depth=0).fit(disguise(true_records(), design, rng))
    assert fitted.get_n_leaves() == 1
    assert set(fitted.predict(FEATURES)) == {"no"}
    assert any("every record gets" in note for note in fitted.notes())


def test_leaves_within_noise_are_counted_in_the_notes() -> None:
    """One class is rare, so its leaves do not differ significantly from those of the other."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        few = true_records(300)
        fitted = DecisionTree(DESIGN, "ill", caution=0.3).fit(disguise(few, DESIGN, rng))
        sources = fitted.tree_.label_source[fitted.tree_.leaves]
        within = int((sources != fitted.tree_.leaves).sum())
        said = [note for note in fitted.notes() if "take their parent's class" in note]
        assert len(said) == (within > 0)
        assert all(note.endswith(f": {within} of {fitted.get_n_leaves()}") for note in said)


def test_a_category_nobody_reports_takes_the_class_of_its_parent() -> None:
    """No record is of the south; where the region is asked first the root decides."""
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    fitted = DecisionTree(design, "ill").fit(np.array([[0, 0, 0], [0, 0, 0], [0, 1, 1]]))
    assert fitted.tree_.attribute[0] == 2
    assert list(fitted.predict(np.array([[0, 0], [0, 1], [0, 2]]))) == ["no", "yes", "no"]
    assert fitted.notes()[-1] == "leaves within noise that take their parent's class: 1 of 3"


def test_without_a_design_standard_errors_are_those_of_true_answers() -> None:
    prior = DecisionTree().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1]).prior()
    np.testing.assert_allclose(prior.value, [1 / 3, 2 / 3])
    np.testing.assert_allclose(prior.stderr, np.sqrt(2 / 9 / 3))


def test_one_record_gives_one_leaf() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    fitted = DecisionTree(design, "ill").fit(np.array([[0, 1, 2]]))
    assert fitted.tree_.attribute.tolist() == [NONE]
    assert list(fitted.predict(FEATURES[:2])) == ["yes", "yes"]


def test_class_and_attribute_without_a_relation_still_split_when_undisguised() -> None:
    """Neither attribute gains anything by itself, both together tell all."""
    schema = Schema(attributes_of((2, 2, 2)))
    design = Design(schema, [Group(schema.names, truthful())])
    records = np.array([[a, b, a ^ b] for a in (0, 1) for b in (0, 1)])
    for criterion in ("entropy", "gini"):
        fitted = DecisionTree(design, "a2", criterion).fit(records)
        assert list(fitted.predict(records[:, :2])) == ["c0", "c1", "c1", "c0"]


# Mistakes -------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown criterion": (
        {"criterion": "entropi"}, "criterion 'entropi'; did you mean 'entropy'"
    ),
    "no criterion": ({"criterion": None}, "criterion None; known: 'entropy', 'gini'"),
    **{
        f"caution {wrong!r}": ({"caution": wrong}, "caution must be a number from 0 up, got")
        for wrong in (-1, -1e-9, float("nan"), float("inf"), True, "2", 1 + 0j)
    },
    **{
        f"max_depth {wrong!r}": (
            {"max_depth": wrong}, "max_depth must be a whole number from 0 up, or None, got"
        )
        for wrong in (-1, 2.0, True, "3", float("nan"))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_in_a_parameter_is_one_clear_error(name: str) -> None:
    parameters, message = MISTAKES[name]
    with pytest.raises(DataError, match=message):
        DecisionTree(DESIGN, "ill", **parameters).fit(REPORTED)


@pytest.mark.parametrize(
    "wrong", [{"criterion": "id3"}, {"caution": float("nan")}, {"max_depth": -1}], ids=str
)
def test_parameters_are_checked_without_a_design_too(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=next(iter(wrong))):
        DecisionTree(**wrong).fit([[0, 1], [1, 0]], [0, 1])


def test_without_a_design_other_reports_cannot_be_read() -> None:
    fitted = DecisionTree().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match="reported records"):
        fitted.estimated_tree(REPORTED)
