"""DecisionTree: what it takes, what it says, and one clear error for each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tacit import Attribute, Design, Group, Schema, disguise, matrix, reconstruct, related, truthful
from tacit.counting import count
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError, TacitError
from tacit.evaluate import accuracy
from tacit.label_codes import decode
from tacit.mine import DecisionTree
from tacit.mine.tree.tree import NONE
from tests.support.families import attributes_of

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("ill", ["no", "yes"]),
        Attribute("region", ["north", "east", "south"]),
    ]
)
DESIGN = Design(SCHEMA, [Group(["ill", "smokes"], related(0.8)), Group(["region"], related(0.7))])
CRITERIA = pytest.mark.parametrize("criterion", ["entropy", "gini"])


def true_records(n: int = 4000) -> Any:
    rng = np.random.default_rng(2)
    ill = rng.random(n) < 0.3
    smokes = rng.random(n) < np.where(ill, 0.8, 0.2)
    region = np.where(ill, rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.choice(3, n, p=[0.1, 0.3, 0.6]))
    return np.stack([smokes, ill, region], axis=1).astype(np.uint8)


REPORTED = disguise(true_records(), DESIGN, np.random.default_rng(3))
FEATURES = true_records()[:50, [0, 2]]


@pytest.fixture(scope="module")
def model() -> DecisionTree:
    return DecisionTree(DESIGN, "ill").fit(REPORTED)


def same(one: DecisionTree, other: DecisionTree) -> None:
    np.testing.assert_array_equal(one.predict_proba(FEATURES), other.predict_proba(FEATURES))


# What it takes --------------------------------------------------------------------------------


def test_frames_codes_pattern_tables_and_files_give_the_same_model(
    model: DecisionTree, tmp_path: Path
) -> None:
    for backend in ("pandas", "polars", "pyarrow"):
        same(DecisionTree(DESIGN, "ill").fit(decode(REPORTED, SCHEMA, backend)), model)
    same(DecisionTree(DESIGN, "ill").fit(count(REPORTED, DESIGN.reported)), model)
    path = tmp_path / "reports.parquet"
    decode(REPORTED, SCHEMA, "polars").write_parquet(path)
    same(DecisionTree(DESIGN, "ill").fit(path), model)


def test_the_class_may_come_apart_as_y(model: DecisionTree) -> None:
    labels = np.array(["no", "yes"])[REPORTED[:, 1]]
    same(DecisionTree(DESIGN, "ill").fit(REPORTED[:, [0, 2]], labels), model)
    same(DecisionTree(DESIGN, "ill").fit(REPORTED[:, [0, 2]], REPORTED[:, 1]), model)


def test_records_to_predict_may_be_a_frame_or_codes(model: DecisionTree) -> None:
    frame = decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")
    np.testing.assert_array_equal(model.predict(frame), model.predict(FEATURES))
    np.testing.assert_array_equal(model.apply(frame[["region", "smokes"]]), model.apply(FEATURES))


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


# What it says ---------------------------------------------------------------------------------


@CRITERIA
@pytest.mark.parametrize("caution", [0, 2])
def test_the_prior_is_the_reconstructed_table_of_the_class(criterion: str, caution: float) -> None:
    fitted = DecisionTree(DESIGN, "ill", criterion, caution).fit(REPORTED)
    found, expected = fitted.prior(), reconstruct(REPORTED, DESIGN).table(["ill"])
    np.testing.assert_allclose(found.value, expected.value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.stderr, expected.stderr, rtol=1e-9)
    assert [a.name for a in found.attributes] == ["ill"]


def test_chances_sum_to_one_and_are_largest_for_what_is_predicted(model: DecisionTree) -> None:
    chances = model.predict_proba(FEATURES)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    assert (chances >= 0).all()
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(FEATURES))


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
    assert model.estimated_tree() is model.tree_


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
    """One class is rare, so its leaves cannot be told apart from those of the other."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        few = true_records(300)
        fitted = DecisionTree(DESIGN, "ill", caution=0.3).fit(disguise(few, DESIGN, rng))
        sources = fitted.tree_.label_source[fitted.tree_.leaves]
        within = int((sources != fitted.tree_.leaves).sum())
        said = [note for note in fitted.notes() if "take their parent's class" in note]
        assert len(said) == (within > 0)
        assert all(note.endswith(f": {within} of {fitted.get_n_leaves()}") for note in said)


def test_the_score_is_the_estimated_accuracy(model: DecisionTree) -> None:
    assert model.score(REPORTED) == float(accuracy(model, REPORTED, DESIGN))


def test_fitting_again_forgets_the_first_reports() -> None:
    fitted = DecisionTree(DESIGN, "ill", caution=0).fit(REPORTED)
    before = fitted.prior().stderr
    after = fitted.fit(REPORTED[:400]).prior().stderr
    assert (after > 2 * before).all()


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

MISTAKES: dict[str, tuple[Any, Any, type[TacitError], str]] = {
    "target not in the schema": (
        lambda: DecisionTree(DESIGN, "smoke"), REPORTED, SchemaError, "'smoke'.*'smokes'"
    ),
    "no target": (lambda: DecisionTree(DESIGN), REPORTED, DataError, "target must name"),
    "an unknown criterion": (
        lambda: DecisionTree(DESIGN, "ill", "entropi"),
        REPORTED, DataError, "criterion 'entropi'; did you mean 'entropy'",
    ),
    "no criterion": (
        lambda: DecisionTree(DESIGN, "ill", None),
        REPORTED, DataError, "criterion None; known: 'entropy', 'gini'",
    ),
    **{
        f"caution {wrong!r}": (
            lambda wrong=wrong: DecisionTree(DESIGN, "ill", caution=wrong),
            REPORTED, DataError, "caution must be a number from 0 up, got",
        )
        for wrong in (-1, -1e-9, float("nan"), float("inf"), True, "2", None, 1 + 0j)
    },
    **{
        f"max_depth {wrong!r}": (
            lambda wrong=wrong: DecisionTree(DESIGN, "ill", max_depth=wrong),
            REPORTED, DataError, "max_depth must be a whole number from 0 up, or None, got",
        )
        for wrong in (-1, 2.0, True, "3", float("nan"))
    },
    "no records": (lambda: DecisionTree(DESIGN, "ill"), REPORTED[:0], DataError, "0 records"),
    "an empty frame": (
        lambda: DecisionTree(DESIGN, "ill"),
        decode(REPORTED[:1], SCHEMA, "pandas")[:0], DataError, "record",
    ),
    "too few columns": (
        lambda: DecisionTree(DESIGN, "ill"), REPORTED[:, :2], DataError, "3 attributes"
    ),
    "a code out of range": (
        lambda: DecisionTree(DESIGN, "ill"), REPORTED + 2, DataError, "allowed: 0 to"
    ),
    "a frame without a column": (
        lambda: DecisionTree(DESIGN, "ill"), pd.DataFrame({"ill": ["no"], "smokes": ["no"]}),
        TacitError, "region",
    ),
    "a design of another type": (
        lambda: DecisionTree(DESIGN.to_json(), "ill"), REPORTED, DesignError, "Design, got str"
    ),
    "a pattern table of another schema": (
        lambda: DecisionTree(DESIGN, "ill"),
        count(REPORTED, Schema(attributes_of((2, 2, 3)))), DataError, "another schema",
    ),
    "a design that tells nothing": (
        lambda: DecisionTree(Design(SCHEMA, [Group(SCHEMA.names, related(0.5))]), "ill"),
        REPORTED, SingularChannelError, "theta=1/2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_in_fitting_is_one_clear_error(name: str) -> None:
    make, records, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        make().fit(records)


@pytest.mark.parametrize(
    "wrong", [{"criterion": "id3"}, {"caution": float("nan")}, {"max_depth": -1}], ids=str
)
def test_parameters_are_checked_without_a_design_too(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=next(iter(wrong))):
        DecisionTree(**wrong).fit([[0, 1], [1, 0]], [0, 1])


def test_a_schema_with_the_class_alone_has_nothing_to_learn_from() -> None:
    design = Design(SCHEMA.subset(["ill"]), [Group(["ill"], related(0.8))])
    with pytest.raises(DataError, match="no other attribute to predict 'ill' from"):
        DecisionTree(design, "ill").fit(REPORTED[:, 1:2])


def test_an_unseen_category_at_predict_is_an_error_that_names_it(model: DecisionTree) -> None:
    frame = decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")
    frame.loc[7, "region"] = "west"
    with pytest.raises(DataError, match=r"'west' of attribute 'region' at record 7"):
        model.predict(frame)
    codes = FEATURES.copy()
    codes[7, 1] = 3
    with pytest.raises(DataError, match=r"'region': code 3 at record 7.*0 to 2"):
        model.predict(codes)


def test_an_unseen_category_without_a_design_is_an_error_that_names_it() -> None:
    fitted = DecisionTree().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match=r"feature 1: category 2.*0 to 1"):
        fitted.predict([[0, 1], [0, 2]])


def test_the_wrong_number_of_columns_at_predict_is_an_error(model: DecisionTree) -> None:
    with pytest.raises(DataError, match="2 attributes"):
        model.predict(REPORTED)
    with pytest.raises(DataError, match="2 attributes"):
        model.apply(FEATURES[:, :1])


def test_a_model_that_was_not_fitted_says_so() -> None:
    fresh = DecisionTree(DESIGN, "ill")
    for ask in (lambda: fresh.predict(FEATURES), fresh.prior, fresh.estimated_tree, fresh.notes):
        with pytest.raises(NotFittedError):
            ask()


def test_without_a_design_other_reports_cannot_be_read() -> None:
    fitted = DecisionTree().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match="reported records"):
        fitted.estimated_tree(REPORTED)


def test_without_design_y_is_needed() -> None:
    with pytest.raises(ValueError, match="y"):
        DecisionTree().fit([[0, 1], [1, 0]])
