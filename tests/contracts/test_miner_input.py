"""What every miner takes, in which forms, and one clear error for each mistake."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from tacit import Design, Group, Schema, mine
from tacit.core.channel import related
from tacit.core.label_codes import decode
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError, TacitError
from tacit.evaluate import accuracy
from tacit.mine import Forest
from tacit.mine.miner import Miner
from tacit.records import count
from tests.support.families import attributes_of
from tests.support.illness import DESIGN, FEATURES, OTHERS, REPORTED, SCHEMA, true_records

NAMES = [getattr(mine, name) for name in mine.__all__]
MINERS = [found for found in NAMES if isinstance(found, type) and issubclass(found, Miner)]
every_miner = pytest.mark.parametrize(
    "miner", [pytest.param(m, marks=pytest.mark.slow if m is Forest else ()) for m in MINERS]
)
FRAME = decode(REPORTED, SCHEMA, "pandas")
LABELS = np.array(["no", "yes"])[REPORTED[:, 1]]
HIDDEN = Design(SCHEMA, [Group(SCHEMA.names, related(0.5))])


@cache
def fitted(miner: Any) -> Any:
    return miner(DESIGN, "ill").fit(REPORTED)


def features_frame() -> Any:
    return decode(FEATURES, SCHEMA.subset(["smokes", "region"]), "pandas")


# Reported records -----------------------------------------------------------------------------


@every_miner
def test_frames_codes_pattern_tables_and_files_give_the_same_model(
    miner: Any, tmp_path: Path
) -> None:
    path = tmp_path / "reports.parquet"
    decode(REPORTED, SCHEMA, "polars").write_parquet(path)
    frames = [decode(REPORTED, SCHEMA, backend) for backend in ("pandas", "polars", "pyarrow")]
    expected = fitted(miner).predict_proba(FEATURES)
    for records in (*frames, count(REPORTED, DESIGN.reported), path):
        found = miner(DESIGN, "ill").fit(records).predict_proba(FEATURES)
        np.testing.assert_array_equal(found, expected)


@every_miner
def test_the_class_may_be_given_as_y_in_codes_or_labels(miner: Any) -> None:
    expected = fitted(miner).predict_proba(FEATURES)
    for records, y in (
        (REPORTED[:, OTHERS], LABELS),
        (REPORTED[:, OTHERS], REPORTED[:, 1]),
        (FRAME.drop(columns="ill"), FRAME["ill"]),
        (FRAME, FRAME["ill"].to_numpy()),
    ):
        found = miner(DESIGN, "ill").fit(records, y).predict_proba(FEATURES)
        np.testing.assert_array_equal(found, expected)


@every_miner
def test_fitting_again_forgets_the_first_reports(miner: Any) -> None:
    model = miner(DESIGN, "ill").fit(REPORTED)
    before = model.prior().stderr
    assert (model.fit(REPORTED[:400]).prior().stderr > 2 * before).all()


# Records to predict ---------------------------------------------------------------------------


@every_miner
def test_predictions_are_labels_of_the_largest_probability(miner: Any) -> None:
    model = fitted(miner)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(FEATURES)) == {"no", "yes"}
    probabilities = model.predict_proba(FEATURES)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    likeliest = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(FEATURES), likeliest)


@every_miner
def test_frames_are_predicted_like_codes_with_columns_in_any_order(miner: Any) -> None:
    model, frame = fitted(miner), features_frame()
    for given in (frame, frame[["region", "smokes"]], pl.from_pandas(frame)):
        np.testing.assert_array_equal(model.predict(given), model.predict(FEATURES))


@every_miner
def test_the_score_is_the_estimated_accuracy_however_reports_are_given(miner: Any) -> None:
    model, true = fitted(miner), true_records()
    estimate = accuracy(model, REPORTED, DESIGN)
    assert model.score(REPORTED) == float(estimate)
    assert model.score(REPORTED[:, OTHERS], REPORTED[:, 1]) == float(estimate)
    right = np.mean(model.predict(true[:, OTHERS]) == np.array(["no", "yes"])[true[:, 1]])
    assert abs(float(estimate) - right) < 5 * float(estimate.stderr)


# Mistakes -------------------------------------------------------------------------------------

#: Design, target, reported records, error, message.
MISTAKES: dict[str, tuple[Any, Any, Any, type[TacitError], str]] = {
    "target not in the schema": (DESIGN, "smoke", REPORTED, SchemaError, "'smoke'.*'smokes'"),
    "no target": (DESIGN, None, REPORTED, DataError, "target must name"),
    "no records": (DESIGN, "ill", REPORTED[:0], DataError, "0 records"),
    "an empty frame": (DESIGN, "ill", FRAME[:0], DataError, "record"),
    "too few columns": (DESIGN, "ill", REPORTED[:, :2], DataError, "3 attributes"),
    "a code out of range": (DESIGN, "ill", REPORTED + 2, DataError, "allowed: 0 to"),
    "a frame without a column": (
        *(DESIGN, "ill", pd.DataFrame({"ill": ["no"], "smokes": ["no"]}), TacitError, "region"),
    ),
    "a design of another type": (
        *(DESIGN.to_json(), "ill", REPORTED, DesignError, "Design, got str"),
    ),
    "a schema for a design": (SCHEMA, "ill", REPORTED, DesignError, "Design, got Schema"),
    "a pattern table of another schema": (
        *(DESIGN, "ill", count(REPORTED, Schema(attributes_of((2, 2, 3))))),
        *(DataError, "another schema"),
    ),
    "a design that tells nothing": (HIDDEN, "ill", REPORTED, SingularChannelError, "theta=1/2"),
}


@every_miner
@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_in_fitting_is_one_clear_error(miner: Any, name: str) -> None:
    design, target, records, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        miner(design, target).fit(records)


@every_miner
def test_a_schema_with_the_class_alone_has_nothing_to_learn_from(miner: Any) -> None:
    design = Design(SCHEMA.subset(["ill"]), [Group(["ill"], related(0.8))])
    with pytest.raises(DataError, match="no other attribute to predict 'ill' from"):
        miner(design, "ill").fit(REPORTED[:, 1:2])


@every_miner
def test_a_y_that_does_not_fit_is_an_error(miner: Any) -> None:
    model, codes = miner(DESIGN, "ill"), REPORTED[:, OTHERS]
    with pytest.raises(DataError, match=r"4000 records.*3999"):
        model.fit(codes, LABELS[1:])
    with pytest.raises(TacitError, match="'maybe'"):
        model.fit(codes, np.where(LABELS == "no", "maybe", LABELS))
    with pytest.raises(DataError, match="y"):
        model.fit(count(REPORTED, DESIGN.reported), REPORTED[:, 1])
    for wrong in ("no", [None] * len(FRAME), FRAME[["ill"]], [{}] * len(FRAME)):
        with pytest.raises(TacitError, match=r"y must|missing cells|type"):
            model.fit(FRAME, wrong)


@every_miner
def test_an_unseen_category_at_predict_is_an_error_that_names_it(miner: Any) -> None:
    frame, codes = features_frame(), FEATURES.copy()
    frame.loc[7, "region"] = "west"
    with pytest.raises(DataError, match=r"'west' of attribute 'region' at record 7"):
        fitted(miner).predict(frame)
    codes[7, 1] = 3
    with pytest.raises(DataError, match=r"'region': code 3 at record 7.*0 to 2"):
        fitted(miner).predict(codes)


@every_miner
def test_the_wrong_number_of_columns_at_predict_is_an_error(miner: Any) -> None:
    for wrong in (REPORTED, FEATURES[:, :1]):
        with pytest.raises(DataError, match="2 attributes"):
            fitted(miner).predict(wrong)


@every_miner
def test_without_a_design_an_unseen_category_or_no_y_is_an_error(miner: Any) -> None:
    model = miner().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(DataError, match=r"feature 1: category 2.*0 to 1"):
        model.predict([[0, 1], [0, 2]])
    with pytest.raises(ValueError, match="y"):
        miner().fit([[0, 1], [1, 0]])


@every_miner
def test_a_model_that_was_not_fitted_says_so(miner: Any) -> None:
    fresh = miner(DESIGN, "ill")
    for ask in (lambda: fresh.predict(FEATURES), fresh.prior, fresh.notes, fresh.summary):
        with pytest.raises(NotFittedError):
            ask()
