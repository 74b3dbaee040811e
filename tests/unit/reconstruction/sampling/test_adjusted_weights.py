"""Weights that agree with known totals, and weights for missing answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import reconstruct
from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.sampling import (
    jackknife,
    poststratify,
    rake,
    response_cells,
    response_propensity,
)
from tacit.regression import logit
from tests.support.samples import DISGUISED, HOW, PLAIN, linearised_variance, sample, units_of

YES = {"smokes": "yes"}
TOTALS = {"north": 500, "south": 300, "west": 200}
INCOMES = {"low": 400, "mid": 350, "high": 250}
MARGINS: Any = {"region": TOTALS, "income": INCOMES}


def _sums(weights: Any, column: Any) -> dict[Any, float]:
    labels, places = np.unique(column.to_numpy(), return_inverse=True)
    sums = np.bincount(places, np.asarray(weights))
    return dict(zip(labels.tolist(), sums.tolist(), strict=True))


def _indicators(frame: Any, names: list[str]) -> Array:
    parts = [
        (frame[name].to_numpy()[:, None] == sorted(set(frame[name]))).astype(float)
        for name in names
    ]
    return np.concatenate(parts, axis=1)


def test_poststratified_weights_have_the_known_totals() -> None:
    frame = sample(DISGUISED)
    weights = poststratify(frame, DISGUISED, ["region"], TOTALS, weights="w")
    assert _sums(weights, frame["region"]) == pytest.approx(TOTALS)
    ratio = np.asarray(weights) / frame["w"].to_numpy()
    north = frame["region"].to_numpy() == "north"
    assert np.ptp(ratio[north]) < 1e-12


def test_cells_of_two_columns_are_poststratified_by_tuples() -> None:
    frame = sample(DISGUISED)
    cells = set(zip(frame["region"], frame["income"], strict=True))
    totals = {cell: 10.0 + i for i, cell in enumerate(sorted(cells))}
    weights = np.asarray(poststratify(frame, DISGUISED, ["region", "income"], totals))
    for (region, income), total in totals.items():
        own = (frame["region"] == region) & (frame["income"] == income)
        assert weights[own.to_numpy()].sum() == pytest.approx(total)


def test_raked_weights_agree_with_all_margins() -> None:
    frame = sample(DISGUISED)
    weights = rake(frame, DISGUISED, MARGINS, weights="w")
    assert _sums(weights, frame["region"]) == pytest.approx(TOTALS, rel=1e-9)
    assert _sums(weights, frame["income"]) == pytest.approx(INCOMES, rel=1e-9)


@pytest.mark.parametrize("clustered", [True, False])
def test_errors_of_calibrated_weights_are_those_of_residuals(clustered: bool) -> None:
    frame = sample(DISGUISED)
    weights = rake(frame, DISGUISED, MARGINS, weights="w")
    how: Any = {"strata": "region"} | ({"clusters": "village"} if clustered else {})
    found = reconstruct(frame, DISGUISED, weights=weights, **how).probability(YES)
    g = np.where(frame["smokes"].to_numpy() == "yes", 0.8, -0.2) / 0.6
    w, x = np.asarray(weights), _indicators(frame, ["region", "income"])
    slopes = np.linalg.lstsq((x.T * w) @ x, x.T @ (w * g), rcond=None)[0]
    assert float(found.value) == pytest.approx(w @ g / w.sum(), rel=1e-10)
    expected = linearised_variance(g - x @ slopes, w, *units_of(frame, clustered), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-8)


def test_a_share_of_a_known_margin_has_no_error() -> None:
    frame = sample(DISGUISED)
    for errors in (None, jackknife):
        how: Any = {} if errors is None else {"errors": errors}
        rec = reconstruct(frame, DISGUISED, weights=rake(frame, DISGUISED, MARGINS), **how)
        found = rec.table(["income"])
        assert found.value.tolist() == pytest.approx([0.4, 0.35, 0.25])
        assert found.stderr.max() < 1e-9


def test_missing_answers_do_not_make_known_totals_known_among_those_who_answered() -> None:
    """The influence of the share among answers is regressed over everybody."""
    frame = sample(DISGUISED)
    gaps = np.arange(400) % 4 == 0
    holed = frame.with_columns(
        smokes=pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("smokes"))
    )
    weights = rake(holed, DISGUISED, MARGINS)
    found = reconstruct(holed, DISGUISED, weights=weights, clusters="village").probability(YES)
    g = np.where(frame["smokes"].to_numpy() == "yes", 0.8, -0.2) / 0.6
    w, x, d = np.asarray(weights), _indicators(frame, ["region", "income"]), ~gaps
    share = (w * d) @ g / w[d].sum()
    influence = d * (g - share) / (w[d].sum() / w.sum())
    slopes = np.linalg.lstsq((x.T * w) @ x, x.T @ (w * influence), rcond=None)[0]
    one = ["all"] * 400
    expected = linearised_variance(influence - x @ slopes, w, one, frame["village"].to_list(), f={})
    assert float(found.value) == pytest.approx(share, rel=1e-10)
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-8)


def test_regressions_take_calibrated_weights() -> None:
    frame = sample(DISGUISED)
    weights = rake(frame, DISGUISED, MARGINS)
    fit = logit("smokes ~ w", frame, DISGUISED, weights=weights, clusters="village")
    plain = logit("smokes ~ w", frame, DISGUISED, weights=np.asarray(weights), clusters="village")
    assert np.allclose(np.asarray(fit.params), np.asarray(plain.params))
    assert not np.allclose(np.asarray(fit.bse), np.asarray(plain.bse))


BAD = [
    (lambda f: poststratify(f, DISGUISED, ["smokes"], {"no": 1, "yes": 1}), "disguised answer"),
    (lambda f: rake(f, DISGUISED, {"smokes": {"no": 1, "yes": 1}}), "margins: 'smokes' is a disg"),
    (lambda f: rake(f, DISGUISED, {"regions": TOTALS}), "margins: unknown column 'regions'"),
    (lambda f: rake(f, DISGUISED, {}), "margins must map"),
    (lambda f: rake(f, DISGUISED, {"region": {"north": 1}}), "unknown label 'south'"),
    (lambda f: rake(f, DISGUISED, {"region": TOTALS | {"east": 1}}), "no record has 'east'"),
    (lambda f: rake(f, DISGUISED, {"region": TOTALS | {"west": 0}}), "'west' must be above 0"),
    (
        lambda f: rake(f, DISGUISED, {"region": TOTALS, "income": {"low": 1, "mid": 1, "high": 1}}),
        "sum to 1,000, those of 'income' to 3",
    ),
    (lambda f: poststratify(f, DISGUISED, "region", TOTALS), "by must be a list"),
    (lambda f: rake(f, DISGUISED, MARGINS, weights=np.zeros(400)), "is 0 at record 0"),
    (lambda f: response_cells(f, DISGUISED, ["smokes"], ["smokes"]), "disguised answer"),
    (lambda f: response_cells(f, DISGUISED, "smokes", ["region"]), "items must be a list"),
    (lambda f: response_cells(f, DISGUISED, ["smoke"], ["region"]), "unknown attribute 'smoke'"),
    (lambda f: rake(np.zeros((4, 2), np.uint8), DISGUISED, MARGINS), "has no undisguised columns"),
]


@pytest.mark.parametrize(("use", "message"), BAD)
def test_bad_totals_are_one_clear_error(use: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use(sample(DISGUISED))


def test_margins_that_exclude_each_other_do_not_converge() -> None:
    frame = sample(PLAIN).with_columns(twin=pl.col("region"))
    with pytest.raises(DataError, match="raking did not converge"):
        rake(frame, PLAIN, {"region": TOTALS, "twin": {"north": 1, "south": 1, "west": 998}})


def _nonresponse(n: int = 30_000) -> Any:
    """40 % smoke in the north, 20 % elsewhere; in the north half do not answer."""
    rng = np.random.default_rng(5)
    frame = sample(PLAIN, n=n)
    north = frame["region"].to_numpy() == "north"
    smokes = rng.random(n) < np.where(north, 0.4, 0.2)
    gaps = rng.random(n) < np.where(north, 0.5, 0.05)
    labels = pl.Series(np.where(smokes, "yes", "no"))
    return frame.with_columns(
        smokes=pl.when(pl.Series(gaps)).then(None).otherwise(labels)
    ), smokes.mean()


@pytest.mark.parametrize("method", [response_cells, response_propensity])
def test_weighting_by_columns_removes_the_bias_of_missing_answers(method: Any) -> None:
    """6 standard errors; complete cases are more than 6 off: the negative control."""
    frame, truth = _nonresponse()
    weights = method(frame, PLAIN, ["smokes"], ["region"])
    found = reconstruct(frame, PLAIN, weights=weights).probability(YES)
    assert float(found.value) == pytest.approx(truth, abs=6 * float(found.stderr))
    plain = reconstruct(frame, PLAIN).probability(YES)
    assert abs(float(plain.value) - truth) > 6 * float(plain.stderr)
    assert found.n_records == plain.n_records
    assert found.n_left_out == plain.n_left_out


def test_cells_and_a_saturated_logit_give_the_same_weights() -> None:
    frame, _ = _nonresponse(2000)
    cells = response_cells(frame, PLAIN, ["smokes"], ["region"], weights="w")
    model = response_propensity(frame, PLAIN, ["smokes"], ["region"], weights="w")
    assert np.allclose(np.asarray(cells), np.asarray(model), rtol=1e-6)
    answered = frame["smokes"].is_not_null().to_numpy()
    assert np.asarray(cells)[answered].sum() == pytest.approx(frame["w"].sum())


def test_a_cell_without_answers_is_an_error() -> None:
    frame = sample(PLAIN)
    north = pl.col("region") == "north"
    holed = frame.with_columns(smokes=pl.when(north).then(None).otherwise(pl.col("smokes")))
    with pytest.raises(DataError, match="nobody answered where region = north"):
        response_cells(holed, PLAIN, ["smokes"], ["region"])
    with pytest.raises(DataError, match=r"did not converge|almost no chance|certainty"):
        response_propensity(holed, PLAIN, ["smokes"], ["region"])


def test_weights_are_made_from_a_file(tmp_path: Path) -> None:
    frame = sample(DISGUISED)
    frame.write_csv(tmp_path / "a.csv")
    weights = rake(tmp_path / "a.csv", DISGUISED, MARGINS)
    assert len(weights) == 400
    found = reconstruct(tmp_path / "a.csv", DISGUISED, weights=weights, strata=HOW["strata"])
    assert found.table(["income"]).value[0] == pytest.approx(0.4)
