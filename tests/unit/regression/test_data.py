"""A regression from counts equals that from all records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.errors import DataError
from tacit.records import Origin, count_reported, engines
from tacit.records.count_file import StoredCounts
from tacit.regression import correlation, linear, logit
from tests.support.regions import REGIONS, regional

FORMULAS = ("smokes ~ region + year", "smokes ~ income", "income ~ smokes + urban", "drinks ~ year")


@pytest.fixture(params=["our reader", "DuckDB", "Ibis"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> Any:
    """The same records where they are counted."""
    if request.param == "Ibis":
        import duckdb
        import ibis

        connection = duckdb.connect()
        connection.register("given", pa.Table.from_pandas(regional(), preserve_index=False))
        connection.execute("CREATE TABLE records AS FROM given")
        return ibis.duckdb.from_connection(connection).table("records")
    monkeypatch.setattr(engines, "FEWEST_CELLS", 0 if request.param == "DuckDB" else 10**9)
    for part, start in enumerate(range(0, 3000, 1300)):
        regional().iloc[start : start + 1300].to_parquet(tmp_path / f"{part}.parquet")
    return tmp_path


@pytest.mark.filterwarnings("ignore:fetch_.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_logit_from_counts_is_that_of_the_records(engine: Any, formula: str) -> None:
    own, found = logit(formula, regional(), REGIONS), logit(formula, engine, REGIONS)
    assert found.problem.n_rows < 200
    assert (found.nobs, found.names) == (own.nobs, own.names)
    np.testing.assert_allclose(found.values, own.values, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.covariance, own.covariance, rtol=1e-6, atol=1e-8)
    assert found.llf == pytest.approx(own.llf, abs=1e-6)


def test_effects_robust_errors_and_tests_are_the_same() -> None:
    counts = count_reported(regional(), REGIONS)
    own, found = (logit("smokes ~ income", d, REGIONS, robust=True) for d in (regional(), counts))
    np.testing.assert_allclose(found.covariance, own.covariance, rtol=1e-6, atol=1e-9)
    effects = [each.marginal_effects() for each in (own, found)]
    np.testing.assert_allclose(effects[1].values, effects[0].values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(effects[1].covariance, effects[0].covariance, rtol=1e-6, atol=1e-9)
    nested = [logit("smokes ~ 1", d, REGIONS) for d in (regional(), counts)]
    tests = [a.compare_lr_test(b) for a, b in zip((own, found), nested, strict=True)]
    assert tests[1].statistic == pytest.approx(tests[0].statistic, abs=1e-6)


def test_linear_and_correlation_are_the_same(tmp_path: Path) -> None:
    regional().to_parquet(tmp_path / "a.parquet")
    own, found = (linear("year ~ smokes + region", d, REGIONS) for d in (regional(), tmp_path))
    np.testing.assert_allclose(found.values, own.values, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, own.covariance, rtol=1e-6, atol=1e-12)
    assert found.rsquared == pytest.approx(own.rsquared, abs=1e-9)
    pair = [correlation("smokes", "year", d, REGIONS) for d in (regional(), tmp_path)]
    assert float(pair[1]) == pytest.approx(float(pair[0]), abs=1e-8)
    assert float(pair[1].stderr) == pytest.approx(float(pair[0].stderr), abs=1e-8)


def test_records_with_a_missing_cell_are_left_out_with_their_number(tmp_path: Path) -> None:
    data = regional().copy()
    data.loc[:99, "region"] = None
    data.to_parquet(tmp_path / "a.parquet")
    found = logit("smokes ~ region", tmp_path, REGIONS)
    assert (found.nobs, found.n_left_out) == (2900, 100)


def test_a_count_file_has_the_attributes_of_its_design_only(tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    counts = StoredCounts(count_reported(regional(), REGIONS), Origin(REGIONS.fingerprint))
    counts.write(path)
    assert logit("smokes ~ income", path, REGIONS).nobs == 3000
    with pytest.raises(DataError, match="unknown name 'region' in the formula"):
        logit("smokes ~ region", path, REGIONS)
    StoredCounts(counts.table, Origin("0" * 64)).write(path)
    with pytest.raises(DataError, match="counts of another design"):
        logit("smokes ~ income", path, REGIONS)


def test_what_needs_every_record_is_refused_for_counts() -> None:
    counts = count_reported(regional(), REGIONS)
    with pytest.raises(DataError, match="covariates= has a row per record"):
        logit("smokes", counts, REGIONS, covariates=np.ones((3000, 1)))
    with pytest.raises(DataError, match="fitted to counts; give predict"):
        logit("smokes ~ 1", counts, REGIONS).predict()
    with pytest.raises(DataError, match="another schema"):
        logit("smokes ~ 1", count_reported(regional()[["smokes"]], _one()), REGIONS)


def _one() -> Any:
    from tacit import Attribute, Design, Group, Schema, related

    return Design(Schema([Attribute("smokes", ["no", "yes"])]), [Group(["smokes"], related("0.8"))])
