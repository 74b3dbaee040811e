"""True records where reported ones are needed, and the reverse: a warning where it can be known."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.errors import DataError
from tacit.mine import DecisionTree, NaiveBayes
from tacit.regression import linear, logit
from tests.support.regressions import DESIGNS, people, reported

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("ill", "smokes", "drinks")])
DESIGN = Design(SCHEMA, [Group([name], related("0.8")) for name in SCHEMA.names])
OPEN = Design(SCHEMA, [Group(["ill"], related("0.8")), Group(["smokes", "drinks"], truthful())])


def _true(n: int = 4_000, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    smokes, drinks = rng.random(n) < 0.4, rng.random(n) < 0.3
    ill = rng.random(n) < 0.1 + 0.5 * smokes + 0.2 * drinks
    columns = {"ill": ill, "smokes": smokes, "drinks": drinks}
    return pd.DataFrame({name: np.where(own, "yes", "no") for name, own in columns.items()})


@pytest.fixture(scope="module")
def reports() -> pd.DataFrame:
    frame = disguise(_true(), DESIGN, np.random.default_rng(4))
    assert isinstance(frame, pd.DataFrame)
    return frame


@pytest.mark.parametrize("kind", [NaiveBayes, DecisionTree])
def test_score_of_true_records_says_that_they_are_no_reports(
    kind: Any, reports: pd.DataFrame
) -> None:
    model = kind(DESIGN, target="ill").fit(reports)
    true = _true(seed=5)
    with pytest.warns(UserWarning, match=r"score\(\) needs reported records.*MISFIT"):
        model.score(true)
    with pytest.warns(UserWarning, match="MISFIT"):
        model.score(true.drop(columns="ill"), true["ill"].to_numpy())
    others = disguise(true, DESIGN, np.random.default_rng(6))
    assert 0.5 < model.score(others) < 1  # and no warning, which would be an error


def test_score_of_a_hundred_true_records_is_questioned_if_it_is_far_above_1(
    reports: pd.DataFrame,
) -> None:
    """So few records may not contradict the design otherwise."""
    model = NaiveBayes(DESIGN, target="ill").fit(reports)
    questioned = 0
    for seed in range(40):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            score = model.score(_true(100, seed))
        questioned += any(f"an accuracy of {score:.4f} contradicts" in str(w.message) for w in said)
        model.score(disguise(_true(100, seed), DESIGN, np.random.default_rng(seed)))
    assert questioned > 0


def test_disguising_reports_again_is_noticed(reports: pd.DataFrame) -> None:
    arrow = disguise(pa.Table.from_pandas(_true(50)), DESIGN, np.random.default_rng(1))
    for frame in (reports, reports.assign(age=3)[:10], arrow, arrow.slice(3)):
        with pytest.warns(UserWarning, match="these records are reports already"):
            disguise(frame, DESIGN, np.random.default_rng(2))


def test_true_records_are_disguised_without_a_warning() -> None:
    true = _true(20)
    for frame in (true, pl.from_pandas(true), pa.Table.from_pandas(true), true.to_numpy() == "yes"):
        records = frame.astype(np.uint8) if isinstance(frame, np.ndarray) else frame
        disguise(records, DESIGN, np.random.default_rng(2))
    assert true.attrs == {}


def test_predicting_from_reports_is_noticed(reports: pd.DataFrame) -> None:
    model = NaiveBayes(DESIGN, target="ill").fit(reports)
    said = r"predict\(\) needs true answers"
    for use in (
        model.predict,
        model.predict_proba,
        DecisionTree(DESIGN, "ill").fit(reports).predict,
    ):
        with pytest.warns(UserWarning, match=said):
            use(reports)
        use(_true(5))
    undisguised = disguise(_true(), OPEN, np.random.default_rng(4))
    NaiveBayes(OPEN, target="ill").fit(undisguised).predict(undisguised)
    for fit in (
        logit("ill ~ smokes", reports, DESIGN),
        linear("age ~ smokes", reports.assign(age=range(4_000)), DESIGN),
    ):
        with pytest.warns(UserWarning, match=said):
            fit.predict(reports)
        fit.predict(_true(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logit("ill ~ smokes", undisguised, OPEN).predict(undisguised)


def test_the_logit_of_a_number_is_refused_or_warned_about() -> None:
    one = DESIGNS["one group"]
    data = reported(people(500), one)
    data["years"] = (40 + 10 * data["age"]).round()
    with pytest.raises(DataError, match=r"outcome 'years' is a number with \d+ different values"):
        logit("years ~ smokes", data, one)
    data["visits"] = data["health"] + 1
    fit = logit("visits ~ smokes", data, one)
    assert "number with 3 values" in fit.warnings[0]
    assert "ordered=True" in str(fit)
    for good in (
        logit("visits ~ smokes", data, one, ordered=True),
        logit("often ~ smokes", data.assign(often=(data["visits"] > 1).astype(int)), one),
        logit("visits ~ smokes", data.assign(visits=data["visits"].astype(str)), one),
    ):
        assert good.warnings == ()
