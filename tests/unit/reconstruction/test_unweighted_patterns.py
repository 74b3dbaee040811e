"""What uses no design weights refuses the counts of a weighted sample, and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import reconstruct
from tacit.compliance import Cheaters, pool, sensitivity
from tacit.errors import DataError
from tacit.evaluate import accuracy
from tacit.mine import (
    ChowLiuTree,
    DecisionTree,
    Forest,
    LatentClass,
    NaiveBayes,
    itemsets,
    split_records,
)
from tacit.privacy import report
from tacit.reconstruction import Reconstruction
from tacit.records import PatternTable
from tacit.regression import logit
from tests.support.samples import DISGUISED, HOW, sample

YES = {"smokes": "yes"}
#: Each takes the counts of reported records.
USES: dict[str, Callable[[PatternTable], object]] = {
    "naive Bayes": lambda counts: NaiveBayes(DISGUISED, "smokes").fit(counts),
    "tree": lambda counts: DecisionTree(DISGUISED, "smokes").fit(counts),
    "forest": lambda counts: Forest(DISGUISED, "smokes", n_estimators=2).fit(counts),
    "latent classes": lambda counts: LatentClass(DISGUISED, 1).fit(counts),
    "joint model": lambda counts: ChowLiuTree(DISGUISED).fit(counts),
    "itemsets": lambda counts: itemsets(counts, DISGUISED, min_support=0.1, items=YES),
    "split records": lambda counts: split_records(counts, DISGUISED, np.random.default_rng(1)),
    "pool": lambda counts: pool([(counts, DISGUISED)], "smokes"),
    "pool of a reconstruction": lambda counts: pool(
        [(Reconstruction(counts, DISGUISED), DISGUISED)], "smokes"
    ),
    "sensitivity": lambda counts: sensitivity(counts, DISGUISED, Cheaters(), [0.1], "smokes"),
    "regression of counts": lambda counts: logit("smokes ~ income", counts, DISGUISED),
    "privacy": lambda counts: report(DISGUISED, Reconstruction(counts, DISGUISED)),
}


@pytest.mark.parametrize("use", USES)
def test_what_uses_no_design_weights_refuses_the_counts_of_a_sample(use: str) -> None:
    data = sample(DISGUISED)
    USES[use](reconstruct(data, DISGUISED).patterns)  # the counts of records are taken
    weighted = reconstruct(data, DISGUISED, **HOW).patterns
    with pytest.raises(DataError, match="design weights, strata or clusters of a sample, which"):
        USES[use](weighted)


def test_missing_answers_do_not_hide_the_sample() -> None:
    data = sample(DISGUISED).with_row_index()
    smokes = pl.when(pl.col("index") < 40).then(None).otherwise(pl.col("smokes"))
    gaps = reconstruct(data.with_columns(smokes=smokes), DISGUISED, **HOW)
    with pytest.raises(DataError, match="of a sample"):
        pool([(gaps, DISGUISED)], "smokes")


def test_evaluation_uses_the_weights_of_counts_and_of_records() -> None:
    data = sample(DISGUISED)
    model: Any = NaiveBayes(DISGUISED, "smokes").fit(data)
    given = accuracy(model, data, DISGUISED, **HOW)
    counted = accuracy(model, reconstruct(data, DISGUISED, **HOW).patterns, DISGUISED)
    assert float(counted) == pytest.approx(float(given))
    assert float(counted.stderr) == pytest.approx(float(given.stderr))
    assert counted.df == given.df == 15
