"""Testing classifiers on samples with design weights, strata and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import Attribute, Design, Group, Schema, uniform_perturbation
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import DecisionTree
from tests.support.samples import DISGUISED, HOW, PLAIN, linearised_variance, sample, units_of


class ByIncome:
    """Says that people with a high income smoke."""

    def predict(self, codes: Any) -> Any:
        return (codes[:, 0] == 2).astype(int)


def _right(frame: Any) -> Any:
    smokes, high = frame["smokes"] == "yes", frame["income"] == "high"
    return (smokes == high).to_numpy().astype(float)


def test_accuracy_without_disguise_is_a_weighted_mean_with_its_linearised_error() -> None:
    frame = sample(PLAIN)
    found = accuracy(ByIncome(), frame, PLAIN, "smokes", **HOW)
    weights = frame["w"].to_numpy().astype(float)
    assert float(found.value) == pytest.approx(_right(frame) @ weights / weights.sum(), rel=1e-10)
    expected = linearised_variance(_right(frame), weights, *units_of(frame), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-9)


def test_confusion_recall_and_accuracy_agree_in_a_sample() -> None:
    frame = sample(DISGUISED)
    given = (ByIncome(), frame, DISGUISED, "smokes")
    table, share = confusion(*given, **HOW), accuracy(*given, **HOW)
    spread = table.covariance[np.ix_([0, 3], [0, 3])].sum()
    assert float(share.stderr) ** 2 == pytest.approx(spread, rel=1e-9)
    rates = recall(*given, **HOW)
    assert np.allclose(rates.value, np.diag(table.value) / table.value.sum(axis=1))
    assert rates.df == 15
    lower, upper = rates.interval()
    assert (lower >= 0).all()
    assert (upper <= 1).all()


def test_a_tree_is_tested_on_a_sample() -> None:
    frame = sample(DISGUISED, n=1500)
    tree = DecisionTree(DISGUISED, target="smokes").fit(frame)
    found = accuracy(tree, frame, DISGUISED, **HOW)
    assert float(found.design_effect) > 0.2
    assert found.df == 15


def test_drawn_copies_are_those_of_single_records() -> None:
    """More categories than can be enumerated: copies are drawn for each record."""
    schema = Schema([Attribute(f"q{i}", range(9)) for i in range(3)])
    design = Design(schema, [Group(list(schema.names), uniform_perturbation("0.8"))])
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 9, (300, 3)) * (rng.random((300, 1)) < 0.5)

    class Same:
        def predict(self, given: Any) -> Any:
            return given[:, 0]

    found = accuracy(Same(), codes.astype(np.uint8), design, "q2", weights=np.ones(300))
    other = accuracy(Same(), codes.astype(np.uint8), design, "q2")
    assert float(found.value) == pytest.approx(float(other.value), abs=6 * float(other.stderr))
    assert float(found.stderr) == pytest.approx(float(other.stderr), rel=0.3)


def test_records_with_missing_answers_are_left_out_of_a_test() -> None:
    frame = sample(DISGUISED)
    gaps = pl.Series(np.arange(400) % 8 == 0)
    holed = frame.with_columns(smokes=pl.when(gaps).then(None).otherwise(pl.col("smokes")))
    found = accuracy(ByIncome(), holed, DISGUISED, "smokes")
    expected = accuracy(ByIncome(), frame.filter(~gaps), DISGUISED, "smokes")
    assert found.n_records == 350
    assert float(found.value) == pytest.approx(float(expected.value), rel=1e-12)
