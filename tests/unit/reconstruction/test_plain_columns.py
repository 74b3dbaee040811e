"""Undisguised columns of the records as groups: conditional shares, comparisons, tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from tacit import Design, Group, reconstruct, truthful
from tacit.errors import DataError, SchemaError
from tacit.reconstruction import Reconstruction, likelihood_ratio, pearson
from tacit.records import Origin, count_reported
from tacit.records.count_file import StoredCounts
from tests.support.regions import REGIONS, SCHEMA, regional

COLUMNS = ["region", "year", "urban"]


@pytest.fixture
def rec() -> Reconstruction:
    return reconstruct(regional(), REGIONS, columns=COLUMNS)


def test_a_share_within_a_column_is_that_of_its_records_alone(rec: Reconstruction) -> None:
    """A condition that is not disguised selects records: nothing else may be estimated."""
    for place in ("east", "north", "south"):
        found = rec.probability({"smokes": "yes", "income": "low"}, given={"region": place})
        alone = reconstruct(regional()[lambda f, p=place: f.region == p], REGIONS)
        own = alone.probability({"smokes": "yes", "income": "low"})
        assert float(found) == pytest.approx(float(own), abs=1e-12)
        assert float(found.stderr) == pytest.approx(float(own.stderr), abs=1e-12)


def test_tables_within_several_columns_are_those_of_their_records(rec: Reconstruction) -> None:
    table = rec.table(["smokes"], given=["region", "urban"])
    assert table.value.shape == (3, 2, 2)
    chosen = regional()[lambda f: (f.region == "north") & f.urban]
    own = reconstruct(chosen, REGIONS).table(["smokes"])
    np.testing.assert_allclose(table.value[1, 1], own.value, atol=1e-12)
    np.testing.assert_allclose(table.stderr[1, 1], own.stderr, atol=1e-12)


def test_a_difference_between_columns_has_the_variance_of_independent_samples(
    rec: Reconstruction,
) -> None:
    between = {"region": "north"}, {"region": ["east", "south"]}
    found = rec.difference({"smokes": "yes"}, between=between)
    north = regional().region == "north"
    parts = [
        reconstruct(regional()[own], REGIONS).probability({"smokes": "yes"})
        for own in (north, ~north)
    ]
    assert float(found) == pytest.approx(float(parts[0]) - float(parts[1]), abs=1e-12)
    error = np.hypot(*(float(part.stderr) for part in parts))
    assert float(found.stderr) == pytest.approx(error, abs=1e-12)
    assert float(rec.ratio({"smokes": "yes"}, between=between)) == pytest.approx(
        float(parts[0]) / float(parts[1])
    )
    assert float(rec.odds_ratio({"smokes": "yes"}, between=between)) > 1


def test_conditions_may_mix_columns_and_disguised_answers(rec: Reconstruction) -> None:
    given = {"income": "high", "year": [2008, 2009]}
    found = rec.probability({"smokes": "yes"}, given=given)
    early = reconstruct(regional()[lambda f: f.year <= 2009], REGIONS)
    own = early.probability({"smokes": "yes"}, given={"income": "high"})
    assert float(found) == pytest.approx(float(own), abs=1e-12)
    assert float(found.stderr) == pytest.approx(float(own.stderr), abs=1e-12)


def test_without_disguise_homogeneity_across_a_column_is_the_usual_test() -> None:
    exact = Design(SCHEMA, [Group(list(SCHEMA.names), truthful())])
    data = regional()
    data = data.assign(drinks=data.smokes)
    found = reconstruct(data, exact, columns=["region"])
    counts = pd.crosstab(data.region, data.income)
    for method, lambda_ in ((pearson, "pearson"), (likelihood_ratio, "log-likelihood")):
        test = found.homogeneity(["income"], across=["region"], method=method)
        own = chi2_contingency(counts, correction=False, lambda_=lambda_)
        assert (test.df, test.statistic) == (own.dof, pytest.approx(own.statistic, rel=1e-6))


def test_the_region_shows_in_the_test_and_the_year_does_not(rec: Reconstruction) -> None:
    assert rec.homogeneity(["smokes"], across=["region"]).pvalue < 1e-6
    assert rec.homogeneity(["smokes"], across=["year"]).pvalue > 1e-3
    assert rec.independence(["smokes", "income"], given=["region"]).df == 6


def test_columns_are_counted_alike_from_frames_and_files(
    rec: Reconstruction, tmp_path: Path
) -> None:
    data = regional()
    data.to_csv(tmp_path / "all.csv", index=False)
    data.to_parquet(tmp_path / "all.parquet")
    (tmp_path / "parts").mkdir()
    for part, start in enumerate(range(0, len(data), 1100)):
        data.iloc[start : start + 1100].to_csv(tmp_path / f"parts/{part}.csv", index=False)
    for source in ("all.csv", "all.parquet", "parts", "parts/*.csv"):
        found = reconstruct(tmp_path / source, REGIONS, columns=COLUMNS[:2])
        own = reconstruct(data, REGIONS, columns=COLUMNS[:2])
        assert found.design == own.design
        np.testing.assert_array_equal(found.patterns.patterns, own.patterns.patterns)
        np.testing.assert_array_equal(found.patterns.counts, own.patterns.counts)


def test_missing_cells_are_a_group_of_their_own_and_labels_keep_their_zeros(
    tmp_path: Path,
) -> None:
    data = regional().iloc[:90].assign(code=["007", "08", None] * 30)
    data.to_csv(tmp_path / "all.csv", index=False)
    for source in (data, tmp_path / "all.csv"):
        rec = reconstruct(source, REGIONS, columns=["code"])
        assert rec.design.schema["code"].categories == ("007", "08", "missing")
        assert rec.patterns.marginal(["code"]).tolist() == [30, 30, 30]


def test_an_ordered_column_keeps_its_order() -> None:
    levels = pd.CategoricalDtype(["south", "east", "north"], ordered=True)
    data = regional().assign(region=lambda f: f.region.astype(levels))
    rec = reconstruct(data, REGIONS, columns=["region"])
    assert rec.design.schema["region"].categories == ("south", "east", "north")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["regoin"], "unknown column 'regoin' of the records; did you mean 'region'"),
        (["income"], "'income' is part of the design already"),
        (["region", "region"], "column 'region' is given twice"),
        ([3], "columns must be a list of names"),
        (["age"], "'age' holds numbers that are not whole; make categories"),
        (["number"], "'number' holds 3000 categories, over 1000; make categories"),
        (["same"], "'same' holds fewer than 2 categories"),
    ],
)
def test_a_column_that_cannot_be_a_group_is_an_error(columns: list[str], message: str) -> None:
    data = regional().assign(age=np.linspace(0, 1, 3000), number=np.arange(3000), same="everywhere")
    with pytest.raises((DataError, SchemaError), match=message):
        reconstruct(data, REGIONS, columns=columns)


def test_counts_and_codes_have_no_columns(tmp_path: Path) -> None:
    counts = count_reported(regional(), REGIONS)
    StoredCounts(counts, Origin(REGIONS.fingerprint)).write(tmp_path / "a.counts")
    for source in (counts, tmp_path / "a.counts"):
        with pytest.raises(DataError, match="counts have no column 'region'"):
            reconstruct(source, REGIONS, columns=["region"])
    with pytest.raises(DataError, match="an array of codes has no undisguised columns"):
        reconstruct(np.zeros((9, 3), np.uint8), REGIONS, columns=["region"])


def test_an_unknown_name_in_a_condition_says_how_columns_are_used() -> None:
    rec = reconstruct(regional(), REGIONS)
    hint = r"unknown attribute 'region'.*as columns=\['region'\]"
    with pytest.raises(SchemaError, match=hint):
        rec.probability({"smokes": "yes"}, given={"region": "north"})
    with pytest.raises(SchemaError, match=hint):
        rec.table(["smokes"], given=["region"])
    with pytest.raises(SchemaError, match=hint):
        rec.homogeneity(["smokes"], across=["region"])
