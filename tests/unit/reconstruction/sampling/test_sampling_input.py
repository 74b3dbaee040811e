"""Bad sampling designs: one clear error each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import reconstruct
from tacit.core.label_codes import encode
from tacit.errors import DataError
from tacit.reconstruction.sampling import bootstrap
from tacit.records import write_frame
from tests.support.samples import DISGUISED, HOW, SCHEMA, sample

FRAME = sample(DISGUISED, n=60)
ONES = np.ones(60)


def _with(place: int, value: float) -> Any:
    weights = ONES.copy()
    weights[place] = value
    return weights


BAD = [
    ({"weights": _with(3, 0)}, r"weights: .* is 0 at record 3"),
    ({"weights": _with(4, -1)}, r"is negative at record 4"),
    ({"weights": _with(5, np.nan)}, r"missing or not finite at record 5"),
    ({"weights": _with(6, np.inf)}, r"missing or not finite at record 6"),
    ({"weights": ONES[:-1]}, r"weights must be .* each of the 60 records.*\(59,\)"),
    ({"strata": ["a"] * 59}, r"strata must be .* each of the 60 records"),
    ({"strata": ["a"] * 59 + [None]}, r"strata: missing at record 59"),
    ({"clusters": [1] * 59 + [None]}, r"clusters: missing at record 59"),
    ({"weights": "wt"}, r"weights: unknown column 'wt'"),
    ({"weights": "region"}, r"weights='region': the column has no numbers"),
    ({"weights": "heavy"}, "unknown column 'heavy'"),
    ({"strata": ["a"] * 59 + ["b"]}, r"stratum 'b' has one record.*join it"),
    ({"clusters": ["a"] * 60}, r"the sample has one cluster"),
    ({"strata": "region", "clusters": "region"}, r"has one cluster"),
    ({"weights": "w", "fpc": 59}, r"fpc: the population has 59, fewer than the 60 records"),
    ({"strata": "region", "fpc": {"north": 1000}}, r"fpc has no population size of 'south'"),
    ({"strata": "region", "fpc": np.arange(60.0) + 100}, "same for all records of a stratum"),
    ({**HOW, "fpc": 3}, r"has 3, fewer than the [56] clusters"),
    ({"weights": "smokes"}, r"'smokes' is a disguised answer.*reveal"),
    ({"strata": "smokes"}, r"strata='smokes': 'smokes' is a disguised answer"),
    ({"clusters": "smokes"}, r"clusters='smokes'"),
    ({"weights": "w", "errors": "jackknife"}, r"errors must be linearised, jackknife"),
]


@pytest.mark.parametrize(("how", "message"), BAD)
def test_a_bad_sampling_design_is_one_clear_error(how: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        reconstruct(FRAME, DISGUISED, **how)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_answer_that_is_not_disguised_may_be_a_stratum(suffix: str, tmp_path: Path) -> None:
    write_frame(tmp_path / f"a{suffix}", FRAME.to_arrow())
    for argument in ("strata", "clusters"):
        own, found = (
            reconstruct(records, DISGUISED, **{argument: "income"}).table("smokes")
            for records in (FRAME, tmp_path / f"a{suffix}")
        )
        np.testing.assert_allclose(found.value, own.value)
        np.testing.assert_allclose(found.stderr, own.stderr)


def test_counts_have_no_weights() -> None:
    patterns = reconstruct(FRAME, DISGUISED).patterns
    with pytest.raises(DataError, match="counts have no sampling weights"):
        reconstruct(patterns, DISGUISED, weights="w")


def test_a_bootstrap_needs_two_replicates() -> None:
    with pytest.raises(DataError, match="replicates must be"):
        bootstrap(1)


def test_arrays_columns_codes_and_files_give_the_same(tmp_path: Path) -> None:
    expected = reconstruct(FRAME, DISGUISED, **HOW).table(["smokes"])
    arrays: Any = {name: FRAME[column].to_numpy() for name, column in HOW.items()}
    codes = encode(FRAME, SCHEMA)
    csv, parquet = tmp_path / "a.csv", tmp_path / "a.parquet"
    FRAME.write_csv(csv)
    FRAME.write_parquet(parquet)
    for found in (
        reconstruct(FRAME, DISGUISED, **arrays),
        reconstruct(codes, DISGUISED, **arrays),
        reconstruct(csv, DISGUISED, **HOW),
        reconstruct(parquet, DISGUISED, **HOW),
        reconstruct(FRAME.to_arrow(), DISGUISED, **HOW),
        reconstruct(FRAME.to_pandas(), DISGUISED, **HOW),
    ):
        assert np.allclose(found.table(["smokes"]).value, expected.value, rtol=1e-12)
        assert np.allclose(found.table(["smokes"]).stderr, expected.stderr, rtol=1e-10)


def test_an_engine_counts_by_the_columns_of_the_sample() -> None:
    ibis = pytest.importorskip("ibis")
    expected = reconstruct(FRAME, DISGUISED, **HOW).table(["smokes"])
    table = ibis.memtable(FRAME.to_arrow())
    found = reconstruct(table, DISGUISED, **HOW).table(["smokes"])
    assert np.allclose(found.stderr, expected.stderr, rtol=1e-10)
    with pytest.raises(DataError, match="unknown column 'wt'"):
        reconstruct(table, DISGUISED, weights="wt")
    heavy = ibis.memtable(FRAME.with_columns(w=pl.lit(0.0)).to_arrow())
    with pytest.raises(DataError, match="is 0 for 60 records"):
        reconstruct(heavy, DISGUISED, **HOW)
    with pytest.raises(DataError, match="records in memory"):
        reconstruct(table, DISGUISED, weights=ONES)
