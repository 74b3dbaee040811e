"""Missing answers: never disguised, left out table by table, bounded without assumptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, matrix, reconstruct, related, truthful
from tacit.errors import DataError, MissingAnswersError
from tacit.mine import NaiveBayes

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("town", ["A", "B"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related("0.7")), Group(["town"], truthful())])
YES = {"smokes": "yes"}


def _frame() -> Any:
    """380 yes, 600 no, 20 without an answer."""
    smokes = ["yes"] * 380 + ["no"] * 600 + [None] * 20
    return pl.DataFrame({"smokes": smokes, "town": ["A", "B"] * 500})


def test_complete_cases_are_used_and_the_number_left_out_is_stated() -> None:
    rec = reconstruct(_frame(), DESIGN)
    found = rec.table(["smokes"])
    assert float(found.value[1]) == pytest.approx((380 / 980 - 0.3) / 0.4, rel=1e-12)
    assert round(float(found.value[1]), 4) == 0.2194
    assert (found.n_records, found.n_left_out) == (980, 20)
    assert "980 reported records (20 without an answer left out)" in str(found)
    assert found.to_dict()["n_left_out"] == 20


def test_a_category_of_the_coin_for_missing_answers_would_be_wrong() -> None:
    """The advice of earlier versions: a negative control."""
    widened = Schema([Attribute("smokes", ["no", "yes", "?"], missing="?"), SCHEMA["town"]])
    wrong = Design(widened, [Group(["smokes"], related("0.7")), Group(["town"], truthful())])
    found = reconstruct(_frame(), wrong).probability(YES)
    assert round(float(found.value), 4) == 0.4182


def test_each_table_leaves_out_only_what_it_needs() -> None:
    rec = reconstruct(_frame(), DESIGN)
    assert rec.n_records == 1000
    assert rec.table(["town"]).n_left_out == 0
    assert rec.table(["smokes", "town"]).n_left_out == 20
    assert rec.probability(YES, given={"town": "A"}).n_left_out == 20
    assert rec.expectation(lambda town: town == "A", ["town"]).n_records == 1000
    assert rec.difference(YES, between=({"town": "A"}, {"town": "B"})).n_left_out == 20
    test = rec.independence(["smokes", "town"])
    assert (test.n_records, test.n_left_out) == (980, 20)
    assert "20 without an answer left out" in str(test)


def test_bounds_hold_whatever_the_missing_answers_are() -> None:
    found = reconstruct(_frame(), DESIGN).bounds(YES)
    share = (380 / 980 - 0.3) / 0.4
    assert float(found.lower.value) == pytest.approx(0.98 * share, rel=1e-12)
    assert float(found.upper.value) == pytest.approx(0.98 * share + 0.02, rel=1e-12)
    assert found.n_missing == 20
    low, high = (float(limit) for limit in found.interval())
    assert low < float(found.lower.value) < float(found.upper.value) < high
    assert low == pytest.approx(float(found.lower.interval()[0]))
    assert "20 without an answer" in str(found)
    assert found.to_dict()["interval"] == [low, high]


def test_without_missing_answers_both_bounds_are_the_share() -> None:
    rec = reconstruct(_frame().head(980), DESIGN)
    found, share = rec.bounds(YES), rec.probability(YES)
    assert float(found.lower.value) == pytest.approx(float(share.value), rel=1e-12)
    assert float(found.upper.stderr) == pytest.approx(float(share.stderr), rel=1e-9)
    assert found.n_missing == 0


def test_in_a_sample_people_without_an_answer_stay_in_their_clusters() -> None:
    frame = _frame().with_columns(w=pl.Series(np.arange(1000) % 3 + 1), c=np.arange(1000) // 20)
    rec = reconstruct(frame, DESIGN, weights="w", clusters="c")
    found = rec.table(["smokes"])
    assert (found.n_records, found.n_left_out, found.df) == (980, 20, 49)
    kept = frame.head(980)
    w, g = kept["w"].to_numpy(), np.where(kept["smokes"] == "yes", 0.7, -0.3) / 0.4
    share = w @ g / w.sum()
    assert float(found.value[1]) == pytest.approx(share, rel=1e-10)
    sums = np.bincount(kept["c"].to_numpy(), w * (g - share), 50)
    variance = 50 / 49 * ((sums - sums.mean()) ** 2).sum() / w.sum() ** 2
    assert float(found.stderr[1]) ** 2 == pytest.approx(variance, rel=1e-9)
    bounds = rec.bounds(YES)
    missing = frame["w"].to_numpy()[980:].sum() / frame["w"].sum()
    gap = float(bounds.upper.value) - float(bounds.lower.value)
    assert gap == pytest.approx(missing, rel=1e-10)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_files_may_have_missing_answers(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("csv"):
        _frame().write_csv(path)
    else:
        _frame().write_parquet(path)
    assert reconstruct(path, DESIGN).table(["smokes"]).n_left_out == 20


def test_an_engine_counts_missing_answers() -> None:
    ibis = pytest.importorskip("ibis")
    found = reconstruct(ibis.memtable(_frame().to_arrow()), DESIGN).table(["smokes"])
    assert found.n_left_out == 20


def test_disguise_passes_missing_answers_on() -> None:
    true = _frame()
    reported = disguise(true, DESIGN, np.random.default_rng(1))
    assert (reported["smokes"].is_null() == true["smokes"].is_null()).all()
    assert (reported["town"] == true["town"]).all()
    assert reported["smokes"].drop_nulls().to_list() != true["smokes"].drop_nulls().to_list()


def test_a_missing_answer_hides_the_joint_report_that_needs_it() -> None:
    eye = [["4/5" if i == j else "1/15" for j in range(4)] for i in range(4)]
    design = Design(SCHEMA, [Group(["smokes", "town"], matrix(eye))])
    reported = disguise(_frame(), design, np.random.default_rng(1))
    assert reported["town"].null_count() == 20
    pair = Design(SCHEMA, [Group(["smokes", "town"], related("0.8"))])
    assert disguise(_frame(), pair, np.random.default_rng(1))["town"].null_count() == 0


def test_answers_disguised_with_gaps_are_estimated_without_bias() -> None:
    """One group, its coin thrown once: 40,000 people, 10 % gaps, 6 standard errors."""
    rng = np.random.default_rng(7)
    n = 40_000
    smokes = rng.random(n) < 0.3
    labels = pl.Series(np.where(smokes, "yes", "no")).to_frame("smokes")
    true = labels.with_columns(
        town=pl.Series(rng.choice(["A", "B"], n)),
        smokes=pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col("smokes")),
    )
    design = Design(SCHEMA, [Group(["smokes", "town"], related("0.8"))])
    found = reconstruct(disguise(true, design, rng), design).probability(YES)
    assert float(found.value) == pytest.approx(0.3, abs=6 * float(found.stderr))
    assert found.n_left_out == true["smokes"].null_count()


def test_what_needs_complete_records_says_so() -> None:
    with pytest.raises(MissingAnswersError, match=r"'smokes': 20 missing .*leave"):
        NaiveBayes(DESIGN, target="town").fit(_frame())
    with pytest.raises(MissingAnswersError, match="needs complete records"):
        _ = reconstruct(_frame(), DESIGN).patterns.counts
    nothing = _frame().with_columns(smokes=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="no record has an answer to all of smokes"):
        reconstruct(nothing, DESIGN).table(["smokes"])
