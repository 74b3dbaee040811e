"""Undisguised columns, design weights and missing answers together, from frames and engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.errors import DataError
from tacit.regression import correlation, linear, logit
from tests.support.regions import REGIONS, regional

SAMPLING = {"weights": "w", "strata": "urban", "clusters": "village"}


def _data(missing: bool = False):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(3)
    data = regional().assign(w=rng.choice([0.5, 1.0, 2.0], 3000), village=rng.integers(0, 40, 3000))
    if missing:
        data = data.copy()
        data.loc[rng.random(3000) < 0.1, "smokes"] = None
    return data


def test_weighted_shares_of_a_region_are_those_of_its_records() -> None:
    rec = reconstruct(_data(), REGIONS, columns=["region"], weights="w")
    found = rec.probability({"smokes": "yes"}, given={"region": "north"})
    north = _data()[lambda f: f.region == "north"]
    own = reconstruct(north, REGIONS, weights="w").probability({"smokes": "yes"})
    assert float(found) == pytest.approx(float(own), abs=1e-10)
    assert float(found.stderr) == pytest.approx(float(own.stderr), rel=0.01)
    plain = reconstruct(_data(), REGIONS, columns=["region"])
    assert float(found) != float(plain.probability({"smokes": "yes"}, given={"region": "north"}))


def test_missing_answers_are_left_out_within_groups() -> None:
    data = _data(missing=True)
    rec = reconstruct(data, REGIONS, columns=["region"])
    found = rec.probability({"smokes": "yes"}, given={"region": "north"})
    known = data[data.smokes.notna() & (data.region == "north")]
    own = reconstruct(known, REGIONS).probability({"smokes": "yes"})
    assert float(found) == pytest.approx(float(own), abs=1e-10)
    assert found.n_left_out == int(data.smokes.isna().sum())
    reported = (known.smokes == "yes").mean()
    assert float(found.reported) == pytest.approx(reported, abs=1e-12)
    assert "Each of 4 attributes" in str(rec)


@pytest.mark.parametrize("missing", [False, True])
def test_regressions_of_samples_are_the_same_from_several_files(
    tmp_path: Path, missing: bool
) -> None:
    data = _data(missing)
    for part, start in enumerate(range(0, 3000, 1300)):
        data.iloc[start : start + 1300].to_parquet(tmp_path / f"{part}.parquet")
    for sampling in ({}, SAMPLING):
        own = logit("smokes ~ region + income", data, REGIONS, **sampling)  # type: ignore[arg-type]
        found = logit("smokes ~ region + income", tmp_path, REGIONS, **sampling)  # type: ignore[arg-type]
        assert (found.nobs, found.n_left_out) == (own.nobs, own.n_left_out)
        np.testing.assert_allclose(found.values, own.values, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.covariance, own.covariance, rtol=1e-5, atol=1e-7)
        line = [linear("year ~ smokes", d, REGIONS, **sampling) for d in (data, tmp_path)]  # type: ignore[arg-type]
        np.testing.assert_allclose(line[1].covariance, line[0].covariance, rtol=1e-5, atol=1e-9)
        pair = [correlation("smokes", "year", d, REGIONS, **sampling) for d in (data, tmp_path)]  # type: ignore[arg-type]
        assert float(pair[1]) == pytest.approx(float(pair[0]), abs=1e-9)
        assert float(pair[1].stderr) == pytest.approx(float(pair[0].stderr), rel=1e-6)


def test_weights_of_few_distinct_records_stay_with_their_records() -> None:
    """Rows that are all distinct are fitted in the order in which they came."""
    data = _data().iloc[:60].assign(age=np.linspace(0, 1, 60))
    order = np.random.default_rng(1).permutation(60)
    one, other = (
        logit("smokes ~ age", each, REGIONS, weights="w") for each in (data, data.iloc[order])
    )
    np.testing.assert_allclose(one.values, other.values, rtol=1e-6)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6)
    double = data.loc[data.index.repeat((2 * data.w).astype(int))]
    whole = logit("smokes ~ age", double, REGIONS)
    np.testing.assert_allclose(one.values, whole.values, rtol=1e-5)


def test_weights_of_counted_records_are_columns(tmp_path: Path) -> None:
    _data().to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="must be names of columns"):
        logit("smokes ~ region", tmp_path, REGIONS, weights=np.ones(3000))
